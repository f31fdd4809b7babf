#include "report/laws.h"

#include <math.h>

#include "stats/incomplete_beta.h"

double kn_laws_normal(double z)
{
    return 0.5 * erfc(-z * M_SQRT1_2);
}

/* I_x(df/2, 1/2) at x = df/(df + t^2); near the middle from the other side, 1 - I_(1-x)(1/2, df/2).
 */
double kn_laws_student_both(double x, double df)
{
    if (isnan(x) || !(df > 0))
        return NAN;
    double r = x * x / df, a = df / 2, b = 0.5;
    if (isinf(r))
        return 0;
    if (r == 0)
        return 1;
    double u = 1 / (1 + r), v = r / (1 + r); /* u + v = 1, both accurate */
    double log_front = lgamma(a + b) - lgamma(a) - lgamma(b) - a * log1p(r) + b * log(v);
    if (u < (a + 1) / (a + b + 2))
        return exp(log_front) / a * kn_beta_fraction(a, b, u);
    return 1 - exp(log_front) / b * kn_beta_fraction(b, a, v);
}

double kn_laws_gev_beyond(const double gev[3], double p)
{
    double L = -log(-log1p(-p)), shape = gev[0];
    return gev[1] + gev[2] * (shape == 0 ? L : expm1(shape * L) / shape);
}

void kn_laws_binomial_range(ptrdiff_t n, double q, double *low, double *high)
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
