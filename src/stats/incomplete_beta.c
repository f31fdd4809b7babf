/* Implements incomplete_beta.h. */
#include "stats/incomplete_beta.h"

#include <float.h>
#include <math.h>

enum { STEPS = 5000 };

double kn_beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d;
    for (int m = 1; m < STEPS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        f *= c * d;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        f *= c * d;
        if (fabs(c * d - 1) <= DBL_EPSILON)
            break;
    }
    return f;
}
