/* Implements slope.h: a block visitor sums m d and m^2 of each response, then the sums are
 * gathered over MPI ranks. Slopes shrink predictions that held-out residuals show to be too
 * large. */
#include "gp/predict/slope.h"

#include <math.h>

#include "base/parallel/parallel_for.h"
#include "data/mpi/gather_responses.h"
#include "gp/block_visitor.h"
#include "gp/method.h"

enum { COLUMNS = 16 }; /* responses per parallel task */
static const double WEIGHT = 20, MAX_SLOPE = 1, MAX_OF_ONE = 1.2;

typedef struct gathering {
    const kn_gp_maps *cv;
    const kn_block *b;
    double *md, *mm; /* T  sums of m d and of m^2 */
} gathering;

/* Returns the sum of column `at` of the block over all its rows; NaN if a cell is missing. */
static double sum_column(const gathering *g, ptrdiff_t at)
{
    const double *y = kn_col(g->b->y, at);
    double sum = 0;
    for (ptrdiff_t i = 0; i < g->b->y.rows; i++)
        sum += y[i];
    return sum;
}

/* Returns the training mean, in fold p, of column `at` of the block: stored, or computed from
 * `all`, the sum over all rows, less the held-out rows; if that is NaN (missing cells), from the
 * training rows. */
static double fold_mean(const gathering *g, const kn_fold_prediction *p, ptrdiff_t at, double all)
{
    const double *y = kn_col(g->b->y, at);
    double sum = 0;
    if (p->mu)
        return p->mu[g->b->first + at];
    if (p->rows && p->n + p->n_train == g->b->y.rows && isfinite(all)) {
        for (ptrdiff_t i = 0; i < p->n; i++)
            sum += y[p->rows[i]];
        return (all - sum) / (double)p->n_train;
    }
    for (ptrdiff_t i = 0; i < p->n_train; i++)
        sum += y[p->train[i]];
    return sum / (double)p->n_train;
}

/* Parallel task (self: gathering) for columns from .. to - 1: sums over held-out cells of m d
 * and m^2, with predicted mean m and response d, both minus the fold's training mean. */
static void sum_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const gathering *g = self;
    for (ptrdiff_t j = from; j < to; j++) {
        const double *y = kn_col(g->b->y, j), *mean = kn_col(g->b->mean, j);
        double md = 0, mm = 0, all = sum_column(g, j);
        for (int k = 0; k < g->cv->n_parts; k++) {
            const kn_fold_prediction *p = &g->cv->part[k];
            double mu = fold_mean(g, p, j, all);
            for (ptrdiff_t i = 0; i < p->n; i++) {
                ptrdiff_t row = p->rows ? p->rows[i] : i;
                if (!isfinite(y[row] - mean[row])) /* missing, or not predicted [METHOD 0b] */
                    continue;
                md += (mean[row] - mu) * (y[row] - mu);
                mm += (mean[row] - mu) * (mean[row] - mu);
            }
        }
        g->md[g->b->first + j] = md;
        g->mm[g->b->first + j] = mm;
    }
}

/* Block visitor (self: gathering): sums m d and m^2 of each response of the block. */
static kn_status gather_block(kn_ctx *ctx, void *self, kn_block *b)
{
    gathering *g = self;
    g->b = b;
    kn_parallel(ctx, b->count, COLUMNS, sum_columns, g);
    return KN_OK;
}

void kn_slopes(ptrdiff_t T, const double *md, const double *mm, double *slope)
{
    double sum_md = 0, sum_mm = 0;
    for (ptrdiff_t j = 0; j < T; j++) {
        sum_md += md[j];
        sum_mm += mm[j];
    }
    double all = sum_mm > 0 ? fmin(fmax(sum_md / sum_mm, 0), MAX_SLOPE) : 1;
    double kappa = WEIGHT * sum_mm / (double)T;
    for (ptrdiff_t j = 0; j < T; j++) {
        double weight = mm[j] + kappa;
        slope[j] = weight > 0 ? fmin(fmax((md[j] + kappa * all) / weight, 0), MAX_OF_ONE) : 1;
    }
}

kn_status kn_gp_set_slope(kn_ctx *ctx, kn_gp *gp, const kn_gp_maps *cv)
{
    kn_status status;
    gathering g = {.cv = cv};
    double *slope = NULL;
    kn_block_loop loop = {.Y = kn_gp_maps_y(cv), .maps = cv, .stage = "slope"};
    kn_visitor visitor = {&g, KN_BLOCK_Y | KN_BLOCK_MEAN, NULL, gather_block, NULL};
    KN_TRY(kn_alloc_d(ctx, gp->T, &g.md));
    KN_TRY(kn_alloc_d(ctx, gp->T, &g.mm));
    KN_TRY(kn_alloc_d(ctx, gp->T, &slope));
    KN_TRY(kn_block_loop_run(ctx, &loop, &visitor, 1));
    KN_TRY(kn_allgather_responses_d(ctx, &loop.Y, g.md));
    KN_TRY(kn_allgather_responses_d(ctx, &loop.Y, g.mm));
    kn_slopes(gp->T, g.md, g.mm, slope);
    gp->slope = slope;
    slope = NULL;
out:
    kn_free(slope);
    kn_free(g.mm);
    kn_free(g.md);
    return status;
}

void kn_slope_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 2);
    kn_block_loop_need(r, n, kn_block_loop_width(0, s->T), KN_BLOCK_Y | KN_BLOCK_MEAN);
    s->method->need.block(r, s, KN_MAPS_CV, n);
    kn_plan_free_to(r, mark);
}
