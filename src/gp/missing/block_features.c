/* Features with the block of a category with many levels [cov/indicators.h], for the imputation:
 * products and the decomposition take n m m1 flops instead of n m^2, for m1 other features. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "gp/missing/internal.h"
#include "la/la.h"

void kn_block_features_clear(kn_block_features *f)
{
    kn_mat_clear(&f->thin);
    kn_free(f->level);
    *f = (kn_block_features){0};
}

/* Returns the first value of the block that is not 0, or 0. */
static double find_root(const kn_indicators *b, kn_mat Phi)
{
    for (ptrdiff_t l = 0; l < b->count; l++)
        for (ptrdiff_t i = 0; i < Phi.rows; i++)
            if (kn_at(Phi, i, b->first + l) != 0)
                return kn_at(Phi, i, b->first + l);
    return 0;
}

kn_status kn_block_features_new(kn_ctx *ctx, const kn_indicators *b, kn_mat Phi,
                                kn_block_features *out)
{
    kn_status status;
    ptrdiff_t after = b->first + b->count;
    *out = (kn_block_features){.block = {b->first, b->count, b->first}};
    KN_TRY(kn_alloc_d(ctx, Phi.rows, &out->level));
    KN_TRY(kn_mat_new(ctx, Phi.rows, Phi.cols - b->count, &out->thin));
    out->root = find_root(b, Phi);
    kn_indicator_levels(&out->block, Phi, out->root, out->level);
    kn_mat_set(kn_cols(out->thin, 0, b->first), kn_cols(Phi, 0, b->first));
    kn_mat_set(kn_cols(out->thin, b->first, Phi.cols - after),
               kn_cols(Phi, after, Phi.cols - after));
out:
    if (status != KN_OK)
        kn_block_features_clear(out);
    return status;
}

void kn_block_features_times(kn_ctx *ctx, const kn_block_features *f, kn_mat R, kn_mat out)
{
    kn_indicator_product(ctx, &f->block, 1, f->thin, f->level, f->root, NULL, R, 0, out);
}

void kn_block_features_transposed(kn_ctx *ctx, const kn_block_features *f, kn_mat U, kn_mat out)
{
    ptrdiff_t first = f->block.first, count = f->block.count, after = f->thin.cols - first;
    kn_gemm(ctx, 1, KN_T, kn_cols(f->thin, 0, first), KN_N, U, 0,
            kn_sub(out, 0, 0, first, out.cols));
    kn_gemm(ctx, 1, KN_T, kn_cols(f->thin, first, after), KN_N, U, 0,
            kn_sub(out, first + count, 0, after, out.cols));
    for (ptrdiff_t j = 0; j < out.cols; j++) {
        double *to = kn_col(out, j) + first;
        memset(to, 0, (size_t)count * sizeof *to);
        for (ptrdiff_t i = 0; i < U.rows; i++)
            to[(ptrdiff_t)f->level[i]] += f->root * kn_at(U, i, j);
    }
}

kn_status kn_block_features_decompose(kn_ctx *ctx, const kn_block_features *f, kn_mat *U,
                                      double **r)
{
    kn_status status;
    ptrdiff_t m1 = f->thin.cols, m = m1 + f->block.count, k = 0;
    kn_mat G = {0}, C = {0}, V = {0};
    double *D = NULL, *w = NULL;
    KN_TRY(kn_mat_new(ctx, m1, m1, &G));
    KN_TRY(kn_mat_new(ctx, f->block.count, m1, &C));
    KN_TRY(kn_mat_new(ctx, m, m, &V));
    KN_TRY(kn_alloc_d(ctx, f->block.count, &D));
    KN_TRY(kn_alloc_d(ctx, m, &w));
    KN_TRY(kn_alloc_d(ctx, m, r));
    kn_syrk(ctx, 1, KN_T, f->thin, 0, G);
    for (ptrdiff_t i = 0; i < f->thin.rows; i++)
        D[(ptrdiff_t)f->level[i]]++;
    for (ptrdiff_t l = 0; l < f->block.count; l++)
        D[l] *= f->root * f->root;
    for (ptrdiff_t j = 0; j < m1; j++)
        for (ptrdiff_t i = 0; i < f->thin.rows; i++)
            kn_col(C, j)[(ptrdiff_t)f->level[i]] += f->root * kn_at(f->thin, i, j);
    KN_TRY(kn_indicator_eig(ctx, &f->block, D, C, G, V, w));
    double lowest = (double)m * DBL_EPSILON * w[m - 1];
    while (k < m && !(w[k] > lowest))
        k++;
    KN_TRY(kn_mat_new(ctx, f->thin.rows, m - k, U));
    kn_block_features_times(ctx, f, kn_cols(V, k, m - k), *U);
    for (ptrdiff_t i = 0; i < U->cols; i++) {
        (*r)[i] = w[k + i];
        for (ptrdiff_t row = 0; row < U->rows; row++)
            kn_col(*U, i)[row] /= sqrt(w[k + i]); /* Phi W r^-1/2 */
    }
out:
    kn_free(D);
    kn_free(w);
    kn_mat_clear(&G);
    kn_mat_clear(&C);
    kn_mat_clear(&V);
    return status;
}
