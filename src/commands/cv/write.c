/* Output files of kn_cv: writes folds.tsv, metrics_by_site.tsv, train.txt and test.txt. Maps and
 * scores are written by commands/score/join. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/cv/internal.h"
#include "gp/zscore.h"
#include "io/file/path.h"
#include "io/table/sidecar.h"

enum { PATH = 4096 };
static const char *const LISTS[] = {"train.txt", "test.txt"};

/* Fail if the file `name` in the folder, or its sidecar, must not be overwritten. */
static kn_status check_file(kn_ctx *ctx, const kn_crossval *c, const char *name)
{
    char path[PATH];
    kn_status status = kn_path_in_folder(ctx, c->dir, name, path, PATH);
    if (status == KN_OK)
        status = kn_writer_check(ctx, path, c->options);
    return status == KN_OK && kn_sidecar_known(name) ? kn_sidecar_check(ctx, path, c->options)
                                                     : status;
}

kn_status kn_crossval_check(kn_ctx *ctx, const kn_crossval *c)
{
    kn_status status;
    KN_TRY(check_file(ctx, c, "folds.tsv"));
    if (c->site->n > 0)
        KN_TRY(check_file(ctx, c, "metrics_by_site.tsv"));
    for (int k = 0; c->s->lists && k < 2; k++)
        KN_TRY(check_file(ctx, c, LISTS[k]));
out:
    return status;
}

/* ---- folds ---- */

/* Id of row i; if it has none "row-0001", written to `name`. */
static const char *participant_name(const kn_crossval *c, ptrdiff_t i, char name[KN_ROW_NAME])
{
    if (c->id[i])
        return c->id[i];
    kn_row_name(c->holdout->row[i], name);
    return name;
}

/* Write the row of participant i in folds.tsv: its fold (or train/test), and facts about the model
 * of that fold. */
static kn_status fold_row(kn_ctx *ctx, const kn_crossval *c, ptrdiff_t i, kn_table_writer *w)
{
    kn_status status;
    const kn_holdout *h = c->holdout;
    char name[KN_ROW_NAME];
    KN_TRY(kn_table_writer_text(ctx, w, participant_name(c, i, name)));
    if (c->s->lists) {
        KN_TRY(kn_table_writer_text(ctx, w, h->fold[i] ? "test" : "train"));
    } else {
        const kn_fold_fact *f = &c->fold[h->fold[i]];
        KN_TRY(kn_table_writer_number(ctx, w, h->fold[i] + 1));
        KN_TRY(kn_table_writer_number(ctx, w, (double)f->n_train));
        KN_TRY(kn_table_writer_number(ctx, w, f->components < 0 ? NAN : (double)f->components));
    }
    if (h->level.n > 0)
        KN_TRY(kn_table_writer_text(ctx, w, h->level.name[h->level.of[i]]));
    if (h->control)
        KN_TRY(kn_table_writer_number(ctx, w, h->control[i]));
    if (!c->s->lists) {
        ptrdiff_t n_sites = c->fold[h->fold[i]].n_sites;
        KN_TRY(kn_table_writer_number(ctx, w, n_sites > 0 ? (double)n_sites : NAN));
    }
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

/* Write folds.tsv: the fold of each participant, and the size and components of its fit. */
static kn_status write_folds(kn_ctx *ctx, const kn_crossval *c, const char *path)
{
    kn_status status;
    kn_table_writer *w = NULL;
    KN_TRY(kn_table_writer_new(ctx, path, c->options, &w));
    KN_TRY(kn_table_writer_describe(ctx, w, "folds.tsv"));
    KN_TRY(kn_table_writer_text(ctx, w, "participant_id"));
    KN_TRY(kn_table_writer_text(ctx, w, "fold"));
    if (!c->s->lists) {
        KN_TRY(kn_table_writer_text(ctx, w, "n_train"));
        KN_TRY(kn_table_writer_text(ctx, w, "components"));
    }
    if (c->holdout->level.n > 0)
        KN_TRY(kn_table_writer_text(ctx, w, "level"));
    if (c->holdout->control)
        KN_TRY(kn_table_writer_text(ctx, w, "control"));
    if (!c->s->lists)
        KN_TRY(kn_table_writer_text(ctx, w, "n_sites"));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t i = 0; i < c->holdout->n; i++)
        KN_TRY(fold_row(ctx, c, i, w));
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}

/* Write the ids of the training (which = 0) or test (1) set, one per line, each once. */
static kn_status write_list(kn_ctx *ctx, const kn_crossval *c, int which, const char *path)
{
    kn_status status;
    kn_writer *w = NULL;
    const kn_holdout *h = c->holdout;
    char name[KN_ROW_NAME];
    KN_TRY(kn_writer_new(ctx, path, c->options, &w));
    for (ptrdiff_t i = 0; i < h->n; i++) {
        const char *id = participant_name(c, i, name);
        bool before = false;
        char other[KN_ROW_NAME];
        for (ptrdiff_t k = h->unit[i]; k < i && !before; k++)
            before = h->unit[k] == h->unit[i] && strcmp(participant_name(c, k, other), id) == 0;
        if (h->fold[i] != which || before)
            continue;
        KN_TRY(kn_writer_write(ctx, w, id, (ptrdiff_t)strlen(id)));
        KN_TRY(kn_writer_write(ctx, w, "\n", 1));
    }
    KN_TRY(kn_writer_commit(ctx, w));
out:
    kn_writer_free(w);
    return status;
}

/* ---- metrics by site ---- */

/* Write one row of metrics_by_site.tsv: metrics over the measured participants of a site in one
 * join. Nothing if the join is the adapted one and has none of them. */
static kn_status site_row(kn_ctx *ctx, const kn_crossval *c, const kn_join *join, ptrdiff_t site,
                          kn_table_writer *w)
{
    kn_status status;
    kn_join_participant all = {0};
    ptrdiff_t n = 0;
    bool unknown = false; /* unknown site, scored with the site prior */
    for (ptrdiff_t i = 0; i < c->holdout->n; i++) {
        ptrdiff_t at = join->place[c->holdout->row[i]];
        if (c->site->of[i] != site || at < 0 || !join->participant[at].measured)
            continue;
        const kn_join_participant *p = &join->participant[at];
        n++;
        unknown = unknown || isfinite(join->scores->site_adapted[at]);
        all.cells += p->cells;
        all.loss += p->loss;
        all.gain += p->gain;
        all.n += p->n;
        all.sum += p->sum;
        all.sum2 += p->sum2;
        all.beyond += p->beyond;
    }
    const char *how = join == c->adapted ? "adapted" : unknown ? "prior" : "none";
    if (join == c->adapted && n == 0)
        return KN_OK;
    KN_TRY(kn_table_writer_text(ctx, w, c->site->name[site]));
    if (c->holdout->control) {
        KN_TRY(kn_table_writer_text(ctx, w, how));
        KN_TRY(kn_table_writer_number(ctx, w,
                                      join == c->adapted ? (double)c->holdout->controls[site] : 0));
    }
    KN_TRY(kn_table_writer_number(ctx, w, (double)n));
    KN_TRY(kn_table_writer_short(ctx, w, all.loss / all.cells));
    KN_TRY(kn_table_writer_short(ctx, w, kn_mean_gain(all.gain, all.cells)));
    KN_TRY(kn_table_writer_short(ctx, w, all.sum2 / all.n));
    KN_TRY(kn_table_writer_short(ctx, w, all.sum / all.n));
    KN_TRY(kn_table_writer_short(ctx, w, 100 * all.beyond / all.n));
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

/* Write metrics_by_site.tsv: one row per site, and a second row if it was scored with adapted
 * models too. */
static kn_status write_sites(kn_ctx *ctx, const kn_crossval *c, const char *path)
{
    static const char *const after[] = {"n", "MSLL", "gain", "z2", "mean_z", "beyond_1.96_pct"};
    kn_status status;
    kn_table_writer *w = NULL;
    KN_TRY(kn_table_writer_new(ctx, path, c->options, &w));
    KN_TRY(kn_table_writer_describe(ctx, w, "metrics_by_site.tsv"));
    KN_TRY(kn_table_writer_text(ctx, w, "site"));
    if (c->holdout->control) {
        KN_TRY(kn_table_writer_text(ctx, w, "how"));
        KN_TRY(kn_table_writer_text(ctx, w, "n_controls"));
    }
    for (size_t k = 0; k < sizeof after / sizeof *after; k++)
        KN_TRY(kn_table_writer_text(ctx, w, after[k]));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t site = 0; site < c->site->n; site++) {
        KN_TRY(site_row(ctx, c, c->join, site, w));
        if (c->adapted)
            KN_TRY(site_row(ctx, c, c->adapted, site, w));
    }
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}

kn_status kn_crossval_write(kn_ctx *ctx, const kn_crossval *c, ptrdiff_t *n_files)
{
    kn_status status;
    char path[PATH];
    for (int k = 0; c->s->lists && k < 2; k++) {
        KN_TRY(kn_path_in_folder(ctx, c->dir, LISTS[k], path, PATH));
        KN_TRY(write_list(ctx, c, k, path));
        ++*n_files;
    }
    if (c->site->n > 0) {
        KN_TRY(kn_path_in_folder(ctx, c->dir, "metrics_by_site.tsv", path, PATH));
        KN_TRY(write_sites(ctx, c, path));
        *n_files += 2;
    }
    KN_TRY(kn_path_in_folder(ctx, c->dir, "folds.tsv", path, PATH));
    KN_TRY(write_folds(ctx, c, path));
    *n_files += 2;
out:
    return status;
}

void kn_crossval_remove_folder(const kn_crossval *c)
{
    char dir[PATH];
    if (c->options->force && !c->adapted && snprintf(dir, PATH, "%s/adapted", c->dir) < PATH)
        rmdir(dir); /* fails if it is absent or has other files, which is fine */
}
