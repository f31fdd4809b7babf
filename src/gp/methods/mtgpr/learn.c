/* Learns loadings and noise of MTGPR by maximum likelihood at a fixed R0 [METHOD 1h].
 *
 * Starts at the leading principal components: EM steps (monotone), then L-BFGS over G, H, ln psi
 * and, if free, gamma and iso. psi_j >= 1e-3 of the variance of response j: a response that is all
 * signal (Heywood case) would have no maximum. 6 N T k flops per evaluation. */
#include "gp/methods/mtgpr/internal.h"

#include <math.h>
#include <string.h>

#include "base/hash/xxh64.h"
#include "base/machine.h"
#include "gp/basis/range_finder.h"
#include "gp/optimise/optimise.h"

/* Proportions of a component's variance at the start: of signal without noise factors; of signal
 * and of noise with them. */
static const double SIGNAL = 0.5, SIGNAL_WITH_FACTORS = 0.3, NOISE_WITH_FACTORS = 0.5;
static const double MIN_START = 0.1;  /* least noise at the start, of the variance */
static const double MIN = 1e-3;       /* least noise, of the variance */
static const double TOLERANCE = 1e-6; /* nats per number of Y that a step must gain */
enum { ROUND = 100, START_SEED = 1 }; /* evaluations before L-BFGS restarts */

typedef struct learner {
    const kn_mtgpr_plan *plan;
    kn_mtgpr_learned *l;
    kn_lowrank_sum_gradient g;
    double *lowest; /* T  bound of psi */
    double *x, *lower;
    ptrdiff_t n;
    kn_limits limits;
} learner;

void kn_mtgpr_learned_clear(kn_mtgpr_learned *l)
{
    kn_lowrank_sum_clear(&l->low);
    kn_mat_clear(&l->at.G);
    kn_mat_clear(&l->at.H);
    kn_free(l->at.psi);
    *l = (kn_mtgpr_learned){0};
}

/* Frees the work space of the maximisation. */
static void learner_clear(learner *w)
{
    kn_mat_clear(&w->g.G);
    kn_mat_clear(&w->g.H);
    kn_free(w->g.ln_psi);
    kn_free(w->lowest);
    kn_free(w->x);
    kn_free(w->lower);
}

/* Allocates the point w->l->at (G T x P, H T x Q, psi T) and the lower bounds of psi, a
 * thousandth of each response's variance. The caller clears w, also after an error. */
static kn_status learner_new(kn_ctx *ctx, learner *w)
{
    kn_status status;
    kn_mtgpr_learned *l = w->l;
    ptrdiff_t T = l->low.T, P = l->low.P, Q = l->low.Q;
    w->n = T * (P + Q + 1) + w->plan->gamma + w->plan->iso;
    KN_TRY(kn_mat_new(ctx, T, P, &l->at.G));
    KN_TRY(kn_mat_new(ctx, T, Q, &l->at.H));
    KN_TRY(kn_alloc_d(ctx, T, &l->at.psi));
    KN_TRY(kn_alloc_d(ctx, T, &w->lowest));
    for (ptrdiff_t j = 0; j < T; j++)
        w->lowest[j] = MIN * kn_responses_variance(&l->low.Y, j, l->low.y2[j] / (double)l->low.N);
out:
    return status;
}

/* ---- start --------------------------------------------------------------------------- */

/* Sets the columns of the loadings G (T x P) to the leading components of b, with the given
 * proportion of their variance, divided by psi^1/2; further columns stay zero. */
static void add_columns(const kn_basis *b, double proportion, const double *psi, kn_mat G)
{
    double N = (double)b->Z.rows;
    for (ptrdiff_t q = 0; q < G.cols && q < b->B.cols; q++) {
        double size = sqrt(proportion * kn_sumsq(kn_cols(b->Z, q, 1)) / N);
        for (ptrdiff_t j = 0; j < G.rows; j++)
            kn_col(G, q)[j] = size * kn_at(b->B, j, q) / sqrt(psi[j]);
    }
}

/* Sets the start of the maximisation in w->l->at: loadings from principal components of Y (range
 * finder), psi from what they leave of each response. */
static kn_status set_start(kn_ctx *ctx, learner *w)
{
    kn_status status;
    kn_lowrank_sum *low = &w->l->low;
    kn_lowrank_sum_point *at = &w->l->at;
    kn_basis b = {0};
    kn_range_info info;
    kn_range_options o = {.centre = low->mu != NULL, .passes = KN_RANGE_PASSES, .seed = START_SEED};
    double signal = low->Q > 0 ? SIGNAL_WITH_FACTORS : SIGNAL,
           noise = low->Q > 0 ? NOISE_WITH_FACTORS : 0;
    ptrdiff_t limit = kn_min_size(low->N - o.centre, low->T); /* a fold may have fewer: the other
                                                               * columns stay zero */
    KN_TRY(kn_basis_range(ctx, &low->Y, kn_min_size(low->P > low->Q ? low->P : low->Q, limit), &o,
                          &b, &info));
    for (ptrdiff_t j = 0; j < low->T; j++) {
        double variance = w->lowest[j] / MIN, left = variance;
        for (ptrdiff_t q = 0; q < b.B.cols; q++) {
            double proportion = (q < low->P ? signal : 0) + (q < low->Q ? noise : 0);
            left -= proportion * kn_sumsq(kn_cols(b.Z, q, 1)) / (double)low->N * kn_at(b.B, j, q) *
                    kn_at(b.B, j, q);
        }
        at->psi[j] = fmax(left, MIN_START * variance);
    }
    add_columns(&b, signal, at->psi, at->G);
    add_columns(&b, noise, at->psi, at->H);
    at->iso = w->plan->iso ? 1 : 0;
out:
    kn_basis_clear(&b);
    return status;
}

/* ---- EM ------------------------------------------------------------------------------ */

/* Returns the gain in log likelihood (nats) below which the search ends. */
static double compute_tolerance(const learner *w)
{
    return TOLERANCE * (double)w->l->low.N * (double)w->l->low.T;
}

/* True if there is a deadline and the clock is past it. */
static bool is_past_deadline(const learner *w)
{
    return w->limits.deadline > 0 && kn_clock() > w->limits.deadline;
}

/* Runs at most KN_MTGPR_EM steps of EM from the current point, until a step gains too little or
 * a limit is reached; the point after the last step is not evaluated. */
static kn_status run_em_steps(kn_ctx *ctx, learner *w)
{
    kn_status status = KN_OK;
    kn_mtgpr_learned *l = w->l;
    double before = -INFINITY, lml;
    for (int step = 0; step < KN_MTGPR_EM && w->limits.evals_left != 0; step++) {
        if (step > 0 && (kn_cancelled(ctx) || is_past_deadline(w)))
            break;
        KN_TRY(kn_lowrank_sum_value(ctx, &l->low, &l->at, &lml));
        l->evals++;
        if (w->plan->stage)
            kn_report_progress(ctx, w->plan->stage, l->evals, 0, lml);
        if (lml - before < compute_tolerance(w))
            break;
        before = lml;
        KN_TRY(kn_lowrank_sum_em(ctx, &l->low, w->lowest, &l->at));
        if (w->limits.evals_left > 0)
            w->limits.evals_left--;
    }
out:
    return status;
}

/* ---- L-BFGS: x = [G, H, ln psi, gamma, iso], the last two if free -------------------- */

/* Sets the point w->l->at from the parameter vector x = [G, H, ln psi, gamma, iso], the last two
 * if free; the inverse of pack_point. */
static void unpack_point(const learner *w, const double *x)
{
    kn_lowrank_sum_point *at = &w->l->at;
    ptrdiff_t T = w->l->low.T, g = T * w->l->low.P, h = T * w->l->low.Q;
    memcpy(at->G.data, x, (size_t)g * sizeof *x);
    if (h > 0)
        memcpy(at->H.data, x + g, (size_t)h * sizeof *x);
    for (ptrdiff_t j = 0; j < T; j++)
        at->psi[j] = exp(x[g + h + j]);
    x += g + h + T;
    if (w->plan->gamma)
        at->gamma = *x++;
    if (w->plan->iso)
        at->iso = *x;
}

/* Writes the point w->l->at to the vector x: G, H, ln psi and, if free, gamma and iso. */
static void pack_point(const learner *w, double *x)
{
    const kn_lowrank_sum_point *at = &w->l->at;
    ptrdiff_t T = w->l->low.T, g = T * w->l->low.P, h = T * w->l->low.Q;
    memcpy(x, at->G.data, (size_t)g * sizeof *x);
    if (h > 0)
        memcpy(x + g, at->H.data, (size_t)h * sizeof *x);
    for (ptrdiff_t j = 0; j < T; j++)
        x[g + h + j] = log(at->psi[j]);
    x += g + h + T;
    if (w->plan->gamma)
        *x++ = at->gamma;
    if (w->plan->iso)
        *x = at->iso;
}

/* Objective of L-BFGS (self: learner), in the form that kn_maximise_large calls: log likelihood
 * *value and gradient at the parameter vector x. Two passes over Y. */
static kn_status evaluate_objective(void *self, kn_ctx *ctx, const double *x, double *value,
                                    double *grad)
{
    learner *w = self;
    kn_lowrank_sum *low = &w->l->low;
    kn_status status;
    ptrdiff_t T = low->T, g = T * low->P, h = T * low->Q;
    unpack_point(w, x);
    KN_TRY(kn_lowrank_sum_value(ctx, low, &w->l->at, value));
    KN_TRY(kn_lowrank_sum_slopes(ctx, low, &w->l->at, &w->g));
    memcpy(grad, w->g.G.data, (size_t)g * sizeof *grad);
    if (h > 0)
        memcpy(grad + g, w->g.H.data, (size_t)h * sizeof *grad);
    memcpy(grad + g + h, w->g.ln_psi, (size_t)T * sizeof *grad);
    grad += g + h + T;
    if (w->plan->gamma)
        *grad++ = w->g.gamma;
    if (w->plan->iso)
        *grad = w->g.iso;
out:
    return status;
}

/* Allocates the parameter vector, its lower bounds (ln psi, gamma, iso; loadings are free) and
 * the gradient for L-BFGS. */
static kn_status allocate_search(kn_ctx *ctx, learner *w)
{
    kn_status status;
    const kn_lowrank_sum *low = &w->l->low;
    KN_TRY(kn_alloc_d(ctx, w->n, &w->x));
    KN_TRY(kn_alloc_d(ctx, w->n, &w->lower));
    KN_TRY(kn_mat_new(ctx, low->T, low->P, &w->g.G));
    KN_TRY(kn_mat_new(ctx, low->T, low->Q, &w->g.H));
    KN_TRY(kn_alloc_d(ctx, low->T, &w->g.ln_psi));
    ptrdiff_t columns = low->T * (low->P + low->Q);
    for (ptrdiff_t i = 0; i < w->n; i++)
        w->lower[i] = i < columns            ? -INFINITY
                      : i < columns + low->T ? log(w->lowest[i - columns])
                                             : 0;
out:
    return status;
}

/* ---- rounds -------------------------------------------------------------------------- */

/* First round of the maximisation: EM from the point in w->x, whose result replaces it. */
static kn_status run_em(kn_ctx *ctx, learner *w)
{
    kn_status status;
    kn_mtgpr_learned *l = w->l;
    KN_TRY(run_em_steps(ctx, w));
    pack_point(w, w->x);
    unpack_point(w, w->x); /* bit-identical to the start of L-BFGS */
    l->stop = is_past_deadline(w) ? KN_STOP_MAX_SECONDS : KN_STOP_MAX_EVALS;
    l->projected = NAN;
out:
    return status;
}

/* Further round of the maximisation: at most ROUND evaluations of L-BFGS from w->x, whose
 * optimum replaces it; records value and reason of the stop in w->l. Cancelled before the first
 * evaluation, it keeps the point. */
static kn_status run_lbfgs(kn_ctx *ctx, learner *w)
{
    kn_status status;
    kn_mtgpr_learned *l = w->l;
    int left = w->limits.evals_left, limit = left < 0 || left > ROUND ? ROUND : left;
    kn_limits limits = {.evals_left = limit, .deadline = w->limits.deadline};
    kn_large_optimum best = {.x = w->x};
    kn_large_options o = {.n = w->n,
                          .lower = w->lower,
                          .unit = (double)l->low.N,
                          .f_tolerance = compute_tolerance(w),
                          .stage = w->plan->stage};
    status = kn_maximise_large(ctx, &o, &limits, evaluate_objective, w, &best);
    if (status == KN_ERR_CANCELLED) { /* before the first evaluation: keep this point */
        best.stop = KN_STOP_CANCELLED;
        status = KN_OK;
    }
    KN_TRY(status);
    w->limits.evals_left = left < 0 ? left : left - (limit - limits.evals_left);
    unpack_point(w, w->x);
    l->projected = best.projected;
    l->evals += best.evals;
    l->stop = best.stop;
out:
    return status;
}

kn_status kn_mtgpr_learn(kn_ctx *ctx, const kn_lowrank_sum_samples *s, const kn_responses *Y,
                         const double *mu, const kn_mtgpr_plan *plan, kn_mtgpr_learned *out)
{
    kn_status status;
    learner w = {.plan = plan, .l = out, .limits = plan->limits};
    *out = (kn_mtgpr_learned){.projected = NAN, .stop = KN_STOP_NOT_OPTIMISED};
    KN_TRY(kn_lowrank_sum_new(ctx, s, Y, mu, plan->columns, plan->gamma, &out->low));
    KN_TRY(learner_new(ctx, &w));
    KN_TRY(set_start(ctx, &w));
    if (plan->limits.evals_left != 0) {
        KN_TRY(allocate_search(ctx, &w));
        pack_point(&w, w.x);
        KN_TRY(run_em(ctx, &w));
        for (int k = 1; k <= KN_MTGPR_EVALS / ROUND && out->stop == KN_STOP_MAX_EVALS &&
                        w.limits.evals_left != 0 && !kn_cancelled(ctx);
             k++)
            KN_TRY(run_lbfgs(ctx, &w));
    }
    if (kn_cancelled(ctx))
        out->stop = KN_STOP_CANCELLED;
    KN_TRY(kn_lowrank_sum_value(ctx, &out->low, &out->at, &out->lml));
    for (ptrdiff_t j = 0; j < Y->T; j++)
        out->lowest += out->at.psi[j] <= w.lowest[j] * (1 + 1e-9);
out:
    learner_clear(&w);
    if (status != KN_OK)
        kn_mtgpr_learned_clear(out);
    return status;
}

void kn_mtgpr_learn_need(kn_mem_plan *r, const kn_problem_size *s)
{
    ptrdiff_t k = s->P, n = s->T * (k + 1) + 2;
    kn_lowrank_sum_need(r, s, k, s->complement);
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, k + 1);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1);
    kn_mem_usage begun = r->now;
    kn_range_need(r, s->N, s->T, k);
    kn_plan_free_to(r, begun);
    kn_plan_alloc_d(r, KN_NEED_BASIS, n, 4); /* x, bounds, gradients, result */
    kn_maximise_large_need(r, n);
    kn_lowrank_sum_evaluating_need(r, s, k);
    kn_plan_free_to(r, mark);
}
