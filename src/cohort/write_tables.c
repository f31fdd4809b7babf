/* Writes the tables and image lists of the simulated cohort, for all participants and for each
 * part. The lists are training, test, adaptation, new site and follow-up. */
#include <stdio.h>

#include "base/random.h"
#include "cohort/internal.h"
#include "io/table/table.h"

static const char *const PREFIX[] = {"", "train_", "test_", "adapt_", "new_", "visits_"};

/* Returns whether a participant belongs to a list. */
static bool is_in_list(const kn_cohort_participant *p, kn_cohort_list which)
{
    return which == KN_COHORT_ALL || p->part == which ||
           (which == KN_COHORT_FOLLOW && p->part == KN_COHORT_TEST);
}

/* Returns how many rows a participant has in the tables of a list: one, or one per visit in the
 * follow-up list. */
static int count_visits(const kn_cohort *c, const kn_cohort_participant *p, kn_cohort_list which)
{
    return which == KN_COHORT_FOLLOW ? kn_cohort_visits(c, p) : 1;
}

/* Begins a table of a list, such as train_participants.tsv for `name` participants.tsv, with its
 * sidecar if `sidecar`. The caller commits and frees it. */
static kn_status open_table(kn_ctx *ctx, const kn_cohort *c, kn_cohort_list which, const char *name,
                            bool sidecar, kn_folder_table *table)
{
    char path[64];
    snprintf(path, sizeof path, "%s%s", PREFIX[which], name);
    return kn_folder_table_open(ctx, c->folder, path, sidecar ? name : NULL, table);
}

/* Writes a row of six cells; a NULL cell is a column that this list does not have. */
static kn_status put_row(kn_ctx *ctx, kn_table_writer *w, const char *const cell[6])
{
    kn_status status = KN_OK;
    for (int i = 0; i < 6; i++)
        if (cell[i])
            KN_TRY(kn_table_writer_text(ctx, w, cell[i]));
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

/* Writes the rows of participant i in participants.tsv of a list, one per visit. Lists of controls
 * only have no column group, which would be a covariate with one level. */
static kn_status put_participant(kn_ctx *ctx, kn_table_writer *w, const kn_cohort *c, ptrdiff_t i,
                                 kn_cohort_list which)
{
    const kn_cohort_participant *p = &c->participants[i];
    bool group = which != KN_COHORT_TRAIN && which != KN_COHORT_ADAPT;
    char id[KN_COHORT_ID], site[KN_COHORT_ID], session[24], age[16];
    kn_status status = KN_OK;
    kn_cohort_id(c, i, id);
    kn_cohort_site_name(c, p->site, site);
    for (int v = 0; v < count_visits(c, p, which); v++) {
        snprintf(session, sizeof session, "ses-%d", v + 1);
        snprintf(age, sizeof age, "%.1f", kn_cohort_age(p, v));
        const char *cell[] = {id,   which == KN_COHORT_FOLLOW ? session : NULL,
                              age,  p->sex ? "F" : "M",
                              site, !group ? NULL : p->patient ? "patient" : "control"};
        KN_TRY(put_row(ctx, w, cell));
    }
out:
    return status;
}

/* Writes participants.tsv of a list, with the columns session and group if it has them. */
static kn_status write_participants(kn_ctx *ctx, const kn_cohort *c, kn_cohort_list which)
{
    bool group = which != KN_COHORT_TRAIN && which != KN_COHORT_ADAPT;
    const char *header[] = {
        "participant_id",      which == KN_COHORT_FOLLOW ? "session" : NULL, "age", "sex", "site",
        group ? "group" : NULL};
    kn_folder_table table = {0};
    kn_status status;

    KN_TRY(open_table(ctx, c, which, "participants.tsv", true, &table));
    kn_table_writer *w = table.w;
    KN_TRY(put_row(ctx, w, header));
    for (ptrdiff_t i = 0; i < c->n; i++)
        if (is_in_list(&c->participants[i], which))
            KN_TRY(put_participant(ctx, w, c, i, which));
    KN_TRY(kn_folder_table_commit(ctx, &table));
out:
    kn_folder_table_free(&table);
    return status;
}

/* Writes images.txt of a list, "id<TAB>path" lines, in another order than participants.tsv, so that
 * readers must match ids. Paths of visits contain the session, as in BIDS. */
static kn_status write_list(kn_ctx *ctx, const kn_cohort *c, kn_cohort_list which)
{
    enum { LINE = 128 };
    char name[64], id[KN_COHORT_ID], session[24] = "", *text = NULL;
    ptrdiff_t *order = NULL, visits = which == KN_COHORT_FOLLOW ? c->o->visits : 1;
    size_t used = 0;
    kn_rng rng;
    void *p;
    kn_status status;

    KN_TRY(kn_alloc_i(ctx, c->n, &order));
    KN_TRY(kn_alloc(ctx, c->n * visits, LINE, &p));
    text = p;
    kn_rng_init(&rng, c->o->seed, KN_STREAM_LISTS);
    kn_rng_permutation(&rng, c->n, order);
    for (ptrdiff_t k = 0; k < c->n; k++) {
        const kn_cohort_participant *participant = &c->participants[order[k]];
        kn_cohort_id(c, order[k], id);
        for (int v = 0; is_in_list(participant, which) && v < count_visits(c, participant, which);
             v++) {
            if (which == KN_COHORT_FOLLOW)
                snprintf(session, sizeof session, "_ses-%d", v + 1);
            used +=
                (size_t)snprintf(text + used, LINE, "%s\timages/%s%s.nii.gz\n", id, id, session);
        }
    }
    snprintf(name, sizeof name, "%simages.txt", PREFIX[which]);
    KN_TRY(kn_folder_text(ctx, c->folder, name, text, (ptrdiff_t)used));
out:
    kn_free(text);
    kn_free(order);
    return status;
}

/* Writes the rows of regional means of participant i in regions.csv of a list, one per visit. */
static kn_status put_regions(kn_ctx *ctx, kn_table_writer *w, const kn_cohort *c, ptrdiff_t i,
                             kn_cohort_list which)
{
    ptrdiff_t visits = c->o->visits ? c->o->visits : 1, R = c->o->regions;
    char text[KN_COHORT_ID];
    kn_status status = KN_OK;
    for (int v = 0; v < count_visits(c, &c->participants[i], which); v++) {
        kn_cohort_id(c, i, text);
        KN_TRY(kn_table_writer_text(ctx, w, text));
        snprintf(text, sizeof text, "ses-%d", v + 1);
        if (which == KN_COHORT_FOLLOW)
            KN_TRY(kn_table_writer_text(ctx, w, text));
        for (ptrdiff_t r = 0; r < R; r++) {
            snprintf(text, sizeof text, "%.6f", c->region_mean[(i * visits + v) * R + r]);
            KN_TRY(kn_table_writer_text(ctx, w, text));
        }
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
out:
    return status;
}

/* Writes regions.csv of a list: ids, sessions if it has them, and regional means. */
static kn_status write_regions(kn_ctx *ctx, const kn_cohort *c, kn_cohort_list which)
{
    int digits = snprintf(NULL, 0, "%td", c->o->regions);
    char name[KN_COHORT_ID];
    kn_folder_table table = {0};
    kn_status status;

    KN_TRY(open_table(ctx, c, which, "regions.csv", false, &table));
    kn_table_writer *w = table.w;
    KN_TRY(kn_table_writer_text(ctx, w, "participant_id"));
    if (which == KN_COHORT_FOLLOW)
        KN_TRY(kn_table_writer_text(ctx, w, "session"));
    for (ptrdiff_t r = 0; r < c->o->regions; r++) {
        snprintf(name, sizeof name, "region_%0*td", digits, r + 1);
        KN_TRY(kn_table_writer_text(ctx, w, name));
    }
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t i = 0; i < c->n; i++)
        if (is_in_list(&c->participants[i], which))
            KN_TRY(put_regions(ctx, w, c, i, which));
    KN_TRY(kn_folder_table_commit(ctx, &table));
out:
    kn_folder_table_free(&table);
    return status;
}

kn_status kn_cohort_write_tables(kn_ctx *ctx, const kn_cohort *c)
{
    kn_status status = KN_OK;
    for (kn_cohort_list which = KN_COHORT_ALL; which <= KN_COHORT_FOLLOW; which++) {
        bool new_site = which == KN_COHORT_ADAPT || which == KN_COHORT_NEW;
        if ((new_site && !c->sites) || (which == KN_COHORT_FOLLOW && !c->o->visits))
            continue;
        KN_TRY(write_participants(ctx, c, which));
        KN_TRY(write_list(ctx, c, which));
        if (c->o->regions)
            KN_TRY(write_regions(ctx, c, which));
    }
out:
    return status;
}
