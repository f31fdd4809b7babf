/* Implements student_t.h by the incomplete beta function and Newton's method. Both tails are
 * computed as logarithms, so that extreme residuals keep their order. */
#include "stats/student_t.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "base/memory/alloc.h"
#include "la/vec.h"
#include "stats/normal.h"

/* ---- incomplete beta function ---------------------------------------------------------------- */

enum { FRACTION_STEPS = 5000 };

/* Continued fraction 1/(1 + d_1/(1 + d_2/(1 + ..))) of the regularised incomplete beta function,
 *
 *     I_x(a, b) = x^a (1-x)^b / (a B(a, b)) * 1/(1 + d_1/(1 + d_2/(1 + ..)))
 *     d_2m+1 = -(a+m)(a+b+m) x/((a+2m)(a+2m+1)),  d_2m = m (b-m) x/((a+2m-1)(a+2m))
 *
 * by Lentz's method; for x < (a+1)/(a+b+2) it takes some tens of steps. */
static double compute_beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d;
    for (int m = 1; m < FRACTION_STEPS; m++) {
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

/* ---- distribution ---------------------------------------------------------------------------- */

enum { NEWTON_STEPS = 100 };
static const double TINY = 1e-20;  /* z^2/nu below which the density is constant */
static const double NOISE = 1e-11; /* Newton steps below it that do not shrink are rounding */

/* ln Gamma(a + 1/2)/Gamma(a), by its series in 1/a from a = 20 on and by Gamma(a + 1) = a Gamma(a)
 * below. The difference of two lgamma would lose four digits at a = 5000. */
static double log_gamma_ratio(double a)
{
    double shift = 0;
    for (; a < 20; a++)
        shift += log(a / (a + 0.5));
    double u = 1 / a, u2 = u * u;
    double series =
        u *
        (-1.0 / 8 + u2 * (1.0 / 192 + u2 * (-1.0 / 640 + u2 * (17.0 / 14336 - u2 * 31 / 18432))));
    return 0.5 * log(a) + series + shift;
}

/* Returns ln(1 + z^2/nu), also where z^2 overflows. */
static double log1p_square(double z, double nu)
{
    return fabs(z) < 1e100 ? log1p(z * z / nu) : 2 * log(fabs(z)) - log(nu);
}

typedef struct tails { /* of |z| */
    double log_upper;  /* ln S_nu(|z|) */
    double central;    /* P(|t| <= |z|), NaN if the tail was computed directly */
} tails;

/* Returns the logarithm of P(t > |z|), t with nu degrees of freedom, and P(|t| <= |z|) if that
 * is the more accurate, else NaN, by the incomplete beta function; near 0 by the density. */
static tails compute_tails(double z, double nu)
{
    double a = nu / 2, b = 0.5, r = fabs(z) / nu * fabs(z); /* z^2/nu */
    double x = 1 / (1 + r), y = r < 1 ? r / (1 + r) : 1 / (1 + 1 / r);
    if (r < TINY) { /* the density is flat, and z^2 may underflow */
        double c = 2 * fabs(z) * exp(kn_student_log_density(0, nu));
        return (tails){log((1 - c) / 2), c};
    }
    /* ln of x^a y^b / B(a, 1/2);  B(a, 1/2) = sqrt(pi) Gamma(a)/Gamma(a + 1/2) */
    double log_front = log_gamma_ratio(a) - 0.5 * log(M_PI) - a * log1p_square(z, nu) + b * log(y);
    if (x < (a + 1) / (a + b + 2))
        return (tails){log_front - log(2 * a) + log(compute_beta_fraction(a, b, x)), NAN};
    double c = exp(log_front) / b * compute_beta_fraction(b, a, y);
    return (tails){log((1 - c) / 2), c};
}

double kn_student_log_upper(double z, double nu)
{
    if (isnan(z))
        return z;
    if (isinf(nu))
        return kn_normal_log_upper(z);
    if (isinf(z))
        return z > 0 ? -INFINITY : 0;
    if (z == 0)
        return -M_LN2;
    tails t = compute_tails(z, nu);
    return z > 0 ? t.log_upper : log1p(-exp(t.log_upper));
}

double kn_student_upper(double z, double nu)
{
    return exp(kn_student_log_upper(z, nu));
}

double kn_student_log_density(double z, double nu)
{
    if (nu > KN_STUDENT_MAX)
        return -0.5 * (z * z + KN_LOG_2PI);
    return log_gamma_ratio(nu / 2) - 0.5 * log(nu * M_PI) - 0.5 * (nu + 1) * log1p_square(z, nu);
}

double kn_student_to_normal(double z1, double nu)
{
    if (nu > KN_STUDENT_MAX || !isfinite(z1) || z1 == 0)
        return z1;
    tails t = compute_tails(z1, nu);
    double x = t.central <= 0.5 ? kn_normal_central_quantile(t.central)
                                : kn_normal_upper_quantile_log(t.log_upper);
    return copysign(x, z1);
}

/* Returns the inverse of kn_student_to_normal for small zt > 0. zt(z) is concave for z > 0 and
 * below z, so Newton's method from z = zt approaches the root from the left. dzt/dz =
 * t_nu(z)/phi(zt). */
static double invert_near(double zt, double nu)
{
    double z = zt;
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double at = kn_student_to_normal(z, nu);
        double d = (zt - at) / exp(kn_student_log_density(z, nu) + 0.5 * (at * at + KN_LOG_2PI));
        z += d;
        if (fabs(d) <= 4 * DBL_EPSILON * z)
            break;
    }
    return z;
}

/* Returns the inverse of kn_student_to_normal in the tail (zt > 0): Newton's method over s = ln
 * z. ln S_nu(e^s) is concave in s, with slope -nu for large s. */
static double invert_far(double zt, double nu)
{
    double log_p = kn_normal_log_upper(zt), s = log(zt), last = INFINITY;
    if (kn_student_log_upper(DBL_MAX, nu) > log_p)
        return INFINITY;
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double z = exp(s), log_q = kn_student_log_upper(z, nu);
        double d = (log_q - log_p) / exp(s + kn_student_log_density(z, nu) - log_q);
        s = fmin(s + d, log(DBL_MAX));
        if (fabs(d) <= DBL_EPSILON || (fabs(d) < NOISE && fabs(d) > last / 2))
            break; /* converged, or only rounding is left */
        last = fabs(d);
    }
    return exp(s);
}

double kn_normal_to_student(double zt, double nu)
{
    static const double NEAR = 1;
    if (nu > KN_STUDENT_MAX || !isfinite(zt) || zt == 0)
        return zt;
    double x = fabs(zt);
    return copysign(x < NEAR ? invert_near(x, nu) : invert_far(x, nu), zt);
}

double kn_student_quantile(double p, double nu)
{
    return kn_normal_to_student(kn_normal_quantile(p), nu);
}

/* ---- table for one nu ------------------------------------------------------------------------ */

enum { CELLS = 1024, DEGREE = 5 };
static const double PER_UNIT =
    64; /* cells per unit of z; the table ends at CELLS / PER_UNIT = 16 */

struct kn_student_map {
    double nu;
    double c[CELLS][DEGREE + 1]; /* coefficients in u = PER_UNIT z - cell, 0 <= u <= 1 */
};

typedef struct jet { /* value and derivatives with respect to u */
    double f, f1, f2;
} jet;

/* Returns kn_student_to_normal at z and its first two derivatives by u = PER_UNIT z. */
static jet compute_jet(double z, double nu)
{
    double f = kn_student_to_normal(z, nu), h = 1 / PER_UNIT;
    double w = exp(kn_student_log_density(z, nu) + 0.5 * (f * f + KN_LOG_2PI)); /* dzt/dz */
    return (jet){f, h * w, h * h * w * (f * w - (nu + 1) * z / (nu + z * z))};
}

kn_status kn_student_map_new(kn_ctx *ctx, double nu, kn_student_map **out)
{
    void *memory = NULL;
    *out = NULL;
    kn_status status = kn_alloc(ctx, 1, sizeof **out, &memory);
    if (status != KN_OK)
        return status;
    kn_student_map *map = memory;
    map->nu = nu;
    jet a = compute_jet(0, nu);
    for (int k = 0; k < CELLS && nu <= KN_STUDENT_MAX; k++) {
        jet b = compute_jet((k + 1) / PER_UNIT, nu);
        double *c = map->c[k];
        double d0 = b.f - a.f - a.f1 - a.f2 / 2, d1 = b.f1 - a.f1 - a.f2, d2 = b.f2 - a.f2;
        c[0] = a.f;
        c[1] = a.f1;
        c[2] = a.f2 / 2;
        c[3] = 10 * d0 - 4 * d1 + d2 / 2;
        c[4] = -15 * d0 + 7 * d1 - d2;
        c[5] = 6 * d0 - 3 * d1 + d2 / 2;
        a = b;
    }
    *out = map;
    return KN_OK;
}

void kn_student_map_free(kn_student_map *map)
{
    kn_free(map);
}

double kn_student_map_at(const kn_student_map *map, double z1)
{
    double u = fabs(z1) * PER_UNIT;
    if (map->nu > KN_STUDENT_MAX || !(u < CELLS))
        return kn_student_to_normal(z1, map->nu);
    int k = (int)u;
    const double *c = map->c[k];
    u -= k;
    return copysign(c[0] + u * (c[1] + u * (c[2] + u * (c[3] + u * (c[4] + u * c[5])))), z1);
}

/* Replaces z1 within the table by zt; true if there are others, NaN included, which stay. The same
 * bits as kn_student_map_at. */
KN_CLONES
static bool apply_table(const kn_student_map *map, ptrdiff_t n, double *z)
{
    const double *table = &map->c[0][0];
    int others = 0;
#pragma omp simd reduction(+ : others)
    for (ptrdiff_t i = 0; i < n; i++) {
        double u = fabs(z[i]) * PER_UNIT;
        int within = u < CELLS;
        double at = within ? u : 0;
        int k = (int)at;
        const double *c = table + (DEGREE + 1) * k;
        at -= k;
        double zt = c[0] + at * (c[1] + at * (c[2] + at * (c[3] + at * (c[4] + at * c[5]))));
        z[i] = within ? copysign(zt, z[i]) : z[i];
        others += !within;
    }
    return others > 0;
}

void kn_student_map_apply(const kn_student_map *map, ptrdiff_t n, double *z)
{
    double outside = CELLS / PER_UNIT;
    if (map->nu > KN_STUDENT_MAX || !apply_table(map, n, z))
        return;
    for (ptrdiff_t i = 0; i < n; i++) /* no zt is as large as the end of the table */
        if (!(fabs(z[i]) < outside))
            z[i] = kn_student_to_normal(z[i], map->nu);
}
