/* Implements centile_band.h; the jackknife uses Welford's running mean. */
#include "norm/metrics/centile_band.h"

#include <math.h>

static const double KURT_NORMAL = 2, KURT_LEAST = 0.5; /* [METHOD 8c] */

double kn_band_kurt(const kn_shash_nodes *nodes, const kn_shash *law, double n)
{
    double fourth = 0;
    if (!law)
        return KURT_NORMAL;
    for (int k = 0; k < KN_SHASH_NODES; k++) { /* zt has mean 0 and variance 1 by the same nodes */
        double zt = law->loc + law->sc * sinh((nodes->asinh_u[k] + law->a) / law->b);
        fourth += nodes->w[k] * zt * zt * zt * zt;
    }
    return fmin(fmax(fourth - 1, KURT_LEAST), fmax(n, KURT_NORMAL));
}

double kn_band_half(const kn_band_parts *b)
{
    return KN_BAND_NORMAL * sqrt(b->J + b->t * b->t * b->noise * b->kurt / (4 * b->n));
}

void kn_band_fold(kn_mat mean, kn_mat spread, kn_mat fold, int count)
{
    for (ptrdiff_t j = 0; j < mean.cols; j++)
        for (ptrdiff_t i = 0; i < mean.rows; i++) {
            double *m = kn_col(mean, j) + i, x = kn_at(fold, i, j), before = x - *m;
            *m += before / count;
            kn_col(spread, j)[i] += before * (x - *m);
        }
}

void kn_band_jackknife(kn_mat spread, int K)
{
    for (ptrdiff_t j = 0; j < spread.cols; j++)
        for (ptrdiff_t i = 0; i < spread.rows; i++)
            kn_col(spread, j)[i] *= (K - 1.0) / K;
}
