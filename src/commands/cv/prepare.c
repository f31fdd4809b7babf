/* kn_cv_prepare and the steps before the first fit: reading, folds, labels, sites, joins, output
 * checks. Errors in options or data are found before the first fit. */
#include <stdio.h>
#include <string.h>

#include "base/memory/plan.h"
#include "base/mpi/comm.h"
#include "commands/common/check_arguments.h"
#include "commands/cv/internal.h"
#include "commands/fit/fit.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/byte_source.h"
#include "io/file/path.h"

/* ---- checks that the model of each fold can predict its levels and sites; a model of a single
 * site does not know how far others differ [METHOD 8e] ---- */

typedef struct sites {
    const kn_cv_work *w;
    kn_strata of;  /* site per row of the holdout: combination of batch levels */
    ptrdiff_t *n;  /* of.n: training participants of each site in the current fold */
    bool *missing; /* rows of the holdout with a missing batch level */
} sites;

/* Set the site of every participant of the cross-validation from all batch columns, and which lack
 * a level; s->of.n = 0 without batch columns. */
static kn_status find_fold_sites(kn_ctx *ctx, const kn_cv_work *w, sites *s)
{
    kn_status status;
    const kn_table *t = w->data->covariates;
    const kn_encoding *r = &w->all->encoding;
    const kn_holdout *h = &w->holdout;
    ptrdiff_t *col = NULL, n = 0;
    KN_TRY(kn_alloc_i(ctx, r->n, &col));
    KN_TRY(kn_alloc_bool(ctx, h->n, &s->missing));
    for (ptrdiff_t k = 0; r->codes && k < r->n; k++)
        if (kn_cv_is_batch(w, &r->column[k]))
            col[n++] = kn_column_find(t, r->column[k].name);
    if (n == 0)
        goto out;
    for (ptrdiff_t i = 0; i < h->n; i++)
        for (ptrdiff_t k = 0; k < n; k++)
            s->missing[i] =
                s->missing[i] || kn_text_is_missing(kn_table_cell(t, h->row[i], col[k]));
    KN_TRY(kn_strata_new(ctx, t, col, n, h->row, h->n, &s->of));
    KN_TRY(kn_alloc_i(ctx, s->of.n, &s->n));
out:
    kn_free(col);
    return status;
}

/* KN_ERR_DATA if the training sample of the fold has one site only and scored rows are at others:
 * the variance between sites is then unknown. */
static kn_status check_fold(kn_ctx *ctx, const sites *s, int fold)
{
    const kn_cv_work *w = s->w;
    const kn_holdout *h = &w->holdout;
    kn_listing listed = {.limit = KN_NAMES_LISTED};
    ptrdiff_t known = 0, only = 0, others = 0;
    char name[KN_ROW_NAME];
    kn_holdout_training(h, fold, w->abnormal, w->use);
    memset(s->n, 0, (size_t)s->of.n * sizeof *s->n);
    for (ptrdiff_t i = 0; i < h->n; i++)
        s->n[s->of.of[i]] += w->use[h->row[i]] && !s->missing[i];
    for (ptrdiff_t l = 0; l < s->of.n; l++)
        if (s->n[l] > 0) {
            known++;
            only = l;
        }
    for (ptrdiff_t i = 0; known == 1 && i < h->n; i++)
        if (h->fold[i] == fold && !s->missing[i] && s->of.of[i] != only) {
            kn_row_name(h->row[i], name);
            kn_listing_add(&listed, w->id[i] ? w->id[i] : name);
            others++;
        }
    if (others == 0)
        return KN_OK;
    return kn_fail(
        ctx, KN_ERR_DATA,
        "%s: fold %d of %d contains %td %s from a site that occurs in no other fold (%s), and all "
        "others are from %s, so between-site variance cannot be estimated; exclude them with "
        "{where}, omit the site from {use}, or try another {seed}",
        kn_table_path(w->data->covariates), fold + 1, h->folds, others,
        others == 1 ? "participant" : "participants", listed.text,
        kn_clipped(s->of.name[only]).text);
}

/* KN_ERR_DATA if a category of a model without additive kernel has a level in one fold that no
 * training sample of this fold has: such a model cannot predict it. */
static kn_status check_levels(kn_ctx *ctx, const kn_cv_work *w, const char *name)
{
    kn_status status;
    kn_strata strata = {0};
    bool *known = NULL;
    const kn_holdout *h = &w->holdout;
    const kn_table *t = w->data->covariates;
    ptrdiff_t col = kn_column_find(t, name);
    KN_TRY(kn_strata_new(ctx, t, &col, 1, h->row, h->n, &strata));
    KN_TRY(kn_alloc_bool(ctx, strata.n, &known));
    for (int fold = 0; fold < h->folds; fold++) {
        kn_holdout_training(h, fold, w->abnormal, w->use);
        memset(known, 0, (size_t)strata.n * sizeof *known);
        for (ptrdiff_t i = 0; i < h->n; i++)
            known[strata.of[i]] = known[strata.of[i]] || w->use[h->row[i]];
        for (ptrdiff_t i = 0; i < h->n; i++)
            if (h->fold[i] == fold && !known[strata.of[i]]) {
                status = kn_fail(ctx, KN_ERR_DATA,
                                 "%s: no participant outside fold %d of %d has %s '%s', and only "
                                 "additive models accept a new level; omit the column from {use}",
                                 kn_table_path(t), fold + 1, h->folds, kn_clipped(name).text,
                                 kn_clipped(strata.name[strata.of[i]]).text);
                goto out;
            }
    }
out:
    kn_free(known);
    kn_strata_clear(&strata);
    return status;
}

/* KN_ERR_DATA if a fold has a site or level about which its model knows nothing. Call after
 * kn_cv_find_ids(). */
static kn_status check_sites(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status = KN_OK;
    sites s = {.w = w};
    const kn_encoding *r = &w->all->encoding;
    for (ptrdiff_t k = 0; !r->codes && k < r->n; k++)
        if (r->column[k].kind != KN_COVARIATE_NUMERIC)
            KN_TRY(check_levels(ctx, w, r->column[k].name));
    KN_TRY(find_fold_sites(ctx, w, &s));
    for (int k = 0; s.of.n > 1 && k < w->holdout.folds; k++)
        KN_TRY(check_fold(ctx, &s, k));
out:
    kn_strata_clear(&s.of);
    kn_free(s.n);
    kn_free(s.missing);
    return status;
}

enum { PATH = KN_CV_PATH };

void kn_cv_work_clear(kn_cv_work *w)
{
    kn_options_free(w->fit);
    kn_options_free(w->score);
    kn_options_free(w->adapt);
    kn_basis_source_clear(&w->basis);
    kn_join_free(w->join);
    kn_join_free(w->adapted);
    kn_free(w->scored_row);
    kn_free(w->scored_abnormal);
    kn_exclusions_clear(&w->exclusions);
    kn_strata_clear(&w->site);
    kn_holdout_clear(&w->holdout);
    kn_free(w->id);
    kn_preloaded_free(w->preloaded);
    kn_free(w->fold);
    kn_free(w->abnormal);
    kn_free(w->use);
    kn_free(w->inputs);
    kn_warnings_clear(&w->warnings);
    kn_warnings_clear(&w->of_fits);
    kn_uncommitted_files_clear(&w->pending);
    kn_created_files_clear(&w->made);
    if (w->data)
        w->data->label = NULL;
}

/* ---- preparation ---- */

/* Set w->label and w->data->label to the column of {cases}, which is not a covariate. */
static void name_label(kn_cv_work *w)
{
    size_t n = w->s.cases ? strcspn(w->s.cases, "=") : 0;
    if (n == 0 || n >= sizeof w->label)
        return;
    memcpy(w->label, w->s.cases, n);
    w->data->label = w->label;
}

/* Set w->abnormal (rows of the holdout): participants whom {cases} selects are scored, but in no
 * training sample. NULL without the option. */
static kn_status find_labelled(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status;
    bool *flag = NULL, *of_row = NULL;
    ptrdiff_t n = 0;
    if (!w->s.cases)
        return KN_OK;
    KN_TRY(kn_alloc_bool(ctx, w->all->n, &flag));
    KN_TRY(kn_alloc_bool(ctx, w->data->n, &of_row));
    KN_TRY(kn_alloc_bool(ctx, w->holdout.n, &w->abnormal));
    KN_TRY(kn_sample_flag(ctx, w->data, w->all, "cases", w->s.cases, flag));
    for (ptrdiff_t i = 0; i < w->all->n; i++)
        of_row[w->all->covariate_row[i]] = flag[i];
    for (ptrdiff_t i = 0; i < w->holdout.n; i++)
        n += w->abnormal[i] = of_row[w->holdout.row[i]];
    kn_log(ctx, KN_LOG_INFO,
           "%td of %td participants have %s; they are scored, but not used for training", n,
           w->holdout.n, w->s.cases);
out:
    kn_free(of_row);
    kn_free(flag);
    return status;
}

/* Set w->site, the sites for metrics_by_site.tsv: levels of {leave_out}, or of the batch
 * columns. */
static kn_status find_sites(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status = KN_OK;
    const kn_table *t = w->data->covariates;
    const kn_encoding *r = &w->all->encoding;
    ptrdiff_t *col = NULL, n = 0;
    KN_TRY(kn_alloc_i(ctx, r->n + 1, &col));
    if (w->s.leave_out)
        col[n++] = kn_column_find(t, w->s.leave_out);
    for (ptrdiff_t k = 0; !w->s.leave_out && k < r->n; k++)
        if (r->column[k].batch)
            col[n++] = kn_column_find(t, r->column[k].name);
    if (n > 0)
        KN_TRY(kn_strata_new(ctx, t, col, n, w->holdout.row, w->holdout.n, &w->site));
out:
    kn_free(col);
    return status;
}

/* Folder of scratch files for `maps` maps of all participants; NULL if they take at most 1/8 of the
 * memory budget. */
static const char *choose_scratch_folder(kn_ctx *ctx, const kn_cv_work *w, double maps)
{
    double bytes = (double)w->data->match.n * (double)w->all->space.T * sizeof(float) * maps;
    return bytes <= kn_mem_budget_of(ctx).bytes / 8 ? NULL
           : w->s.scratch                           ? w->s.scratch
                                                    : kn_scratch_folder();
}

/* Create the join that collects the scores of n participants (row: their rows of the covariates)
 * with the maps of w->write. */
static kn_status new_join(kn_ctx *ctx, const kn_cv_work *w, ptrdiff_t n, const ptrdiff_t *row,
                          const bool *abnormal, kn_join **out)
{
    int maps = __builtin_popcount(w->write & ~(unsigned)KN_WRITE_METRICS);
    kn_join_plan plan = {.s = &w->s,
                         .space = &w->all->space,
                         .n = n,
                         .row = row,
                         .abnormal = abnormal,
                         .n_rows = w->data->n,
                         .write = w->write,
                         .scratch = choose_scratch_folder(ctx, w, maps * (w->s.leave_out ? 2 : 1)),
                         .exclusions = &w->exclusions};
    return kn_join_new(ctx, &plan, out);
}

/* Create the second join: participants of levels with enough controls, without the controls.
 * Nothing without {leave_out}. */
static kn_status plan_adapted(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status = KN_OK;
    kn_holdout *h = &w->holdout;
    if (!w->s.leave_out)
        return KN_OK;
    KN_TRY(kn_alloc_i(ctx, h->n, &w->scored_row));
    KN_TRY(kn_alloc_bool(ctx, h->n, &w->scored_abnormal));
    for (ptrdiff_t i = 0; i < h->n; i++)
        if (h->controls[h->fold[i]] > 0 && !h->control[i]) {
            w->scored_abnormal[w->n_scored] = w->abnormal && w->abnormal[i];
            w->scored_row[w->n_scored++] = h->row[i];
        }
    if (w->n_scored > 0)
        KN_TRY(new_join(ctx, w, w->n_scored, w->scored_row, w->abnormal ? w->scored_abnormal : NULL,
                        &w->adapted));
out:
    return status;
}

/* True if the column of {leave_out} is a batch effect of the models. */
static bool leaves_batch(const kn_cv_work *w)
{
    const kn_table *t = w->data->covariates;
    const kn_encoding *r = &w->all->encoding;
    ptrdiff_t col = kn_column_find(t, w->s.leave_out);
    for (ptrdiff_t k = 0; r->codes && k < r->n; k++)
        if (kn_column_find(t, r->column[k].name) == col)
            return kn_cv_is_batch(w, &r->column[k]);
    return false;
}

/* Warn of levels with too few controls. If {leave_out} is no batch column, no model is adapted, and
 * the controls are dropped. */
static void log_controls(kn_ctx *ctx, kn_cv_work *w)
{
    kn_listing few = {.limit = KN_NAMES_LISTED};
    kn_holdout *h = &w->holdout;
    ptrdiff_t n = 0;
    if (!w->s.leave_out || w->s.cv_controls == 0)
        return;
    if (!leaves_batch(w)) {
        kn_log(ctx, KN_LOG_WARNING,
               "the column of {leave_out=%s} is not a batch effect of the model, so {controls} is "
               "ignored",
               kn_clipped(w->s.leave_out).text);
        memset(h->control, 0, (size_t)h->n * sizeof *h->control);
        memset(h->controls, 0, (size_t)h->folds * sizeof *h->controls);
        return;
    }
    for (int k = 0; k < h->folds; k++)
        if (h->controls[k] == 0) {
            kn_listing_add(&few, h->level.name[k]);
            n++;
        }
    if (n > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %d levels of %s have too few participants for %d controls and one to score, "
               "and are scored "
               "without adaptation: %s",
               n, h->folds, kn_clipped(w->s.leave_out).text, w->s.cv_controls, few.text);
}

kn_status kn_cv_find_ids(kn_ctx *ctx, kn_cv_work *w)
{
    const kn_match *m = &w->data->match;
    const kn_holdout *h = &w->holdout;
    void *memory;
    kn_status status = kn_alloc(ctx, h->n, sizeof *w->id, &memory);
    w->id = memory;
    for (ptrdiff_t i = 0, k = 0; status == KN_OK && i < h->n; i++) { /* both in table order */
        while (m->covariate_row[k] != h->row[i])
            k++;
        w->id[i] = m->id ? m->id[k] : kn_data_participant(w->data, h->row[i]);
    }
    return status;
}

kn_status kn_cv_check_outputs(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status;
    w->files = (kn_crossval){.s = &w->s,
                             .holdout = &w->holdout,
                             .id = w->id,
                             .fold = w->fold,
                             .site = &w->site,
                             .join = w->join,
                             .adapted = w->adapted,
                             .dir = w->s.folder,
                             .options = &w->options};
    KN_TRY(kn_data_files(ctx, w->data, NULL, &w->inputs, &w->options.n_inputs));
    w->options.inputs = w->inputs;
    w->options.force = w->s.force;
    w->options.made = &w->made;
    w->options.pending = &w->pending;
    KN_TRY(kn_created_files_folder(ctx, &w->made, w->s.folder));
    KN_TRY(kn_crossval_check(ctx, &w->files));
    if (w->join)
        KN_TRY(kn_join_check(ctx, w->join, w->s.folder, &w->options));
    if (!w->adapted)
        goto out;
    KN_TRY(kn_path_in_folder(ctx, w->s.folder, "adapted", w->adapted_dir, PATH));
    KN_TRY(kn_created_files_folder(ctx, &w->made, w->adapted_dir));
    KN_TRY(kn_join_check(ctx, w->adapted, w->adapted_dir, &w->options));
out:
    return status;
}

/* Read all data once, with a memory plan for the fits and the joins. Collective. */
static kn_status preload_responses(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status;
    int maps = __builtin_popcount(w->write & ~(unsigned)KN_WRITE_METRICS);
    double joins = w->s.leave_out ? 2 : 1;
    kn_caller_bytes beside = {.participant = joins * kn_join_bytes(1, 0),
                              .response = joins * kn_join_bytes(0, 1),
                              .cell = joins * maps * (double)sizeof(float),
                              .cells_max = kn_mem_budget_of(ctx).bytes / 8};
    KN_TRY(kn_preload_for_caller(ctx, w->data, w->fit, beside, &w->preloaded));
    w->all = kn_preloaded_sample(w->preloaded);
    KN_TRY(kn_cv_settle_kinds(ctx, w));
out:
    return status;
}

kn_status kn_cv_prepare(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_cv_make_options(ctx, w));
    name_label(w);
    KN_TRY(preload_responses(ctx, w));
    KN_TRY(kn_holdout_new(ctx, w->data, &w->s, w->all, &w->holdout));
    KN_TRY(find_labelled(ctx, w));
    KN_TRY(w->s.leave_out ? kn_holdout_by_level(ctx, w->data, &w->s, w->abnormal, &w->holdout)
                          : kn_holdout_folds(ctx, &w->s, &w->holdout));
    log_controls(ctx, w);
    KN_TRY(find_sites(ctx, w));
    KN_TRY(kn_exclusions_new(ctx, w->data, &w->all->encoding, w->all, &w->exclusions));
    KN_TRY(kn_alloc(ctx, w->holdout.folds, sizeof *w->fold, &memory));
    w->fold = memory;
    KN_TRY(kn_alloc_bool(ctx, w->data->n, &w->use));
    KN_TRY(new_join(ctx, w, w->holdout.n, w->holdout.row, w->abnormal, &w->join));
    KN_TRY(plan_adapted(ctx, w));
    KN_TRY(kn_cv_find_ids(ctx, w));
    if (kn_ctx_comm(ctx)->rank == 0)
        KN_TRY(kn_cv_check_outputs(ctx, w));
    KN_TRY(check_sites(ctx, w));
out:
    return status;
}
