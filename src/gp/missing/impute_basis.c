/* Leading components of residuals by three algorithms, chosen by n and T. Imputation alternates
 * between these components and the missing cells. */
#include "gp/missing/internal.h"

#include <float.h>
#include <math.h>

#include "base/random.h"
#include "base/sum/block_sums.h"
#include "data/responses/responses.h"
#include "gp/assign_folds.h"
#include "la/eig_leading.h"

enum { STREAM = 41, MORE = 8, PASSES = 3, PASSES_AGAIN = 2 };

/* Computes the leading eigenvectors V (n x P) and eigenvalues s2 (P) of w->A (n x n).
 * KN_ERR_NUMERIC if there is no convergence. */
static kn_status find_leading_eigenpairs(kn_ctx *ctx, kn_eig_leading_work *w, ptrdiff_t n, kn_mat V,
                                         double *s2)
{
    int failed = kn_eig_leading(w, n, V.cols, s2, V);
    if (failed == 0)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_NUMERIC, "the principal components of imputed responses %s",
                   failed < 0 ? "have values that are not finite" : "did not converge");
}

/* Computes the leading P principal components F = E B (n x P) of the residuals E (n x T) and
 * their eigenvalues s2 (P) from the eigenvectors B of E'E (T x T), with all of E in memory; for
 * few responses. */
static kn_status find_by_responses(kn_ctx *ctx, const kn_impute_source *from, kn_mat F, double *s2)
{
    kn_status status;
    kn_mat E = {0}, B = {0};
    kn_eig_leading_work w = {0};
    KN_TRY(kn_mat_new(ctx, from->n, from->T, &E));
    KN_TRY(kn_mat_new(ctx, from->T, F.cols, &B));
    KN_TRY(kn_eig_leading_new(ctx, from->T, F.cols, &w));
    KN_TRY(from->block(ctx, from->self, 0, E));
    kn_syrk(ctx, 1, KN_T, E, 0, kn_sub(w.A, 0, 0, from->T, from->T));
    KN_TRY(find_leading_eigenpairs(ctx, &w, from->T, B, s2));
    kn_gemm(ctx, 1, KN_N, E, KN_N, B, 0, F);
out:
    kn_eig_leading_clear(&w);
    kn_mat_clear(&B);
    kn_mat_clear(&E);
    return status;
}

/* Computes the leading P principal components F (n x P, eigenvectors times s) of the residuals E
 * (n x T) and their eigenvalues s2 (P) from EE' (n x n), an exact sum over blocks of responses. */
static kn_status find_by_samples(kn_ctx *ctx, const kn_impute_source *from, kn_mat F, double *s2)
{
    kn_status status;
    kn_mat E = {0}, part = {0};
    kn_sum sum = {0};
    kn_eig_leading_work w = {0};
    ptrdiff_t n = from->n, width = from->T < KN_BLOCK ? from->T : KN_BLOCK;
    KN_TRY(kn_mat_new(ctx, n, width, &E));
    KN_TRY(kn_mat_new(ctx, n, n, &part));
    KN_TRY(kn_sum_new_lower(ctx, n, from->energy, 2, &sum));
    for (ptrdiff_t first = 0; first < from->T; first += KN_BLOCK) {
        kn_mat b = kn_cols(E, 0, from->T - first < KN_BLOCK ? from->T - first : KN_BLOCK);
        KN_TRY(from->block(ctx, from->self, first, b));
        kn_syrk(ctx, 1, KN_N, b, 0, part);
        kn_sum_add(ctx, &sum, part);
    }
    KN_TRY(kn_sum_value(ctx, &sum, part));
    kn_mat_clear(&E);
    kn_sum_clear(&sum);
    KN_TRY(kn_eig_leading_new(ctx, n, F.cols, &w));
    kn_mat_set(kn_sub(w.A, 0, 0, n, n), part);
    KN_TRY(find_leading_eigenpairs(ctx, &w, n, F, s2));
    for (ptrdiff_t p = 0; p < F.cols; p++)
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(F, p)[i] *= sqrt(fmax(s2[p], 0));
out:
    kn_eig_leading_clear(&w);
    kn_sum_clear(&sum);
    kn_mat_clear(&part);
    kn_mat_clear(&E);
    return status;
}

/* Orthonormalises the columns of Q (n x k) in place: Q <- Q L^-T, Q'Q = LL', twice
 * (CholeskyQR2). */
static kn_status orthonormalise_columns(kn_ctx *ctx, kn_mat Q)
{
    kn_status status = KN_OK;
    kn_mat S = {0};
    KN_TRY(kn_mat_new(ctx, Q.cols, Q.cols, &S));
    for (int k = 0; k < 2; k++) {
        kn_syrk(ctx, 1, KN_T, Q, 0, S);
        double trace = 0;
        for (ptrdiff_t i = 0; i < Q.cols; i++)
            trace += kn_at(S, i, i);
        for (ptrdiff_t i = 0; k == 0 && i < Q.cols; i++) /* regularises directions without energy */
            kn_col(S, i)[i] += 16 * DBL_EPSILON * trace;
        KN_TRY(kn_chol(ctx, S, "products of imputed responses"));
        kn_trsm_right(ctx, KN_T, S, Q);
    }
out:
    kn_mat_clear(&S);
    return status;
}

/* Computes M (n x k) = E E'Q for the residuals E (n x T) and Q (n x k), block by block: reads E
 * once, 4 n T k flops. */
static kn_status multiply_residuals(kn_ctx *ctx, const kn_impute_source *from, kn_mat Q, kn_mat M)
{
    kn_status status;
    kn_mat E = {0}, W = {0};
    KN_TRY(kn_mat_new(ctx, from->n, KN_BLOCK, &E));
    KN_TRY(kn_mat_new(ctx, KN_BLOCK, Q.cols, &W));
    kn_mat_zero(M);
    for (ptrdiff_t first = 0; first < from->T; first += KN_BLOCK) {
        ptrdiff_t count = from->T - first < KN_BLOCK ? from->T - first : KN_BLOCK;
        kn_mat b = kn_cols(E, 0, count), w = kn_sub(W, 0, 0, count, Q.cols);
        KN_TRY(from->block(ctx, from->self, first, b));
        kn_gemm(ctx, 1, KN_T, b, KN_N, Q, 0, w);
        kn_gemm(ctx, 1, KN_N, b, KN_N, w, 1, M);
    }
out:
    kn_mat_clear(&W);
    kn_mat_clear(&E);
    return status;
}

/* Computes Q (n x k) = E W, W (T x k) random normal: a start that does not depend on the order
 * of rows. Reads E once. */
static kn_status sketch_residuals(kn_ctx *ctx, const kn_impute_source *from, kn_rng *rng, kn_mat Q)
{
    kn_status status;
    kn_mat E = {0}, W = {0};
    KN_TRY(kn_mat_new(ctx, from->n, KN_BLOCK, &E));
    KN_TRY(kn_mat_new(ctx, KN_BLOCK, Q.cols, &W));
    for (ptrdiff_t first = 0; first < from->T; first += KN_BLOCK) {
        ptrdiff_t count = from->T - first < KN_BLOCK ? from->T - first : KN_BLOCK;
        kn_mat b = kn_cols(E, 0, count), w = kn_sub(W, 0, 0, count, Q.cols);
        KN_TRY(from->block(ctx, from->self, first, b));
        for (ptrdiff_t p = 0; p < w.cols; p++)
            for (ptrdiff_t j = 0; j < count; j++)
                kn_col(w, p)[j] = kn_rng_normal(rng);
        kn_gemm(ctx, 1, KN_N, b, KN_N, w, first > 0, Q);
    }
out:
    kn_mat_clear(&W);
    kn_mat_clear(&E);
    return status;
}

/* Computes F (n x P) and s2 by subspace iteration with P + MORE columns, from an earlier F
 * (start) or from a random sketch; for many participants. */
static kn_status find_by_passes(kn_ctx *ctx, const kn_impute_source *from, kn_mat start,
                                uint64_t seed, kn_mat F, double *s2)
{
    kn_status status;
    ptrdiff_t k = F.cols + MORE;
    kn_mat Q = {0}, M = {0}, H = {0};
    kn_rng rng;
    double *w = NULL;
    kn_rng_init(&rng, seed, STREAM);
    KN_TRY(kn_mat_new(ctx, from->n, k, &Q));
    KN_TRY(kn_mat_new(ctx, from->n, k, &M));
    KN_TRY(kn_mat_new(ctx, k, k, &H));
    KN_TRY(kn_alloc_d(ctx, k, &w));
    if (start.cols < k)
        KN_TRY(sketch_residuals(ctx, from, &rng, kn_cols(Q, start.cols, k - start.cols)));
    if (start.cols > 0)
        kn_mat_set(kn_cols(Q, 0, start.cols), start);
    for (int pass = 0; pass < (start.cols > 0 ? PASSES_AGAIN : PASSES); pass++) {
        if (pass > 0)
            kn_mat_set(Q, M);
        KN_TRY(orthonormalise_columns(ctx, Q));
        KN_TRY(multiply_residuals(ctx, from, Q, M));
    }
    kn_gemm(ctx, 1, KN_T, Q, KN_N, M, 0, H); /* Q'EE'Q */
    KN_TRY(kn_eig(ctx, H, w));
    for (ptrdiff_t p = 0; p < F.cols; p++) {
        s2[p] = w[k - 1 - p];
        kn_gemm(ctx, sqrt(fmax(s2[p], 0)), KN_N, Q, KN_N, kn_cols(H, k - 1 - p, 1), 0,
                kn_cols(F, p, 1));
    }
out:
    kn_free(w);
    kn_mat_clear(&H);
    kn_mat_clear(&M);
    kn_mat_clear(&Q);
    return status;
}

kn_status kn_impute_eigen(kn_ctx *ctx, const kn_impute_source *from, kn_mat start, uint64_t seed,
                          kn_mat *F, double *s2)
{
    bool small = from->T <= KN_BLOCK && from->T <= from->n;
    kn_status status = small                ? find_by_responses(ctx, from, *F, s2)
                       : from->n <= KN_MANY ? find_by_samples(ctx, from, *F, s2)
                                            : find_by_passes(ctx, from, start, seed, *F, s2);
    double noise = (double)(from->n > 8 ? from->n : 8) * DBL_EPSILON * s2[0];
    ptrdiff_t rank = 0;
    while (status == KN_OK && rank < F->cols && s2[rank] > noise)
        rank++;
    F->cols = rank;
    return status;
}
