/* Implements limit_leverage.h. `kronorm export` calls it for every cell of the model. */
#include "gp/limit_leverage.h"

#include <math.h>
#include <string.h>

#include "base/hash/xxh64.h"
#include "base/random.h"
#include "la/la.h"

enum { STREAM = 71 }; /* of the random numbers */

typedef struct leverage {
    ptrdiff_t n, m; /* rows and groups; directions */
    kn_mat q;       /* m x n */
    kn_mat Mq;      /* m x 1, (I + S)^-1 q_u */
    kn_mat inverse; /* m x m, (I + S)^-1 */
    double *h;      /* n, leverages */
    double *s2;     /* n, variances of the noise */
} leverage;

static void leverage_clear(leverage *l)
{
    kn_mat_clear(&l->q);
    kn_mat_clear(&l->Mq);
    kn_mat_clear(&l->inverse);
    kn_free(l->h);
    kn_free(l->s2);
}

/* Returns the scalar product of a and b (n). */
static double multiply(const double *a, const double *b, ptrdiff_t n)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Appends to l->q (m x n) the mean of the rows of each group of two and more, as a unit of its
 * own; N: number of rows before. */
static void add_groups(const kn_groups *g, double gamma, ptrdiff_t N, leverage *l)
{
    l->n = N;
    for (ptrdiff_t k = 0; g && k < g->n; k++) {
        double size = g->size[k], root = sqrt(gamma + 1 / size), *q = kn_col(l->q, l->n);
        if (size < 2)
            continue;
        l->n++;
        for (ptrdiff_t i = g->start[k]; i < g->start[k + 1]; i++)
            for (ptrdiff_t j = 0; j < l->m; j++)
                q[j] += kn_at(l->q, j, g->row[i]) * sqrt(1 + gamma) / (size * root);
    }
}

/* Computes l->q (m x n), the influence of every row and group on the coordinates A, from H U = U
 * + gamma G U (U: N x m); allocates the arrays of *l, which the caller clears. */
static kn_status find_units(kn_ctx *ctx, kn_mat U, const kn_groups *groups, double gamma,
                            leverage *l)
{
    kn_status status;
    kn_mat sums = {0};
    ptrdiff_t N = U.rows;
    l->m = U.cols;
    KN_TRY(kn_mat_new(ctx, l->m, N + (groups ? groups->n : 0), &l->q));
    KN_TRY(kn_mat_new(ctx, l->m, 1, &l->Mq));
    KN_TRY(kn_mat_new(ctx, l->m, l->m, &l->inverse));
    KN_TRY(kn_mat_new(ctx, groups ? groups->n : 0, l->m, &sums));
    KN_TRY(kn_alloc_d(ctx, l->q.cols, &l->h));
    KN_TRY(kn_alloc_d(ctx, l->q.cols, &l->s2));
    if (groups)
        kn_groups_sums(groups, U, sums);
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < l->m; j++)
            kn_col(l->q, i)[j] =
                (kn_at(U, i, j) + (groups ? gamma * kn_at(sums, groups->of[i], j) : 0)) /
                sqrt(1 + gamma);
    add_groups(groups, gamma, N, l);
    for (ptrdiff_t j = 0; j < l->m; j++)
        kn_col(l->inverse, j)[j] = 1;
    for (ptrdiff_t u = 0; u < l->n; u++)
        l->h[u] = multiply(kn_col(l->q, u), kn_col(l->q, u), l->m);
out:
    kn_mat_clear(&sums);
    return status;
}

/* Returns the index (0 .. n - 1) of the row or group with the largest leverage l->h on the
 * coordinates. */
static ptrdiff_t find_largest(const leverage *l)
{
    ptrdiff_t best = 0;
    for (ptrdiff_t u = 1; u < l->n; u++)
        if (l->h[u] > l->h[best])
            best = u;
    return best;
}

/* Adds noise of variance s2 to unit u and updates all leverages: (I + S)^-1 -= s2 Mq Mq'/(1 + s2
 * h_u), Mq = (I + S)^-1 q_u. m^2 + n m flops. */
static void add_noise(leverage *l, ptrdiff_t u, double s2)
{
    double *v = l->Mq.data, weight = s2 / (1 + s2 * l->h[u]);
    for (ptrdiff_t j = 0; j < l->m; j++)
        v[j] = multiply(kn_col(l->inverse, j), kn_col(l->q, u), l->m);
    for (ptrdiff_t j = 0; j < l->m; j++)
        for (ptrdiff_t i = 0; i < l->m; i++)
            kn_col(l->inverse, j)[i] -= weight * v[i] * v[j];
    for (ptrdiff_t k = 0; k < l->n; k++) {
        double t = multiply(kn_col(l->q, k), v, l->m);
        l->h[k] -= weight * t * t;
    }
    l->s2[u] += s2;
}

/* Sets the noise variances l->s2 of all units such that no leverage exceeds `limit`: always the
 * largest leverage first. KN_ERR_CANCELLED. */
static kn_status choose_noise(kn_ctx *ctx, double limit, leverage *l)
{
    static const double ROUNDING = 1e-9;
    kn_status status = KN_OK;
    for (ptrdiff_t round = 0; round < 2 * l->n; round++) {
        ptrdiff_t u = find_largest(l);
        if (l->h[u] <= limit * (1 + ROUNDING))
            break;
        KN_TRY(kn_check_cancel(ctx));
        add_noise(l, u, 1 / limit - 1 / l->h[u]);
    }
out:
    return status;
}

/* Adds the noise to the coordinates: A (m x n) += sum_u s_u q_u e_u, e_u normal with variance
 * d_p, seeded by a hash of A; writes I + S (m x m) into the lower triangle of `sum`. */
static void blur_coordinates(const leverage *l, const double *d, kn_mat A, kn_mat sum)
{
    kn_rng rng;
    uint64_t seed = 0;
    for (ptrdiff_t p = 0; p < A.cols; p++)
        seed = kn_hash(kn_col(A, p), (size_t)A.rows * sizeof(double), seed);
    kn_rng_init(&rng, seed, STREAM);
    for (ptrdiff_t j = 0; j < l->m; j++)
        kn_col(sum, j)[j] = 1;
    for (ptrdiff_t u = 0; u < l->n; u++) {
        const double *q = kn_col(l->q, u);
        if (!(l->s2[u] > 0))
            continue;
        for (ptrdiff_t p = 0; p < A.cols; p++) {
            double e = sqrt(l->s2[u] * d[p]) * kn_rng_normal(&rng);
            for (ptrdiff_t j = 0; j < l->m; j++)
                kn_col(A, p)[j] += e * q[j];
        }
        for (ptrdiff_t j = 0; j < l->m; j++)
            for (ptrdiff_t i = j; i < l->m; i++)
                kn_col(sum, j)[i] += l->s2[u] * q[i] * q[j];
    }
}

/* Converts the posterior given the blurred A back to a decomposition with noise d I: R0->r, map
 * and A of the cell. sum: I + S, overwritten. KN_ERR_NUMERIC if it is not positive definite. */
static kn_status whiten_noise(kn_ctx *ctx, kn_mat sum, kn_latent_cell *cell)
{
    kn_status status;
    kn_decomp *R0 = &cell->R0;
    kn_mat D = {0}, A = {0}, map = {0};
    ptrdiff_t m = R0->m;
    KN_TRY(kn_mat_new(ctx, m, m, &D));
    KN_TRY(kn_mat_new(ctx, m, cell->A.cols, &A));
    KN_TRY(kn_mat_new(ctx, R0->map.rows, m, &map));
    KN_TRY(kn_chol(ctx, sum, "the noise of the export"));
    for (ptrdiff_t j = 0; j < m; j++)
        kn_col(D, j)[j] = R0->r[j];
    kn_trsm_left(ctx, KN_N, sum, D);
    kn_trsm_right(ctx, KN_T, sum, D);
    KN_TRY(kn_eig_reproducible(ctx, D, R0->r));
    for (ptrdiff_t j = 0; j < m; j++)
        R0->r[j] = fmax(R0->r[j], 0);
    kn_trsm_left(ctx, KN_N, sum, cell->A);
    kn_trsm_right(ctx, KN_T, sum, R0->map);
    kn_gemm(ctx, 1, KN_T, D, KN_N, cell->A, 0, A);
    kn_gemm(ctx, 1, KN_N, R0->map, KN_N, D, 0, map);
    kn_mat_set(cell->A, A);
    kn_mat_set(R0->map, map);
out:
    kn_mat_clear(&D);
    kn_mat_clear(&A);
    kn_mat_clear(&map);
    return status;
}

kn_status kn_limit_leverage(kn_ctx *ctx, kn_mat U, const kn_groups *groups, const double *d,
                            kn_deidentification *how, kn_latent_cell *cell)
{
    kn_status status = KN_OK;
    leverage l = {0};
    kn_mat sum = {0};
    ptrdiff_t blurred = 0;
    if (cell->n == 0 || cell->A.cols == 0)
        return KN_OK;
    KN_TRY(find_units(ctx, U, groups && groups->n > 0 ? groups : NULL, cell->R0.gamma, &l));
    how->before = fmax(how->before, l.h[find_largest(&l)]);
    if (how->leverage < 1) {
        KN_TRY(choose_noise(ctx, how->leverage, &l));
        for (ptrdiff_t u = 0; u < l.n; u++)
            blurred += l.s2[u] > 0;
    }
    if (blurred > 0) {
        KN_TRY(kn_mat_new(ctx, l.m, l.m, &sum));
        blur_coordinates(&l, d, cell->A, sum);
        KN_TRY(whiten_noise(ctx, sum, cell));
    }
    how->after = fmax(how->after, l.h[find_largest(&l)]);
    how->blurred = blurred > how->blurred ? blurred : how->blurred;
out:
    kn_mat_clear(&sum);
    leverage_clear(&l);
    return status;
}
