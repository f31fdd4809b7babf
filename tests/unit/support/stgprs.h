/* Small problems of STGPR, and the dense Gaussian of one response. */
#ifndef KN_TEST_STGPRS_H
#define KN_TEST_STGPRS_H

#include "support/covs.h"
#include "support/fits.h"

#include "base/random.h"

static kn_rng rng;

typedef struct problem {
    kn_mat X, Y, Xs;
} problem;

static inline problem random_problem(int N, int T, int F, bool duplicate)
{
    problem p = {ref_normal(&rng, N, F), ref_normal(&rng, N, T), ref_normal(&rng, 4, F)};
    for (int i = 0; duplicate && i < N / 2; i++)
        for (int f = 0; f < F; f++)
            kn_col(p.X, f)[N - 1 - i] = kn_at(p.X, i, f);
    for (int f = 0; f < F; f++)
        kn_col(p.Xs, f)[0] = kn_at(p.X, 0, f);
    for (int j = 0; j < T; j++)
        for (int i = 0; i < N; i++)
            kn_col(p.Y, j)[i] += 1.5 * sin(2 * kn_at(p.X, i, 0) + j) * (j % 3);
    return p;
}

static inline void free_problem(problem p)
{
    free(p.X.data), free(p.Y.data), free(p.Xs.data);
}

static inline kn_settings old_sum(void)
{
    kn_settings o;
    kn_settings_init(&o);
    o.method = "stgpr";
    o.sample_kernel = "linear+se";
    return o;
}

/* A fit at rho and length (NaN: searched): no steps of the search, no scaling, no folds. */
static inline kn_settings settings_at_fixed_parameters(double rho, double length)
{
    kn_settings o = old_sum();
    o.rho = rho;
    o.length = length;
    o.max_evals = 0;
    o.standardise = 0;
    o.folds = 0;
    return o;
}

/* K = c R0 + d I over the training samples without `skip` (-1: all); returns rows kept */
static inline void dense_response(problem p, const double *r0, double c, double d, ptrdiff_t j,
                                  ptrdiff_t skip, kn_mat Xs, double *lml, double *mean, double *var)
{
    ptrdiff_t n = p.X.rows - (skip >= 0), rows[64], k = 0;
    for (ptrdiff_t i = 0; i < p.X.rows; i++)
        if (i != skip)
            rows[k++] = i;
    kn_mat X = ref_new(n, p.X.cols), y = ref_new(n, 1);
    kn_mat_rows(p.X, rows, X);
    kn_mat_rows(kn_cols(p.Y, j, 1), rows, y);
    kn_mat K = ref_kernel(X, X, r0, 0), Ks = ref_kernel(Xs, X, r0, 0);
    kn_mat Kss = ref_kernel(Xs, Xs, r0, 0);
    double *kss = calloc((size_t)Xs.rows, sizeof *kss);
    for (ptrdiff_t a = 0; a < n; a++)
        for (ptrdiff_t b = 0; b < n; b++)
            kn_col(K, b)[a] = c * kn_at(K, a, b) + (a == b) * d;
    for (ptrdiff_t i = 0; i < Xs.rows * n; i++)
        Ks.data[i] *= c;
    for (ptrdiff_t i = 0; i < Xs.rows; i++)
        kss[i] = c * kn_at(Kss, i, i);
    *lml = ref_gp(K, y.data, Ks, kss, mean, var);
    free(X.data), free(y.data), free(K.data), free(Ks.data), free(Kss.data), free(kss);
}

static inline void standardise(kn_mat M)
{
    for (ptrdiff_t j = 0; j < M.cols; j++) {
        double *x = kn_col(M, j), n = (double)M.rows, mean = 0, var = 0;
        for (ptrdiff_t i = 0; i < M.rows; i++)
            mean += x[i] / n;
        for (ptrdiff_t i = 0; i < M.rows; i++)
            var += (x[i] - mean) * (x[i] - mean) / n;
        for (ptrdiff_t i = 0; i < M.rows; i++)
            x[i] = (x[i] - mean) / sqrt(var);
    }
}

static inline int begin_seeded(void **state)
{
    if (begin(state) != 0)
        return -1;
    kn_set_threads(ctx, 1); /* small matrices: a second thread would mostly wait */
    ref_rng_init(&rng, 32, 0);
    return 0;
}

#endif
