/* STGPR with all hyperparameters free for each response (`--plain`) [METHOD 7]. Slow; a reference
 * for the cells. Gradients are exact; the search is by NLopt.
 *
 *     K = R0(theta) + exp(2 noise) I
 *
 * is iso noise with one task and C = 1, so the engine's gradient is used unchanged. */
#include "gp/methods/stgpr/internal.h"

#include <math.h>
#include <string.h>

#include "base/machine.h"
#include "base/random.h"
#include "gp/likelihood/engine.h"

enum { STREAM_PLAIN = 103 };
static const double F_TOLERANCE = 1e-7; /* nats */

/* Objective of the search for one response (self: kn_engine): log likelihood and gradient at x =
 * [parameters of R0, noise]; the engine's theta is [0 for C = 1, x]. */
static kn_status evaluate_objective(void *self, kn_ctx *ctx, const double *x, double *value,
                                    double *grad)
{
    kn_engine *e = self;
    double theta[KN_THETA] = {0}, g[KN_THETA];
    size_t n = (size_t)kn_spec_n_theta(&e->spec) - 1;
    memcpy(theta + 1, x, n * sizeof *x);
    kn_status status = kn_engine_joint(ctx, e, theta, value, g);
    if (status == KN_OK)
        memcpy(grad, g + 1, n * sizeof *g);
    return status;
}

/* Writes the start of the search for the response in e->Z to x: 0.3 of the variance is signal,
 * in equal parts, lengths at the median distance. */
static void set_start(const kn_engine *e, const kn_box *box, double *x)
{
    double v = kn_sumsq(e->Z) / (double)e->N;
    kn_cov_theta(&e->cov, &box->middle, x);
    for (int k = 0; k < e->cov.n; k++)
        x[e->cov.term[k].at] += 0.5 * log(0.3 * v);
    x[e->cov.n_theta] = 0.5 * log(0.7 * v);
}

/* Bounds the shapes of R0 (covariance between participants) in lower and upper (order of theta)
 * by the box of the search; other parameters keep their bounds. */
static void bound_shapes(const kn_cov *cov, const kn_box *box, double *lower, double *upper)
{
    for (int k = 0; k < cov->n; k++)
        for (int i = 0; i < cov->term[k].kernel->n_shape; i++) {
            int at = cov->term[k].at + 1 + i, x = cov->n - 1 + cov->term[k].shape + i;
            lower[at] = box->lower[x];
            upper[at] = box->upper[x];
        }
}

/* Maximises the likelihood of the response in e->Z over all its hyperparameters, from the start
 * x and o->restarts random ones; *best is the optimum. box: bounds of the shapes; NULL: the
 * general ones. Updates *limits. */
static kn_status fit_one_response(kn_ctx *ctx, kn_engine *e, const kn_search_options *o,
                                  kn_limits *limits, const kn_box *box, kn_rng *rng, double *x,
                                  kn_optimum *best)
{
    double lower[KN_THETA], upper[KN_THETA];
    kn_optimise_options oo = {.algorithm = o->optimiser == KN_TNEWTON ? KN_TNEWTON : KN_LBFGS,
                              .n = kn_spec_n_theta(&e->spec) - 1,
                              .lower = lower,
                              .upper = upper,
                              .unit = (double)e->N,
                              .f_tolerance = F_TOLERANCE};
    for (int i = 0; i < oo.n; i++) {
        lower[i] = kn_theta_lower;
        upper[i] = kn_theta_upper;
    }
    if (box)
        bound_shapes(&e->cov, box, lower, upper);
    *best = (kn_optimum){.value = -INFINITY, .stop = KN_STOP_NOT_OPTIMISED};
    for (int k = 0; k <= o->restarts; k++) {
        kn_optimum here = {.evals = 1};
        bool late =
            limits->evals_left == 0 || (limits->deadline > 0 && kn_clock() > limits->deadline);
        if (k > 0 && (late || !o->optimise))
            break;
        for (int i = 0; i < oo.n; i++)
            here.x[i] = x[i] + (k > 0 ? kn_rng_normal(rng) : 0);
        kn_status status = kn_check_cancel(ctx);
        if (status == KN_OK && o->optimise && !late)
            status = kn_maximise(ctx, &oo, limits, evaluate_objective, e, &here);
        else if (status == KN_OK) /* evaluate at the start only */
            status = evaluate_objective(e, ctx, here.x, &here.value, here.grad);
        if (status != KN_OK)
            return status;
        if (late || !o->optimise)
            here.stop = !o->optimise              ? KN_STOP_NOT_OPTIMISED
                        : limits->evals_left == 0 ? KN_STOP_MAX_EVALS
                                                  : KN_STOP_MAX_SECONDS;
        if (here.value > best->value || k == 0)
            *best = here;
    }
    memcpy(x, best->x, (size_t)oo.n * sizeof *x);
    return KN_OK;
}

kn_status kn_plain_fit(kn_ctx *ctx, kn_pairs *pairs, const kn_cov *cov, kn_mat Y,
                       const kn_search_options *o, bool bounded, kn_mat theta, bool start_given,
                       double *lml, kn_mat grad, kn_search_result *found)
{
    kn_status status;
    kn_spec spec = {.noise = KN_NOISE_ISO, .sample = *cov, .task = kn_cov_identity()};
    kn_engine e = {0};
    kn_box box;
    kn_limits limits = o->limits;
    kn_rng rng;
    int n = (int)theta.cols;
    kn_rng_init(&rng, o->seed, STREAM_PLAIN);
    *found = (kn_search_result){.stop = KN_STOP_CONVERGED};
    KN_TRY(kn_box_new(ctx, cov, pairs, kn_mat_none(), &box));
    KN_TRY(
        kn_engine_new(ctx, &spec,
                      &(kn_engine_data){.pairs = pairs, .Z = kn_cols(Y, 0, 1), .T = 1, .total = 1},
                      &e));
    for (ptrdiff_t j = 0; j < Y.cols; j++) {
        double x[KN_THETA];
        kn_optimum best;
        e.Z = kn_cols(Y, j, 1);
        if (!start_given)
            set_start(&e, &box, x);
        for (int i = 0; start_given && i < n; i++)
            x[i] = kn_at(theta, j, i);
        KN_TRY(fit_one_response(ctx, &e, o, &limits, bounded ? &box : NULL, &rng, x, &best));
        for (int i = 0; i < n; i++) {
            kn_col(theta, i)[j] = x[i];
            kn_col(grad, i)[j] = best.grad[i];
        }
        lml[j] = best.value;
        found->lml += best.value;
        found->projected = fmax(found->projected, best.projected);
        if (best.stop != KN_STOP_CONVERGED && found->stop == KN_STOP_CONVERGED)
            found->stop = best.stop;
        kn_report_progress(ctx, "fit", j + 1, Y.cols, NAN);
    }
    found->evals = e.evals;
out:
    kn_engine_clear(&e);
    return status;
}

/* R0(theta) = c R0(cell), d = exp(2 noise) */
kn_status kn_plain_cells(kn_ctx *ctx, const kn_cov *cov, kn_mat theta, kn_stgpr *s)
{
    ptrdiff_t n = 0, T = theta.rows;
    kn_mat cells = {0};
    kn_status status = kn_mat_new(ctx, T, kn_cell_columns(cov), &cells);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t j = 0; j < T; j++) {
        double own[KN_COV_THETA];
        kn_cov_point at;
        bool same = n > 0;
        for (int k = 0; k < cov->n_theta; k++)
            own[k] = kn_at(theta, j, k);
        kn_cov_point_of(cov, own, &at, &s->c[j]);
        kn_cell_write(cov, &at, cells, n);
        for (ptrdiff_t k = 0; same && k < cells.cols; k++)
            same = kn_at(cells, n, k) == kn_at(cells, n - 1, k);
        n += !same;
        s->cell[j] = (double)(n - 1);
        s->d[j] = exp(2 * kn_at(theta, j, cov->n_theta));
        s->delta[j] = s->d[j] / s->c[j];
    }
    status = kn_stgpr_add_cells(ctx, s, cells, n);
    kn_mat_clear(&cells);
    return status;
}

void kn_plain_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage mark = r->now;
    kn_problem_size one = *s;
    one.iso = true;
    one.rotated = false;
    one.P = one.task_stats = 1;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 2 * KN_THETA + 2 * KN_COV_THETA);
    kn_distances_need(r, s->N);
    kn_engine_need(r, &one, true, false);
    kn_plan_free_to(r, mark);
}
