/* Orders the rows of a participant as visits by time or name, and makes the pairs that are
 * compared. A participant with one visit has no pair and is only counted. */
#include "commands/change/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table/column_role.h"
#include "data/table/columns.h"
#include "data/table/sessions.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

typedef struct job {
    const kn_settings *s;
    const kn_model *model;
    const kn_data *data;
    const kn_table *table;
    const kn_sample *participants;
    kn_visits *v;
    bool *flag;          /* rows selected by {reference}; NULL: not given */
    ptrdiff_t *order, n; /* rows sorted so that visits of a participant are consecutive */
    double *time;        /* per row; NULL: unknown */
} job;

void kn_visits_clear(kn_visits *v)
{
    kn_free(v->pair);
    kn_names_free(v->id, v->n_pairs);
    kn_free(v->participant);
    kn_free(v->visit);
    *v = (kn_visits){0};
}

/* ---- rows ---- */

/* Allocate n NULL pointers to texts. */
static kn_status alloc_texts(kn_ctx *ctx, ptrdiff_t n, const char ***out)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof **out, &memory);
    *out = memory;
    return status;
}

/* Read participant and visit of each row of the sample, and sort the rows so that the visits of a
 * participant are consecutive. KN_ERR_DATA if a column is missing. */
static kn_status read_rows(kn_ctx *ctx, job *j)
{
    kn_status status;
    const kn_sample *p = j->participants;
    ptrdiff_t col = kn_column_find(j->table, j->s->session);
    if (col < 0)
        return kn_column_unknown(ctx, j->table, j->s->session, "named in {visit}");
    j->v->n_rows = p->n;
    KN_TRY(alloc_texts(ctx, p->n, &j->v->participant));
    KN_TRY(alloc_texts(ctx, p->n, &j->v->visit));
    for (ptrdiff_t i = 0; i < p->n; i++) {
        j->v->participant[i] = kn_data_participant(j->data, p->covariate_row[i]);
        j->v->visit[i] = kn_table_cell(j->table, p->covariate_row[i], col);
        if (!j->v->participant[i]) {
            status = kn_fail(ctx, KN_ERR_DATA, "%s has no ID column; name it in {participant}",
                             kn_table_path(j->table));
            goto out;
        }
    }
    KN_TRY(kn_alloc_i(ctx, p->n, &j->order));
    kn_session_rows rows = {p->n, j->v->participant, j->v->visit, NULL};
    KN_TRY(kn_session_order(ctx, &rows, j->order, &j->n));
out:
    return status;
}

/* Read the time of each visit from {interval} or the age covariate, NaN if missing; j->time stays
 * NULL if there is neither. KN_ERR_DATA for a text. */
static kn_status read_times(kn_ctx *ctx, job *j)
{
    kn_status status = KN_OK;
    const kn_encoding *r = &j->model->encoding;
    const char *name = j->s->interval;
    for (ptrdiff_t c = 0; !name && c < r->n; c++)
        if (r->column[c].kind == KN_COVARIATE_NUMERIC &&
            kn_column_role_of(r->column[c].name) == KN_COLUMN_AGE)
            name = r->column[c].name;
    if (!name)
        return KN_OK;
    ptrdiff_t col = kn_column_find(j->table, name);
    if (col < 0)
        return kn_column_unknown(ctx, j->table, name, "named in {interval}");
    j->v->interval_name = kn_table_name(j->table, col);
    KN_TRY(kn_alloc_d(ctx, j->participants->n, &j->time));
    for (ptrdiff_t i = 0; i < j->participants->n; i++) {
        ptrdiff_t row = j->participants->covariate_row[i];
        kn_cell cell = kn_table_number(j->table, row, col, &j->time[i]);
        if (cell == KN_CELL_TEXT)
            KN_TRY(kn_cell_refused(ctx, j->table, row, col, "but must be a number"));
        if (cell != KN_CELL_NUMBER)
            j->time[i] = NAN;
    }
out:
    return status;
}

/* ---- pairs ---- */

/* One past the last position (in sorted rows) of the participant at position k. */
static ptrdiff_t find_end_of_participant(const job *j, ptrdiff_t k)
{
    ptrdiff_t end = k + 1;
    while (end < j->n &&
           strcmp(j->v->participant[j->order[end]], j->v->participant[j->order[k]]) == 0)
        end++;
    return end;
}

/* Number of positions from .. end - 1 whose rows {reference} selects. */
static ptrdiff_t count_flagged(const job *j, ptrdiff_t from, ptrdiff_t end)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t k = from; j->flag && k < end; k++)
        n += j->flag[j->order[k]];
    return n;
}

/* Line of row i in the covariate table, for messages. */
static ptrdiff_t table_line(const job *j, ptrdiff_t i)
{
    return kn_table_line(j->table, j->participants->covariate_row[i]);
}

/* KN_ERR_DATA if rows a and b are the same visit, or b, the later visit by name, is earlier in
 * time. */
static kn_status check_order(kn_ctx *ctx, const job *j, ptrdiff_t a, ptrdiff_t b)
{
    const char *path = kn_table_path(j->table), *unit = kn_table_unit(j->table);
    const kn_visits *v = j->v;
    if (kn_names_equal(v->visit[a], v->visit[b]))
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: visit '%s' of %s is on %ss %td and %td, but must occur only once", path,
                       kn_clipped(v->visit[a]).text, kn_clipped(v->participant[a]).text, unit,
                       table_line(j, a), table_line(j, b));
    if (j->time && j->time[b] < j->time[a])
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s %s %td: %s of %s is %g at visit '%s', but was %g at visit '%s'; the "
                       "names of visits must sort in order of time",
                       path, unit, table_line(j, b), kn_clipped(v->interval_name).text,
                       kn_clipped(v->participant[a]).text, j->time[b], kn_clipped(v->visit[b]).text,
                       j->time[a], kn_clipped(v->visit[a]).text);
    return KN_OK;
}

/* True if a batch column, or a category named like a site, differs between rows a and b. Compared
 * as text, since all unknown levels are the same to the model. */
static bool is_moved(const job *j, ptrdiff_t a, ptrdiff_t b)
{
    const kn_encoding *r = &j->model->encoding;
    for (ptrdiff_t c = 0; c < r->n; c++) {
        ptrdiff_t col = kn_column_find(j->table, r->column[c].name);
        bool site = r->column[c].batch || kn_column_role_of(r->column[c].name) == KN_COLUMN_SITE;
        if (site && r->column[c].kind == KN_COVARIATE_CATEGORY && col >= 0 &&
            !kn_names_equal(kn_table_cell(j->table, j->participants->covariate_row[a], col),
                            kn_table_cell(j->table, j->participants->covariate_row[b], col)))
            return true;
    }
    return false;
}

/* Append the pair of visits in rows a and b of the current participant. whole: the first and last
 * of three or more visits; control: the participant is in the reference. */
static void add_pair(job *j, ptrdiff_t a, ptrdiff_t b, bool whole, bool control)
{
    j->v->pair[j->v->n_pairs++] =
        (kn_visit_pair){.first = a,
                        .second = b,
                        .participant = j->v->n_participants,
                        .whole = whole,
                        .control = control,
                        .moved = is_moved(j, a, b),
                        .interval = j->time ? j->time[b] - j->time[a] : NAN};
}

/* True if {reference} selects all visits at positions from .. end - 1, and all are at one site: a
 * difference between sites would count as normal change. */
static bool is_control(const job *j, ptrdiff_t from, ptrdiff_t end)
{
    if (count_flagged(j, from, end) < end - from)
        return false;
    for (ptrdiff_t k = from + 1; k < end; k++)
        if (is_moved(j, j->order[k - 1], j->order[k]))
            return false;
    return true;
}

/* Add the pairs of all participants of the reference (control), or of all others; those with one
 * visit are counted only. KN_ERR_DATA for visits in the wrong order. */
static kn_status add_participants(kn_ctx *ctx, job *j, bool control)
{
    kn_status status = KN_OK;
    for (ptrdiff_t from = 0, end; from < j->n; from = end) {
        end = find_end_of_participant(j, from);
        if (is_control(j, from, end) != control)
            continue;
        if (end - from < 2) {
            j->v->n_single++;
            continue;
        }
        for (ptrdiff_t k = from + 1; k < end; k++) {
            KN_TRY(check_order(ctx, j, j->order[k - 1], j->order[k]));
            add_pair(j, j->order[k - 1], j->order[k], false, control);
        }
        if (end - from > 2)
            add_pair(j, j->order[from], j->order[end - 1], true, control);
        j->v->n_participants++;
        j->v->n_controls += control;
    }
out:
    return status;
}

/* Make the id of each pair, such as "sub-01_ses-1_ses-2", with trimmed names of visits. */
static kn_status name_pairs(kn_ctx *ctx, job *j)
{
    kn_status status = KN_OK;
    void *memory = NULL;
    kn_visits *v = j->v;
    char *first = NULL, *second = NULL;
    KN_TRY(kn_alloc(ctx, v->n_pairs, sizeof *v->id, &memory));
    v->id = memory;
    for (ptrdiff_t i = 0; i < v->n_pairs; i++) {
        const char *participant = v->participant[v->pair[i].first];
        KN_TRY(kn_trimmed(ctx, v->visit[v->pair[i].first], &first));
        KN_TRY(kn_trimmed(ctx, v->visit[v->pair[i].second], &second));
        size_t size = strlen(participant) + strlen(first) + strlen(second) + 3;
        KN_TRY(kn_alloc(ctx, (ptrdiff_t)size, 1, &memory));
        v->id[i] = memory;
        snprintf(v->id[i], size, "%s_%s_%s", participant, first, second);
        kn_free(first);
        kn_free(second);
        first = second = NULL;
    }
out:
    kn_free(first);
    kn_free(second);
    return status;
}

/* ---- warnings ---- */

/* Warn if the order of visits is by the alphabet only (pre, post) and not confirmed by time: a
 * change might be taken in the wrong direction. */
static void log_order(kn_ctx *ctx, const job *j)
{
    static const char DIGITS[] = "0123456789";
    const kn_visits *v = j->v;
    const kn_visit_pair *one = NULL;
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < v->n_pairs; i++) {
        const kn_visit_pair *p = &v->pair[i];
        if (p->whole || p->interval > 0 ||
            (strpbrk(v->visit[p->first], DIGITS) && strpbrk(v->visit[p->second], DIGITS)))
            continue;
        one = one ? one : p;
        n++;
    }
    if (one)
        kn_log(ctx, KN_LOG_WARNING,
               "%s shows which visit of %td pair%s is the first, so '%s' is taken to precede "
               "'%s' in alphabetical order; use numbers or dates in {visit}",
               v->interval_name ? "neither a number nor a time" : "no number", n, n == 1 ? "" : "s",
               kn_clipped(v->visit[one->first]).text, kn_clipped(v->visit[one->second]).text);
}

/* Warn of excluded participants, of those whom {reference} selects at some visits only, and of
 * changes of site. */
static void log_visits(kn_ctx *ctx, const job *j)
{
    kn_listing mixed = {.limit = KN_NAMES_LISTED}, moved = mixed;
    ptrdiff_t n_mixed = 0, n_moved = 0, n_gone = 0;
    const kn_visits *v = j->v;
    for (ptrdiff_t from = 0, end; from < j->n; from = end) {
        end = find_end_of_participant(j, from);
        ptrdiff_t n = count_flagged(j, from, end);
        if (n > 0 && n < end - from) {
            n_mixed++;
            kn_listing_add(&mixed, v->participant[j->order[from]]);
        } else if (n > 0 && !is_control(j, from, end)) {
            n_gone++;
        }
    }
    for (ptrdiff_t i = 0; i < v->n_pairs; i++)
        if (v->pair[i].moved) {
            n_moved++;
            kn_listing_add(&moved, v->id[i]);
        }
    if (v->n_single > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td participants are excluded, because they have only one visit",
               v->n_single, v->n_single + v->n_participants);
    if (n_mixed > 0)
        kn_log(
            ctx, KN_LOG_WARNING,
            "{reference=%s} applies to only some visits of %td %s, excluded from the reference: %s",
            j->s->controls, n_mixed, n_mixed == 1 ? "participant" : "participants", mixed.text);
    if (n_moved > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "the visits of %td pair%s are from different sites, so site differences count as "
               "change: %s",
               n_moved, n_moved == 1 ? "" : "s", moved.text);
    if (n_gone > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td %s of {reference=%s} %s at different sites at the two visits and %s excluded "
               "from the reference",
               n_gone, n_gone == 1 ? "participant" : "participants", j->s->controls,
               n_gone == 1 ? "was" : "were", n_gone == 1 ? "is" : "are");
    log_order(ctx, j);
}

/* Set j->flag (n): rows that {reference} selects; NULL without the option. j owns it. */
static kn_status flag_controls(kn_ctx *ctx, job *j)
{
    void *memory = NULL;
    if (!j->s->controls)
        return KN_OK;
    kn_status status = kn_alloc(ctx, j->participants->n, sizeof *j->flag, &memory);
    j->flag = memory;
    return status == KN_OK
               ? kn_sample_flag(ctx, j->data, j->participants, "reference", j->s->controls, j->flag)
               : status;
}

kn_status kn_visits_new(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                        const kn_data *data, const kn_sample *participants, kn_visits *out)
{
    kn_status status;
    void *memory = NULL;
    job j = {.s = s,
             .model = model,
             .data = data,
             .table = data->covariates,
             .participants = participants,
             .v = out};
    *out = (kn_visits){0};
    KN_TRY(read_rows(ctx, &j));
    KN_TRY(read_times(ctx, &j));
    KN_TRY(flag_controls(ctx, &j));
    KN_TRY(kn_alloc(ctx, 2 * participants->n, sizeof *out->pair, &memory));
    out->pair = memory;
    KN_TRY(add_participants(ctx, &j, true));
    KN_TRY(add_participants(ctx, &j, false));
    KN_TRY(name_pairs(ctx, &j));
    log_visits(ctx, &j);
    if (out->n_pairs == 0)
        status = kn_fail(ctx, KN_ERR_DATA, "%s: no participant has two visits; check {visit=%s}",
                         kn_table_path(j.table), s->session);
out:
    kn_free(j.flag);
    kn_free(j.order);
    kn_free(j.time);
    if (status != KN_OK)
        kn_visits_clear(out);
    return status;
}
