/* Implements gev.h. The profile likelihood of the shape is searched on a grid, then polished by
 * Newton's method. */
#include "stats/gev.h"

#include <float.h>
#include <math.h>

#include "base/matrix.h"
#include "stats/order_statistics.h"

/* ---- distribution ---------------------------------------------------------------------------- */

/* Returns L = ln(1 + xi u)/xi, u = (x - mu)/sigma, from which cdf = exp(-e^-L); +-inf outside
 * the support. log1p is accurate for small and large t = xi u; only xi = 0 needs the limit. */
static double reduce_value(kn_gev g, double x)
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
    double L = reduce_value(g, x);
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
    return exp(-exp(-reduce_value(g, x)));
}

double kn_gev_upper(kn_gev g, double x)
{
    return -expm1(-exp(-reduce_value(g, x)));
}

/* Returns x = mu + sigma (e^(xi L) - 1) / xi with L = -ln e, the value at which -ln cdf is e. */
static double compute_value(kn_gev g, double e)
{
    double L = -log(e);
    if (g.xi == 0)
        return g.mu + g.sigma * L;
    return g.mu + g.sigma * expm1(g.xi * L) / g.xi;
}

double kn_gev_quantile(kn_gev g, double p)
{
    return p >= 0 && p <= 1 ? compute_value(g, -log(p)) : NAN;
}

double kn_gev_quantile_upper(kn_gev g, double p)
{
    return p >= 0 && p <= 1 ? compute_value(g, -log1p(-p)) : NAN;
}

/* ---- maximum likelihood ---------------------------------------------------------------------- */

/* Maximum likelihood of the GEV distribution as a search in one dimension.
 *
 * Write kappa = xi / (sigma - xi mu) for data centred at their median. Then
 * 1 + xi (x - mu)/sigma is proportional to 1 + kappa x, and with
 *
 *     y_i = ln(1 + kappa x_i) / kappa        (x_i when kappa = 0)
 *
 * L_i = (y_i - m)/tau, xi = kappa tau: the y are Gumbel, and
 *
 *     nll = n ln tau + sum L_i + sum e^-L_i + kappa sum y_i.
 *
 * At fixed kappa the Gumbel fit (m, tau) is unique: m = -tau ln mean e^(-y/tau), tau the only root
 * of an increasing function. So the three-dimensional problem, whose feasible set depends on the
 * parameters, becomes a smooth function of kappa on the bounded interval where all
 * 1 + kappa x_i > 0, smooth also at kappa = 0 (Gumbel). A grid over the interval finds every basin,
 * which a few starting points might miss; golden section and Newton's method in (mu, sigma, xi)
 * finish. Cost about 1000 n exponentials. */

enum { GRID = 129, GUMBEL_STEPS = 200, GOLDEN_STEPS = 40, NEWTON_STEPS = 60 };
static const double GRID_END = 16;     /* the grid of logit s is -GRID_END .. GRID_END */
static const double MAX_EXCESS = 1e-9; /* converged: nll minus its minimum is below this */

typedef struct sample { /* centred and scaled, so that the constants do not depend on units */
    ptrdiff_t n;
    double *x, *y;        /* n values with minimum -1; n values of work space */
    double mean, largest; /* mean and maximum of x */
    double lo, hi;        /* the open interval of kappa */
} sample;

typedef struct point {
    double nll;
    kn_gev gev;
} point;

typedef point (*profile_fn)(const sample *d, double s);

/* Fits a Gumbel distribution (location *m, scale *tau) to y (n): solves tau - mean y + sum y w /
 * sum w = 0 with w = e^(-y/tau). The left side increases in tau, is negative at 0+ and not
 * negative at mean y - min y: Newton's method inside this bracket, bisection if a step leaves
 * it. */
static void fit_gumbel(const double *y, ptrdiff_t n, double *m, double *tau)
{
    double mean = 0, lowest = y[0], lo = 0, hi, t;
    for (ptrdiff_t i = 0; i < n; i++) {
        mean += y[i] / (double)n;
        lowest = fmin(lowest, y[i]);
    }
    hi = mean - lowest;
    t = hi / 2;
    double sum_w = 0;
    for (int step = 0; step < GUMBEL_STEPS; step++) {
        double sw = 0, sv = 0, svv = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            double v = y[i] - lowest, w = exp(-v / t);
            sw += w;
            sv += v * w;
            svv += v * v * w;
        }
        sum_w = sw;
        double mv = sv / sw, g = t - (mean - lowest) + mv;
        double slope = 1 + (svv / sw - mv * mv) / (t * t);
        *(g < 0 ? &lo : &hi) = t;
        double next = t - g / slope;
        if (!(next > lo && next < hi))
            next = 0.5 * (lo + hi);
        if (fabs(next - t) <= 4 * DBL_EPSILON * t)
            break;
        t = next;
    }
    *tau = t;
    *m = lowest - t * log(sum_w / (double)n);
}

/* Returns kappa at logit s of its position between d->lo and d->hi. */
static double compute_kappa(const sample *d, double s)
{
    double e = exp(-fabs(s)), share = e / (1 + e); /* from the nearer end: no cancellation */
    return s < 0 ? d->lo + (d->hi - d->lo) * share : d->hi - (d->hi - d->lo) * share;
}

/* Computes d->y = ln(1 + kappa x)/kappa of the n values x of the sample; returns their sum. */
static double transform_values(const sample *d, double kappa)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < d->n; i++) {
        double v = d->x[i], t = kappa * v;
        d->y[i] = fabs(t) < 1e-8 ? v * (1 - t / 2) : log1p(t) / kappa;
        sum += d->y[i];
    }
    return sum;
}

/* Converts (kappa, m, tau) of a Gumbel fit of y to GEV parameters, with the negative log
 * likelihood for sum e^-L = n, which holds at the best m for any tau. */
static point convert_gumbel(const sample *d, double kappa, double sum_y, double m, double tau)
{
    double n = (double)d->n, nll = n * log(tau) + (sum_y - n * m) / tau + n + kappa * sum_y;
    double shift = fabs(kappa * m) < 1e-8 ? m : expm1(kappa * m) / kappa;
    return (point){nll, {kappa * tau, shift, tau * exp(kappa * m)}};
}

/* Returns the best GEV fit of the sample with kappa fixed by logit s (compute_kappa). */
static point fit_at(const sample *d, double s)
{
    double kappa = compute_kappa(d, s), sum_y = transform_values(d, kappa), m, tau;
    fit_gumbel(d->y, d->n, &m, &tau);
    return convert_gumbel(d, kappa, sum_y, m, tau);
}

/* Returns the best GEV fit with kappa fixed by logit s and xi fixed at 1, that is tau = 1/kappa;
 * only for kappa > 0, else nll is infinite. */
static point fit_at_one(const sample *d, double s)
{
    double kappa = compute_kappa(d, s), sum_y, sum = 0;
    if (!(kappa > 0))
        return (point){.nll = INFINITY};
    sum_y = transform_values(d, kappa);
    for (ptrdiff_t i = 0; i < d->n; i++) /* e^(-y/tau) = 1 / (1 + kappa x) */
        sum += 1 / (1 + kappa * d->x[i]);
    point p = convert_gumbel(d, kappa, sum_y, -log(sum / (double)d->n) / kappa, 1 / kappa);
    p.gev.xi = 1; /* exactly; kappa (1/kappa) may be rounded */
    return p;
}

/* L and its derivatives in u and xi. For small |t| the closed forms of the derivatives in xi
 * cancel, and their series in t = xi u are used: L = u sum (-t)^k/(k+1),   L_xi = -u^2 sum (-t)^k
 * (k+1)/(k+2), L_xixi = u^3 sum (-t)^k (k+1)(k+2)/(k+3). */
typedef struct jet {
    double L, u, xi, uu, uxi, xixi;
} jet;

/* Returns L = ln(1 + xi u) / xi and its first and second derivatives by u and xi; by a power
 * series for small xi u. */
static jet compute_jet(double u, double xi)
{
    enum { TERMS = 16 };
    static const double SMALL = 0.05; /* SMALL^TERMS is below rounding */
    double t = xi * u, r = 1 / (1 + t);
    jet j = {.u = r, .uu = -xi * r * r, .uxi = -u * r * r};
    if (fabs(t) < SMALL) {
        for (int k = TERMS; k >= 0; k--) {
            double k1 = k + 1, k2 = k + 2, k3 = k + 3;
            j.L = j.L * -t + 1 / k1;
            j.xi = j.xi * -t + k1 / k2;
            j.xixi = j.xixi * -t + k1 * k2 / k3;
        }
        j.L *= u;
        j.xi *= -u * u;
        j.xixi *= u * u * u;
    } else {
        j.L = log1p(t) / xi;
        j.xi = (u * r - j.L) / xi;
        j.xixi = (-u * u * r * r - 2 * j.xi) / xi;
    }
    return j;
}

/* Returns the negative log likelihood n ln sigma + sum h, h = (1 + xi) L + e^-L, of the sample,
 * with gradient g and Hessian H in (mu, sigma, xi); INFINITY if a value is outside the support. */
static double compute_nll(const sample *d, kn_gev p, double g[3], double H[3][3])
{
    double n = (double)d->n, s = p.sigma, nll = n * log(s);
    double hu = 0, huu = 0, uhu = 0, uhuu = 0, u2huu = 0, hx = 0, hxx = 0, hux = 0, uhux = 0;
    for (ptrdiff_t i = 0; i < d->n; i++) {
        double u = (d->x[i] - p.mu) / s;
        if (!(1 + p.xi * u > 0))
            return INFINITY;
        jet L = compute_jet(u, p.xi);
        double e = exp(-L.L), f = 1 + p.xi - e; /* f = dh/dL */
        double h_u = f * L.u, h_uu = e * L.u * L.u + f * L.uu;
        double h_ux = (1 + e * L.xi) * L.u + f * L.uxi;
        nll += (1 + p.xi) * L.L + e;
        hu += h_u;
        uhu += u * h_u;
        huu += h_uu;
        uhuu += u * h_uu;
        u2huu += u * u * h_uu;
        hux += h_ux;
        uhux += u * h_ux;
        hx += L.L + f * L.xi;
        hxx += 2 * L.xi + e * L.xi * L.xi + f * L.xixi;
    }
    g[0] = -hu / s;
    g[1] = (n - uhu) / s;
    g[2] = hx;
    H[0][0] = huu / (s * s);
    H[0][1] = H[1][0] = (hu + uhuu) / (s * s);
    H[1][1] = (2 * uhu + u2huu - n) / (s * s);
    H[0][2] = H[2][0] = -hux / s;
    H[1][2] = H[2][1] = -uhux / s;
    H[2][2] = hxx;
    return nll;
}

/* Computes inverse = H^-1 (3 x 3) by a Cholesky factor; false if H is not positive definite. */
static bool invert_hessian(double H[3][3], double inverse[3][3])
{
    double L[3][3] = {{0}};
    for (int j = 0; j < 3; j++)
        for (int i = j; i < 3; i++) {
            double v = H[i][j];
            for (int k = 0; k < j; k++)
                v -= L[i][k] * L[j][k];
            if (i == j && !(v > 0))
                return false;
            L[i][j] = i == j ? sqrt(v) : v / L[j][j];
        }
    for (int c = 0; c < 3; c++) {
        double b[3] = {c == 0, c == 1, c == 2};
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < i; k++)
                b[i] -= L[i][k] * b[k];
            b[i] /= L[i][i];
        }
        for (int i = 2; i >= 0; i--) {
            for (int k = i + 1; k < 3; k++)
                b[i] -= L[k][i] * b[k];
            b[i] /= L[i][i];
            inverse[i][c] = b[i];
        }
    }
    return true;
}

/* Improves *p, near the optimum, by Newton's method with step halving, until rounding stops it.
 * *excess = g' H^-1 g / 2, the decrease of nll that is left; cov = H^-1. False if it does not
 * converge. */
static bool polish_by_newton(const sample *d, point *p, double cov[3][3], double *excess)
{
    double g[3], H[3][3], trial_g[3], trial_H[3][3];
    double nll = compute_nll(d, p->gev, g, H);
    if (!isfinite(nll) || !invert_hessian(H, cov))
        return false;
    *excess = INFINITY;
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double move[3] = {0}, drop = 0;
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) {
                move[i] -= cov[i][k] * g[k];
                drop += 0.5 * g[i] * cov[i][k] * g[k];
            }
        if (!(drop < *excess) && drop < MAX_EXCESS)
            break; /* only rounding is left */
        *excess = drop;
        double scale = 1, trial, trial_cov[3][3];
        kn_gev q;
        for (;; scale *= 0.5) {
            q = (kn_gev){p->gev.xi + scale * move[2], p->gev.mu + scale * move[0],
                         p->gev.sigma + scale * move[1]};
            trial = q.sigma > 0 ? compute_nll(d, q, trial_g, trial_H) : INFINITY;
            if (trial <= nll + 1e-13 * (fabs(nll) + (double)d->n) &&
                invert_hessian(trial_H, trial_cov))
                break;
            if (scale < 1e-12)
                return *excess < MAX_EXCESS;
        }
        p->gev = q;
        nll = trial;
        for (int i = 0; i < 3; i++) {
            g[i] = trial_g[i];
            for (int k = 0; k < 3; k++)
                cov[i][k] = trial_cov[i][k];
        }
    }
    p->nll = nll;
    return *excess < MAX_EXCESS;
}

/* Returns the GEV fit with the least negative log likelihood over its profile parameter s in [a,
 * b], by golden section search; f fits location and scale at a given s. */
static point search_golden_section(const sample *d, profile_fn f, double a, double b)
{
    static const double RATIO = 0.6180339887498949;
    double s = b - RATIO * (b - a), t = a + RATIO * (b - a);
    double fs = f(d, s).nll, ft = f(d, t).nll;
    for (int step = 0; step < GOLDEN_STEPS; step++)
        if (fs < ft) {
            b = t, t = s, ft = fs;
            s = b - RATIO * (b - a);
            fs = f(d, s).nll;
        } else {
            a = s, s = t, fs = ft;
            t = a + RATIO * (b - a);
            ft = f(d, t).nll;
        }
    return f(d, 0.5 * (a + b));
}

/* Returns logit s of grid point k. */
static double compute_grid_point(int k)
{
    return GRID_END * (2.0 * k / (GRID - 1) - 1);
}

/* Returns whether grid point k is a local minimum of nll. */
static bool is_valley(const point *p, int k)
{
    return p[k].nll <= p[k - 1].nll && p[k].nll < p[k + 1].nll;
}

/* Finds the best local maximum of the likelihood with xi > -1, starting from the grid p: *best,
 * its covariance and *excess; false if there is none. */
static bool find_interior(const sample *d, const point *p, point *best, double cov[3][3],
                          double *excess)
{
    bool found = false;
    for (int k = 1; k < GRID - 1; k++) {
        double trial_cov[3][3], trial_excess;
        if (!is_valley(p, k) || p[k + 1].gev.xi <= -1)
            continue;
        point q =
            search_golden_section(d, fit_at, compute_grid_point(k - 1), compute_grid_point(k + 1));
        if (q.gev.xi <= -1 || !polish_by_newton(d, &q, trial_cov, &trial_excess) || q.gev.xi <= -1)
            continue;
        if (found && q.nll >= best->nll)
            continue;
        found = true;
        *best = q;
        *excess = trial_excess;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                cov[i][j] = trial_cov[i][j];
    }
    return found;
}

/* Finds the better of the maxima at xi = -1 and xi = 1, each only if the likelihood increases
 * beyond that bound; false if there is none. */
static bool find_maximum_at_bounds(const sample *d, const point *p, point *best)
{
    bool found = false;
    int k = 0;
    while (k < GRID - 1 && p[k].gev.xi <= -1)
        k++;
    if (k < GRID - 1 && p[k].gev.xi < 0 && p[k].nll <= p[k + 1].nll) {
        double sigma = d->largest - d->mean; /* nll = n ln sigma + sum (max x - x)/sigma */
        *best = (point){(double)d->n * (log(sigma) + 1), {-1, d->mean, sigma}};
        found = true;
    }
    if (p[GRID - 1].nll > p[GRID - 2].nll)
        return found;
    point r[GRID];
    for (k = 0; k < GRID; k++)
        r[k] = fit_at_one(d, compute_grid_point(k));
    for (k = 1; k < GRID - 1; k++)
        if (is_valley(r, k) && (!found || r[k].nll < best->nll)) {
            *best = search_golden_section(d, fit_at_one, compute_grid_point(k - 1),
                                          compute_grid_point(k + 1));
            found = true;
        }
    return found;
}

/* Fails with KN_ERR_DATA for fewer than KN_GEV_MIN_N values, for values that are not finite or all
 * equal. */
static kn_status check_values(kn_ctx *ctx, const double *x, ptrdiff_t n)
{
    if (n < KN_GEV_MIN_N)
        return kn_fail(ctx, KN_ERR_DATA,
                       "the extreme-value distribution needs at least %d reference participants, "
                       "there are %td",
                       KN_GEV_MIN_N, n);
    double smallest = x[0], largest = x[0];
    for (ptrdiff_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return kn_fail(ctx, KN_ERR_DATA,
                           "the extreme-value distribution cannot be fitted, because the statistic "
                           "of reference participant %td is not finite",
                           i + 1);
        smallest = fmin(smallest, x[i]);
        largest = fmax(largest, x[i]);
    }
    if (largest - smallest <= 1e-12 * fmax(fabs(largest), fabs(smallest)))
        return kn_fail(ctx, KN_ERR_DATA,
                       "the extreme-value distribution cannot be fitted, because the statistics of "
                       "all %td reference participants are equal (%g)",
                       n, largest);
    return KN_OK;
}

/* Sets d->x = (x - centre) / unit and the interval of kappa. The centre is the median, since a
 * heavy tail would move the mean, and with it the interval of kappa, away from the data; it is
 * the mean if half of the values equal the smallest or the largest. */
static void standardise_sample(sample *d, const double *x, double *centre, double *unit)
{
    double smallest, largest, median, mean = 0;
    for (ptrdiff_t i = 0; i < d->n; i++) {
        d->y[i] = x[i];
        mean += x[i] / (double)d->n;
    }
    kn_sort(d->y, d->n);
    smallest = d->y[0], largest = d->y[d->n - 1], median = d->y[d->n / 2];
    *centre = median > smallest && median < largest ? median : mean;
    *unit = *centre - smallest;
    d->largest = (largest - *centre) / *unit;
    for (ptrdiff_t i = 0; i < d->n; i++) {
        d->x[i] = (x[i] - *centre) / *unit;
        d->mean += d->x[i] / (double)d->n;
    }
    d->lo = -1 / d->largest;
    d->hi = 1;
}

kn_status kn_gev_fit(kn_ctx *ctx, const double *x, ptrdiff_t n, kn_gev_estimate *out)
{
    sample d = {.n = n};
    double centre, unit, cov[3][3];
    point grid[GRID], best = {0};
    kn_status status;

    *out = (kn_gev_estimate){.n = n, .se = {NAN, NAN, NAN}, .excess = NAN};
    KN_TRY(check_values(ctx, x, n));
    KN_TRY(kn_alloc_d(ctx, n, &d.x));
    KN_TRY(kn_alloc_d(ctx, n, &d.y));
    standardise_sample(&d, x, &centre, &unit);
    for (int k = 0; k < GRID; k++)
        grid[k] = fit_at(&d, compute_grid_point(k));
    if (find_interior(&d, grid, &best, cov, &out->excess)) {
        if (best.gev.xi > -0.5)
            out->se = (kn_gev){sqrt(cov[2][2]), unit * sqrt(cov[0][0]), unit * sqrt(cov[1][1])};
    } else if (find_maximum_at_bounds(&d, grid, &best)) {
        out->at_bound = true;
    } else {
        status = kn_fail(ctx, KN_ERR_NUMERIC,
                         "the extreme-value distribution cannot be fitted, because too many of the "
                         "%td statistics are equal",
                         n);
        goto out;
    }
    out->gev = (kn_gev){best.gev.xi, centre + unit * best.gev.mu, unit * best.gev.sigma};
    out->nll = best.nll + (double)n * log(unit);
out:
    kn_free(d.x);
    kn_free(d.y);
    return status;
}
