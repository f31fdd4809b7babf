/* Implements burden.h. */
#include "norm/metrics/burden.h"

#include <math.h>

#include "base/memory/alloc.h"
#include "norm/metrics/extreme_statistic.h"
#include "stats/sort_select.h"

/* z: n finite values, which are reordered and whose signs change. */
static kn_burden of_finite(double *z, ptrdiff_t n, double threshold, double fraction)
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
    if (n >= KN_BURDEN_LEAST) {
        b.negative = below;
        b.positive = above;
    }
    b.top_positive = kn_extreme_signed(z, n, fraction);
    for (ptrdiff_t j = 0; j < n; j++)
        z[j] = -z[j];
    b.top_negative = -kn_extreme_signed(z, n, fraction);
    return b;
}

kn_burden kn_burden_row(const float *z, ptrdiff_t T, double threshold, double fraction,
                        double *work)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(z[j]))
            work[n++] = (double)z[j];
    return of_finite(work, n, threshold, fraction);
}
