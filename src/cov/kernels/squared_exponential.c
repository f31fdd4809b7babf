/* Kernel se, squared exponential: exp(2a) exp(-|x-x'|^2 / (2 exp(2l)))             [METHOD 1a]
 *
 * A smooth function of the covariates whose length-scale the likelihood determines. It is the
 * example for a new kernel. */
#include <math.h>

#include "cov/kernel.h"
#include "la/vec.h"

/* Implements kn_kernel.add: adds exp(2a) exp(-d2 / (2 exp(2l))) to K (n x m), theta = (a, l);
 * d2: squared distances. One vectorised exponential per entry. */
static void add_squared_exponential(const double *theta, kn_mat d2, bool symmetric, kn_mat K)
{
    double v = exp(2 * theta[0]), two_l2 = 2 * exp(2 * theta[1]);
    if (v == 0)
        return;
    for (ptrdiff_t j = 0; j < K.cols; j++) {
        ptrdiff_t i = symmetric ? j : 0;
        kn_vec_add_exp(K.rows - i, kn_col(d2, j) + i, two_l2, v, kn_col(K, j) + i);
    }
}

/* Implements kn_kernel.gradient: g[0] = sum G .* dK/da, g[1] = sum G .* dK/dl, both from one
 * pass over the exponentials; d2: squared distances. */
static void contract_squared_exponential(const double *theta, kn_mat d2, bool symmetric, kn_mat G,
                                         double *g)
{
    double v = exp(2 * theta[0]), l2 = exp(2 * theta[1]), sum = 0, sum_d2 = 0;
    if (v > 0)
        for (ptrdiff_t j = 0; j < G.cols; j++) {
            double s, sx, twice = symmetric ? 2 : 1;
            ptrdiff_t i = symmetric ? j + 1 : 0;
            kn_vec_dot_exp(G.rows - i, kn_col(G, j) + i, kn_col(d2, j) + i, 2 * l2, &s, &sx);
            sum += twice * s + (symmetric ? kn_at(G, j, j) : 0);
            sum_d2 += twice * sx;
        }
    g[0] = 2 * v * sum;     /* dK/da = 2 K */
    g[1] = v * sum_d2 / l2; /* dK/dl = K .* d2 / exp(2l) */
}

const kn_kernel kn_kernel_se = {
    .name = "se",
    .amplitude = "se_amp",
    .n_shape = 1,
    .shape = {{.name = "se_len", .range = KN_RANGE_DISTANCE}},
    .stat = KN_STAT_D2,
    .course = KN_CURVED,
    .start_proportion = 0.1,
    .add = add_squared_exponential,
    .gradient = contract_squared_exponential,
};
