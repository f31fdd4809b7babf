/* Implements distributions.h. Inverses are found by Newton's method. */
#include "stats/distributions.h"

#include <float.h>
#include <math.h>

enum { STEPS = 10000, HALVINGS = 200 };

/* ---- chi-squared --------------------------------------------------------------------------------
 */

/* P(a, x) = x^a e^-x / Gamma(a + 1) sum_k x^k / ((a+1) .. (a+k)) for x < a + 1, else 1 minus
 * x^a e^-x / Gamma(a) 1/(x+1-a - 1 (1-a)/(x+3-a - 2 (2-a)/(x+5-a - ..))), by Lentz's method. */
double kn_gamma_cdf(double a, double x)
{
    if (!(a > 0 && x >= 0))
        return NAN;
    if (x == 0)
        return 0;
    double front = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int k = 1; k < STEPS && term > sum * DBL_EPSILON / 4; k++) {
            term *= x / (a + k);
            sum += term;
        }
        return front * sum;
    }
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, f = d;
    for (int k = 1; k < STEPS; k++) {
        double e = -k * (k - a);
        b += 2;
        d = 1 / (e * d + b);
        c = b + e / c;
        f *= c * d;
        if (fabs(c * d - 1) <= DBL_EPSILON)
            break;
    }
    return 1 - front * f;
}

/* Returns P(X <= x) of the chi-squared distribution with nu degrees of freedom. */
static double chi2_cdf(double x, double nu)
{
    return kn_gamma_cdf(nu / 2, x / 2);
}

/* Returns the density at x of the chi-squared distribution with nu degrees of freedom. */
static double chi2_density(double x, double nu)
{
    return exp((nu / 2 - 1) * log(x / 2) - x / 2 - lgamma(nu / 2)) / 2;
}

/* Newton's method inside a bracket, bisection if a step leaves it. */
double kn_quantile_chi2(double p, double nu)
{
    double low = 0, high = nu + 1;
    if (!(p >= 0 && p < 1 && nu > 0 && isfinite(nu)))
        return NAN;
    if (p == 0)
        return 0;
    while (chi2_cdf(high, nu) < p)
        high *= 2;
    double x = 0.5 * (low + high);
    for (int step = 0; step < HALVINGS; step++) {
        double gap = chi2_cdf(x, nu) - p;
        if (gap > 0)
            high = x;
        else
            low = x;
        double next = x - gap / chi2_density(x, nu);
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        double moved = fabs(next - x);
        x = next;
        if (moved <= 4 * DBL_EPSILON * fabs(x))
            break;
    }
    return x;
}

/* ---- binomial -----------------------------------------------------------------------------------
 */

void kn_binomial_range(ptrdiff_t n, double q, double *low, double *high)
{
    double below = 0, count = (double)n;
    *low = *high = NAN;
    if (n <= 0 || !(q >= 0 && q <= 1))
        return;
    for (ptrdiff_t k = 0; k <= n && isnan(*high); k++) {
        double at = (double)k;
        double log_ways = lgamma(count + 1) - lgamma(at + 1) - lgamma(count - at + 1);
        double log_p = (k > 0 ? at * log(q) : 0) + (k < n ? (count - at) * log1p(-q) : 0);
        below += exp(log_ways + log_p);
        if (isnan(*low) && below > 0.025)
            *low = at;
        if (below >= 0.975 || k == n)
            *high = at;
    }
    if (isnan(*low))
        *low = *high;
}

/* ---- digamma and trigamma -------------------------------------------------------------------- */

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
