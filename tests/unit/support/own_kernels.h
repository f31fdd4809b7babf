/* A kernel that the library has never heard of, defined here as one row, beside those that it has:
 * the same terms for the library and for the oracle. */
#ifndef KN_TEST_OWN_KERNELS_H
#define KN_TEST_OWN_KERNELS_H

#include "support/covs.h"

#include "base/random.h"

static kn_ctx *ctx;
static kn_rng rng;

/* ---- a new kernel: rational quadratic ---------------------------------------------------------
 *
 *     exp(2a) b^-alpha,   b = 1 + |x-x'|^2/(2 alpha l^2);   theta = (a, ln l, ln alpha) */

static inline void rq_add(const double *theta, kn_mat d2, bool symmetric, kn_mat K)
{
    double v = exp(2 * theta[0]), l2 = exp(2 * theta[1]), alpha = exp(theta[2]);
    for (ptrdiff_t j = 0; j < K.cols; j++)
        for (ptrdiff_t i = symmetric ? j : 0; i < K.rows; i++)
            kn_col(K, j)[i] += v * pow(1 + kn_at(d2, i, j) / (2 * alpha * l2), -alpha);
}

static inline void rq_gradient(const double *theta, kn_mat d2, bool symmetric, kn_mat G, double *g)
{
    double v = exp(2 * theta[0]), l2 = exp(2 * theta[1]), alpha = exp(theta[2]);
    g[0] = g[1] = g[2] = 0;
    for (ptrdiff_t j = 0; j < G.cols; j++)
        for (ptrdiff_t i = symmetric ? j : 0; i < G.rows; i++) {
            double x = kn_at(d2, i, j) / l2, b = 1 + x / (2 * alpha);
            double k = (symmetric && i > j ? 2 : 1) * kn_at(G, i, j) * v * pow(b, -alpha);
            g[0] += 2 * k;
            g[1] += k * x / b;
            g[2] += k * (x / (2 * b) - alpha * log(b));
        }
}

static const kn_kernel rational_quadratic = {
    .name = "rq",
    .amplitude = "rq_amp",
    .n_shape = 2,
    .shape = {{.name = "rq_len", .range = KN_RANGE_DISTANCE},
              {.name = "rq_alpha", .range = KN_RANGE_FIXED, .low = 0.2, .high = 20}},
    .stat = KN_STAT_D2,
    .add = rq_add,
    .gradient = rq_gradient,
};

static inline double ref_rq(const double *x, const double *y, ptrdiff_t count, const double *theta)
{
    double alpha = exp(theta[2]);
    return exp(2 * theta[0]) *
           pow(1 + ref_distance2(x, y, count) / (2 * alpha * exp(2 * theta[1])), -alpha);
}

/* ---- the same terms for the library and for the oracle ----------------------------------------
 */

enum { F = 4, MAX_TERMS = 4 };
static const struct {
    ref_term ref;
    const kn_kernel *kernel;
} TERMS[MAX_TERMS] = {
    {{ref_linear, 1, 0, F}, &kn_kernel_linear},
    {{ref_se, 2, 0, 2}, &kn_kernel_se},
    {{ref_rq, 3, 1, 2}, &rational_quadratic},
    {{ref_linear, 1, 2, 2}, &kn_kernel_linear},
};

static inline kn_cov terms(int from, int n, ref_term *ref)
{
    kn_cov cov = {0};
    for (int k = 0; k < n; k++) {
        ref[k] = TERMS[from + k].ref;
        assert_ok(ctx, kn_cov_add(ctx, &cov, TERMS[from + k].kernel, ref[k].first, ref[k].count));
    }
    return cov;
}

static inline void random_theta(const kn_cov *cov, double *theta)
{
    for (int i = 0; i < cov->n_theta; i++)
        theta[i] = 0.3 * kn_rng_normal(&rng) - 0.2;
}

static const ptrdiff_t SIZES[] = {1, 2, 3, 40};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES };

typedef struct setting {
    ptrdiff_t N;
    int terms;
    bool iso, low;
} setting;

static inline kn_spec spec_of(setting s, ref_term *ref)
{
    kn_spec spec = {.noise = s.iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED,
                    .sample = terms(0, s.terms, ref),
                    .rank = s.low ? (s.N + 1) / 2 : 0};
    if (s.iso) {
        assert_ok(ctx, kn_cov_add(ctx, &spec.sample, &kn_kernel_iso, 0, F));
        spec.task = cov_of("linear+se+iso", KN_ALL_COLUMNS);
    }
    return spec;
}

#endif
