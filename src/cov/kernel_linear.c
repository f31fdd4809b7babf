/* linear: exp(2a) x.x'                                                            [METHOD 1a] */
#include <math.h>

#include "cov/kernel.h"
#include "la/vec.h"

static void add(const double *theta, kn_mat dot, bool symmetric, kn_mat K)
{
    double v = exp(2 * theta[0]);
    for (ptrdiff_t j = 0; j < K.cols; j++)
        for (ptrdiff_t i = symmetric ? j : 0; i < K.rows; i++)
            kn_col(K, j)[i] += v * kn_at(dot, i, j);
}

static void gradient(const double *theta, kn_mat dot, bool symmetric, kn_mat G, double *g)
{
    double sum = 0;
    for (ptrdiff_t j = 0; j < G.cols; j++) {
        const double *gj = kn_col(G, j), *x = kn_col(dot, j);
        if (symmetric)
            sum += gj[j] * x[j] + 2 * kn_vec_dot(G.rows - j - 1, gj + j + 1, x + j + 1);
        else
            sum += kn_vec_dot(G.rows, gj, x);
    }
    g[0] = 2 * exp(2 * theta[0]) * sum; /* dK/da = 2 K */
}

const kn_kernel kn_kernel_linear = {
    .name = "linear",
    .amplitude = "lin",
    .stat = KN_STAT_DOT,
    .per_column = true,
    .proportional = true,
    .add = add,
    .gradient = gradient,
};
