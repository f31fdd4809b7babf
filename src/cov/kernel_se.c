/* squared exponential: exp(2a) exp(-|x-x'|^2 / (2 exp(2l)))                       [METHOD 1a] */
#include <math.h>

#include "cov/kernel.h"
#include "la/vec.h"

static void add(const double *theta, const kn_pairs *pairs, kn_mat K)
{
    double v = exp(2 * theta[0]), two_l2 = 2 * exp(2 * theta[1]);
    if (v == 0)
        return;
    for (ptrdiff_t j = 0; j < K.cols; j++) {
        ptrdiff_t i = pairs->symmetric ? j : 0;
        kn_vec_add_exp(K.rows - i, kn_col(pairs->d2, j) + i, two_l2, v, kn_col(K, j) + i);
    }
}

static void add_self(const double *theta, const double *sq, ptrdiff_t n, double *k)
{
    (void)sq;
    double v = exp(2 * theta[0]);
    for (ptrdiff_t i = 0; i < n; i++)
        k[i] += v;
}

static void gradient(const double *theta, const kn_pairs *pairs, kn_mat G, double *g)
{
    double v = exp(2 * theta[0]), l2 = exp(2 * theta[1]), sum = 0, sum_d2 = 0;
    if (v > 0)
        for (ptrdiff_t j = 0; j < G.cols; j++) {
            double s, sx, twice = pairs->symmetric ? 2 : 1;
            ptrdiff_t i = pairs->symmetric ? j + 1 : 0;
            kn_vec_dot_exp(G.rows - i, kn_col(G, j) + i, kn_col(pairs->d2, j) + i, 2 * l2, &s, &sx);
            sum += twice * s + (pairs->symmetric ? kn_at(G, j, j) : 0);
            sum_d2 += twice * sx;
        }
    g[0] = 2 * v * sum;     /* dK/da = 2 K */
    g[1] = v * sum_d2 / l2; /* dK/dl = K .* d2 / exp(2l) */
}

const kn_kernel kn_kernel_se = {
    .name = "se",
    .bit = KN_SE,
    .n_params = 2,
    .param = {"se_amp", "se_len"},
    .add = add,
    .add_self = add_self,
    .gradient = gradient,
};
