/* Implements profile_1d.h. Notation t = ln delta, u = delta/(r + delta) as in METHOD 1b. */
#include "gp/likelihood/profile_1d.h"

#include <math.h>

#include "base/parallel/parallel_for.h"
#include "la/la.h"
#include "la/vec.h"

enum { GRID = 45, NEWTON_STEPS = 60 };
static const double T_MIN = -8, T_MAX = 14; /* ln delta */
static const double LN_2PI = 1.8378770664093455;

/* Returns point g of the grid of t = ln delta, GRID equally spaced values from T_MIN to T_MAX. */
static double grid_point(int g)
{
    return T_MIN + (T_MAX - T_MIN) * g / (GRID - 1);
}

typedef struct problem {
    double nats; /* accuracy of the maximum */
    ptrdiff_t m, zeros;
    const double *r, *rest;
    kn_mat A2;
    kn_mat Q0;           /* P x GRID  q0 of every component at every grid point */
    double logdet[GRID]; /* sum ln(r + delta), common to all components */
    double *c, *d, *lml;
} problem;

/* Returns the log likelihood of one component with N values at its best signal variance c =
 * q0/N; logdet = sum ln(r + delta). */
static double compute_profile_lml(double N, double q0, double logdet)
{
    return -0.5 * (N * (LN_2PI + 1 + log(q0 / N)) + logdet);
}

/* Returns the sums over eigenvalues that the likelihood of component p and its derivatives need
 * at noise ratio delta = d/c; eigenvalues that are 0 are added in closed form. */
static kn_profile_sums sum_profile(const problem *pr, ptrdiff_t p, double delta)
{
    kn_profile_sums s = kn_vec_profile(pr->m, pr->r, kn_col(pr->A2, p), delta);
    if (pr->rest) { /* r = 0, u = 1 */
        double a = pr->rest[p] / delta;
        s.q0 += a;
        s.q1 += a;
        s.q2 += a;
        s.u += (double)pr->zeros;
    }
    return s;
}

/* Returns the t = ln delta in [lo, hi] that maximises the likelihood of component p, from a
 * start at t. The sign of the derivative shrinks the bracket; a Newton step is taken where the
 * function is concave and the step stays inside, else bisection. Stops at an expected gain of
 * pr->nats. */
static double maximise_newton(const problem *pr, ptrdiff_t p, double lo, double t, double hi)
{
    double N = (double)(pr->m + pr->zeros);
    for (int step = 0; step < NEWTON_STEPS; step++) {
        kn_profile_sums s = sum_profile(pr, p, exp(t));
        double ratio = s.q1 / s.q0;
        double g = 0.5 * (N * ratio - s.u);
        double h = 0.5 * (N * ((s.q1 - 2 * s.q2) / s.q0 + ratio * ratio) - s.uu);
        if (g > 0)
            lo = t;
        else
            hi = t;
        /* remaining gain: by the parabola, or bounded by the slope times the bracket */
        if ((h < 0 && -0.5 * g * g / h < pr->nats) || fabs(g) * (hi - lo) < pr->nats)
            return t;
        double next = h < 0 ? t - g / h : NAN;
        if (!(next > lo && next < hi))
            next = 0.5 * (lo + hi);
        if (fabs(next - t) < 1e-11 * (1 + fabs(t)))
            return next;
        t = next;
    }
    return t;
}

/* Parallel task (self: problem) for components first .. last - 1: best grid point, Newton from
 * there, and the limit delta = infinity (noise only); writes c, d and lml of each. */
static void profile_components(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const problem *pr = self;
    double N = (double)(pr->m + pr->zeros);
    for (ptrdiff_t p = first; p < last; p++) {
        int best = 0;
        double top = -INFINITY;
        for (int g = 0; g < GRID; g++) {
            double l = compute_profile_lml(N, kn_at(pr->Q0, p, g), pr->logdet[g]);
            if (l > top) {
                top = l;
                best = g;
            }
        }
        double lo = grid_point(best > 0 ? best - 1 : 0),
               hi = grid_point(best < GRID - 1 ? best + 1 : best);
        double delta = exp(maximise_newton(pr, p, lo, grid_point(best), hi));
        double q0 = sum_profile(pr, p, delta).q0;
        double logdet = kn_vec_sum_log_shift(pr->m, pr->r, delta);
        if (pr->rest)
            logdet += (double)pr->zeros * log(delta);
        double l = compute_profile_lml(N, q0, logdet);
        if (l < top) { /* only by rounding is Newton worse than the grid point */
            delta = exp(grid_point(best));
            q0 = kn_at(pr->Q0, p, best);
            l = top;
        }
        double energy = pr->rest ? pr->rest[p] : 0;
        for (ptrdiff_t i = 0; i < pr->m; i++)
            energy += kn_at(pr->A2, i, p);
        double noise_only = -0.5 * N * (LN_2PI + 1 + log(energy / N));
        bool infinite = noise_only >= l;
        pr->c[p] = infinite ? 0 : q0 / N;
        pr->d[p] = infinite ? energy / N : delta * q0 / N;
        pr->lml[p] = infinite ? noise_only : l;
    }
}

kn_status kn_profile(kn_ctx *ctx, ptrdiff_t m, const double *r, ptrdiff_t zeros, kn_mat A2,
                     const double *rest, double *c, double *d, double *lml)
{
    return kn_profile_within(ctx, 0, m, r, zeros, A2, rest, c, d, lml);
}

kn_status kn_profile_within(kn_ctx *ctx, double nats, ptrdiff_t m, const double *r, ptrdiff_t zeros,
                            kn_mat A2, const double *rest, double *c, double *d, double *lml)
{
    kn_status status;
    kn_mat inverse = {0};
    problem pr = {.nats = nats,
                  .m = m,
                  .zeros = zeros,
                  .r = r,
                  .rest = rest,
                  .A2 = A2,
                  .c = c,
                  .d = d,
                  .lml = lml};
    KN_TRY(kn_mat_new(ctx, m, GRID, &inverse));
    KN_TRY(kn_mat_new(ctx, A2.cols, GRID, &pr.Q0));
    for (int g = 0; g < GRID; g++) {
        double delta = exp(grid_point(g));
        for (ptrdiff_t i = 0; i < m; i++)
            kn_col(inverse, g)[i] = 1 / (r[i] + delta);
        pr.logdet[g] = kn_vec_sum_log_shift(m, r, delta);
        if (rest) {
            pr.logdet[g] += (double)zeros * log(delta);
            for (ptrdiff_t p = 0; p < A2.cols; p++)
                kn_col(pr.Q0, g)[p] = rest[p] / delta;
        }
    }
    kn_gemm(ctx, 1, KN_T, A2, KN_N, inverse, 1,
            pr.Q0); /* the grid of all components in one product */
    kn_parallel(ctx, A2.cols, 1 + 20000 / (m + 1), profile_components, &pr);
out:
    kn_mat_clear(&pr.Q0);
    kn_mat_clear(&inverse);
    return status;
}

void kn_profile_need(kn_mem_plan *r, ptrdiff_t m, ptrdiff_t P)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, m, GRID);
    kn_plan_alloc_d(r, KN_NEED_WORK, P, GRID);
    kn_plan_free_to(r, mark);
}
