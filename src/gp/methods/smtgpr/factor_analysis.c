/* Factor analysis of the responses: a noise variance psi_j for each response, and the directions
 * that responses share [METHOD 1f].
 *
 *     Yw = (Y - 1 mean') Psi^-1/2     1/N Yw'Yw = V diag(w) V',  leading P
 *     loadings = Psi^1/2 V (w - 1)^1/2        psi_j <- var_j - |loadings_j|^2, at least 1e-3 var_j
 *
 * Starts at psi_j = var_j/2 and iterates ten times; then B = V at the last psi. T <= N: the T x T
 * covariance is computed once, and 10 eigenproblems of size T. T > N: each iteration is a block
 * loop over Y, which updates psi of a block and adds the block to the next Yw Yw': 12 loops, 11 N^2
 * T flops, 11 eigenproblems of size N. */
#include "gp/methods/smtgpr/internal.h"

#include <float.h>
#include <math.h>

#include "base/sum/block_sums.h"
#include "gp/basis/basis.h"
#include "gp/block_visitor.h"
#include "la/eig_leading.h"

enum { ROUNDS = 10 };
static const double START = 0.5, FLOOR = 1e-3; /* proportions of the variance of a response */

void kn_factors_clear(kn_factors *f)
{
    kn_free(f->psi);
    kn_mat_clear(&f->B);
    kn_mat_clear(&f->Z);
    *f = (kn_factors){0};
}

typedef struct analysis {
    const kn_responses *Y;
    const double *mean;
    ptrdiff_t P, k; /* requested factors; eigenpairs computed: one more, if there is one */
    double *var, *psi;
    double *gain; /* k  (w - 1)+ */
    kn_eig_leading_work eig;
    double *s2; /* k  of Yw'Yw, or Yw Yw' */
    kn_mat V;   /* T x k, or N x k */
    int failed;
    /* T > N only: */
    int round;
    kn_mat US, L; /* N x k: V s^-1; width x k: rows of Yw'US */
    kn_mat G;     /* N x N */
    kn_sum sum;
    kn_mat B;
} analysis;

/* Frees the work space of the factor analysis. */
static void analysis_clear(analysis *a)
{
    kn_free(a->var);
    kn_free(a->psi);
    kn_free(a->gain);
    kn_free(a->s2);
    kn_eig_leading_clear(&a->eig);
    kn_mat_clear(&a->V);
    kn_mat_clear(&a->US);
    kn_mat_clear(&a->L);
    kn_mat_clear(&a->G);
    kn_mat_clear(&a->B);
    kn_sum_clear(&a->sum);
}

/* Allocates the work space for eigenproblems of size n, which is T or N. The caller clears a,
 * also after an error. */
static kn_status analysis_new(kn_ctx *ctx, ptrdiff_t n, analysis *a)
{
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, a->Y->T, &a->var));
    KN_TRY(kn_alloc_d(ctx, a->Y->T, &a->psi));
    KN_TRY(kn_alloc_d(ctx, a->k, &a->gain));
    KN_TRY(kn_alloc_d(ctx, a->k, &a->s2));
    KN_TRY(kn_eig_leading_new(ctx, n, a->k, &a->eig));
    KN_TRY(kn_mat_new(ctx, n, a->k, &a->V));
out:
    return status;
}

/* Task for kn_la_parallel (self: analysis): leading k eigenpairs of eig.A on one thread, into s2
 * and V; `failed` is the solver's status. */
static void decompose_leading(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    analysis *a = self;
    (void)worker;
    if (to > from)
        a->failed = kn_eig_leading(&a->eig, a->V.rows, a->k, a->s2, a->V);
}

/* Computes the leading eigenpairs of eig.A (Yw'Yw or Yw Yw') and their gains (w - 1)+, w = s2/N.
 * KN_ERR_NUMERIC if there is no convergence, KN_ERR_CANCELLED. */
static kn_status compute_gains(kn_ctx *ctx, analysis *a)
{
    if (a->k > 0)
        kn_la_parallel(ctx, 1, 1, decompose_leading, a);
    if (a->failed != 0)
        return kn_fail(ctx, KN_ERR_NUMERIC, "the factors of the responses %s",
                       a->failed < 0 ? "have values that are not finite" : "did not converge");
    for (ptrdiff_t p = 0; p < a->k; p++)
        a->gain[p] = p < a->P ? fmax(a->s2[p] / (double)a->Y->N - 1, 0) : 0;
    return kn_check_cancel(ctx);
}

/* Returns the next noise variance psi_j of response j: its variance minus what the factors
 * explain, from row `row` of the eigenvectors V (or L), found with the current psi; at least
 * FLOOR of the variance. */
static double compute_next_psi(const analysis *a, ptrdiff_t j, kn_mat V, ptrdiff_t row)
{
    double shared = 0;
    for (ptrdiff_t p = 0; p < a->P && p < a->k; p++)
        shared += kn_at(V, row, p) * kn_at(V, row, p) * a->gain[p];
    return fmax(a->var[j] - a->psi[j] * shared, FLOOR * kn_responses_variance(a->Y, j, a->var[j]));
}

/* Returns the noise variance at which response j starts: half of its variance. */
static double compute_first_psi(const analysis *a, ptrdiff_t j)
{
    return START * kn_responses_variance(a->Y, j, a->var[j]);
}

/* Returns the number of factors, at most a->P: eigenvalues above rounding error, one fewer
 * unless they span all T responses, so that variance remains outside. */
static ptrdiff_t count_factors(const analysis *a)
{
    ptrdiff_t rank = 0, n = a->V.rows > 8 ? a->V.rows : 8;
    while (rank < a->k && a->s2[rank] > a->s2[0] * DBL_EPSILON * (double)n)
        rank++;
    if (rank == a->Y->T || rank == 0) /* full rank, where nothing is left outside, or nothing at
                                       * all */
        return kn_min_size(rank, a->P);
    return kn_min_size(rank - 1, a->P);
}

/* ---- T <= N: covariance matrix ------------------------------------------------------- */

/* Reads all responses into y (N x T), subtracts a->mean, and sets their variances a->var and the
 * first a->psi (T). */
static void read_centred(kn_ctx *ctx, analysis *a, kn_mat y)
{
    kn_responses_block(ctx, a->Y, 0, y);
    for (ptrdiff_t j = 0; j < y.cols; j++) {
        double *c = kn_col(y, j);
        for (ptrdiff_t i = 0; i < y.rows; i++)
            c[i] -= a->mean ? a->mean[j] : 0;
        a->var[j] = kn_sumsq(kn_cols(y, j, 1)) / (double)y.rows;
        a->psi[j] = compute_first_psi(a, j);
    }
}

/* Sets eig.A (T x T, lower triangle) to S divided by psi_i^1/2 psi_j^1/2. */
static void whiten_covariance(analysis *a, kn_mat S)
{
    for (ptrdiff_t j = 0; j < S.cols; j++)
        for (ptrdiff_t i = j; i < S.rows; i++)
            kn_col(a->eig.A, j)[i] = kn_at(S, i, j) / sqrt(a->psi[i] * a->psi[j]);
}

/* Runs the analysis for T <= N on the T x T covariance, which needs one reading of Y: sets psi,
 * B, Z and total of *out. */
static kn_status analyse_covariance(kn_ctx *ctx, analysis *a, kn_factors *out)
{
    kn_status status;
    ptrdiff_t N = a->Y->N, T = a->Y->T;
    kn_mat y = {0}, S = {0};
    KN_TRY(kn_mat_new(ctx, N, T, &y));
    KN_TRY(kn_mat_new(ctx, T, T, &S));
    read_centred(ctx, a, y);
    kn_syrk(ctx, 1, KN_T, y, 0, S);
    for (int round = 0; round <= ROUNDS; round++) {
        whiten_covariance(a, S);
        KN_TRY(compute_gains(ctx, a));
        for (ptrdiff_t j = 0; round < ROUNDS && j < T; j++)
            a->psi[j] = compute_next_psi(a, j, a->V, j);
    }
    ptrdiff_t P = count_factors(a);
    KN_TRY(kn_mat_copy(ctx, kn_cols(a->V, 0, P), &out->B));
    KN_TRY(kn_mat_new(ctx, N, P, &out->Z));
    for (ptrdiff_t j = 0; j < T; j++) {
        double unit = sqrt(a->psi[j]);
        out->total += (double)N * a->var[j] / a->psi[j];
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(y, j)[i] /= unit;
    }
    kn_gemm(ctx, 1, KN_N, y, KN_N, out->B, 0, out->Z);
out:
    kn_mat_clear(&y);
    kn_mat_clear(&S);
    return status;
}

/* ---- T > N: Gram matrices ------------------------------------------------------------ */

/* Begins a loop over Y (self: analysis): allocates the rows of L of one block, and the exact sum
 * for Yw Yw' (N x N) while rounds remain. */
static kn_status begin_pass(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    analysis *a = self;
    kn_status status;
    kn_mat_clear(&a->L);
    kn_sum_clear(&a->sum);
    KN_TRY(kn_mat_new(ctx, plan->width, a->k, &a->L));
    if (a->round <= ROUNDS) /* |yw_j|^2 = N var_j/psi_j */
        KN_TRY(kn_sum_new_lower(ctx, plan->n, 2 * (double)plan->n * (double)plan->T / FLOOR, 2,
                                &a->sum));
out:
    return status;
}

/* Subtracts the means from a block in place and sets the variances of its responses; after the
 * first round computes its rows of L = Yw'US (count x k). */
static void centre_block(kn_ctx *ctx, analysis *a, const kn_block *b)
{
    for (ptrdiff_t j = 0; j < b->count; j++) {
        double *y = kn_col(b->y, j), mean = a->mean ? a->mean[b->first + j] : 0, sum = 0;
        for (ptrdiff_t i = 0; i < b->y.rows; i++) {
            y[i] -= mean;
            sum += y[i] * y[i];
        }
        a->var[b->first + j] = sum / (double)b->y.rows;
    }
    if (a->round == 0 || a->k == 0)
        return;
    kn_gemm(ctx, 1, KN_T, b->y, KN_N, a->US, 0, kn_sub(a->L, 0, 0, b->count, a->k));
    for (ptrdiff_t p = 0; p < a->k; p++)
        for (ptrdiff_t j = 0; j < b->count; j++)
            kn_col(a->L, p)[j] /= sqrt(a->psi[b->first + j]);
}

/* Block visitor (self: analysis): updates psi of the block's responses and adds Yw Yw' to the
 * sum; in the last loop writes its rows of B instead. */
static kn_status update_block(kn_ctx *ctx, void *self, kn_block *b)
{
    analysis *a = self;
    centre_block(ctx, a, b);
    if (a->round > ROUNDS) {
        kn_mat_set(kn_sub(a->B, b->first, 0, b->count, a->B.cols),
                   kn_sub(a->L, 0, 0, b->count, a->B.cols));
        return KN_OK;
    }
    for (ptrdiff_t j = 0; j < b->count; j++) {
        ptrdiff_t r = b->first + j;
        double *y = kn_col(b->y, j);
        a->psi[r] = a->round == 0 ? compute_first_psi(a, r) : compute_next_psi(a, r, a->L, j);
        for (ptrdiff_t i = 0; i < b->y.rows; i++)
            y[i] /= sqrt(a->psi[r]);
    }
    kn_syrk(ctx, 1, KN_N, b->y, 0, a->G);
    kn_sum_add(ctx, &a->sum, a->G);
    return KN_OK;
}

/* Ends an iteration: eigenpairs of the summed Gram matrix Yw Yw' (N x N), and US = V s^-1 (N x
 * k) for the next loop. */
static kn_status decompose_gram(kn_ctx *ctx, analysis *a)
{
    kn_status status;
    ptrdiff_t N = a->Y->N;
    KN_TRY(kn_sum_value(ctx, &a->sum, a->G));
    kn_mat_set(kn_sub(a->eig.A, 0, 0, N, N), a->G);
    KN_TRY(compute_gains(ctx, a));
    for (ptrdiff_t p = 0; p < a->k; p++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(a->US, p)[i] = a->s2[p] > 0 ? kn_at(a->V, i, p) / sqrt(a->s2[p]) : 0;
out:
    return status;
}

/* Runs the analysis for T > N on N x N Gram matrices: one block loop per iteration, and one more
 * for B; sets psi, B, Z and total of *out. */
static kn_status analyse_grams(kn_ctx *ctx, analysis *a, kn_factors *out)
{
    kn_status status;
    ptrdiff_t N = a->Y->N, T = a->Y->T, P;
    kn_block_loop loop = {.Y = *a->Y};
    kn_visitor visitor = {a, KN_BLOCK_Y, begin_pass, update_block, NULL};
    KN_TRY(kn_mat_new(ctx, N, a->k, &a->US));
    KN_TRY(kn_mat_new(ctx, N, N, &a->G));
    for (a->round = 0; a->round <= ROUNDS; a->round++) {
        KN_TRY(kn_block_loop_run(ctx, &loop, &visitor, 1));
        KN_TRY(decompose_gram(ctx, a));
        kn_report_progress(ctx, "factors", a->round + 1, ROUNDS + 1, NAN);
    }
    P = count_factors(a);
    for (ptrdiff_t i = 0; i < N; i++)
        out->total += kn_at(a->G, i, i);
    KN_TRY(kn_mat_new(ctx, T, P, &a->B));
    KN_TRY(kn_mat_new(ctx, N, P, &out->Z));
    if (P > 0)
        KN_TRY(kn_block_loop_run(ctx, &loop, &visitor, 1));
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(out->Z, p)[i] = kn_at(a->V, i, p) * sqrt(a->s2[p]);
    out->B = a->B;
    a->B = kn_mat_none();
out:
    return status;
}

/* ---- both ---------------------------------------------------------------------------- */

/* Returns the number of eigenpairs to compute for P factors: one more, at most min(N, T). */
static ptrdiff_t count_pairs(ptrdiff_t N, ptrdiff_t T, ptrdiff_t P)
{
    return kn_min_size(P + 1, kn_min_size(N, T));
}

kn_status kn_factors_new(kn_ctx *ctx, const kn_responses *Y, const double *mean, ptrdiff_t P,
                         kn_factors *out)
{
    kn_status status;
    ptrdiff_t n = kn_min_size(Y->N, Y->T);
    analysis a = {.Y = Y, .mean = mean, .P = P, .k = count_pairs(Y->N, Y->T, P)};
    kn_basis signs;
    *out = (kn_factors){0};
    KN_TRY(analysis_new(ctx, n, &a));
    KN_TRY((Y->T <= Y->N ? analyse_covariance : analyse_grams)(ctx, &a, out));
    signs = (kn_basis){.B = out->B, .Z = out->Z};
    kn_basis_fix_signs(&signs);
    out->psi = a.psi;
    a.psi = NULL;
out:
    analysis_clear(&a);
    if (status != KN_OK)
        kn_factors_clear(out);
    return status;
}

double kn_factors_flops(ptrdiff_t N, ptrdiff_t T, ptrdiff_t P)
{
    double n = (double)kn_min_size(N, T), k = (double)count_pairs(N, T, P);
    double walks = T > N ? (ROUNDS + 1) * (double)N * (double)N * (double)T : (double)N * n * n;
    return walks + (ROUNDS + 1) * (4.0 / 3 * n * n * n + 2 * n * n * k);
}

void kn_factors_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P)
{
    ptrdiff_t n = kn_min_size(N, T), k = count_pairs(N, T, P), width = kn_block_loop_width(0, T);
    kn_plan_alloc_d(r, KN_NEED_WORK, T, 1);  /* psi */
    kn_plan_alloc_d(r, KN_NEED_BASIS, T, P); /* B */
    kn_plan_alloc_d(r, KN_NEED_WORK, N, P);  /* Z */
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, T, 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, n + 2, k);
    kn_eig_leading_need(r, KN_NEED_SAMPLES, n, k);
    if (T <= N) {
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, N + T, T);
    } else {
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, N, k + N);
        kn_plan_alloc_d(r, KN_NEED_WORK, width, k);
        kn_sum_need(r, KN_NEED_SAMPLES, (kn_sum){N, N, true, {0}}, 2);
        kn_block_loop_need(r, N, width, KN_BLOCK_Y);
    }
    kn_plan_free_to(r, mark);
}
