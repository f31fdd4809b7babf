/* Implements change_distribution.h of this folder: six sums per response, moderated variances
 * (Smyth 2004), and z. It is the distribution of normal change between two visits. */
#include "norm/change/change_distribution.h"

#include <math.h>
#include <string.h>

#include "stats/distributions.h"

enum { W, A, D, AA, AD, DD, SUMS };

/* Mean squared changes, in units of the noise variance, below which they are rounding errors. */
static const double NO_CHANGE = 1e-12;
enum { MAPPED_FROM = 4096 }; /* number of responses from which a table of the Student step pays */

/* ---- sums ----------------------------------------------------------------------------------- */

kn_status kn_change_sums_new(kn_ctx *ctx, ptrdiff_t T, kn_change_sums *out)
{
    return kn_mat_new(ctx, T, SUMS, &out->of);
}

void kn_change_sums_clear(kn_change_sums *s)
{
    kn_mat_clear(&s->of);
}

void kn_change_sums_add(kn_change_sums *s, const double *r1, const double *r2, double w)
{
    double *n = kn_col(s->of, W), *a = kn_col(s->of, A), *d = kn_col(s->of, D);
    double *aa = kn_col(s->of, AA), *ad = kn_col(s->of, AD), *dd = kn_col(s->of, DD);
    for (ptrdiff_t j = 0; j < s->of.rows; j++) {
        double x = r1[j], y = r2[j] - r1[j];
        if (!isfinite(y))
            continue;
        n[j] += w;
        a[j] += w * x;
        d[j] += w * y;
        aa[j] += w * x * x;
        ad[j] += w * x * y;
        dd[j] += w * y * y;
    }
}

/* Moments of response j: sum x^2, sum x d and sum d^2, with x about its mean. */
typedef struct moments {
    double n, m1, xx, xd, dd;
} moments;

/* Moments of response j from its six sums, with r1 about its mean. */
static moments compute_moments(const kn_change_sums *s, ptrdiff_t j)
{
    double n = kn_at(s->of, j, W), a = kn_at(s->of, j, A), d = kn_at(s->of, j, D);
    return (moments){n, a / n, fmax(kn_at(s->of, j, AA) - a * a / n, 0),
                     kn_at(s->of, j, AD) - a * d / n, fmax(kn_at(s->of, j, DD), 0)};
}

/* ---- distribution --------------------------------------------------------------------------- */

/* True if response j has at least min_n participants, positive noise, and a change in at least one
 * of them. The change d itself is tested: d - gamma x varies with x even where d = 0 for all
 * participants. */
static bool has_enough(const kn_change_sums *s, ptrdiff_t j, double min_n, double noise)
{
    static const double SLACK = 1e-9; /* rounding of weights 1/k that add up to one participant */
    double n = kn_at(s->of, j, W);
    return n >= min_n - SLACK && noise > 0 && kn_at(s->of, j, DD) > NO_CHANGE * n * noise;
}

/* Slope of the change on the first visit over all usable responses (regression to the mean),
 * clamped to [-1, 0]; 0 without any. */
static double common_slope(const kn_change_sums *s, const double *noise, double min_n)
{
    double up = 0, down = 0;
    for (ptrdiff_t j = 0; j < s->of.rows; j++)
        if (has_enough(s, j, min_n, noise[j])) {
            moments m = compute_moments(s, j);
            up += m.xd / noise[j];
            down += m.xx / noise[j];
        }
    return down > 0 ? fmin(fmax(up / down, -1), 0) : 0;
}

/* Degrees of freedom df_j of a response with n participants, without those of the prior. */
static double own_df(const kn_change_distribution *distribution, double n)
{
    return distribution->conditional ? n - 1 : n;
}

/* Set variance of change over noise variance (q, 0: not usable), mean first residual (m1) and
 * participants (n) of each response, before moderation. */
static void set_raw_variances(const kn_change_sums *s, const double *noise, double min_n,
                              kn_change_distribution *distribution)
{
    double g = distribution->gamma;
    for (ptrdiff_t j = 0; j < distribution->T; j++) {
        if (!has_enough(s, j, min_n, noise[j]))
            continue;
        moments m = compute_moments(s, j);
        double res = m.dd - 2 * g * m.xd + g * g * m.xx;
        double q = res / ((distribution->conditional ? m.n - 0.5 : m.n) * noise[j]);
        distribution->n[j] = m.n;
        distribution->m1[j] = distribution->conditional ? m.m1 : 0;
        distribution->q[j] = q > NO_CHANGE ? q : 0;
    }
}

/* Fit a scaled inverse chi-square distribution (d0 degrees of freedom, scale s0) to the variances q
 * over responses (Smyth 2004). d0 = 0 for fewer than two usable responses, infinite if they do not
 * differ. */
static void find_prior(kn_change_distribution *distribution)
{
    double sum = 0, squares = 0, tri = 0, n = 0;
    double of_n = NAN, of_e = NAN,
           of_tri = NAN; /* of the last n_j, since most responses have the same */
    for (int pass = 0; pass < 2; pass++)
        for (ptrdiff_t j = 0; j < distribution->T; j++) {
            if (!(distribution->q[j] > 0))
                continue;
            if (distribution->n[j] != of_n) {
                double half = own_df(distribution, distribution->n[j]) / 2;
                of_n = distribution->n[j];
                of_e = log(half) - kn_digamma(half);
                of_tri = kn_trigamma(half);
            }
            double e = log(distribution->q[j]) + of_e;
            if (pass == 0) {
                sum += e;
                tri += of_tri;
                n++;
            } else {
                squares += (e - sum / n) * (e - sum / n);
            }
        }
    distribution->d0 = 0;
    distribution->s0 = NAN;
    if (n < 1)
        return;
    distribution->s0 = exp(sum / n);
    if (n < 2) /* one response: no moderation */
        return;
    double v = squares / (n - 1) - tri / n;
    if (v <= kn_trigamma(KN_TRIGAMMA_HIGH)) {
        distribution->d0 = INFINITY;
        return;
    }
    double half = kn_trigamma_inverse(v);
    distribution->d0 = 2 * half;
    distribution->s0 = exp(sum / n + kn_digamma(half) - log(half));
}

/* Shrink q of each response towards the common s0: (d0 s0 + df q)/(d0 + df); s0 itself if d0 is
 * infinite. [METHOD 8g] */
static void moderate_variances(kn_change_distribution *distribution)
{
    for (ptrdiff_t j = 0; j < distribution->T; j++) {
        double df = own_df(distribution, distribution->n[j]);
        if (distribution->q[j] > 0)
            distribution->q[j] =
                isinf(distribution->d0)
                    ? distribution->s0
                    : (distribution->d0 * distribution->s0 + df * distribution->q[j]) /
                          (distribution->d0 + df);
    }
}

double kn_change_df(const kn_change_distribution *distribution, ptrdiff_t j)
{
    return distribution->d0 + own_df(distribution, distribution->n[j]);
}

kn_status kn_change_prepare(kn_ctx *ctx, kn_change_distribution *distribution)
{
    kn_student_map_free(distribution->map);
    distribution->map = NULL;
    if (distribution->T < MAPPED_FROM)
        return KN_OK;
    double limit = 0; /* df of responses without missing values, which are most */
    for (ptrdiff_t j = 0; j < distribution->T; j++)
        if (distribution->q[j] > 0)
            limit = fmax(limit, kn_change_df(distribution, j));
    if (!(limit > 0) || limit > KN_STUDENT_MAX)
        return KN_OK;
    distribution->map_df = limit;
    return kn_student_map_new(ctx, limit, &distribution->map);
}

kn_status kn_change_fit(kn_ctx *ctx, const kn_change_sums *s, const double *noise, bool conditional,
                        double min_n, kn_change_distribution *out)
{
    kn_status status;
    *out = (kn_change_distribution){.T = s->of.rows, .conditional = conditional};
    KN_TRY(kn_alloc_d(ctx, out->T, &out->q));
    KN_TRY(kn_alloc_d(ctx, out->T, &out->m1));
    KN_TRY(kn_alloc_d(ctx, out->T, &out->n));
    if (conditional)
        out->gamma = common_slope(s, noise, min_n);
    set_raw_variances(s, noise, min_n, out);
    find_prior(out);
    moderate_variances(out);
    KN_TRY(kn_change_prepare(ctx, out));
out:
    if (status != KN_OK)
        kn_change_distribution_clear(out);
    return status;
}

void kn_change_distribution_clear(kn_change_distribution *distribution)
{
    kn_free(distribution->q);
    kn_free(distribution->m1);
    kn_free(distribution->n);
    kn_student_map_free(distribution->map);
    *distribution = (kn_change_distribution){0};
}

/* ---- z -------------------------------------------------------------------------------------- */

void kn_change_z(const kn_change_distribution *distribution, const double *noise, const double *r1,
                 const double *r2, double *z)
{
    double g = distribution->gamma;
    for (ptrdiff_t j = 0; j < distribution->T; j++) {
        double t = r2[j] - r1[j] - g * (r1[j] - distribution->m1[j]);
        z[j] = NAN;
        if (!(distribution->q[j] > 0) || !isfinite(t))
            continue;
        t /= sqrt(noise[j] * distribution->q[j] * (1 + g * g / distribution->n[j]));
        double df = kn_change_df(distribution, j);
        z[j] = df > KN_STUDENT_MAX ? t
               : distribution->map && df == distribution->map_df
                   ? kn_student_map_at(distribution->map, t)
                   : kn_student_to_normal(t, df);
    }
}
