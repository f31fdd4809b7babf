/* Likelihood of the low-rank Kronecker sum: signal and noise covariance between responses have few
 * factors each [METHOD 1h].
 *
 *     vec(Y) ~ N(0, C (x) R + S (x) O)      C = Psi^1/2 (GG' + gamma I) Psi^1/2     G T x P
 *                                           S = Psi^1/2 (I + HH') Psi^1/2           H T x Q
 *     [G H] = V K  (thin QR, k columns)     Yw = Y Psi^-1/2     Z = Yw V
 *     C_k = K_G K_G' + gamma I     S_k = I + K_H K_H'     W'S_k W = I,  W'C_k W = diag(c)
 *
 * W_R = U diagonalises R and O: U'OU = I, U'RU = diag(r); R = R0 + iso I, where iso is a parameter.
 * Directions outside a U of low rank have r = iso, and then O = I. No matrix is T x T: a value with
 * its gradients takes two passes over Y and 6 N T k flops. */
#include "gp/methods/mtgpr/internal.h"

#include <assert.h>
#include <math.h>

#include "gp/block_visitor.h"
#include "la/la.h"
#include "la/vec.h"

void kn_lowrank_sum_clear(kn_lowrank_sum *w)
{
    kn_mat *m[] = {&w->squares, &w->V, &w->K, &w->W,  &w->SW, &w->Z,
                   &w->UZ,      &w->A, &w->M, &w->Zo, &w->Mo, &w->scaled};
    double *d[] = {w->y2, w->c, w->l0, w->e};
    for (size_t i = 0; i < sizeof m / sizeof *m; i++)
        kn_mat_clear(m[i]);
    for (size_t i = 0; i < sizeof d / sizeof *d; i++)
        kn_free(d[i]);
    *w = (kn_lowrank_sum){0};
}

/* ---- independent of the point -------------------------------------------------------- */

typedef struct measurement {
    kn_lowrank_sum *w;
    kn_mat UY; /* m x width */
} measurement;

/* Begins the loop of kn_lowrank_sum_new (self: measurement): allocates U'y of one block if gamma
 * or group noise needs it. */
static kn_status begin_measurement(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    measurement *v = self;
    bool rotate = v->w->squares.data || v->w->s.omega;
    return rotate ? kn_mat_new(ctx, v->w->m, plan->width, &v->UY) : KN_OK;
}

/* Block visitor of kn_lowrank_sum_new (self: measurement): energies w->y2[j] = y_j'O^-1 y_j of the
 * block's responses and, for gamma, w->squares = (U'y_j).^2 (m x T). */
static kn_status measure_block(kn_ctx *ctx, void *self, kn_block *b)
{
    measurement *v = self;
    kn_lowrank_sum *w = v->w;
    kn_mat UY = kn_cols(v->UY, 0, b->count);
    for (ptrdiff_t j = 0; w->mu && j < b->count; j++)
        for (ptrdiff_t i = 0; i < b->y.rows; i++)
            kn_col(b->y, j)[i] -= w->mu[b->first + j];
    if (UY.data)
        kn_gemm(ctx, 1, KN_T, w->s.U, KN_N, b->y, 0, UY);
    for (ptrdiff_t j = 0; j < b->count; j++) {
        kn_mat own = kn_cols(w->s.omega ? UY : b->y, j, 1);
        w->y2[b->first + j] = kn_sumsq(own);
        for (ptrdiff_t i = 0; w->squares.data && i < w->m; i++)
            kn_col(w->squares, b->first + j)[i] = kn_at(UY, i, j) * kn_at(UY, i, j);
    }
    return KN_OK;
}

kn_status kn_lowrank_sum_new(kn_ctx *ctx, const kn_lowrank_sum_samples *s, const kn_responses *Y,
                             const double *mu, const ptrdiff_t columns[2], bool gamma,
                             kn_lowrank_sum *out)
{
    kn_status status;
    ptrdiff_t N = Y->N, T = Y->T, m = s->U.cols, both = columns[0] + columns[1];
    *out = (kn_lowrank_sum){.s = *s, .Y = *Y, .mu = mu, .N = N, .T = T, .m = m};
    measurement v = {.w = out};
    kn_visitor visitor = {&v, KN_BLOCK_Y, begin_measurement, measure_block, NULL};
    assert(!s->omega || m == N);
    out->P = columns[0];
    out->Q = columns[1];
    out->k = both < T ? both : T;
    KN_TRY(kn_alloc_d(ctx, T, &out->y2));
    if (gamma)
        KN_TRY(kn_mat_new(ctx, m, T, &out->squares));
    KN_TRY(kn_mat_new(ctx, T, both, &out->V));
    KN_TRY(kn_mat_new(ctx, T, out->k, &out->scaled));
    KN_TRY(kn_mat_new(ctx, out->k, both, &out->K));
    KN_TRY(kn_mat_new(ctx, out->k, out->k, &out->W));
    KN_TRY(kn_mat_new(ctx, out->k, out->k, &out->SW));
    KN_TRY(kn_alloc_d(ctx, out->k, &out->c));
    KN_TRY(kn_mat_new(ctx, N, out->k, &out->Z));
    KN_TRY(kn_mat_new(ctx, m, out->k, &out->UZ));
    KN_TRY(kn_mat_new(ctx, m, out->k, &out->A));
    KN_TRY(kn_mat_new(ctx, m, out->k, &out->M));
    if (m < N) {
        KN_TRY(kn_mat_new(ctx, N, out->k, &out->Zo));
        KN_TRY(kn_mat_new(ctx, N, out->k, &out->Mo));
    }
    KN_TRY(kn_alloc_d(ctx, m, &out->l0));
    KN_TRY(kn_alloc_d(ctx, m, &out->e));
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = *Y}, &visitor, 1));
out:
    kn_mat_clear(&v.UY);
    if (status != KN_OK)
        kn_lowrank_sum_clear(out);
    return status;
}

/* ---- value --------------------------------------------------------------------------- */

/* Diagonalises signal and noise of the k directions V together: sets W, S_k W (k x k), c (k,
 * descending) and ln|S_k|, by a Cholesky factor of S_k and a symmetric eigenproblem, k^3 flops. */
static kn_status decompose_factors(kn_ctx *ctx, kn_lowrank_sum *w)
{
    kn_status status;
    ptrdiff_t k = w->k;
    kn_mat S = {0}, C = {0};
    KN_TRY(kn_mat_new(ctx, k, k, &S));
    KN_TRY(kn_mat_new(ctx, k, k, &C));
    if (w->Q > 0)
        kn_syrk(ctx, 1, KN_N, kn_cols(w->K, w->P, w->Q), 0, S);
    if (w->P > 0)
        kn_syrk(ctx, 1, KN_N, kn_cols(w->K, 0, w->P), 0, C);
    for (ptrdiff_t i = 0; i < k; i++) {
        kn_col(S, i)[i] += 1;
        kn_col(C, i)[i] += w->gamma;
    }
    KN_TRY(kn_chol(ctx, S, "the noise between responses"));
    for (ptrdiff_t j = 1; j < k; j++)
        for (ptrdiff_t i = 0; i < j; i++)
            kn_col(S, j)[i] = 0;
    kn_mirror(C);
    kn_trsm_left(ctx, KN_N, S, C);
    kn_trsm_right(ctx, KN_T, S, C); /* L^-1 C L^-T */
    KN_TRY(kn_eig_reproducible(ctx, C, w->c));
    w->log_det_S = 0;
    for (ptrdiff_t i = 0; i < k; i++)
        w->log_det_S += 2 * log(kn_at(S, i, i));
    for (ptrdiff_t i = 0; i < k / 2; i++) { /* descending order */
        double c = w->c[i];
        w->c[i] = w->c[k - 1 - i];
        w->c[k - 1 - i] = c;
    }
    for (ptrdiff_t i = 0; i < k; i++) {
        w->c[i] = fmax(w->c[i], 0); /* rounding */
        kn_mat_set(kn_cols(w->W, i, 1), kn_cols(C, k - 1 - i, 1));
    }
    kn_gemm(ctx, 1, KN_N, S, KN_N, w->W, 0, w->SW); /* L E */
    kn_trsm_left(ctx, KN_T, S, w->W);               /* L^-T E */
out:
    kn_mat_clear(&C);
    kn_mat_clear(&S);
    return status;
}

/* Computes [G H] = V K with orthonormal V (T x k) for the loadings of the point `at`, and what
 * follows from it alone (decompose_factors). */
static kn_status decompose_loadings(kn_ctx *ctx, kn_lowrank_sum *w, const kn_lowrank_sum_point *at)
{
    kn_status status;
    w->gamma = at->gamma;
    w->iso = at->iso;
    w->V.cols = w->P + w->Q;
    kn_mat_set(kn_cols(w->V, 0, w->P), at->G);
    if (w->Q > 0)
        kn_mat_set(kn_cols(w->V, w->P, w->Q), at->H);
    KN_TRY(kn_qr(ctx, &w->V, w->K));
    KN_TRY(decompose_factors(ctx, w));
out:
    return status;
}

/* Block visitor (self: kn_lowrank_sum): adds (y - mu) Psi^-1/2 V of a block to w->Z (N x k);
 * blocks come in order. */
static kn_status project_block(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_lowrank_sum *w = self;
    for (ptrdiff_t j = 0; w->mu && j < b->count; j++)
        for (ptrdiff_t i = 0; i < b->y.rows; i++)
            kn_col(b->y, j)[i] -= w->mu[b->first + j];
    kn_gemm(ctx, 1, KN_N, b->y, KN_N, kn_sub(w->scaled, b->first, 0, b->count, w->k), 1, w->Z);
    return KN_OK;
}

/* Computes the coordinates Z = Y Psi^-1/2 V (N x k), U'Z and A = U'Z W (m x k), and their parts
 * outside U; psi: T. Reads Y once, 2 N T k flops. */
static kn_status project_responses(kn_ctx *ctx, kn_lowrank_sum *w, const double *psi)
{
    kn_status status;
    kn_visitor visitor = {w, KN_BLOCK_Y, NULL, project_block, NULL};
    for (ptrdiff_t q = 0; q < w->k; q++)
        for (ptrdiff_t j = 0; j < w->T; j++)
            kn_col(w->scaled, q)[j] = kn_at(w->V, j, q) / sqrt(psi[j]);
    kn_mat_zero(w->Z);
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = w->Y, .to_the_end = true}, &visitor, 1));
    kn_gemm(ctx, 1, KN_T, w->s.U, KN_N, w->Z, 0, w->UZ);
    kn_gemm(ctx, 1, KN_N, w->UZ, KN_N, w->W, 0, w->A);
    if (w->m < w->N) {
        kn_mat_set(w->Zo, w->Z);
        kn_gemm(ctx, -1, KN_N, w->s.U, KN_N, w->UZ, 1, w->Zo);
        kn_gemm(ctx, 1, KN_N, w->Zo, KN_N, w->W, 0, w->Mo);
    }
out:
    return status;
}

/* Computes w->e (m), the energy along each eigenvector of R0 (covariance between participants)
 * outside the directions V, and e_out, that of the directions outside U. Without gamma they are
 * not separated: e = 0 and e_out has all of it. psi: T. */
static void compute_energies(kn_ctx *ctx, kn_lowrank_sum *w, const double *psi)
{
    double all = 0;
    for (ptrdiff_t j = 0; j < w->T; j++) {
        w->scaled.data[j] = 1 / psi[j];
        all += w->y2[j] / psi[j];
    }
    kn_mat e = kn_mat_cols(w->e, w->m, 1);
    w->e_out = all - kn_sumsq(w->UZ) - (w->Zo.data ? kn_sumsq(w->Zo) : 0);
    kn_mat_zero(e);
    if (!w->squares.data)
        return;
    kn_gemm(ctx, 1, KN_N, w->squares, KN_N, kn_cols(w->scaled, 0, 1), 0, e);
    for (ptrdiff_t i = 0; i < w->m; i++) {
        for (ptrdiff_t q = 0; q < w->k; q++)
            w->e[i] -= kn_at(w->UZ, i, q) * kn_at(w->UZ, i, q);
        w->e_out -= w->e[i];
    }
    if (w->m == w->N)
        w->e_out = 0; /* rounding */
}

/* Returns twice the terms of the negative log likelihood inside V without constants, sum ln L +
 * sum A^2/L, L_iq = (r_i + iso) c_q + 1; sets M = A/L (m x k) and Mo. */
static double sum_inside(kn_lowrank_sum *w)
{
    double sum = 0, out = (double)(w->N - w->m);
    for (ptrdiff_t q = 0; q < w->k; q++) {
        double *M = kn_col(w->M, q), L_out = w->iso * w->c[q] + 1;
        for (ptrdiff_t i = 0; i < w->m; i++) {
            double a = kn_at(w->A, i, q), L = (w->s.r[i] + w->iso) * w->c[q] + 1;
            M[i] = a / L;
            sum += log(L) + a * M[i];
        }
        if (!w->Mo.data)
            continue;
        sum += out * log(L_out) + kn_sumsq(kn_cols(w->Mo, q, 1)) / L_out;
        for (ptrdiff_t i = 0; i < w->N; i++)
            kn_col(w->Mo, q)[i] /= L_out;
    }
    return sum;
}

/* Returns twice the terms of the negative log likelihood outside V without constants, (T - k)
 * sum ln l0 + sum e/l0, l0_i = gamma (r_i + iso) + 1; sets w->l0 (m) and l0_out. */
static double sum_outside(kn_lowrank_sum *w)
{
    double sum = 0, directions = (double)(w->T - w->k);
    w->l0_out = w->gamma * w->iso + 1;
    for (ptrdiff_t i = 0; i < w->m; i++) {
        w->l0[i] = w->gamma * (w->s.r[i] + w->iso) + 1;
        sum += directions * log(w->l0[i]) + w->e[i] / w->l0[i];
    }
    return sum + directions * (double)(w->N - w->m) * log(w->l0_out) + w->e_out / w->l0_out;
}

kn_status kn_lowrank_sum_value(kn_ctx *ctx, kn_lowrank_sum *w, const kn_lowrank_sum_point *at,
                               double *lml)
{
    kn_status status;
    double N = (double)w->N, T = (double)w->T;
    assert(at->gamma == 0 || w->squares.data);
    KN_TRY(decompose_loadings(ctx, w, at));
    KN_TRY(project_responses(ctx, w, at->psi));
    compute_energies(ctx, w, at->psi);
    double sum = sum_inside(w) + sum_outside(w);
    sum += N * (w->log_det_S + kn_vec_sum_log(w->T, at->psi)) + T * w->s.log_det;
    *lml = -0.5 * (N * T * log(2 * M_PI) + sum);
out:
    return status;
}

void kn_lowrank_sum_loadings(kn_ctx *ctx, const kn_lowrank_sum *w, const double *psi,
                             kn_mat loadings)
{
    kn_gemm(ctx, 1, KN_N, w->V, KN_N, w->SW, 0, loadings);
    for (ptrdiff_t q = 0; psi && q < w->k; q++)
        for (ptrdiff_t j = 0; j < w->T; j++)
            kn_col(loadings, q)[j] *= sqrt(psi[j]);
}

void kn_lowrank_sum_outside(const kn_lowrank_sum *w, double *out)
{
    for (ptrdiff_t j = 0; j < w->T; j++) {
        out[j] = 1;
        for (ptrdiff_t q = 0; q < w->k; q++)
            out[j] -= kn_at(w->V, j, q) * kn_at(w->V, j, q);
        out[j] = fmax(out[j], 0); /* rounding */
    }
}

/* The memory of slopes and EM step exceeds that of a value. */
void kn_lowrank_sum_evaluating_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t k)
{
    kn_mem_usage mark = r->now;
    ptrdiff_t width = kn_block_loop_width(0, s->T);
    kn_plan_alloc_d(r, KN_NEED_WORK, k, 4 * k);
    kn_eig_need(r, KN_NEED_WORK, k);
    kn_qr_need(r, KN_NEED_WORK, s->T, k);
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, KN_NEED_WORK, k, 4 * k);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M, 3 * k);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 2 * k);
    if (s->M < s->N)
        kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 2 * k);
    kn_plan_alloc_d(r, KN_NEED_WORK, width, 2 * k);
    kn_block_loop_need(r, s->N, width, KN_BLOCK_Y);
    kn_plan_free_to(r, mark);
}

void kn_lowrank_sum_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t k, bool gamma)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1);
    if (gamma)
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->M, s->T);
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, k);
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, k);
    kn_plan_alloc_d(r, KN_NEED_WORK, k, 3 * k + 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->M < s->N ? 3 * k : k);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M, 3 * k + 2);
    kn_lowrank_sum_evaluating_need(r, s, k);
}
