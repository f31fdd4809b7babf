/* Implements range_finder.h: orthonormalisation, shifted power passes and Rayleigh-Ritz; the
 * products with the responses are in range_finder_passes.c. It finds the leading components from a
 * few passes over the responses, without the Gram matrix. */
#include "gp/basis/range_finder.h"

#include <float.h>
#include <math.h>

#include "base/mpi/comm.h"
#include "gp/basis/internal.h"
#include "la/la.h"

/* Directions shorter than this, relative to the longest, are rounding of float32 products. */
static const double LOST = 1e-6;

/* Another pass in float32 does not improve a residual below this. */
static const double CONVERGED = 1e-6;

/* If the singular values are spread wider than this, Z = M R^-1 loses more than half its digits in
 * the smallest column: error eps (s_1/s_P)^2. */
static const double WIDE = 1e4;

/* The same for M computed in float32. The columns of Q are then close to those of the basis, each
 * with the rounding of its own sums: error eps32 s_1/s_P. */
static const double WIDE_SINGLE = 300;

/* Flops of the last reading above which float32 responses are multiplied in float32. */
static const double LONG_WORK = 1e10;

typedef kn_readings work;

/* Scales each column of M to Euclidean length 1; columns of zeros stay. */
static void unit_columns(kn_mat M)
{
    for (ptrdiff_t p = 0; p < M.cols; p++) {
        double norm = sqrt(kn_sumsq(kn_cols(M, p, 1)));
        for (ptrdiff_t i = 0; norm > 0 && i < M.rows; i++)
            kn_col(M, p)[i] /= norm;
    }
}

/* Decomposes S = X diag(t) X' (k x k) with t (k) descending; X overwrites S. Root solves.
 * KN_ERR_DATA if t[0] is not positive: no response varies. Collective. */
static kn_status eig_descending(kn_ctx *ctx, kn_mat S, double *t)
{
    ptrdiff_t k = S.rows;
    kn_status status = kn_eig_on_root(ctx, S, t);
    for (ptrdiff_t p = 0; status == KN_OK && p < k / 2; p++) {
        double *a = kn_col(S, p), *b = kn_col(S, k - 1 - p), top = t[k - 1 - p];
        t[k - 1 - p] = t[p];
        t[p] = top;
        for (ptrdiff_t i = 0; i < k; i++) {
            double x = a[i];
            a[i] = b[i];
            b[i] = x;
        }
    }
    if (status == KN_OK && !(t[0] > 0))
        status = kn_fail(ctx, KN_ERR_DATA, "no response varies between these participants");
    return status;
}

/* Returns how many of the k descending values t are greater than `lowest`. */
static ptrdiff_t count_above(const double *t, ptrdiff_t k, double lowest)
{
    ptrdiff_t n = 0;
    while (n < k && t[n] > lowest)
        n++;
    return n;
}

/* Makes nearly orthonormal columns of M (n x k) orthonormal to rounding: M <- M L^-T for S = M'M
 * = LL', and the same for `with` (none: not used). S is overwritten. KN_ERR_NUMERIC if S is not
 * positive definite. */
static kn_status polish_columns(kn_ctx *ctx, kn_mat S, kn_mat M, kn_mat with)
{
    kn_status status;
    KN_TRY(kn_chol(ctx, S, "the matrix of basis angles"));
    kn_trsm_right(ctx, KN_T, S, M);
    if (with.data)
        kn_trsm_right(ctx, KN_T, S, with);
out:
    return status;
}

/* Sets w->Q = orth(w->M) (n x k), the start of the next pass: M X diag(t)^-1/2 X' for M'M = X
 * diag(t) X', which is the orthonormal matrix closest to M, so that columns that are orthonormal
 * already hardly change. If columns of M are linearly dependent, without the last X' and with
 * fewer columns (w->k). Then polished, because this loses the square of M's condition number.
 * Collective. */
static kn_status orthonormalise_sketch(kn_ctx *ctx, work *w)
{
    kn_status status;
    kn_mat S = {0}, X = {0}, old = w->Q;
    double *t = NULL;
    unit_columns(w->M);
    KN_TRY(kn_alloc_d(ctx, w->k, &t));
    KN_TRY(kn_mat_new(ctx, w->k, w->k, &S));
    KN_TRY(kn_mat_new(ctx, w->k, w->k, &X));
    kn_syrk(ctx, 1, KN_T, w->M, 0, S);
    KN_TRY(eig_descending(ctx, S, t));
    old.cols = w->k = count_above(t, w->k, LOST * LOST * t[0]);
    for (ptrdiff_t p = 0; p < w->k; p++)
        for (ptrdiff_t i = 0; i < S.rows; i++)
            kn_col(S, p)[i] /= sqrt(sqrt(t[p]));
    if (w->k == S.cols)
        kn_gemm(ctx, 1, KN_N, S, KN_T, S, 0, X); /* X diag(t)^-1/2 X' */
    else
        for (ptrdiff_t p = 0; p < w->k; p++)
            for (ptrdiff_t i = 0; i < S.rows; i++)
                kn_col(X, p)[i] = kn_at(S, i, p) / sqrt(sqrt(t[p]));
    KN_TRY(kn_rotate(ctx, &w->M, kn_cols(X, 0, w->k)));
    kn_mat angles = kn_sub(S, 0, 0, w->k, w->k);
    kn_syrk(ctx, 1, KN_T, w->M, 0, angles);
    KN_TRY(polish_columns(ctx, angles, w->M, kn_mat_none()));
    w->Q = w->M;
    w->M = old;
out:
    kn_mat_clear(&X);
    kn_mat_clear(&S);
    kn_free(t);
    return status;
}

/* Rotates Q, M (n x k) and, unless NULL, W (T x k) to the axes of Q'M = X diag(t) X', t (k)
 * descending: Q <- Q X, M <- M X, W <- W X. For M = A A'Q the t approximate the squared singular
 * values of A from below. Sets the residual of the first P in w->info. Collective. */
static kn_status rotate_to_axes(kn_ctx *ctx, work *w, double *t, kn_mat *W)
{
    kn_status status;
    kn_mat S = {0};
    double *residual = &w->info.residual;
    KN_TRY(kn_mat_new(ctx, w->k, w->k, &S));
    kn_gemm(ctx, 1, KN_T, w->Q, KN_N, w->M, 0, S);
    KN_TRY(eig_descending(ctx, S, t));
    KN_TRY(kn_rotate(ctx, &w->Q, S));
    KN_TRY(kn_rotate(ctx, &w->M, S));
    if (W)
        KN_TRY(kn_rotate(ctx, W, S));
    *residual = 0;
    for (ptrdiff_t p = 0; p < w->P && p < w->k; p++) {
        double sum = 0;
        for (ptrdiff_t i = 0; i < w->n; i++) {
            double r = kn_at(w->M, i, p) - t[p] * kn_at(w->Q, i, p);
            sum += r * r;
        }
        *residual = fmax(*residual, t[p] > 0 ? sqrt(sum) / t[p] : INFINITY);
    }
    KN_TRY(
        kn_comm_broadcast(ctx, residual, sizeof *residual, 0)); /* it decides on another reading */
out:
    kn_mat_clear(&S);
    return status;
}

/* Ends a power pass: Q = orth(M - shift Q) for M = A A'Q with squared singular values t (k).
 * Directions outside Q, whose values are below t_k, shrink by |t - shift| instead of t. The
 * smallest t is never above the true t_k, so shift = t_k/2 is safe. Collective. */
static kn_status shifted_step(kn_ctx *ctx, work *w, const double *t)
{
    double shift = fmax(t[w->k - 1], 0) / 2;
    for (ptrdiff_t p = 0; p < w->k; p++)
        for (ptrdiff_t i = 0; i < w->n; i++)
            kn_col(w->M, p)[i] -= shift * kn_at(w->Q, i, p);
    return orthonormalise_sketch(ctx, w);
}

/* True if the last reading multiplies in float32: as o->last says or, by size, for float32
 * responses and at least LONG_WORK flops. */
static bool is_single(const kn_range_options *o, const work *w)
{
    double flops = 4 * (double)w->n * (double)w->T * (double)w->k;
    bool large = w->Y.Y.type == KN_F32 && flops >= LONG_WORK;
    return o->last == KN_LAST_SINGLE || (o->last == KN_LAST_BY_SIZE && large);
}

/* Runs the power passes and the last reading, which stores W = A'Q (T x k) in b->B, the
 * approximate squared singular values in t (k) and the means of the responses in `mean` (T).
 * With o->enough a pass may keep W as well: it is the last one if its residual suffices, else it
 * counts as a power pass. Collective. */
static kn_status run_passes(kn_ctx *ctx, work *w, const kn_range_options *o, double *t,
                            double *mean, kn_basis *b)
{
    kn_status status;
    KN_TRY(kn_mat_new(ctx, w->T, w->k, &b->B));
    for (int pass = 0;; pass++) {
        bool last = pass == o->passes || w->info.residual <= CONVERGED, keep;
        w->single = is_single(o, w);
        keep = last || (o->enough > 0 && w->single);
        b->B.cols = w->k;
        if (!keep)
            KN_TRY(kn_reading_power(ctx, w));
        else
            KN_TRY((w->single ? kn_reading_last_single : kn_reading_last)(ctx, w, b, mean));
        w->info.readings++;
        KN_TRY(rotate_to_axes(ctx, w, t, keep ? &b->B : NULL));
        if (last || (keep && w->info.residual <= o->enough))
            break;
        KN_TRY(shifted_step(ctx, w, t));
    }
out:
    return status;
}

/* Ends the range finder: b->B = W R^-1 (T x P) orthonormal and b->Z = M R^-1 (n x P), rotated to
 * the leading w->P axes, or fewer if the rank is lower. t (k): squared singular values; mean: T
 * or NULL, for a projection that replaces a Z without enough digits. M is moved to b->Z.
 * Collective. */
static kn_status finish_basis(kn_ctx *ctx, work *w, double *t, const double *mean, kn_basis *b)
{
    double wide = w->single ? WIDE_SINGLE : WIDE;
    kn_status status;
    kn_mat S = {0};
    double noise = t[0] * DBL_EPSILON * fmax((double)w->n, 8); /* as the rank in kn_gram_new */
    ptrdiff_t k = count_above(t, w->k, noise), found = kn_min_size(w->P, k);
    b->B.cols = w->M.cols = k;
    for (ptrdiff_t p = 0; p < k; p++) {
        double s = sqrt(t[p]);
        for (ptrdiff_t j = 0; j < w->T; j++)
            kn_col(b->B, p)[j] /= s;
        for (ptrdiff_t i = 0; i < w->n; i++)
            kn_col(w->M, p)[i] /= s;
    }
    KN_TRY(kn_mat_new(ctx, k, k, &S));
    KN_TRY(kn_basis_angles(ctx, &w->Y, b->B, S));
    KN_TRY(polish_columns(ctx, S, b->B, w->M));
    b->Z = w->M;
    w->M = kn_mat_none();
    if (t[0] > wide * wide * t[found - 1]) {
        KN_TRY(kn_basis_project(ctx, &w->Y, w->centre ? mean : NULL, b));
        w->info.readings++;
    }
    KN_TRY(kn_basis_ritz(ctx, b, found));
    b->E = fmax(b->total - kn_sumsq(b->Z), 0);
    kn_basis_fix_signs(b);
    w->info.captured = kn_sumsq(b->Z) / b->total;
out:
    kn_mat_clear(&S);
    return status;
}

/* Adds to mean (T) the offset between the responses' own means and the means of scaling s, in
 * standard deviations of s. The readings use responses with their own mean subtracted, so that
 * float32 carries no offset; this converts back. */
static void move_means(const kn_scaling *s, double *mean)
{
    for (ptrdiff_t j = 0; j < s->n_kept; j++)
        mean[j] += (s->mean0[j] - s->mean[j]) / s->sd[j];
}

ptrdiff_t kn_range_columns(ptrdiff_t n, ptrdiff_t T, ptrdiff_t P)
{
    return kn_min_size(P + KN_RANGE_OVERSAMPLE, kn_min_size(n, T));
}

void kn_range_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T, ptrdiff_t P)
{
    ptrdiff_t k = kn_range_columns(n, T, P);
    kn_mem_usage begin = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, T + k, 1);
    kn_readings_need(r, n, T, k); /* in double, which takes more */
    kn_plan_alloc_d(r, KN_NEED_WORK, k, 2 * k);
    kn_project_need(r, n, T, k);
    kn_ritz_need(r, n, T, k);
    kn_plan_free_to(r, begin);
    kn_plan_alloc_d(r, KN_NEED_BASIS, T, k);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, k);
}

kn_status kn_basis_range(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, const kn_range_options *o,
                         kn_basis *out, kn_range_info *info)
{
    kn_status status;
    kn_scaling moved = *Y->scaling;
    ptrdiff_t limit = kn_min_size(Y->N - (o->centre ? 1 : 0), Y->T);
    work w = {.Y = *Y, .centre = o->centre, .n = Y->N, .T = Y->T, .P = P};
    double *t = NULL, *mean = NULL;
    *out = (kn_basis){.pca = true};
    w.info = (kn_range_info){.residual = INFINITY, .readings = 0};
    if (o->centre) {
        moved.mean = moved.mean0;
        w.Y.scaling = &moved;
    }
    KN_TRY(kn_basis_check(ctx, Y, P, limit));
    w.k = kn_range_columns(Y->N, Y->T, P);
    w.total = (o->passes + 2) * Y->T;
    KN_TRY(kn_alloc_d(ctx, w.k, &t));
    KN_TRY(kn_alloc_d(ctx, Y->T, &mean));
    KN_TRY(kn_readings_new(ctx, &w));
    KN_TRY(kn_reading_sketch(ctx, o, &w));
    w.info.readings = w.done > 0;
    KN_TRY(orthonormalise_sketch(ctx, &w));
    KN_TRY(run_passes(ctx, &w, o, t, mean, out));
    KN_TRY(finish_basis(ctx, &w, t, mean, out));
    if (o->centre)
        move_means(Y->scaling, mean);
    for (ptrdiff_t j = 0; o->mean && j < Y->T; j++)
        o->mean[j] = mean[j];
    *info = w.info;
out:
    kn_free(mean);
    kn_free(t);
    kn_readings_clear(&w);
    if (status != KN_OK)
        kn_basis_clear(out);
    return status;
}
