/* Implements completion.h: two imputations of all participants with a pilot search in between. */
#include "gp/missing/completion.h"

#include <math.h>

#include "gp/assign_folds.h"
#include "gp/basis/range_finder.h"
#include "gp/components/choose_count.h"
#include "gp/components/pilot.h"
#include "io/file/path.h"

void kn_completion_clear(kn_completion *c)
{
    kn_missing_mask_clear(&c->holes);
    kn_free(c->filled);
    *c = (kn_completion){0};
}

/* Moves mean_j to the mean of the completed y_j, and shifts the imputed cells accordingly. */
static kn_status centre_table(kn_ctx *ctx, const kn_responses *Y, kn_scaling *s, double *filled)
{
    kn_status status;
    kn_mat y = {0};
    ptrdiff_t width = kn_min_size(Y->T, KN_BLOCK);
    KN_TRY(kn_mat_new(ctx, Y->N, width, &y));
    for (ptrdiff_t first = 0; first < Y->T; first += width) {
        kn_mat block = kn_cols(y, 0, kn_min_size(Y->T - first, width));
        kn_responses_block(ctx, Y, first, block);
        for (ptrdiff_t k = 0; k < block.cols; k++) {
            ptrdiff_t j = first + k, words = Y->holes->words;
            double mean = 0;
            if (kn_missing_in(Y->holes, j) == 0)
                continue; /* complete: must not change even by rounding */
            for (ptrdiff_t i = 0; i < Y->N; i++)
                mean += kn_at(block, i, k) / (double)Y->N;
            s->mean[j] += mean * s->sd[j];
            for (ptrdiff_t c = Y->holes->before[j * words]; c < Y->holes->before[(j + 1) * words];
                 c++)
                filled[c] -= mean;
        }
    }
out:
    kn_mat_clear(&y);
    return status;
}

/* R0 by the pilot search on the completed responses. */
static kn_status find_r0(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info, kn_search_result *found)
{
    kn_status status;
    kn_basis few = {0};
    kn_range_info range;
    kn_range_options ro = {.passes = KN_RANGE_PASSES, .seed = p->options->search.seed};
    ptrdiff_t P = kn_min_size(KN_PILOT_COMPONENTS, p->Y.T);
    if (p->Y.N <= KN_MANY) {
        KN_TRY(kn_gram_new(ctx, &p->Y, &p->gram));
        KN_TRY(kn_pilot_of_gram(ctx, p, info, found));
        kn_gram_clear(&p->gram);
    } else {
        KN_TRY(kn_basis_range(ctx, &p->Y, P, &ro, &few, &range));
        P = kn_pilot_components(p, few.Z.cols);
        KN_TRY(kn_pilot(ctx, p, p->X, &p->groups, kn_cols(few.Z, 0, P), info, found));
    }
out:
    kn_basis_clear(&few);
    return status;
}

/* KN_ERR_MEMORY if the imputation does not fit the budget: imputed cells of all participants and
 * of one fold, and work space. */
static kn_status check_room(kn_ctx *ctx, const kn_completion *c)
{
    double cells = 8 * (double)c->holes.cells, work = kn_imputer_bytes(&c->filler, c->holes.N);
    double need = (double)kn_memory_now(ctx) + 2 * cells + work, have = (double)kn_memory(ctx);
    if (need <= have)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_MEMORY,
                   "filling in %td missing cells needs %s, but there is room for %s "
                   "({missing_responses=drop} leaves such responses out)",
                   c->holes.cells, kn_size_in_words(need).text, kn_size_in_words(have).text);
}

kn_status kn_completion_new(kn_ctx *ctx, kn_fit_problem *p, kn_scaling *scaling, bool centre,
                            kn_fit_info *info, kn_completion *out)
{
    kn_status status;
    *out = (kn_completion){0};
    KN_TRY(kn_missing_mask_new(ctx, p->Y.Y, scaling->kept, scaling->n_kept, &out->holes));
    if (out->holes.cells == 0)
        goto out;
    p->Y.holes = &out->holes;
    KN_TRY(kn_imputer_new(ctx, &p->spec, p->X, &p->Y, &out->filler));
    out->filler.seed = p->options->search.seed;
    KN_TRY(check_room(ctx, out));
    KN_TRY(kn_alloc_d(ctx, out->holes.cells, &out->filled));
    for (int again = 0; again < 2; again++) {
        kn_report_progress(ctx, "filling in", again, 2, NAN);
        KN_TRY(kn_imputer_run(ctx, &out->filler, NULL, 0, out->filled, &out->info));
        p->Y.filled = out->filled;
        if (centre)
            KN_TRY(centre_table(ctx, &p->Y, scaling, out->filled));
        if (again == 0) {
            KN_TRY(find_r0(ctx, p, info, &out->pilot));
            kn_imputer_move(&out->filler, &out->pilot.at, p->pilot_rank);
        }
    }
    kn_report_progress(ctx, "filling in", 2, 2, NAN);
    p->completion = out;
out:
    if (status != KN_OK || out->holes.cells == 0)
        kn_completion_clear(out);
    return status;
}

kn_status kn_completion_fold(kn_ctx *ctx, const kn_completion *c, const ptrdiff_t *rows,
                             ptrdiff_t n, double **filled, kn_responses *Y)
{
    kn_status status;
    kn_impute_info info;
    KN_TRY(kn_alloc_d(ctx, c->holes.cells, filled));
    KN_TRY(kn_imputer_run(ctx, &c->filler, rows, n, *filled, &info));
    *Y = c->filler.Y;
    Y->filled = *filled;
out:
    return status;
}

void kn_completion_judge(const kn_completion *c, const ptrdiff_t *rows, ptrdiff_t n, double *value)
{
    for (ptrdiff_t j = 0; j < c->holes.T; j++) {
        ptrdiff_t observed = n;
        if (kn_missing_in(&c->holes, j) + KN_IMPUTE_LEAST <= n)
            continue; /* enough values even if all missing cells were in these rows */
        for (ptrdiff_t i = 0; i < n; i++)
            observed -= kn_is_missing(&c->holes, rows[i], j);
        if (observed < KN_IMPUTE_LEAST)
            value[j] = NAN;
    }
}
