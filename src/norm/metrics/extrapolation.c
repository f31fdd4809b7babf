/* Implements extrapolation.h. Values are variances of predictions relative to the noise. */
#include "norm/metrics/extrapolation.h"

#include <math.h>

#include "stats/order_statistics.h"

void kn_extrapolation_add(kn_mat v, const double *iso, const double *noise, double *model,
                          double *noise_sum)
{
    for (ptrdiff_t j = 0; j < v.cols; j++) {
        *noise_sum += noise[j];
        for (ptrdiff_t i = 0; i < v.rows; i++)
            model[i] += fmax(kn_at(v, i, j) - iso[j], 0);
    }
}

void kn_extrapolation_ratio(double *model, ptrdiff_t n, double noise_sum)
{
    for (ptrdiff_t i = 0; i < n; i++)
        model[i] = noise_sum > 0 ? model[i] / noise_sum : NAN;
}

double kn_percentile(const double *sorted, ptrdiff_t n, double value)
{
    if (n == 0 || isnan(value))
        return NAN;
    double below = (double)kn_count_below(sorted, n, value, 0);
    double up_to = (double)kn_count_below(sorted, n, value, 1);
    return 100 * 0.5 * (below + up_to) / (double)n;
}
