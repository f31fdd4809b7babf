/* Implements shash_fit.h: damped Newton for each response, and the prior by fixed-point rounds.
 * The transformation corrects skewness and tails of the residuals of each response. */
#include "norm/calibration/shash_fit.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "base/parallel/parallel_for.h"

enum { NEWTON_STEPS = 60, HALVINGS = 30, GATHER = 256 };
static const double LOWEST[2] = {-3, -2}, HIGHEST[2] = {3, 0.3};
static const double LONGEST = 0.5;    /* longest step in either parameter */
static const double SHORT = 1e-6;     /* the step after one like this would be 1e-12 */
static const double ROUNDING = 1e-13; /* relative error of the value */
static const double FIXED = 5;        /* weight of mu0, v0 in responses */

kn_shash_prior kn_shash_prior_start(void)
{
    return (kn_shash_prior){{0, -0.1}, {0.15 * 0.15, 0.2 * 0.2}};
}

/* ---- one response --------------------------------------------------------------------------- */

bool kn_shash_allowed(const double theta[2])
{
    return theta[0] >= LOWEST[0] && theta[0] <= HIGHEST[0] && theta[1] >= LOWEST[1] &&
           theta[1] <= HIGHEST[1];
}

/* x limited to the bounds of the fit of parameter k: 0 is the skew a, 1 the tail ln b. */
static double clamp_parameter(int k, double x)
{
    return fmin(fmax(x, LOWEST[k]), HIGHEST[k]);
}

/* Add to s the negative log density of the normal prior of skew and tail at theta, its gradient and
 * the diagonal of its Hessian. */
static void add_prior(const kn_shash_prior *prior, const double theta[2], kn_shash_sums *s)
{
    for (int k = 0; k < 2; k++) {
        double d = theta[k] - prior->mu[k];
        s->value += d * d / (2 * prior->v[k]);
        s->gradient[k] += d / prior->v[k];
        s->hessian[2 * k] += 1 / prior->v[k];
    }
}

/* step = Newton step -H^-1 g for skew and tail, limited to LONGEST. If H is not positive definite
 * its eigenvalues are shifted first. A parameter at its bound with a gradient beyond it stays. */
static void newton_step(const kn_shash_sums *s, const double theta[2], double step[2])
{
    double a = s->hessian[0], c = s->hessian[1], b = s->hessian[2];
    double mid = (a + b) / 2, half = hypot((a - b) / 2, c), lowest = mid - half;
    double floor = 1e-8 * (fabs(mid) + half);
    bool at_bound[2];
    if (lowest < floor) {
        double lift = 0.1 * fmax(fabs(mid + half), fabs(lowest)) - lowest;
        a += lift;
        b += lift;
    }
    for (int k = 0; k < 2; k++)
        at_bound[k] = (theta[k] <= LOWEST[k] && s->gradient[k] > 0) ||
                      (theta[k] >= HIGHEST[k] && s->gradient[k] < 0);
    double g[2] = {at_bound[0] ? 0 : s->gradient[0], at_bound[1] ? 0 : s->gradient[1]};
    if (at_bound[0] || at_bound[1])
        c = 0;
    double det = a * b - c * c;
    step[0] = -(b * g[0] - c * g[1]) / det;
    step[1] = -(a * g[1] - c * g[0]) / det;
    double size = fmax(fabs(step[0]), fabs(step[1]));
    for (int k = 0; k < 2 && size > LONGEST; k++)
        step[k] *= LONGEST / size;
}

typedef struct problem {
    const kn_shash_nodes *nodes;
    const kn_shash_prior *prior;
    ptrdiff_t n;
    const double *zt;
} problem;

/* Negative log posterior of skew and tail (theta) of one response, with its gradient and
 * Hessian. */
static kn_shash_sums evaluate_loss(const problem *p, const double theta[2])
{
    kn_shash_sums s = {0};
    kn_shash_point at = kn_shash_point_at(p->nodes, theta);
    kn_shash_add(&at, p->n, p->zt, &s);
    add_prior(p->prior, theta, &s);
    return s;
}

/* Move skew and tail (theta) along the step, halved until the loss does not rise; s becomes the
 * loss there. Returns the largest change of a parameter, 0 if no step lowers the loss. */
static double descend_line(const problem *p, const double step[2], double theta[2],
                           kn_shash_sums *s)
{
    double scale = 1;
    for (int h = 0; h < HALVINGS; h++, scale /= 2) {
        double trial[2] = {clamp_parameter(0, theta[0] + scale * step[0]),
                           clamp_parameter(1, theta[1] + scale * step[1])};
        double moved = fmax(fabs(trial[0] - theta[0]), fabs(trial[1] - theta[1]));
        bool last = moved <= SHORT;
        kn_shash_sums t = {0};
        if (!last)
            t = evaluate_loss(p, trial);
        if (last || t.value <= s->value + ROUNDING * (1 + fabs(s->value))) {
            theta[0] = trial[0];
            theta[1] = trial[1];
            *s = t;
            return moved;
        }
    }
    return 0;
}

void kn_shash_newton(const kn_shash_nodes *nodes, const kn_shash_prior *prior, ptrdiff_t n,
                     const double *zt, double theta[2])
{
    problem p = {nodes, prior, n, zt};
    for (int k = 0; k < 2; k++)
        theta[k] = clamp_parameter(k, n > 0 ? theta[k] : prior->mu[k]);
    if (n == 0)
        return;
    kn_shash_sums s = evaluate_loss(&p, theta);
    for (int i = 0; i < NEWTON_STEPS; i++) {
        double step[2];
        newton_step(&s, theta, step);
        if (descend_line(&p, step, theta, &s) <= SHORT)
            break;
    }
}

void kn_shash_step(const kn_shash_point *at, const kn_shash_prior *prior, ptrdiff_t n,
                   const double *zt, const double theta[2], double out[2])
{
    double step[2];
    kn_shash_sums s = {0};
    kn_shash_add_derivatives(at, n, zt, &s);
    add_prior(prior, theta, &s);
    newton_step(&s, theta, step);
    for (int k = 0; k < 2; k++)
        out[k] = clamp_parameter(k, theta[k] + step[k]);
}

/* ---- many responses ------------------------------------------------------------------------- */

/* Copy those of the n values zt that are not NaN to out, and return their number. */
static ptrdiff_t copy_observed(ptrdiff_t n, const double *zt, double *out)
{
    ptrdiff_t m = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        if (!isnan(zt[i]))
            out[m++] = zt[i];
    return m;
}

typedef struct block_job {
    const kn_shash_nodes *nodes;
    const kn_shash_prior *prior;
    kn_mat zt, theta;
    double *work; /* zt.rows per worker */
} block_job;

/* Worker: fits skew and tail of responses first .. last - 1 of the job in self to their observed
 * values, by Newton's method. */
static void fit_responses(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    block_job *job = self;
    double *work = job->work + worker * job->zt.rows;
    for (ptrdiff_t j = first; j < last; j++) {
        ptrdiff_t n = copy_observed(job->zt.rows, kn_col(job->zt, j), work);
        kn_shash_newton(job->nodes, job->prior, n, work, kn_col(job->theta, j));
    }
}

kn_status kn_shash_fit(kn_ctx *ctx, const kn_shash_nodes *nodes, const kn_shash_prior *prior,
                       kn_mat zt, kn_mat theta)
{
    enum { GRAIN = 16 };
    block_job job = {nodes, prior, zt, theta, NULL};
    kn_status status = kn_alloc_d(ctx, kn_workers(ctx, zt.cols, GRAIN) * zt.rows, &job.work);
    if (status == KN_OK)
        status = kn_parallel_or_stop(ctx, zt.cols, GRAIN, fit_responses, &job);
    kn_free(job.work);
    return status;
}

/* ---- the prior that responses share --------------------------------------------------------- */

/* True if response j has any value in zt (N x T). */
static bool any_value(kn_mat zt, ptrdiff_t j)
{
    for (ptrdiff_t i = 0; i < zt.rows; i++)
        if (!isnan(kn_at(zt, i, j)))
            return true;
    return false;
}

void kn_shash_information(const kn_shash_nodes *nodes, kn_mat zt, double G[2])
{
    kn_shash_prior start = kn_shash_prior_start();
    kn_shash_point at = kn_shash_point_at(nodes, start.mu);
    kn_shash_sums s = {0};
    double T = 0, observed[GATHER];
    for (ptrdiff_t j = 0; j < zt.cols; j++) {
        T += any_value(zt, j);
        for (ptrdiff_t i = 0; i < zt.rows; i += GATHER) {
            ptrdiff_t m = zt.rows - i < GATHER ? zt.rows - i : GATHER;
            kn_shash_add(&at, copy_observed(m, kn_col(zt, j) + i, observed), observed, &s);
        }
    }
    for (int k = 0; k < 2; k++)
        G[k] = T > 0 ? s.hessian[2 * k] / T : 0;
}

void kn_shash_prior_update(kn_shash_prior *prior, const double G[2], double T_sq, kn_mat theta)
{
    kn_shash_prior start = kn_shash_prior_start();
    for (int k = 0; k < 2; k++) {
        double n = 0, mean = 0, spread = 0;
        for (ptrdiff_t j = 0; j < theta.cols; j++)
            if (!isnan(kn_at(theta, k, j))) {
                n++;
                mean += kn_at(theta, k, j);
            }
        if (n == 0)
            continue;
        double mu = (FIXED * start.mu[k] + T_sq * mean / n) / (FIXED + T_sq);
        for (ptrdiff_t j = 0; j < theta.cols; j++)
            if (!isnan(kn_at(theta, k, j)))
                spread += pow(kn_at(theta, k, j) - mu, 2);
        double v = spread / n + 1 / (G[k] + 1 / prior->v[k]);
        prior->mu[k] = mu;
        prior->v[k] = (FIXED * start.v[k] + T_sq * v) / (FIXED + T_sq);
    }
}

/* Set skew a and tail ln b of response j in theta (2 x T). */
static void set_column(kn_mat theta, ptrdiff_t j, double a, double log_b)
{
    kn_col(theta, j)[0] = a;
    kn_col(theta, j)[1] = log_b;
}

kn_status kn_shash_prior_fit(kn_ctx *ctx, const kn_shash_nodes *nodes, kn_mat zt, double T_sq,
                             kn_mat theta, kn_shash_prior *prior)
{
    kn_status status = KN_OK;
    double G[2];
    assert(theta.rows == 2 && theta.cols == zt.cols);
    *prior = kn_shash_prior_start();
    kn_shash_information(nodes, zt, G);
    for (ptrdiff_t j = 0; j < zt.cols; j++)
        set_column(theta, j, prior->mu[0], prior->mu[1]);
    for (int round = 1; round <= KN_SHASH_ROUNDS; round++) {
        KN_TRY(kn_shash_fit(ctx, nodes, prior, zt, theta));
        if (round == KN_SHASH_ROUNDS)
            break;
        for (ptrdiff_t j = 0; j < zt.cols; j++)
            if (!any_value(zt, j))
                set_column(theta, j, NAN, NAN);
        kn_shash_prior_update(prior, G, T_sq, theta);
    }
out:
    return status;
}
