/* Implements interpolate_covariance.h: greedy interpolation with a Newton basis, which extends the
 * Cholesky factor of K(S, S) by one row per point. `kronorm export` replaces the training sample
 * by such points. */
#include "cov/interpolate_covariance.h"

#include <math.h>
#include <string.h>

#include "cov/features.h"
#include "la/la.h"

static const double EMPTY = 1e-13; /* eigenvalues below this share of the largest are rounding */
static const double NEAR =
    1e-7; /* tolerance of the interpolation, relative to R0's root mean diagonal */
static const double DEPENDENT =
    1e-12; /* a candidate with a smaller share of its variance left depends on the chosen points */
enum { MAX_COUNT = 1500 }; /* largest number of points */

typedef struct greedy {
    kn_mat S;        /* n x F, candidates, borrowed */
    kn_mat G;        /* n x m, interpolation error of K W r^-1/2 at the candidates */
    kn_mat V;        /* n x most, Newton basis at the candidates */
    kn_mat w;        /* most x m, coefficients in the basis */
    double *left;    /* n, conditional variance given the chosen points */
    double *self;    /* n, variance */
    double *far;     /* n, |row of G|^2 */
    ptrdiff_t *used; /* most, chosen candidates */
    ptrdiff_t k, limit;
} greedy;

/* Frees the work space of the greedy selection. */
static void greedy_clear(greedy *g)
{
    kn_mat_clear(&g->G);
    kn_mat_clear(&g->V);
    kn_mat_clear(&g->w);
    kn_free(g->left);
    kn_free(g->self);
    kn_free(g->far);
    kn_free(g->used);
}

/* Allocates the selection of at most MAX_COUNT of the candidates S (n x F, borrowed) for m
 * functions to interpolate. On error g is partly filled; the caller clears it. */
static kn_status greedy_new(kn_ctx *ctx, kn_mat S, ptrdiff_t m, greedy *g)
{
    kn_status status;
    *g = (greedy){.S = S, .limit = S.rows < MAX_COUNT ? S.rows : MAX_COUNT};
    KN_TRY(kn_mat_new(ctx, S.rows, m, &g->G));
    KN_TRY(kn_mat_new(ctx, S.rows, g->limit, &g->V));
    KN_TRY(kn_mat_new(ctx, g->limit, m, &g->w));
    KN_TRY(kn_alloc_d(ctx, S.rows, &g->left));
    KN_TRY(kn_alloc_d(ctx, S.rows, &g->self));
    KN_TRY(kn_alloc_d(ctx, S.rows, &g->far));
    KN_TRY(kn_alloc_i(ctx, g->limit, &g->used));
out:
    return status;
}

/* Computes g->G (n x m) = K(S, X) W r^-1/2, the functions to interpolate at the candidates, in
 * chunks of rows of X, without the first `drop` directions. KN_ERR_CANCELLED. */
static kn_status compute_targets(kn_ctx *ctx, const kn_projection_source *source,
                                 const kn_features *f, ptrdiff_t drop, greedy *g)
{
    enum { SAMPLES = 512 };
    kn_status status;
    double rest[KN_COV_THETA];
    kn_mat K = {0};
    ptrdiff_t m = g->G.cols, n = source->X.rows;
    kn_features_rest(f, source->theta, rest);
    KN_TRY(kn_mat_new(ctx, g->S.rows, n < SAMPLES ? n : SAMPLES, &K));
    for (ptrdiff_t i = 0; i < n; i += SAMPLES) {
        ptrdiff_t count = n - i < SAMPLES ? n - i : SAMPLES;
        KN_TRY(kn_check_cancel(ctx));
        kn_features_fill(ctx, &f->rest, rest, g->S, kn_sub(source->X, i, 0, count, source->X.cols),
                         kn_cols(K, 0, count));
        kn_gemm(ctx, 1, KN_N, kn_cols(K, 0, count), KN_N, kn_sub(source->W, i, drop, count, m),
                i > 0 ? 1 : 0, g->G);
    }
    for (ptrdiff_t j = 0; j < m; j++)
        for (ptrdiff_t i = 0; i < g->S.rows; i++) {
            kn_col(g->G, j)[i] /= sqrt(source->r[drop + j]);
            g->far[i] += kn_at(g->G, i, j) * kn_at(g->G, i, j);
        }
out:
    kn_mat_clear(&K);
    return status;
}

/* Returns the candidate with the largest interpolation error that does not depend on the chosen
 * points; -1: all errors are below `near`. */
static ptrdiff_t find_largest_error(const greedy *g, double near)
{
    ptrdiff_t best = -1;
    double limit = near * near;
    for (ptrdiff_t i = 0; i < g->S.rows; i++)
        if (g->far[i] > limit && g->left[i] > DEPENDENT * g->self[i]) {
            limit = g->far[i];
            best = i;
        }
    return best;
}

/* Adds candidate s to the points and updates errors and conditional variances of all candidates:
 * v = (K(:, s) - V V_s')/left_s^1/2,  w = G_s/left_s^1/2,  G -= v w,  left -= v^2. */
static void add_point(kn_ctx *ctx, const kn_features *f, const double *rest, greedy *g, ptrdiff_t s)
{
    ptrdiff_t n = g->S.rows, k = g->k;
    double *v = kn_col(g->V, k), root = sqrt(g->left[s]);
    kn_features_fill(ctx, &f->rest, rest, g->S, kn_sub(g->S, s, 0, 1, g->S.cols),
                     kn_cols(g->V, k, 1));
    for (ptrdiff_t j = 0; j < k; j++) {
        const double *u = kn_col(g->V, j);
        double at = u[s];
        for (ptrdiff_t i = 0; i < n; i++)
            v[i] -= u[i] * at;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        v[i] /= root;
        g->left[i] -= v[i] * v[i];
        g->far[i] = 0;
    }
    for (ptrdiff_t j = 0; j < g->G.cols; j++) {
        double *G = kn_col(g->G, j), w = G[s] / root;
        kn_col(g->w, j)[k] = w;
        for (ptrdiff_t i = 0; i < n; i++) {
            G[i] -= v[i] * w;
            g->far[i] += G[i] * G[i];
        }
    }
    g->left[s] = 0; /* cannot be chosen again */
    g->used[g->k++] = s;
}

/* Chooses points one by one until the interpolation error at all candidates is below the
 * tolerance, or there are g->limit points. KN_ERR_CANCELLED. */
static kn_status choose_points(kn_ctx *ctx, const kn_projection_source *source,
                               const kn_features *f, ptrdiff_t drop, greedy *g)
{
    kn_status status = KN_OK;
    double rest[KN_COV_THETA], trace = 0;
    ptrdiff_t s;
    for (ptrdiff_t i = 0; i < source->m; i++)
        trace += source->r[i];
    double near = NEAR * sqrt(trace / (double)source->N);
    kn_features_rest(f, source->theta, rest);
    KN_TRY(compute_targets(ctx, source, f, drop, g));
    kn_cov_self(&f->rest, rest, g->S, g->left, g->self);
    memcpy(g->left, g->self, (size_t)g->S.rows * sizeof *g->left);
    while (g->k < g->limit && (s = find_largest_error(g, near)) >= 0) {
        KN_TRY(kn_check_cancel(ctx));
        add_point(ctx, f, rest, g, s);
    }
out:
    return status;
}

/* Computes the rows of the interpolation map that belong to the chosen base points (points x m):
 * L^-T w r^1/2, L the rows of the Cholesky factor V at the points, r (m) the eigenvalues.
 * KN_ERR_MEMORY. */
static kn_status compute_point_rows(kn_ctx *ctx, const greedy *g, const double *r, kn_mat map)
{
    kn_mat L = {0};
    kn_status status = kn_mat_new(ctx, g->k, g->k, &L);
    if (status != KN_OK || g->k == 0)
        return status;
    kn_mat_rows(kn_cols(g->V, 0, g->k), g->used, L);
    kn_mat_set(map, kn_sub(g->w, 0, 0, g->k, map.cols));
    kn_trsm_left(ctx, KN_T, L, map);
    for (ptrdiff_t j = 0; j < map.cols; j++)
        for (ptrdiff_t i = 0; i < map.rows; i++)
            kn_col(map, j)[i] *= sqrt(r[j]);
    kn_mat_clear(&L);
    return KN_OK;
}

/* Computes the rows of the map that belong to exact columns (columns x m): E of the source, or
 * exp(2a) C'U, without the first `drop` directions. */
static kn_status compute_column_rows(kn_ctx *ctx, const kn_projection_source *source,
                                     const kn_features *f, ptrdiff_t drop, kn_mat map)
{
    kn_status status;
    kn_mat C = {0};
    double *root = NULL;
    if (source->E.data) {
        kn_mat_set(map, kn_cols(source->E, drop, map.cols));
        return KN_OK;
    }
    KN_TRY(kn_mat_new(ctx, source->X.rows, f->columns, &C));
    KN_TRY(kn_alloc_d(ctx, f->columns, &root));
    kn_features_columns(f, source->X, C);
    kn_features_roots(f, source->theta, root);
    kn_gemm(ctx, 1, KN_T, C, KN_N, kn_cols(source->W, drop, map.cols), 0, map);
    for (ptrdiff_t j = 0; j < map.cols; j++)
        for (ptrdiff_t i = 0; i < map.rows; i++)
            kn_col(map, j)[i] *= root[i] * root[i];
out:
    kn_free(root);
    kn_mat_clear(&C);
    return status;
}

kn_status kn_projection_interpolate(kn_ctx *ctx, const kn_projection_source *source,
                                    kn_mat candidates, kn_decomp *out)
{
    kn_status status;
    greedy g = {0};
    kn_features f = kn_features_of(source->cov);
    ptrdiff_t drop = 0;
    double lowest = fmax(EMPTY * source->r[source->m - 1], source->lowest);
    while (drop < source->m - 1 && !(source->r[drop] > lowest))
        drop++;
    *out = (kn_decomp){.N = source->N,
                       .m = source->m - drop,
                       .cov = *source->cov,
                       .gamma = source->gamma};
    memcpy(out->theta, source->theta, (size_t)source->cov->n_theta * sizeof *source->theta);
    if (f.rest.n > 0) {
        KN_TRY(greedy_new(ctx, candidates, out->m, &g));
        KN_TRY(choose_points(ctx, source, &f, drop, &g));
    }
    out->n_pivots = g.k;
    KN_TRY(kn_alloc_d(ctx, out->m, &out->r));
    memcpy(out->r, source->r + drop, (size_t)out->m * sizeof *out->r);
    KN_TRY(kn_mat_new(ctx, f.columns + g.k, out->m, &out->map));
    KN_TRY(kn_mat_new(ctx, g.k, candidates.cols, &out->base));
    if (g.k > 0)
        kn_mat_rows(candidates, g.used, out->base);
    if (f.columns > 0)
        KN_TRY(
            compute_column_rows(ctx, source, &f, drop, kn_sub(out->map, 0, 0, f.columns, out->m)));
    KN_TRY(compute_point_rows(ctx, &g, out->r, kn_sub(out->map, f.columns, 0, g.k, out->m)));
out:
    greedy_clear(&g);
    if (status != KN_OK)
        kn_decomp_clear(out);
    return status;
}

kn_projection_source kn_projection_source_of(const kn_decomp *R0, kn_mat X)
{
    kn_projection_source c = {.cov = &R0->cov,
                              .theta = R0->theta,
                              .gamma = R0->gamma,
                              .N = R0->N,
                              .m = R0->m,
                              .r = R0->r,
                              .X = X,
                              .W = R0->U};
    if (kn_decomp_is_low(R0)) {
        ptrdiff_t columns = R0->map.rows - R0->n_pivots;
        c.X = R0->base;
        c.W = kn_sub(R0->map, columns, 0, R0->n_pivots, R0->m);
        c.E = kn_sub(R0->map, 0, 0, columns, R0->m);
    }
    return c;
}
