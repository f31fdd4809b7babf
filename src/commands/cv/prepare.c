/* kn_cv_prepare and the steps before the first fit: reading, folds, labels, sites, joins, output
 * checks. */
#include <stdio.h>
#include <string.h>

#include "base/memory/budget.h"
#include "base/mpi/comm.h"
#include "commands/common/validate.h"
#include "commands/cv/internal.h"
#include "commands/cv/preload.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/byte_source.h"
#include "io/file/path.h"

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
    kn_preloaded_free(w->held);
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

static kn_status new_flags(kn_ctx *ctx, ptrdiff_t n, bool **out)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof **out, &memory);
    *out = memory;
    return status;
}

/* Sets w->data->label: the label column is not a covariate. */
static void name_label(kn_cv_work *w)
{
    size_t n = w->s.label ? strcspn(w->s.label, "=") : 0;
    if (n == 0 || n >= sizeof w->label)
        return;
    memcpy(w->label, w->s.label, n);
    w->data->label = w->label;
}

/* Finds labelled participants, in the order of the holdout: scored, but never in a training
 * sample. */
static kn_status find_labelled(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status;
    bool *flag = NULL, *of_row = NULL;
    ptrdiff_t n = 0;
    if (!w->s.label)
        return KN_OK;
    KN_TRY(new_flags(ctx, w->all->n, &flag));
    KN_TRY(new_flags(ctx, w->data->n, &of_row));
    KN_TRY(new_flags(ctx, w->holdout.n, &w->abnormal));
    KN_TRY(kn_sample_flag(ctx, w->data, w->all, "label", w->s.label, flag));
    for (ptrdiff_t i = 0; i < w->all->n; i++)
        of_row[w->all->covariate_row[i]] = flag[i];
    for (ptrdiff_t i = 0; i < w->holdout.n; i++)
        n += w->abnormal[i] = of_row[w->holdout.row[i]];
    kn_log(ctx, KN_LOG_INFO, "%td of %td samples are labelled: scored, and never learned from", n,
           w->holdout.n);
out:
    kn_free(of_row);
    kn_free(flag);
    return status;
}

/* Sites for metrics_by_site.tsv: the column of {leave}, or the batch columns. */
static kn_status find_sites(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status = KN_OK;
    const kn_table *t = w->data->covariates;
    const kn_encoding *r = &w->all->recipe;
    ptrdiff_t *col = NULL, n = 0;
    KN_TRY(kn_alloc_i(ctx, r->n + 1, &col));
    if (w->s.leave)
        col[n++] = kn_column_find(t, w->s.leave);
    for (ptrdiff_t k = 0; !w->s.leave && k < r->n; k++)
        if (r->column[k].batch)
            col[n++] = kn_column_find(t, r->column[k].name);
    if (n > 0)
        KN_TRY(kn_strata_new(ctx, t, col, n, w->holdout.row, w->holdout.n, &w->site));
out:
    kn_free(col);
    return status;
}

/* Folder of scratch files for the maps; NULL if they take at most 1/8 of the memory budget. */
static const char *scratch_of(kn_ctx *ctx, const kn_cv_work *w, double maps)
{
    double bytes = (double)w->data->match.n * (double)w->all->space.T * sizeof(float) * maps;
    return bytes <= kn_mem_budget_of(ctx).bytes / 8 ? NULL
           : w->s.scratch                           ? w->s.scratch
                                                    : kn_scratch_folder();
}

/* Makes the join of n participants with the maps of w->write. */
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
                         .scratch = scratch_of(ctx, w, maps * (w->s.leave ? 2 : 1)),
                         .exclusions = &w->exclusions};
    return kn_join_new(ctx, &plan, out);
}

/* Plans the second join: participants of levels with enough controls, without the controls. */
static kn_status plan_adapted(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status = KN_OK;
    kn_holdout *h = &w->holdout;
    if (!w->s.leave)
        return KN_OK;
    KN_TRY(kn_alloc_i(ctx, h->n, &w->scored_row));
    KN_TRY(new_flags(ctx, h->n, &w->scored_abnormal));
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

/* True if the column of {leave} is a batch of the models. */
static bool adaptable(const kn_cv_work *w)
{
    const kn_table *t = w->data->covariates;
    const kn_encoding *r = &w->all->recipe;
    ptrdiff_t col = kn_column_find(t, w->s.leave);
    for (ptrdiff_t k = 0; r->codes && k < r->n; k++)
        if (kn_column_find(t, r->column[k].name) == col)
            return kn_cv_is_batch(w, &r->column[k]);
    return false;
}

/* Warns of levels with too few controls; if {leave} is not a batch column no model is adapted. */
static void tell_controls(kn_ctx *ctx, kn_cv_work *w)
{
    kn_listing few = {.most = KN_NAMES_LISTED};
    kn_holdout *h = &w->holdout;
    ptrdiff_t n = 0;
    if (!w->s.leave || w->s.cv_controls == 0)
        return;
    if (!adaptable(w)) {
        kn_log(ctx, KN_LOG_WARNING,
               "{leave=%s}: it is no batch of the model, so that nobody is adapted on {controls}",
               kn_clipped(w->s.leave).text);
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
               "%td of %d levels of %s have too few people for %d controls and one to be scored, "
               "and are scored without: %s",
               n, h->folds, kn_clipped(w->s.leave).text, w->s.cv_controls, few.text);
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
        w->id[i] = m->id ? m->id[k] : kn_data_person(w->data, h->row[i]);
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
    if (snprintf(w->adapted_dir, PATH, "%s/adapted", w->s.folder) >= PATH) {
        status = kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", w->s.folder);
        goto out;
    }
    KN_TRY(kn_created_files_folder(ctx, &w->made, w->adapted_dir));
    KN_TRY(kn_join_check(ctx, w->adapted, w->adapted_dir, &w->options));
out:
    return status;
}

/* Reads all data with a memory plan for fits and joins. */
static kn_status hold(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status;
    int maps = __builtin_popcount(w->write & ~(unsigned)KN_WRITE_METRICS);
    double joins = w->s.leave ? 2 : 1;
    kn_caller_bytes beside = {.person = joins * kn_join_bytes(1, 0),
                              .response = joins * kn_join_bytes(0, 1),
                              .cell = joins * maps * (double)sizeof(float),
                              .cells_most = kn_mem_budget_of(ctx).bytes / 8};
    KN_TRY(kn_plan_caller_bytes(ctx, w->data, w->fit, beside, &w->held));
    w->all = kn_preloaded_sample(w->held);
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
    KN_TRY(hold(ctx, w));
    KN_TRY(kn_holdout_new(ctx, w->data, &w->s, w->all, &w->holdout));
    KN_TRY(find_labelled(ctx, w));
    KN_TRY(w->s.leave ? kn_holdout_leave(ctx, w->data, &w->s, w->abnormal, &w->holdout)
                      : kn_holdout_folds(ctx, &w->s, &w->holdout));
    tell_controls(ctx, w);
    KN_TRY(find_sites(ctx, w));
    KN_TRY(kn_exclusions_new(ctx, w->data, &w->all->recipe, w->all, &w->exclusions));
    KN_TRY(kn_alloc(ctx, w->holdout.folds, sizeof *w->fold, &memory));
    w->fold = memory;
    KN_TRY(new_flags(ctx, w->data->n, &w->use));
    KN_TRY(new_join(ctx, w, w->holdout.n, w->holdout.row, w->abnormal, &w->join));
    KN_TRY(plan_adapted(ctx, w));
    KN_TRY(kn_cv_find_ids(ctx, w));
    if (kn_ctx_comm(ctx)->rank == 0)
        KN_TRY(kn_cv_check_outputs(ctx, w));
    KN_TRY(kn_cv_check_sites(ctx, w));
out:
    return status;
}
