/* Implements burden.h. A burden needs a minimum number of finite responses. */
#include "norm/metrics/burden.h"

#include <math.h>

#include "base/memory/alloc.h"
#include "norm/metrics/extreme_statistic.h"
#include "stats/order_statistics.h"

/* Burden of n finite z-scores. z is overwritten: reordered, with changed signs. All fields are NaN
 * if n = 0, the counts also if n < KN_BURDEN_MIN. */
static kn_burden burden_of_finite(double *z, ptrdiff_t n, double threshold, double fraction)
{
    kn_burden b = {n, NAN, NAN, NAN, NAN, NAN};
    double sum = 0, below = 0, above = 0;
    if (n == 0)
        return b;
    for (ptrdiff_t j = 0; j < n; j++) {
        sum += z[j];
        below += z[j] < -threshold;
        above += z[j] > threshold;
    }
    b.mean_z = sum / (double)n;
    if (n >= KN_BURDEN_MIN) {
        b.negative = below;
        b.positive = above;
    }
    b.extreme_z_high = kn_extreme_signed(z, n, fraction);
    for (ptrdiff_t j = 0; j < n; j++)
        z[j] = -z[j];
    b.extreme_z_low = -kn_extreme_signed(z, n, fraction);
    return b;
}

kn_burden kn_burden_row(const float *z, ptrdiff_t T, double threshold, double fraction,
                        double *work)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(z[j]))
            work[n++] = (double)z[j];
    return burden_of_finite(work, n, threshold, fraction);
}
