/* Implements adapt_site.h. Offsets and scales are shrunk towards the prior of training sites. */
#include "norm/sites/adapt_site.h"

#include <assert.h>
#include <math.h>

#include "stats/order_statistics.h"

enum { MIN_SCALE = 3 }; /* fewest controls for a variance */

kn_status kn_site_adapted_new(kn_ctx *ctx, ptrdiff_t T, kn_site_adapted *out)
{
    kn_status status;
    *out = (kn_site_adapted){.T = T, .kappa = 1, .effect = 1, .factor = 1};
    KN_TRY(kn_alloc_d(ctx, T, &out->n));
    KN_TRY(kn_alloc_d(ctx, T, &out->raw_offset));
    KN_TRY(kn_alloc_d(ctx, T, &out->shrink));
    KN_TRY(kn_alloc_d(ctx, T, &out->offset));
    KN_TRY(kn_alloc_d(ctx, T, &out->offset_var));
    KN_TRY(kn_alloc_d(ctx, T, &out->scale));
    KN_TRY(kn_alloc_d(ctx, T, &out->broken));
out:
    if (status != KN_OK)
        kn_site_adapted_clear(out);
    return status;
}

void kn_site_adapted_clear(kn_site_adapted *a)
{
    kn_free(a->n);
    kn_free(a->raw_offset);
    kn_free(a->shrink);
    kn_free(a->offset);
    kn_free(a->offset_var);
    kn_free(a->scale);
    kn_free(a->broken);
    *a = (kn_site_adapted){0};
}

/* Number of finite values of x among the controls, their mean, and their variance (divisor: count -
 * 1). */
static double describe_controls(kn_site_controls controls, const double *x, double *mean,
                                double *var)
{
    double n = 0, square = 0;
    *mean = 0;
    for (ptrdiff_t i = 0; i < controls.n; i++) {
        double xi = x[controls.row ? controls.row[i] : i], step = xi - *mean;
        if (!isfinite(xi))
            continue;
        n++;
        *mean += step / n;
        square += step * (xi - *mean);
    }
    *var = square / (n - 1);
    return n;
}

/* Until kn_site_adapted_finish(), `scale` holds V_j; NaN: none. */
void kn_site_adapted_add(kn_site_adapted *a, ptrdiff_t j, kn_site_controls controls,
                         const double *r, const double *scaled)
{
    double var, mean;
    a->n[j] = describe_controls(controls, r, &mean, &var);
    a->raw_offset[j] = a->n[j] > 0 ? mean : NAN;
    double n = describe_controls(controls, scaled, &mean, &var);
    a->scale[j] = n >= MIN_SCALE && var > 0 ? var : NAN;
}

void kn_site_adapted_break(kn_site_adapted *a, ptrdiff_t j)
{
    a->n[j] = 0;
    a->raw_offset[j] = a->scale[j] = NAN;
    a->broken[j] = 1;
}

/* ---- offsets -------------------------------------------------------------------------------- */

/* kappa, how unusual the offsets of the new site are among sites (1: typical): mean excess of the
 * squared offsets over their expectation, shrunk to 1. Over the responses with controls and a
 * variance between sites; 1 without any. */
static double estimate_kappa(const kn_sites *p, const kn_site_adapted *a)
{
    double responses = 0, excess = 0;
    for (ptrdiff_t j = 0; j < a->T; j++) {
        double m = a->raw_offset[j] - p->mu[j];
        if (!(a->n[j] > 0 && p->tau2[j] > 0))
            continue;
        responses++;
        excess += (m * m - p->w[j] / a->n[j]) / p->tau2[j];
    }
    if (responses == 0) /* no control with a value: the prior is not changed */
        return 1;
    double T_eff = fmin(p->T_eff_offset, responses);
    return (p->S1 + T_eff * fmax(0, excess / responses)) / (p->S1 + T_eff);
}

/* Size of the site effect among sites (1: typical), from the median response, so that a few
 * responses in other units do not count. work: T doubles, overwritten. */
static double estimate_effect(const kn_sites *p, const kn_site_adapted *a, double *work)
{
    static const double MEDIAN = 0.454936423119572; /* of chi^2 with one degree of freedom */
    double rho = 0;
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < a->T; j++) {
        double m = a->raw_offset[j] - p->mu[j];
        if (!(a->n[j] > 0 && p->tau2[j] > 0))
            continue;
        work[n++] = m * m / (p->tau2[j] + p->w[j] / a->n[j]);
        rho += p->w[j] / (a->n[j] * p->tau2[j]);
    }
    if (n == 0)
        return 1;
    kn_sort(work, n);
    double middle = n % 2 ? work[n / 2] : (work[n / 2 - 1] + work[n / 2]) / 2;
    double T_eff = fmin(p->T_eff_offset, (double)n);
    rho /= (double)n;
    double own = fmax(0, (1 + rho) * middle / MEDIAN - rho);
    return sqrt((p->S1 + T_eff * own) / (p->S1 + T_eff));
}

/* Set shrinkage, offset and its variance of each response: the mean residual of the controls,
 * shrunk to the prior mean; given kappa. */
static void set_offsets(const kn_sites *p, kn_site_adapted *a)
{
    for (ptrdiff_t j = 0; j < a->T; j++) {
        double tau2 = a->kappa * p->tau2[j], error = p->w[j] / a->n[j];
        a->shrink[j] = 0;
        a->offset[j] = p->mu[j];
        a->offset_var[j] = tau2;
        if (!(a->n[j] > 0))
            continue;
        a->shrink[j] = tau2 + error > 0
                           ? tau2 / (tau2 + error)
                           : 1; /* no variance at all: take the mean without shrinkage */
        a->offset[j] = p->mu[j] + a->shrink[j] * (a->raw_offset[j] - p->mu[j]);
        a->offset_var[j] = a->shrink[j] * error;
    }
}

/* ---- scales --------------------------------------------------------------------------------- */

/* Logarithm of the noise variance of response j at the new site over that of the training sites,
 * corrected for its bias; *f its sampling variance. NaN: response j has no usable variance. */
static double ln_scale(const kn_sites *p, const kn_site_adapted *a, ptrdiff_t j, double *f)
{
    *f = p->kurt / (a->n[j] - 1);
    return p->w_scale[j] > 0 ? log(a->scale[j] / p->w_scale[j]) + 0.5 * *f : NAN;
}

typedef struct scales { /* moments of L_j over responses */
    double n, mean, square, f;
} scales;

/* Number, mean and sum of squares of ln_scale() over the responses with at least `lowest` controls,
 * and the mean of its sampling variance; n = 0 and f NaN if there are none. */
static scales collect_scales(const kn_sites *p, const kn_site_adapted *a, double lowest)
{
    scales s = {0};
    for (ptrdiff_t j = 0; j < a->T; j++) {
        double f, L = ln_scale(p, a, j, &f), step = L - s.mean;
        if (isnan(L) || a->n[j] < lowest)
            continue;
        s.n++;
        s.mean += step / s.n;
        s.square += step * (L - s.mean);
        s.f += f;
    }
    s.f /= s.n;
    return s;
}

/* Variance of ln_scale() over the responses of the site, shrunk to that of the prior. Responses
 * with few controls are left out: their logarithm has a long left tail, which would be taken for a
 * property of the site. */
static double estimate_spread(const kn_sites *p, const kn_site_adapted *a)
{
    scales s = collect_scales(p, a, KN_SITE_FEW);
    if (s.n < 2) /* the spread needs two responses */
        return p->v_b;
    double T_eff = fmin(p->T_eff_scale, s.n);
    double var = fmax(0, s.square / (s.n - 1) - s.f * (1 - 1 / T_eff));
    return (p->S1 * p->v_b + T_eff * var) / (p->S1 + T_eff);
}

/* Set the noise factor that all responses of the site share, and the factor of each response; on
 * entry a->scale holds the variance of the controls' residuals (NaN: none). */
static void set_scales(const kn_sites *p, kn_site_adapted *a)
{
    scales s = collect_scales(p, a, MIN_SCALE);
    double T_eff = fmin(p->T_eff_scale, s.n), v = estimate_spread(p, a);
    double k_a = p->v_a / (p->v_a + s.f / T_eff);
    if (s.n > 0)
        a->factor = exp(k_a * s.mean);
    for (ptrdiff_t j = 0; j < a->T; j++) {
        double f, L = ln_scale(p, a, j, &f), k_b = isnan(L) ? 0 : v / (v + f);
        double own = isnan(L) ? 0 : k_b * (L - s.mean);
        a->scale[j] =
            s.n > 0 ? exp(k_a * s.mean + own + 0.5 * (p->v_a * (1 - k_a) + v * (1 - k_b))) : 1;
    }
}

void kn_site_adapted_finish(const kn_sites *prior, kn_site_adapted *a)
{
    assert(prior->T == a->T);
    a->kappa = estimate_kappa(prior, a);
    a->effect = estimate_effect(prior, a, a->shrink); /* which set_offsets() overwrites */
    set_offsets(prior, a);
    set_scales(prior, a);
}
