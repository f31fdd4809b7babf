/* Implements empty_levels.h: counts observed responses per level of each category term. A level
 * without any observed value of a response has no effect that could be imputed. */
#include "gp/missing/empty_levels.h"

#include <math.h>

#include "gp/missing/impute.h"

#include "la/la.h"

void kn_impute_levels_clear(kn_impute_levels *l)
{
    for (int k = 0; k < l->n; k++) {
        kn_free(l->category[k].level);
        kn_free(l->category[k].empty);
        kn_free(l->category[k].any);
    }
    *l = (kn_impute_levels){0};
}

/* True if every row of E has entries 0 .. 1 with sum 1: the term of a category itself. Slopes of
 * levels are not. */
static bool are_indicators(kn_mat E)
{
    for (ptrdiff_t i = 0; i < E.rows; i++) {
        double sum = 0;
        for (ptrdiff_t l = 0; l < E.cols; l++) {
            double e = kn_at(E, i, l);
            if (e < 0 || e > 1)
                return false;
            sum += e;
        }
        if (fabs(sum - 1) > 1e-9)
            return false;
    }
    return true;
}

/* Sets c->empty (L x T): a level is empty for a response if it has participants and all of them
 * lack the response; c->any per level and *any become true if there are some. place: see
 * kn_impute_row_index. */
static kn_status find_empty(kn_ctx *ctx, const kn_responses *Y, const ptrdiff_t *place,
                            struct kn_impute_category *c, bool *any)
{
    kn_status status;
    const kn_missing_mask *h = Y->missing;
    ptrdiff_t L = c->E.cols, *size = NULL, *left = NULL;
    KN_TRY(kn_alloc_i(ctx, L, &size));
    KN_TRY(kn_alloc_i(ctx, L, &left));
    for (ptrdiff_t i = 0; i < Y->N; i++)
        if (c->level[i] >= 0)
            size[c->level[i]]++;
    for (ptrdiff_t j = 0; j < Y->T; j++) {
        if (kn_missing_in(h, j) == 0)
            continue;
        for (ptrdiff_t l = 0; l < L; l++)
            left[l] = size[l];
        for (ptrdiff_t row = 0; row < h->N; row++)
            if (kn_is_missing(h, row, j) && place[row] >= 0 && c->level[place[row]] >= 0)
                left[c->level[place[row]]]--;
        for (ptrdiff_t l = 0; l < L; l++)
            if (size[l] > 0 && left[l] == 0)
                c->empty[j * L + l] = c->any[l] = *any = true;
    }
out:
    kn_free(left);
    kn_free(size);
    return status;
}

/* Sets the level of each row of a category (-1: none) and finds the levels that are empty for
 * some response; *any becomes true if there are. c owns the arrays. */
static kn_status category_new(kn_ctx *ctx, const kn_responses *Y, const ptrdiff_t *place,
                              struct kn_impute_category *c, bool *any)
{
    kn_status status;
    void *memory;
    ptrdiff_t L = c->E.cols;
    KN_TRY(kn_alloc_i(ctx, c->E.rows, &c->level));
    KN_TRY(kn_alloc(ctx, L * Y->T, sizeof *c->empty, &memory));
    c->empty = memory;
    KN_TRY(kn_alloc(ctx, L, sizeof *c->any, &memory));
    c->any = memory;
    for (ptrdiff_t i = 0; i < c->E.rows; i++) {
        c->level[i] = -1;
        for (ptrdiff_t l = 0; l < L; l++)
            if (kn_at(c->E, i, l) == 1)
                c->level[i] = l;
    }
    KN_TRY(find_empty(ctx, Y, place, c, any));
out:
    return status;
}

kn_status kn_impute_levels_new(kn_ctx *ctx, const kn_cov *cov, const double *theta, kn_mat X,
                               const kn_responses *Y, kn_impute_levels *out)
{
    kn_status status;
    ptrdiff_t *place = NULL;
    *out = (kn_impute_levels){.T = Y->T};
    KN_TRY(kn_impute_row_index(ctx, Y, &place));
    for (int k = 0; k < cov->n_between; k++) {
        const kn_term *t = &cov->term[k];
        if (t->kernel->course != KN_OF_LEVELS)
            continue;
        kn_mat E = kn_columns(X, t->first, t->count);
        if (!are_indicators(E))
            continue;
        out->category[out->n] = (struct kn_impute_category){.E = E, .w = exp(2 * theta[t->at])};
        KN_TRY(category_new(ctx, Y, place, &out->category[out->n++], &out->any));
    }
out:
    kn_free(place);
    if (status != KN_OK)
        kn_impute_levels_clear(out);
    return status;
}

bool kn_impute_empty(const kn_impute_levels *l, ptrdiff_t i, ptrdiff_t j)
{
    for (int k = 0; k < l->n; k++) {
        const struct kn_impute_category *c = &l->category[k];
        if (c->level[i] >= 0 && c->empty[j * c->E.cols + c->level[i]])
            return true;
    }
    return false;
}

kn_status kn_impute_level_effects(kn_ctx *ctx, const kn_impute_levels *l, kn_mat alpha,
                                  kn_mat effect)
{
    kn_status status = KN_OK;
    kn_mat sums = {0};
    kn_mat_zero(effect);
    for (int k = 0; k < l->n; k++) {
        const struct kn_impute_category *c = &l->category[k];
        KN_TRY(kn_mat_new(ctx, c->E.cols, alpha.cols, &sums));
        kn_gemm(ctx, c->w, KN_T, c->E, KN_N, alpha, 0, sums); /* w E'alpha  L x count */
        for (ptrdiff_t j = 0; j < alpha.cols; j++)
            for (ptrdiff_t i = 0; i < alpha.rows; i++)
                if (c->level[i] >= 0 && c->any[c->level[i]])
                    kn_col(effect, j)[i] += kn_at(sums, c->level[i], j);
        kn_mat_clear(&sums);
    }
out:
    kn_mat_clear(&sums);
    return status;
}
