/* iso: exp(2a) where both are the same sample; present in R**, absent from R*     [METHOD 1a] */
#include <math.h>

#include "cov/kernel.h"

static void add(const double *theta, const kn_pairs *pairs, kn_mat K)
{
    (void)pairs;
    for (ptrdiff_t i = 0; i < K.rows; i++)
        kn_col(K, i)[i] += exp(2 * theta[0]);
}

static void add_self(const double *theta, const double *sq, ptrdiff_t n, double *k)
{
    (void)sq;
    for (ptrdiff_t i = 0; i < n; i++)
        k[i] += exp(2 * theta[0]);
}

static void gradient(const double *theta, const kn_pairs *pairs, kn_mat G, double *g)
{
    (void)pairs;
    double trace = 0;
    for (ptrdiff_t i = 0; i < G.rows; i++)
        trace += kn_at(G, i, i);
    g[0] = 2 * exp(2 * theta[0]) * trace;
}

const kn_kernel kn_kernel_iso = {
    .name = "iso",
    .bit = KN_ISO,
    .n_params = 1,
    .param = {"diag"},
    .add = add,
    .add_self = add_self,
    .gradient = gradient,
    .same_sample_only = true,
};
