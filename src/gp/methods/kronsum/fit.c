/* MT-Kronsum fitted to some participants at a fixed R0: to all of them, to a fold, or to the folds
 * that choose the shrinkage [METHOD 1g]. Rows and responses have one covariance each, for signal
 * and for noise. */
#include "gp/methods/kronsum/internal.h"

#include <math.h>

#include "gp/likelihood/engine.h"
#include "gp/predict/predict.h"
#include "la/la.h"

enum { EM_STEPS = 200 };             /* after these L-BFGS is faster */
static const double SIGNAL = 0.2;    /* proportion of the covariance of Y at the start */
static const double FLOOR = 1e-6;    /* of the mean eigenvalue of S */
static const double FLOOR_C0 = 1e-3; /* of C0, because the prior needs a positive definite C0 */
static const double LN_2PI = 1.8378770664093455;

void kn_kronsum_fit_clear(kn_kronsum_fit *f)
{
    kn_kronsum_side_clear(&f->side);
    kn_latent_clear(&f->latent);
    kn_kronsum_clear(&f->k);
    kn_mat *m[] = {&f->cov, &f->C0, &f->S0, &f->C, &f->S};
    for (size_t i = 0; i < sizeof m / sizeof *m; i++)
        kn_mat_clear(m[i]);
    *f = (kn_kronsum_fit){0};
}

/* Computes the signal and noise covariance of the structured model with problem->P components,
 * to which C and S are shrunk: C0 = B diag(c) B', S0 = B diag(d (1 + gamma)/(1 + tau)) B' +
 * s2/(1 + tau) (I - BB') (T x T), so that the noise of a new group equals that of structured
 * noise [METHOD 1b]. cov: Y'Y/N. */
static kn_status compute_structured(kn_ctx *ctx, const kn_kronsum_problem *problem, kn_mat cov,
                                    kn_mat C0, kn_mat S0)
{
    kn_status status;
    ptrdiff_t N = problem->Y.rows, T = problem->Y.cols, P = problem->P;
    double *w = NULL, lml, new_scale = 1 / (1 + problem->tau);
    kn_mat B = {0}, Z = {0}, scaled = {0};
    kn_engine e = {0};
    kn_groups groups = {0};
    kn_engine_data data = {.X = problem->X, .groups = &groups, .T = T};
    KN_TRY(kn_mat_copy(ctx, cov, &B));
    KN_TRY(kn_alloc_d(ctx, T, &w));
    KN_TRY(kn_eig(ctx, B, w));
    kn_mat top = kn_cols(B, T - P, P);
    KN_TRY(kn_mat_new(ctx, N, P, &Z));
    KN_TRY(kn_mat_new(ctx, T, P, &scaled));
    kn_gemm(ctx, 1, KN_N, problem->Y, KN_N, top, 0, Z);
    for (ptrdiff_t p = 0; p < T; p++) {
        data.total += (double)N * fmax(w[p], 0);
        data.E += p < T - P ? (double)N * fmax(w[p], 0) : 0;
    }
    data.Z = Z;
    KN_TRY(kn_groups_subset(ctx, problem->groups, NULL, N, &groups));
    KN_TRY(kn_engine_new(ctx, problem->spec, &data, &e));
    KN_TRY(kn_engine_at(ctx, &e, problem->theta, &lml));
    kn_mat_zero(S0);
    for (int which = 0; which < 2; which++) {
        for (ptrdiff_t p = 0; p < P; p++) {
            double noise = e.d[p] * (1 + e.cell[e.in[p]].R0.gamma) - e.s2;
            for (ptrdiff_t j = 0; j < T; j++)
                kn_col(scaled, p)[j] = kn_at(top, j, p) * (which ? noise * new_scale : e.c[p]);
        }
        kn_gemm(ctx, 1, KN_N, scaled, KN_T, top, 0, which ? S0 : C0);
        kn_mirror(which ? S0 : C0);
    }
    for (ptrdiff_t j = 0; j < T; j++)
        kn_col(S0, j)[j] += e.s2 * new_scale;
out:
    kn_engine_clear(&e);
    kn_groups_clear(&groups);
    kn_mat_clear(&scaled);
    kn_mat_clear(&Z);
    kn_mat_clear(&B);
    kn_free(w);
    return status;
}

/* Returns the mean of the diagonal of M. */
static double average_diagonal(kn_mat M)
{
    double sum = 0;
    for (ptrdiff_t j = 0; j < M.cols; j++)
        sum += kn_at(M, j, j);
    return sum / (double)M.cols;
}

kn_status kn_kronsum_fit_new(kn_ctx *ctx, const kn_kronsum_problem *problem, kn_kronsum_fit *out)
{
    kn_status status;
    ptrdiff_t T = problem->Y.cols;
    *out = (kn_kronsum_fit){.problem = *problem};
    kn_mat *square[] = {&out->cov, &out->C0, &out->S0, &out->C, &out->S};
    KN_TRY(kn_kronsum_side_new(ctx, problem, &out->side));
    for (size_t i = 0; i < sizeof square / sizeof *square; i++)
        KN_TRY(kn_mat_new(ctx, T, T, square[i]));
    kn_syrk(ctx, 1 / (double)problem->Y.rows, KN_T, problem->Y, 0, out->cov);
    kn_mirror(out->cov);
    out->floor = FLOOR * (1 - SIGNAL) * average_diagonal(out->cov);
    KN_TRY(kn_kronsum_new(ctx, T, out->side.A.rows, &out->k));
    KN_TRY(compute_structured(ctx, problem, out->cov, out->C0, out->S0));
    KN_TRY(kn_kronsum_floor(ctx, out->S0, out->floor, out->k.one, &out->floored));
    out->data = kn_kronsum_side_data(&out->side);
out:
    if (status != KN_OK)
        kn_kronsum_fit_clear(out);
    return status;
}

void kn_kronsum_fit_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_problem_size small = *s;
    ptrdiff_t T = s->T;
    kn_kronsum_side_need(r, s);
    kn_plan_alloc_d(r, KN_NEED_BASIS, 5 * T, T);
    kn_kronsum_need(r, T, s->M);
    kn_mem_usage mark = r->now;
    small.iso = false;
    small.P = kn_min_size(T, s->P);
    kn_plan_alloc_d(r, KN_NEED_BASIS, T, T + small.P);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, small.P);
    kn_engine_need(r, &small, false, false);
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N,
                    s->F); /* of latent; its decomposition belongs to the side until it is moved */
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M + s->groups, T);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->groups, s->M);
    kn_kronsum_learn_need(r, T, s->M, s->M < s->N);
}

/* Moves the decomposition of R0 (covariance between participants) from the sample side to
 * f->latent, unless it is there already; tau is final then. */
static kn_status move_decomposition(kn_ctx *ctx, kn_kronsum_fit *f)
{
    if (f->latent.n_cells > 0)
        return KN_OK;
    kn_status status = kn_kronsum_latent_new(ctx, &f->side, &f->latent);
    f->data.r = f->latent.cell[0].R0.r;
    return status;
}

/* Sets C and S to fixed proportions of Y'Y/N, the start of EM. */
static void set_start(const kn_kronsum_fit *f)
{
    for (ptrdiff_t j = 0; j < f->cov.cols; j++)
        for (ptrdiff_t i = 0; i < f->cov.rows; i++) {
            kn_col(f->C, j)[i] = SIGNAL * kn_at(f->cov, i, j);
            kn_col(f->S, j)[i] = (1 - SIGNAL) * kn_at(f->cov, i, j);
        }
}

/* Evaluates log likelihood (f->learned.lml) and latent components (f->latent) at the given task
 * covariances f->C (signal) and f->S (noise), T x T each. */
static kn_status evaluate_covariances(kn_ctx *ctx, kn_kronsum_fit *f)
{
    kn_status status;
    KN_TRY(move_decomposition(ctx, f));
    KN_TRY(kn_kronsum_evaluate(ctx, &f->data, f->C, f->S, &f->k));
    f->learned.lml = f->k.lml;
    kn_kronsum_latent_set(ctx, &f->side, &f->k, &f->latent);
out:
    return status;
}

kn_status kn_kronsum_fit_learn(kn_ctx *ctx, kn_kronsum_fit *f, double nu)
{
    kn_status status;
    kn_mat C0 = {0};
    bool ignored = false;
    kn_kronsum_learning how = {.prior = {nu, f->C0, f->S0},
                               .floor = f->floor,
                               .limits = f->problem.limits,
                               .em = EM_STEPS,
                               .stage = f->problem.stage};
    f->learned = (kn_kronsum_learned){.evals = 1};
    if (isinf(nu)) {
        kn_mat_set(f->C, f->C0);
        kn_mat_set(f->S, f->S0);
        f->learned.floored = f->floored;
        return evaluate_covariances(ctx, f);
    }
    KN_TRY(move_decomposition(ctx, f));
    set_start(f);
    if (nu > 0) { /* the prior has no density at a singular C0 or C */
        KN_TRY(kn_mat_copy(ctx, f->C0, &C0));
        KN_TRY(kn_kronsum_floor(ctx, C0, FLOOR_C0 * average_diagonal(f->cov), f->k.one, &ignored));
        KN_TRY(kn_kronsum_floor(ctx, f->C, FLOOR * average_diagonal(f->cov), f->k.one, &ignored));
        how.prior.C0 = C0;
    }
    KN_TRY(
        kn_kronsum_learn(ctx, &f->data, &how, &(kn_kronsum_point){f->C, f->S, &f->k}, &f->learned));
    kn_kronsum_latent_set(ctx, &f->side, &f->k, &f->latent);
out:
    kn_mat_clear(&C0);
    return status;
}

/* ---- group noise --------------------------------------------------------------------- */

typedef struct tau_search {
    kn_kronsum_fit *f;
    kn_mat S; /* (1 + tau) S: the noise covariance of one participant, fixed */
} tau_search;

/* Objective of the search for tau (self: tau_search): log likelihood and its derivative by ln
 * tau = x[0], at the fixed C and at the noise S/(1 + tau). */
static kn_status evaluate_tau(void *self, kn_ctx *ctx, const double *x, double *value, double *grad)
{
    kn_status status;
    tau_search *t = self;
    kn_kronsum_fit *f = t->f;
    double tau = exp(x[0]), slope, trace = 0;
    KN_TRY(kn_kronsum_side_at(ctx, &f->side, tau));
    KN_TRY(kn_kronsum_rows(ctx, f->side.A.rows, &f->k));
    f->data = kn_kronsum_side_data(&f->side);
    for (ptrdiff_t j = 0; j < f->S.cols; j++)
        for (ptrdiff_t i = 0; i < f->S.rows; i++)
            kn_col(f->S, j)[i] = kn_at(t->S, i, j) / (1 + tau);
    KN_TRY(kn_kronsum_evaluate(ctx, &f->data, f->C, f->S, &f->k));
    KN_TRY(kn_kronsum_side_slope(ctx, &f->side, &f->k, &slope));
    for (ptrdiff_t p = 0; p < f->k.T; p++) /* tr G_S S, with W'S W = I */
        trace += 0.5 * (kn_at(f->k.MS, p, p) - f->k.e[p]);
    *value = f->k.lml;
    *grad = tau * (slope - trace / (1 + tau));
out:
    return status;
}

enum { TAU_ROUNDS = 10, TAU_EM = 20 };
static const double MIN_TAU = 1e-4, MAX_TAU = 1e4, SAME_TAU = 0.01;

/* Runs TAU_EM steps of EM, without prior, at the current tau, from f->C and f->S, which are
 * overwritten. KN_ERR_CANCELLED between steps. */
static kn_status run_em_steps(kn_ctx *ctx, kn_kronsum_fit *f)
{
    kn_status status = KN_OK;
    bool ignored = false;
    kn_kronsum_prior none = {0};
    for (int i = 0; i < TAU_EM; i++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_kronsum_evaluate(ctx, &f->data, f->C, f->S, &f->k));
        kn_kronsum_em(ctx, &f->data, &none, &f->k, f->C, f->S);
        KN_TRY(kn_kronsum_floor(ctx, f->S, f->floor, f->k.one, &ignored));
    }
out:
    return status;
}

kn_status kn_kronsum_fit_tau(kn_ctx *ctx, kn_kronsum_fit *f, double *tau)
{
    kn_status status;
    double lower = log(MIN_TAU), upper = log(MAX_TAU), before = 0;
    tau_search t = {.f = f};
    kn_optimise_options o = {.algorithm = KN_LBFGS,
                             .n = 1,
                             .lower = &lower,
                             .upper = &upper,
                             .unit = (double)f->data.N,
                             .f_tolerance = 1e-4};
    kn_optimum best = {.x = {log(0.3)}};
    KN_TRY(kn_mat_new(ctx, f->S.rows, f->S.cols, &t.S));
    set_start(f);
    KN_TRY(kn_kronsum_floor(ctx, f->S, f->floor, f->k.one, &(bool){false}));
    for (int round = 0; round < TAU_ROUNDS; round++) {
        kn_limits limits = {.evals_left = 30};
        double now = f->side.R0.gamma;
        before = best.x[0];
        KN_TRY(run_em_steps(ctx, f));
        for (ptrdiff_t j = 0; j < f->S.cols; j++)
            for (ptrdiff_t i = 0; i < f->S.rows; i++)
                kn_col(t.S, j)[i] = kn_at(f->S, i, j) * (1 + now);
        KN_TRY(kn_maximise(ctx, &o, &limits, evaluate_tau, &t, &best));
        KN_TRY(evaluate_tau(&t, ctx, best.x, &best.value,
                            best.grad)); /* moves the side to the optimum */
        if (round > 0 && fabs(best.x[0] - before) < SAME_TAU)
            break;
    }
    *tau = best.x[0] <= lower + SAME_TAU ? 0 : exp(best.x[0]);
out:
    kn_mat_clear(&t.S);
    return status;
}

/* ---- new participants ---------------------------------------------------------------- */

double kn_kronsum_log_density(ptrdiff_t T, const double *a, const double *v, ptrdiff_t stride,
                              double d, double log_det)
{
    double sum = (double)T * LN_2PI + log_det;
    for (ptrdiff_t p = 0; p < T; p++) {
        double total = v[p * stride] + d, x = a[p * stride];
        sum += log(total) + x * x / total;
    }
    return -0.5 * sum;
}

kn_status kn_kronsum_fit_density(kn_ctx *ctx, const kn_kronsum_fit *f, kn_mat Xs, kn_mat Ys,
                                 double *density)
{
    kn_status status;
    double clamped = 0;
    kn_mat mean = {0}, var = {0};
    KN_TRY(kn_mat_new(ctx, Xs.rows, Ys.cols, &mean));
    KN_TRY(kn_mat_new(ctx, Xs.rows, Ys.cols, &var));
    KN_TRY(kn_latent_predict(ctx, &f->latent, &(kn_predict_input){.X = Xs}, mean, var, &clamped));
    kn_gemm(ctx, 1, KN_N, Ys, KN_N, f->k.W, -1, mean); /* a */
    *density = 0;
    for (ptrdiff_t i = 0; i < Xs.rows; i++)
        *density += kn_kronsum_log_density(Ys.cols, &mean.data[i], &var.data[i], mean.ld,
                                           1 + f->problem.tau, f->k.log_det) /
                    (double)Xs.rows;
out:
    kn_mat_clear(&mean);
    kn_mat_clear(&var);
    return status;
}
