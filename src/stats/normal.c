/* Implements normal.h by erf, erfc and Newton's method. Quantiles are accurate to rounding also
 * for probabilities close to 0. */
#include "stats/normal.h"

#include <float.h>
#include <math.h>

#include "stats/order_statistics.h"

enum { NEWTON_STEPS = 60, TAIL_TERMS = 12 };
static const double FAR = 12;   /* from here on the asymptotic series of the tail is exact */
static const double HALF = 0.5; /* central probability: below it by erf, above it by the tail */

/* erfc keeps its relative accuracy for large arguments, where 1 + erf would be 0 or 1. */
double kn_normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

double kn_normal_upper(double x)
{
    return 0.5 * erfc(x * M_SQRT1_2);
}

/* 1 - Phi(x) = phi(x)/x (1 - 1/x^2 + 3/x^4 - 15/x^6 ..) for x >= FAR. */
double kn_normal_log_upper(double x)
{
    if (!(x >= FAR))
        return log(kn_normal_upper(x));
    if (isinf(x))
        return -INFINITY;
    double term = 1, sum = 0;
    for (int k = 1; k <= TAIL_TERMS; k++) {
        term *= -(2 * k - 1) / (x * x);
        sum += term;
    }
    return -0.5 * x * x - log(x) - 0.5 * KN_LOG_2PI + log1p(sum);
}

double kn_normal_central_quantile(double c)
{
    double x = c * sqrt(M_PI_2); /* left of the root; erf is concave: Newton does not overshoot */
    if (!(c >= 0 && c <= 1))
        return NAN;
    if (c > HALF)
        return kn_normal_upper_quantile_log(log((1 - c) / 2));
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double d = (c - erf(x * M_SQRT1_2)) * sqrt(M_PI_2) * exp(0.5 * x * x);
        x += d;
        if (fabs(d) <= 4 * DBL_EPSILON * x)
            break;
    }
    return x;
}

/* Returns x >= 0.67 with ln(1 - Phi(x)) = log_p, by Newton's method from the right of the root. */
static double find_tail_quantile(double log_p)
{
    double x = sqrt(-2 * log_p); /* 1 - Phi(x) < e^(-x^2/2): right of the root */
    for (int step = 0; step < NEWTON_STEPS && isfinite(x); step++) {
        double log_q = kn_normal_log_upper(x);
        double slope = exp(-0.5 * (x * x + KN_LOG_2PI) - log_q); /* phi/(1 - Phi) */
        double d = (log_q - log_p) / slope;
        x += d;
        if (fabs(d) <= 4 * DBL_EPSILON * x)
            break;
    }
    return x;
}

double kn_normal_upper_quantile_log(double log_p)
{
    static const double QUARTER = -1.3862943611198906; /* ln 1/4 */
    if (!(log_p <= 0))
        return NAN;
    if (log_p <= QUARTER)
        return find_tail_quantile(log_p);
    double lower = -expm1(log_p); /* 1 - p */
    if (lower < 0.25)
        return -find_tail_quantile(log(lower));
    double c = 2 * lower - 1; /* P(|u| <= |x|), signed */
    return copysign(kn_normal_central_quantile(fabs(c)), c);
}

double kn_normal_quantile(double p)
{
    if (!(p >= 0 && p <= 1))
        return NAN;
    return p < 0.5 ? -kn_normal_upper_quantile_log(log(p)) : kn_normal_central_quantile(2 * p - 1);
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
