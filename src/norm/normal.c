#include "norm/normal.h"

#include <math.h>

#include "norm/order.h"

/* erfc keeps its relative accuracy for large arguments, where 1 + erf would be 0 or 1. */
double kn_normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

double kn_normal_upper(double x)
{
    return 0.5 * erfc(x * M_SQRT1_2);
}

double kn_ks_normal(double *z, ptrdiff_t n)
{
    double worst = 0;
    kn_sort(z, n);
    for (ptrdiff_t i = 0; i < n; i++) { /* F_n jumps from i/n to (i+1)/n at z_i */
        double p = kn_normal_cdf(z[i]);
        worst = fmax(worst, fmax(p - (double)i / (double)n, (double)(i + 1) / (double)n - p));
    }
    return worst;
}
