/* Implements polygamma.h. */
#include "stats/polygamma.h"

#include <math.h>

enum { FROM = 10, TERMS = 8 };

static const double BERNOULLI[TERMS] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                        5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};

double kn_digamma(double x)
{
    double below = 0, rest = 0;
    if (!(x > 0))
        return NAN;
    for (; x < FROM; x++)
        below += 1 / x;
    double y = 1 / (x * x);
    for (int k = TERMS; k > 0; k--)
        rest = y * (BERNOULLI[k - 1] / (2 * k) + rest);
    return log(x) - 0.5 / x - rest - below;
}

double kn_trigamma(double x)
{
    double below = 0, rest = 0;
    if (!(x > 0))
        return NAN;
    for (; x < FROM; x++)
        below += 1 / (x * x);
    double y = 1 / (x * x);
    for (int k = TERMS; k > 0; k--)
        rest = y * (BERNOULLI[k - 1] + rest);
    return (1 + 0.5 / x + rest) / x + below;
}

double kn_trigamma_inverse(double v)
{
    double low = KN_TRIGAMMA_LOW, high = KN_TRIGAMMA_HIGH;
    if (!(v < kn_trigamma(low)))
        return isnan(v) ? NAN : low;
    if (v <= kn_trigamma(high))
        return high;
    for (;;) {
        double middle = sqrt(low * high);
        if (!(middle > low && middle < high))
            return middle;
        if (kn_trigamma(middle) > v)
            low = middle;
        else
            high = middle;
    }
}
