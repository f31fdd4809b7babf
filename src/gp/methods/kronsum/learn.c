/* Learns C and S of MT-Kronsum by maximum likelihood, or shrunk to (C0, S0) by a prior [METHOD 1g].
 *
 * EM first, which is monotone and keeps C positive semidefinite; then L-BFGS in the coordinates Q,
 * W of the point where EM stopped, in which noise has covariance I and signal diag(c):
 *
 *     C = Q X X' Q'     X upper triangular, from diag(c)^1/2      dX = 2 G_C X
 *     S = Q Z Z' Q' + floor I     Z lower triangular, from I      dZ = 2 G_S Z
 *
 * Each evaluation is one kn_kronsum_evaluate; L-BFGS needs 26 T^2 doubles. */
#include "gp/methods/kronsum/internal.h"

#include <math.h>

#include "base/machine.h"
#include "la/la.h"

/* Nats per number of Y that a step must gain. */
static const double TOLERANCE = 1e-7;

/* Returns why no further evaluation is allowed after `evals` of them (KN_STOP_CANCELLED,
 * _MAX_EVALS or _MAX_SECONDS), or -1. */
static int find_stop(const kn_ctx *ctx, const kn_limits *limits, int evals)
{
    if (kn_cancelled(ctx))
        return KN_STOP_CANCELLED;
    if (evals > 0 && limits->evals_left == 0)
        return KN_STOP_MAX_EVALS;
    if (evals > 0 && limits->deadline > 0 && kn_clock() > limits->deadline)
        return KN_STOP_MAX_SECONDS;
    return -1;
}

/* Runs EM for C and S from the point *at until a step gains too little or a limit is reached. C,
 * S and k are left at the same point, the last one evaluated; *out records objective, steps and
 * reason of the stop, *limits what is left. */
static kn_status run_em(kn_ctx *ctx, const kn_kronsum_data *data, const kn_kronsum_learning *how,
                        kn_limits *limits, const kn_kronsum_point *at, kn_kronsum_learned *out)
{
    kn_status status;
    kn_kronsum *k = at->k;
    kn_mat C = at->C, S = at->S;
    int stop = -1;
    double lowest = TOLERANCE * (double)data->N * (double)data->T;
    KN_TRY(kn_kronsum_floor(ctx, S, how->floor, k->one, &out->floored));
    for (;;) {
        double before = out->objective;
        KN_TRY(kn_kronsum_evaluate(ctx, data, C, S, k));
        out->objective = k->lml + kn_kronsum_log_prior(ctx, &how->prior, k, NULL, NULL);
        if (limits->evals_left > 0)
            limits->evals_left--;
        if (how->stage)
            kn_report_progress(ctx, how->stage, out->evals + 1, 0, k->lml);
        bool converged = out->evals++ > 0 && out->objective - before < lowest;
        stop = find_stop(ctx, limits, out->evals);
        if (stop >= 0 || converged || out->em_steps == how->em)
            break;
        kn_kronsum_em(ctx, data, &how->prior, k, C, S);
        KN_TRY(kn_kronsum_floor(ctx, S, how->floor, k->one, &out->floored));
        out->em_steps++;
    }
    out->em_lml = out->lml = k->lml;
    out->stop = stop >= 0 ? (kn_stop)stop : KN_STOP_CONVERGED;
out:
    return status;
}

/* ---- L-BFGS in the coordinates of the end of EM -------------------------------------- */

typedef struct whitened {
    const kn_kronsum_learning *how;
    kn_kronsum_data data;
    kn_kronsum_prior prior;
    kn_mat Q;            /* T x T  at the end of EM */
    kn_mat A, E, C0, S0; /* in these coordinates */
    kn_mat lowest;       /* floor W'W */
    kn_mat X, Z, C, S, GC, GS;
    kn_kronsum *k;
    double shift;
} whitened;

static void whitened_clear(whitened *w)
{
    kn_mat *m[] = {&w->Q, &w->A, &w->E, &w->C0, &w->S0, &w->lowest,
                   &w->X, &w->Z, &w->C, &w->S,  &w->GC, &w->GS};
    for (size_t i = 0; i < sizeof m / sizeof *m; i++)
        kn_mat_clear(m[i]);
}

/* Allocates and computes *out = W'M W (T x T, owned by the caller); work: T x T. */
static kn_status new_rotated(kn_ctx *ctx, kn_mat W, kn_mat M, kn_mat work, kn_mat *out)
{
    kn_status status = kn_mat_new(ctx, M.rows, M.cols, out);
    if (status != KN_OK)
        return status;
    kn_gemm(ctx, 1, KN_N, M, KN_N, W, 0, work);
    kn_gemm(ctx, 1, KN_T, W, KN_N, work, 0, *out);
    return KN_OK;
}

/* Prepares L-BFGS: data and prior in the coordinates W of the end of EM, in which C is diagonal
 * and S = I, and work space. The caller clears w, also after an error. */
static kn_status whitened_new(kn_ctx *ctx, const kn_kronsum_data *data,
                              const kn_kronsum_learning *how, kn_kronsum *k, whitened *w)
{
    kn_status status;
    ptrdiff_t T = k->T;
    kn_mat *square[] = {&w->X, &w->Z, &w->C, &w->S, &w->GC, &w->GS, &w->lowest};
    w->how = how;
    w->k = k;
    w->shift = -0.5 * (double)data->N * k->log_det;
    KN_TRY(kn_mat_copy(ctx, k->Q, &w->Q));
    KN_TRY(kn_mat_new(ctx, data->A.rows, T, &w->A));
    kn_gemm(ctx, 1, KN_N, data->A, KN_N, k->W, 0, w->A);
    if (data->E.data)
        KN_TRY(new_rotated(ctx, k->W, data->E, k->one, &w->E));
    w->data = *data;
    w->data.A = w->A;
    w->data.E = w->E;
    w->prior = how->prior;
    if (how->prior.nu > 0) {
        KN_TRY(new_rotated(ctx, k->W, how->prior.C0, k->one, &w->C0));
        KN_TRY(new_rotated(ctx, k->W, how->prior.S0, k->one, &w->S0));
        w->prior.C0 = w->C0;
        w->prior.S0 = w->S0;
    }
    for (size_t i = 0; i < sizeof square / sizeof *square; i++)
        KN_TRY(kn_mat_new(ctx, T, T, square[i]));
    kn_syrk(ctx, how->floor, KN_T, k->W, 0, w->lowest);
    kn_mirror(w->lowest);
out:
    return status;
}

/* Reads the factors X and Z (T x T) of C and S from the parameter vector x (T (T + 1)): upper
 * triangle of X by rows, lower triangle of Z by columns. The largest c is the last: its column
 * of X is complete, so that the range of a rank-one C can rotate. With a lower triangle it could
 * not, and the search would stop where the likelihood still increases. */
static void unpack_factors(const double *x, kn_mat X, kn_mat Z)
{
    for (ptrdiff_t j = 0; j < X.cols; j++)
        for (ptrdiff_t i = j; i < X.rows; i++)
            kn_col(X, i)[j] = *x++;
    for (ptrdiff_t j = 0; j < Z.cols; j++)
        for (ptrdiff_t i = j; i < Z.rows; i++)
            kn_col(Z, j)[i] = *x++;
}

/* Writes the triangles of X and Z (T x T) to the vector x, the inverse of unpack_factors. */
static void pack_factors(kn_mat X, kn_mat Z, double *x)
{
    for (ptrdiff_t j = 0; j < X.cols; j++)
        for (ptrdiff_t i = j; i < X.rows; i++)
            *x++ = kn_at(X, j, i);
    for (ptrdiff_t j = 0; j < Z.cols; j++)
        for (ptrdiff_t i = j; i < Z.rows; i++)
            *x++ = kn_at(Z, i, j);
}

/* Writes the start of L-BFGS, the end of EM, to x: X = diag(c)^1/2, Z Z' = I - floor W'W, to
 * which a multiple of I is added if S is at its floor. */
static void pack_start(kn_ctx *ctx, whitened *w, double *x)
{
    static const double AT_FLOOR = 1e-10;
    for (double more = 0;; more = more > 0 ? 10 * more : AT_FLOOR) {
        for (ptrdiff_t j = 0; j < w->Z.cols; j++)
            for (ptrdiff_t i = 0; i < w->Z.rows; i++)
                kn_col(w->Z, j)[i] = (i == j) * (1 + more) - kn_at(w->lowest, i, j);
        if (kn_is_positive(ctx, w->Z))
            break;
    }
    for (ptrdiff_t j = 0; j < w->Z.cols; j++) {
        for (ptrdiff_t i = 0; i < j; i++)
            kn_col(w->Z, j)[i] = 0;
        kn_col(w->X, j)[j] = sqrt(w->k->c[j]);
    }
    pack_factors(w->X, w->Z, x);
}

/* Computes w->C = X X' and w->S = Z Z' + floor W'W (T x T, both triangles) from the parameter
 * vector x. */
static void compute_covariances(kn_ctx *ctx, whitened *w, const double *x)
{
    unpack_factors(x, w->X, w->Z);
    kn_syrk(ctx, 1, KN_N, w->X, 0, w->C);
    kn_mat_set(w->S, w->lowest);
    kn_syrk(ctx, 1, KN_N, w->Z, 1, w->S);
    kn_mirror(w->C);
    kn_mirror(w->S);
}

/* Objective of L-BFGS (self: whitened): log likelihood plus log prior and its gradient by X and
 * Z at the parameter vector x; -inf outside the domain, where C or S is singular. */
static kn_status evaluate_objective(void *self, kn_ctx *ctx, const double *x, double *value,
                                    double *grad)
{
    whitened *w = self;
    compute_covariances(ctx, w, x);
    kn_mat_set(w->k->one, w->S);
    *value = -INFINITY;
    if (!kn_is_positive(ctx, w->k->one)) /* step too long */
        return KN_OK;
    kn_status status = kn_kronsum_evaluate(ctx, &w->data, w->C, w->S, w->k);
    if (status != KN_OK)
        return status;
    kn_kronsum_gradient(ctx, w->k, w->GC, w->GS);
    *value = w->k->lml + w->shift + kn_kronsum_log_prior(ctx, &w->prior, w->k, &w->GC, &w->GS);
    if (!isfinite(*value)) { /* C is singular: the prior has no density */
        *value = -INFINITY;
        return KN_OK;
    }
    kn_gemm(ctx, 2, KN_N, w->GC, KN_N, w->X, 0, w->C);
    kn_gemm(ctx, 2, KN_N, w->GS, KN_N, w->Z, 0, w->S);
    pack_factors(w->C, w->S, grad);
    return KN_OK;
}

/* Continues the maximisation by L-BFGS from the end of EM; at->C and S are set to the optimum in
 * original coordinates and at->k is evaluated there. *out records the result. */
static kn_status run_lbfgs(kn_ctx *ctx, const kn_kronsum_data *data, const kn_kronsum_learning *how,
                           kn_limits *limits, const kn_kronsum_point *at, kn_kronsum_learned *out)
{
    kn_status status;
    kn_kronsum *k = at->k;
    kn_mat C = at->C, S = at->S;
    whitened w = {0};
    double *x = NULL;
    kn_large_optimum best = {0};
    kn_large_options o = {.n = k->T * (k->T + 1),
                          .unit = (double)data->N,
                          .f_tolerance = TOLERANCE * (double)data->N * (double)data->T,
                          .stage = how->stage};
    KN_TRY(whitened_new(ctx, data, how, k, &w));
    KN_TRY(kn_alloc_d(ctx, o.n, &x));
    pack_start(ctx, &w, x);
    best.x = x;
    status = kn_maximise_large(ctx, &o, limits, evaluate_objective, &w, &best);
    if (status == KN_ERR_CANCELLED) { /* before the first step: keep the point of EM */
        out->stop = KN_STOP_CANCELLED;
        status = kn_kronsum_evaluate(ctx, data, C, S, k);
        goto out;
    }
    KN_TRY(status);
    compute_covariances(ctx, &w, x);
    for (int which = 0; which < 2; which++) { /* Q . Q' */
        kn_gemm(ctx, 1, KN_N, w.Q, KN_N, which ? w.S : w.C, 0, k->one);
        kn_gemm(ctx, 1, KN_N, k->one, KN_T, w.Q, 0, which ? S : C);
        kn_mirror(which ? S : C);
    }
    KN_TRY(kn_kronsum_evaluate(ctx, data, C, S, k));
    out->lml = k->lml;
    out->objective = k->lml + kn_kronsum_log_prior(ctx, &how->prior, k, NULL, NULL);
    out->evals += best.evals;
    out->stop = best.stop;
    out->projected = best.projected;
out:
    kn_free(x);
    whitened_clear(&w);
    return status;
}

kn_status kn_kronsum_learn(kn_ctx *ctx, const kn_kronsum_data *data, const kn_kronsum_learning *how,
                           const kn_kronsum_point *at, kn_kronsum_learned *out)
{
    kn_limits limits = how->limits;
    *out = (kn_kronsum_learned){.objective = -INFINITY};
    kn_status status = run_em(ctx, data, how, &limits, at, out);
    if (status != KN_OK || out->stop != KN_STOP_CONVERGED)
        return status;
    return run_lbfgs(ctx, data, how, &limits, at, out);
}

void kn_kronsum_learn_need(kn_mem_plan *r, ptrdiff_t T, ptrdiff_t m, bool low)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_BASIS, 10 * T + (low ? T : 0), T); /* with C0 and S0 */
    kn_plan_alloc_d(r, KN_NEED_WORK, m, T);
    kn_plan_alloc_d(r, KN_NEED_BASIS, T, T + 1);
    kn_maximise_large_need(r, T * (T + 1));
    kn_eig_need(r, KN_NEED_BASIS, T);
    kn_plan_free_to(r, mark);
}
