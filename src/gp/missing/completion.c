/* Implements completion.h: the imputer of a sample, and the imputed cells of one fold. Methods see
 * a sample without missing cells after it. */
#include "gp/missing/completion.h"

#include <math.h>
#include <string.h>

#include "cov/lowrank.h"
#include "gp/assign_folds.h"
#include "gp/likelihood/engine.h"

void kn_completion_clear(kn_completion *c)
{
    kn_missing_mask_clear(&c->missing);
    kn_free(c->imputed);
    *c = (kn_completion){0};
}

kn_status kn_completion_fold(kn_ctx *ctx, const kn_completion *c, const ptrdiff_t *rows,
                             ptrdiff_t n, double **imputed, kn_responses *Y)
{
    kn_status status;
    kn_impute_info info;
    KN_TRY(kn_alloc_d(ctx, c->missing.cells, imputed));
    KN_TRY(kn_imputer_run(ctx, &c->filler, rows, n, *imputed, &info));
    *Y = c->filler.Y;
    Y->imputed = *imputed;
out:
    return status;
}

void kn_completion_reject_sparse(const kn_completion *c, const ptrdiff_t *rows, ptrdiff_t n,
                                 double *value)
{
    for (ptrdiff_t j = 0; j < c->missing.T; j++) {
        ptrdiff_t observed = n;
        if (kn_missing_in(&c->missing, j) + KN_IMPUTE_MIN <= n)
            continue; /* enough values even if all missing cells were in these rows */
        for (ptrdiff_t i = 0; i < n; i++)
            observed -= kn_is_missing(&c->missing, rows[i], j);
        if (observed < KN_IMPUTE_MIN)
            value[j] = NAN;
    }
}

/* ---- imputer ---- */

kn_status kn_imputer_new(kn_ctx *ctx, const kn_spec *spec, kn_mat X, const kn_responses *Y,
                         kn_imputer *out)
{
    kn_box box;
    kn_pairs none = {0};
    *out = (kn_imputer){.X = X,
                        .Y = kn_responses_as_given(Y),
                        .cov = kn_cov_between(&spec->sample),
                        .rank = spec->rank,
                        .rank_auto = spec->rank_auto};
    kn_status status = kn_box_new(ctx, &out->cov, &none, X, &box);
    if (status == KN_OK)
        kn_cov_theta(&out->cov, &box.middle, out->theta);
    return status;
}

void kn_imputer_move(kn_imputer *f, const kn_cov_point *at, ptrdiff_t rank)
{
    kn_cov_theta(&f->cov, at, f->theta);
    f->rank = rank;
    f->rank_auto = false;
}

/* Computes low-rank features *Phi (n x m, owned by the caller) of R0 (covariance between
 * participants) over the rows X (n x F), and *block, the block of a category in them, if there is
 * one; Phi stays none if rank_auto finds them insufficient. */
static kn_status compute_low_rank(kn_ctx *ctx, const kn_imputer *f, kn_mat X, kn_mat *Phi,
                                  kn_indicators *block)
{
    static const double FAR = 10; /* times the tolerance, as in a search */
    kn_status status;
    kn_lowrank low = {0};
    kn_mat Z = {0};
    KN_TRY(kn_mat_new(ctx, X.rows, 1, &Z));
    KN_TRY(kn_lowrank_new(ctx, X, Z, NULL, &f->cov, f->rank, &low));
    low.tol = kn_rank_tolerance_search;
    KN_TRY(kn_lowrank_at(ctx, &low, f->theta));
    if (!f->rank_auto || (low.residual_used <= FAR * low.tol && low.m0 <= f->rank)) {
        KN_TRY(kn_mat_new(ctx, X.rows, low.m0, Phi));
        kn_lowrank_copy(&low, *Phi);
        if (low.block.count > 0 && low.root[low.block.first] > 0)
            *block = low.block;
    }
out:
    kn_lowrank_clear(&low);
    kn_mat_clear(&Z);
    return status;
}

/* Computes *Phi (n x m, owned by the caller), the eigenvectors of a dense R0 (covariance between
 * participants) over the rows X (n x F) times r^1/2, without those that have 1e-6 of the trace
 * together. */
static kn_status compute_dense(kn_ctx *ctx, const kn_imputer *f, kn_mat X, kn_mat *Phi)
{
    kn_status status;
    kn_pairs pairs = {0};
    kn_decomp R0 = {0};
    KN_TRY(kn_pairs_within(ctx, X, &f->cov.stats, &pairs));
    KN_TRY(kn_decomp_new(ctx, X.rows, &f->cov, &R0));
    KN_TRY(kn_decomp_compute(ctx, &R0, &pairs, NULL, f->theta));
    double trace = 0, left = 0;
    ptrdiff_t first = 0; /* first eigenvector that is kept: eigenvalues ascend */
    for (ptrdiff_t k = 0; k < R0.m; k++)
        trace += R0.r[k];
    while (first < R0.m - 1 && left + R0.r[first] <= kn_rank_tolerance_search * trace)
        left += R0.r[first++];
    KN_TRY(kn_mat_copy(ctx, kn_cols(R0.U, first, R0.m - first), Phi));
    for (ptrdiff_t k = 0; k < Phi->cols; k++)
        for (ptrdiff_t i = 0; i < X.rows; i++)
            kn_col(*Phi, k)[i] *= sqrt(R0.r[first + k]);
out:
    kn_decomp_clear(&R0);
    kn_pairs_clear(&pairs);
    return status;
}

/* As kn_imputer_features; *block is the block of a category in Phi, if it has one. */
static kn_status compute_features(kn_ctx *ctx, const kn_imputer *f, kn_mat X, kn_mat *Phi,
                                  kn_indicators *block)
{
    kn_status status = KN_OK;
    *Phi = kn_mat_none();
    *block = (kn_indicators){0};
    if (f->rank > 0)
        status = compute_low_rank(ctx, f, X, Phi, block);
    return status == KN_OK && !Phi->data ? compute_dense(ctx, f, X, Phi) : status;
}

kn_status kn_imputer_features(kn_ctx *ctx, const kn_imputer *f, kn_mat X, kn_mat *Phi)
{
    kn_indicators block;
    return compute_features(ctx, f, X, Phi, &block);
}

kn_status kn_imputer_run(kn_ctx *ctx, const kn_imputer *f, const ptrdiff_t *rows, ptrdiff_t n,
                         double *imputed, kn_impute_info *info)
{
    kn_status status;
    kn_mat X = {0};
    kn_impute_levels levels = {0};
    kn_impute_problem p = {.Y = rows ? kn_responses_rows(&f->Y, rows, n) : f->Y,
                           .rounds = KN_IMPUTE_ROUNDS,
                           .tolerance = kn_impute_tolerance,
                           .seed = f->seed,
                           .levels = &levels};
    if (rows) {
        KN_TRY(kn_mat_new(ctx, n, f->X.cols, &X));
        kn_mat_rows(f->X, rows, X);
    } else {
        KN_TRY(kn_mat_copy(ctx, f->X, &X));
    }
    KN_TRY(compute_features(ctx, f, X, &p.Phi, &p.block));
    KN_TRY(kn_impute_levels_new(ctx, &f->cov, f->theta, X, &p.Y, &levels));
    KN_TRY(kn_impute(ctx, &p, imputed, NULL, info));
out:
    kn_impute_levels_clear(&levels);
    kn_mat_clear(&p.Phi);
    kn_mat_clear(&X);
    return status;
}

double kn_imputer_bytes(const kn_imputer *f, ptrdiff_t n)
{
    const kn_responses *Y = &f->Y;
    double N = (double)n, T = (double)Y->T, m = f->rank > 0 ? (double)f->rank : N;
    double width = fmin(T, KN_BLOCK), square = T <= KN_BLOCK && T <= N ? T * T : N * N;
    double eigen = n > KN_MANY ? N * 4 * KN_IMPUTE_MAX : 3 * square;
    return 8 * ((double)Y->missing->cells + 3 * N * m + 6 * N * width + 2 * T * KN_IMPUTE_MAX +
                N * KN_IMPUTE_MAX * (KN_IMPUTE_MAX + 4) + eigen);
}
