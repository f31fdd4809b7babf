/* Implements features.h. Covariances of the rest are computed in tiles of rows that fit the cache,
 * by several threads. */
#include "cov/features.h"

#include <math.h>
#include <string.h>

#include "base/parallel/parallel_for.h"

enum { TILE = 2048 }; /* rows of K per tile, to fit the cache */

kn_features kn_features_of(const kn_cov *cov)
{
    kn_features f = {.cov = *cov, .rest = {.lowest = cov->lowest}};
    int n = 0;
    for (int k = 0; k < cov->n; k++) {
        const kn_term *t = &cov->term[k];
        f.exact[k] = cov->exact && t->kernel->proportional && t->kernel->stat == KN_STAT_DOT;
        if (f.exact[k]) {
            f.columns += t->count;
            continue;
        }
        f.rest.term[f.rest.n++] = *t;
        for (int i = 0; i <= t->kernel->n_shape; i++)
            f.at[n++] = t->at + i;
    }
    kn_cov_lay_out(&f.rest);
    return f;
}

void kn_features_rest(const kn_features *f, const double *theta, double *rest)
{
    for (int i = 0; i < f->rest.n_theta; i++)
        rest[i] = theta[f->at[i]];
}

void kn_features_columns(const kn_features *f, kn_mat X, kn_mat out)
{
    ptrdiff_t at = 0;
    for (int k = 0; k < f->cov.n; k++)
        if (f->exact[k]) {
            const kn_term *t = &f->cov.term[k];
            kn_mat_set(kn_cols(out, at, t->count), kn_cols(X, t->first, t->count));
            at += t->count;
        }
}

void kn_features_roots(const kn_features *f, const double *theta, double *root)
{
    ptrdiff_t at = 0;
    for (int k = 0; k < f->cov.n; k++)
        for (ptrdiff_t i = 0; f->exact[k] && i < f->cov.term[k].count; i++)
            root[at++] = exp(theta[f->cov.term[k].at]);
}

/* ---- the rest, tile by tile ----------------------------------------------------------------- */

typedef struct tile_job {
    kn_mat X, base, K; /* n x F, m x F, n x m */
    const kn_cov *cov;
    const double *theta;
    double *part; /* gradient: KN_COV_THETA partial sums per tile */
} tile_job;

/* Computes the pair statistics (n x 1 each, in work) between rows first .. first + n - 1 of X
 * and row j of base; the result points into work. */
static kn_pairs compute_tile_pairs(const tile_job *job, ptrdiff_t first, ptrdiff_t n, ptrdiff_t j,
                                   double work[][TILE])
{
    const kn_stats *stats = &job->cov->stats;
    kn_pairs pairs = {.n = stats->n};
    for (int k = 0; k < stats->n; k++) {
        pairs.stat[k] = kn_mat_cols(work[k], n, 1);
        kn_stat_column(&stats->at[k], job->X, first, job->base, j, pairs.stat[k]);
    }
    return pairs;
}

/* Parallel task (self: tile_job): fills tiles from .. to - 1 (TILE rows each) of job->K, the
 * covariance between rows of X and base. */
static void fill_tiles(void *self, ptrdiff_t from, ptrdiff_t to)
{
    tile_job *job = self;
    double work[KN_MAX_STATS][TILE];
    for (ptrdiff_t i = from * TILE; i < job->K.rows && i < to * TILE; i += TILE) {
        ptrdiff_t n = job->K.rows - i < TILE ? job->K.rows - i : TILE;
        for (ptrdiff_t j = 0; j < job->K.cols; j++) {
            kn_pairs p = compute_tile_pairs(job, i, n, j, work);
            kn_cov_fill(job->cov, job->theta, &p, kn_sub(job->K, i, j, n, 1));
        }
    }
}

void kn_features_fill(kn_ctx *ctx, const kn_cov *rest, const double *theta, kn_mat X, kn_mat base,
                      kn_mat K)
{
    tile_job job = {.X = X, .base = base, .K = K, .cov = rest, .theta = theta};
    kn_parallel(ctx, (K.rows + TILE - 1) / TILE, 1, fill_tiles, &job);
}

/* Parallel task (self: tile_job) for tiles from .. to - 1: sum of K's entries times the
 * derivatives of the covariance, stored per tile in job->part so that the total does not depend
 * on the threads. */
static void contract_tiles(void *self, ptrdiff_t from, ptrdiff_t to)
{
    tile_job *job = self;
    double work[KN_MAX_STATS][TILE], g[KN_COV_THETA];
    for (ptrdiff_t t = from; t < to; t++) {
        ptrdiff_t i = t * TILE, n = job->K.rows - i < TILE ? job->K.rows - i : TILE;
        double *part = job->part + t * KN_COV_THETA;
        memset(part, 0, KN_COV_THETA * sizeof *part);
        for (ptrdiff_t j = 0; j < job->K.cols; j++) {
            kn_pairs p = compute_tile_pairs(job, i, n, j, work);
            kn_cov_gradient(job->cov, job->theta, &p, kn_sub(job->K, i, j, n, 1), g);
            for (int k = 0; k < job->cov->n_theta; k++)
                part[k] += g[k];
        }
    }
}

kn_status kn_features_gradient(kn_ctx *ctx, const kn_cov *rest, const double *theta, kn_mat X,
                               kn_mat base, kn_mat G, double *g)
{
    ptrdiff_t tiles = (G.rows + TILE - 1) / TILE;
    double *part;
    kn_status status = kn_alloc_d(ctx, tiles * KN_COV_THETA, &part);
    if (status != KN_OK)
        return status;
    tile_job job = {X, base, G, rest, theta, part};
    kn_parallel(ctx, tiles, 1, contract_tiles, &job);
    for (ptrdiff_t t = 0; t < tiles; t++) /* fixed order: the same bits for any number of threads */
        for (int k = 0; k < rest->n_theta; k++)
            g[k] += 2 * part[t * KN_COV_THETA + k];
    kn_free(part);
    return KN_OK;
}
