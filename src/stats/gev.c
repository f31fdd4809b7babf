/* Implements gev.h. */
#include "stats/gev.h"

#include <math.h>

/* L(u, xi). log1p is accurate for small and large t = xi u; only xi = 0 needs the limit. */
static double reduced(kn_gev g, double x)
{
    double u = (x - g.mu) / g.sigma, t = g.xi * u;
    if (g.xi == 0)
        return u;
    if (t <= -1) /* outside the support: below it for xi > 0, above it for xi < 0 */
        return g.xi > 0 ? -INFINITY : INFINITY;
    return log1p(t) / g.xi;
}

double kn_gev_log_pdf(kn_gev g, double x)
{
    double L = reduced(g, x);
    if (isinf(L))
        return -INFINITY;
    return -log(g.sigma) - (1 + g.xi) * L - exp(-L);
}

double kn_gev_pdf(kn_gev g, double x)
{
    return exp(kn_gev_log_pdf(g, x));
}

double kn_gev_cdf(kn_gev g, double x)
{
    return exp(-exp(-reduced(g, x)));
}

double kn_gev_upper(kn_gev g, double x)
{
    return -expm1(-exp(-reduced(g, x)));
}

/* x = mu + sigma (e^(xi L) - 1) / xi with L = -ln e, e = -ln cdf. */
static double at(kn_gev g, double e)
{
    double L = -log(e);
    if (g.xi == 0)
        return g.mu + g.sigma * L;
    return g.mu + g.sigma * expm1(g.xi * L) / g.xi;
}

double kn_gev_quantile(kn_gev g, double p)
{
    return p >= 0 && p <= 1 ? at(g, -log(p)) : NAN;
}

double kn_gev_quantile_upper(kn_gev g, double p)
{
    return p >= 0 && p <= 1 ? at(g, -log1p(-p)) : NAN;
}
