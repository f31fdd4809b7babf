#include "report/quantile.h"

#include <float.h>
#include <math.h>

#include "report/laws.h"

enum { STEPS = 10000, HALVINGS = 200 };

/* ---- a quantile from its function: a bracket halved, Newton's step where it stays inside ---- */

typedef double (*law)(double x, double nu);

/* x in (low, high) with F(x) = p, F ascending. */
static double root(law F, law density, double p, double nu, double low, double high)
{
    double x = 0.5 * (low + high);
    for (int step = 0; step < HALVINGS; step++) {
        double gap = F(x, nu) - p;
        if (gap > 0)
            high = x;
        else
            low = x;
        double next = x - gap / density(x, nu);
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        double moved = fabs(next - x);
        x = next;
        if (moved <= 4 * DBL_EPSILON * fabs(x))
            break;
    }
    return x;
}

static double normal_cdf(double x, double nu)
{
    (void)nu;
    return kn_laws_normal(x);
}

static double normal_density(double x, double nu)
{
    (void)nu;
    return exp(-0.5 * x * x) / sqrt(2 * M_PI);
}

double kn_quantile_normal(double p)
{
    if (!(p >= 0 && p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p == 0 ? -INFINITY : INFINITY;
    if (p == 0.5)
        return 0;
    /* by the lower tail, which alone has relative accuracy */
    return p < 0.5 ? root(normal_cdf, normal_density, p, 0, -40, 0) : -kn_quantile_normal(1 - p);
}

/* ---- chi^2 ---- */

/* P(a, x) = x^a e^-x / Gamma(a + 1) sum_k x^k / ((a+1) .. (a+k)), and for x > a + 1 one less
 * x^a e^-x / Gamma(a) 1/(x+1-a - 1 (1-a)/(x+3-a - 2 (2-a)/(x+5-a - ..))), by Lentz's method. */
double kn_quantile_gamma(double a, double x)
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

static double chi2_cdf(double x, double nu)
{
    return kn_quantile_gamma(nu / 2, x / 2);
}

static double chi2_density(double x, double nu)
{
    return exp((nu / 2 - 1) * log(x / 2) - x / 2 - lgamma(nu / 2)) / 2;
}

double kn_quantile_chi2(double p, double nu)
{
    double high = nu + 1;
    if (!(p >= 0 && p < 1 && nu > 0 && isfinite(nu)))
        return NAN;
    if (p == 0)
        return 0;
    while (chi2_cdf(high, nu) < p)
        high *= 2;
    return root(chi2_cdf, chi2_density, p, nu, 0, high);
}

/* ---- Student's t ---- */

static double student_cdf(double t, double nu)
{
    double both = kn_laws_student_both(t, nu);
    return t > 0 ? 1 - both / 2 : both / 2;
}

static double student_density(double t, double nu)
{
    return exp(lgamma((nu + 1) / 2) - lgamma(nu / 2) - 0.5 * log(nu * M_PI) -
               (nu + 1) / 2 * log1p(t * t / nu));
}

double kn_quantile_student(double p, double nu)
{
    double low = -1;
    if (!(p > 0 && p < 1 && nu > 0))
        return NAN;
    if (p == 0.5)
        return 0;
    if (p > 0.5)
        return -kn_quantile_student(1 - p, nu);
    if (isinf(nu))
        return kn_quantile_normal(p);
    while (student_cdf(low, nu) > p)
        low *= 2;
    return root(student_cdf, student_density, p, nu, low, 0);
}
