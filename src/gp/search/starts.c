/* Starts of a nested search: the grid of plain sums and the ascents of additive sums, in a
 * subsample where that is cheaper. Several starts guard against local maxima. */
#include "gp/search/internal.h"

#include <math.h>

#include "base/mpi/comm.h"

enum { CELLS = 5 };
enum { SUBSAMPLE_LOW = 5000 }; /* rows from which a low-rank R0, which is cheap, uses a subsample */

typedef struct cell {
    kn_cov_point at;
    double lml;
} cell;

/* Inserts c into the best two cells of the grid (descending likelihood), if it belongs there. */
static void keep_two(cell *best, cell c)
{
    if (c.lml > best[0].lml) {
        best[1] = best[0];
        best[0] = c;
    } else if (c.lml > best[1].lml) {
        best[1] = c;
    }
}

/* Returns the number of weight vectors of the grid. Two terms: rho in five steps. More terms:
 * each at three quarters, and equal weights. */
static int count_weights(const kn_cov *cov)
{
    return cov->n == 1 ? 1 : cov->n == 2 ? CELLS : cov->n + 1;
}

/* Writes the weights w (cov->n) of start r of the grid, which sum to 1: for two terms a
 * proportion rho, for more one dominant term or equal weights. */
static void set_weights(const kn_cov *cov, int r, double *w)
{
    static const double rho[CELLS] = {0.05, 0.25, 0.5, 0.75, 0.95}, limit = 0.75;
    int n = cov->n;
    w[0] = 1;
    if (n == 2) {
        w[0] = 1 - rho[r];
        w[1] = rho[r];
    }
    for (int k = 0; n > 2 && k < n; k++)
        w[k] = r == n ? 1 / (double)n : k == r ? limit : (1 - limit) / (n - 1);
}

/* Finds the best two cells of the grid: 5 common steps of all lengths times the weights of
 * count_weights, one evaluation each. Collective. */
static kn_status search_grid(kn_ctx *ctx, const kn_search_space *s, cell best[2])
{
    const kn_cov *cov = &s->e->cov;
    int done = 0, rows = count_weights(cov), steps = cov->n_shapes > 0 ? CELLS : 1;
    best[0] = best[1] = (cell){.lml = -INFINITY};
    for (int l = 0; l < steps; l++)
        for (int r = 0; r < rows; r++) {
            double t = (l + 0.5) / CELLS;
            cell c = {0};
            set_weights(cov, r, c.at.w);
            for (int i = 0; i < cov->n_shapes; i++) {
                double low = s->box.lower[cov->n - 1 + i], high = s->box.upper[cov->n - 1 + i];
                c.at.shape[i] = exp(low + t * (high - low));
            }
            bool cancelled = kn_cancelled(ctx); /* read once: it can change at any time */
            if (cancelled && best[0].lml > -INFINITY && kn_cancel_keeps_best(ctx))
                return KN_OK;
            kn_status status = cancelled ? kn_fail_cancelled(ctx) : KN_OK;
            s->e->thorough = true; /* inside parameters of another cell are no start */
            if (status == KN_OK)
                status = kn_lockstep_nested(ctx, s->e, &c.at, &c.lml, NULL);
            s->e->thorough = false;
            if (status != KN_OK)
                return status;
            keep_two(best, c);
            kn_report_progress(ctx, "grid", ++done, rows * steps, NAN);
        }
    return KN_OK;
}

/* True if two points differ by at most 0.3 in every coordinate of s, so that one ascent
 * suffices. */
static bool is_same_start(const kn_search_space *s, const kn_cov_point *a, const kn_cov_point *b)
{
    static const double APART = 0.3; /* in any coordinate */
    double x[KN_COV_OUTER], y[KN_COV_OUTER];
    kn_search_coordinates(s, a, x);
    kn_search_coordinates(s, b, y);
    for (int i = 0; i < s->n; i++)
        if (fabs(x[i] - y[i]) > APART)
            return false;
    return true;
}

kn_status kn_starts_grid(kn_ctx *ctx, const kn_search_space *s, const kn_search_options *o,
                         kn_cov_point at[2], int *n, kn_search_result *found)
{
    kn_status status = KN_OK;
    kn_engine sub = {0};
    kn_mat Z = {0};
    kn_search_space here = *s;
    cell best[2];
    int before = s->e->evals;
    bool smaller = s->e->N > KN_SUBSAMPLE_MIN;
    if (smaller) {
        KN_TRY(kn_subsample(ctx, s->e, o, &Z, &sub));
        sub.lockstep = s->e->lockstep;
        here.e = &sub;
    }
    KN_TRY(search_grid(ctx, &here, best));
    *n = best[1].lml > -INFINITY ? 2 : 1;
    for (int k = 0; k < *n; k++) {
        kn_search_result top = {.at = best[k].at, .lml = -INFINITY};
        kn_limits limits = {.evals_left = -1, .deadline = o->limits.deadline};
        bool stop = false;
        if (smaller)
            KN_TRY(kn_search_stopped(ctx, &(kn_limits){.evals_left = -1}, &stop));
        if (smaller && !stop)
            KN_TRY(kn_search_ascend(ctx, &here, &limits, &best[k].at, NULL, &top));
        at[k] = top.at;
    }
    if (smaller && *n == 2 && is_same_start(s, &at[0], &at[1]))
        *n = 1;
    KN_TRY(kn_comm_broadcast(ctx, n, sizeof *n, 0));
    if (smaller) {
        found->evals_subsample += sub.evals;
        found->inner_evals += sub.inner_evals;
    } else { /* evaluations of the grid count as subsample */
        found->evals_subsample += s->e->evals - before;
        s->e->evals = before;
    }
out:
    kn_engine_clear(&sub);
    kn_mat_clear(&Z);
    return status;
}

kn_status kn_starts_terms(kn_ctx *ctx, kn_search_space *s, kn_limits *limits, const char *stage,
                          kn_search_result *found)
{
    static const double MAX_WEIGHT = 0.75;
    const kn_cov *cov = &s->e->cov;
    kn_status status = KN_OK;
    bool stop;
    for (int k = 0; cov->n > 1 && k < cov->n; k++) {
        kn_cov_point at = s->box.middle;
        KN_TRY(kn_search_stopped(ctx, limits, &stop));
        if (stop)
            break;
        for (int m = 0; m < cov->n; m++)
            at.w[m] = m == k ? MAX_WEIGHT : (1 - MAX_WEIGHT) / (cov->n - 1);
        KN_TRY(kn_search_ascend(ctx, s, limits, &at, stage, found));
    }
out:
    return status;
}

kn_status kn_starts_small(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, bool *small)
{
    bool turned;
    kn_status status = kn_engine_try_rank(ctx, e, at);
    if (status == KN_OK)
        status = kn_engine_sync_rank(ctx, e, &turned);
    *small = e->N > (e->spec.rank == 0 ? KN_SUBSAMPLE_MIN : SUBSAMPLE_LOW);
    return status;
}

kn_status kn_starts_additive(kn_ctx *ctx, const kn_search_space *s, const kn_search_options *o,
                             kn_cov_point *at, kn_search_result *found)
{
    kn_status status = KN_OK;
    kn_engine sub = {0};
    kn_mat Z = {0};
    kn_search_space here = *s;
    kn_search_result top = {.at = *at, .lml = -INFINITY};
    kn_limits limits = {.evals_left = -1, .deadline = o->limits.deadline};
    KN_TRY(kn_subsample(ctx, s->e, o, &Z, &sub));
    sub.lockstep = s->e->lockstep;
    here.e = &sub;
    KN_TRY(kn_search_ascend(ctx, &here, &limits, at, NULL, &top));
    KN_TRY(kn_starts_terms(ctx, &here, &limits, NULL, &top));
    *at = top.at;
    found->evals_subsample += sub.evals;
out:
    kn_engine_clear(&sub);
    kn_mat_clear(&Z);
    return status;
}
