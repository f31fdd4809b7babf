/* Implements site_prior.h: moments of one response, sums over responses, T_eff, and the final
 * prior. The prior is the distribution of site effects over the training sites. */
#include "norm/sites/site_prior.h"

#include <assert.h>
#include <math.h>

#include "la/la.h"

static const double PRIOR_WEIGHT = 10; /* weight of the mean over responses, in sites */
static const double MIN_TAU2 = 0.001;  /* smallest tau2* as a share of w */
static const double MIN_V = 0.001;     /* smallest v_a and v_b */
static const double USUAL_V_A = 0.05;  /* assumed with too few sites */
static const double USUAL_V_B = 0.015;
static const double USUAL_TAU2 = 0.42;        /* share of w, assumed with one site ... */
static const double USUAL_S1 = 5;             /* ... and its weight */
static const double NORMAL_KURT = 2;          /* without any residual */
enum { MIN_PARTICIPANTS = 8, MIN_SITES = 3 }; /* for v_a, v_b: values per site, sites */

kn_status kn_sites_new(kn_ctx *ctx, ptrdiff_t T, kn_sites *out)
{
    kn_status status;
    *out = (kn_sites){.T = T};
    KN_TRY(kn_alloc_d(ctx, T, &out->mu));
    KN_TRY(kn_alloc_d(ctx, T, &out->tau2));
    KN_TRY(kn_alloc_d(ctx, T, &out->w));
    KN_TRY(kn_alloc_d(ctx, T, &out->w_scale));
out:
    if (status != KN_OK)
        kn_sites_clear(out);
    return status;
}

void kn_sites_clear(kn_sites *s)
{
    kn_free(s->mu);
    kn_free(s->tau2);
    kn_free(s->w);
    kn_free(s->w_scale);
    *s = (kn_sites){0};
}

/* ---- one response --------------------------------------------------------------------------- */

/* Counts, means and sums of squares of e (n) within each site (S each), and within = e - ebar_s
 * (n). In two passes, since the mean of a site may be far from 0. */
static void split_by_site(const kn_site_assignment *sites, const double *e,
                          const kn_site_sums_of_response *sums, double *within)
{
    for (int s = 0; s < sites->S; s++)
        sums->count[s] = sums->mean[s] = sums->square[s] = 0;
    for (ptrdiff_t i = 0; i < sites->n; i++) {
        int s = sites->site[i];
        within[i] = s >= 0 && isfinite(e[i]) ? e[i] : NAN;
        if (isnan(within[i]))
            continue;
        sums->count[s]++;
        sums->mean[s] += e[i];
    }
    for (int s = 0; s < sites->S; s++)
        if (sums->count[s] > 0)
            sums->mean[s] /= sums->count[s];
    for (ptrdiff_t i = 0; i < sites->n; i++) {
        if (isnan(within[i]))
            continue;
        within[i] -= sums->mean[sites->site[i]];
        sums->square[sites->site[i]] += within[i] * within[i];
    }
}

/* Weighted mean of the site means of one response, with weights 1/(tau2 + w/n_s), n_s values in
 * site s; or n_s if both variances are 0. */
static double mean_of_sites(const kn_site_sums_of_response *sums, int S, double tau2, double w)
{
    double sum = 0, weight = 0;
    for (int s = 0; s < S; s++) {
        double v = tau2 + w / sums->count[s], g = v > 0 ? 1 / v : sums->count[s];
        if (!(sums->count[s] > 0))
            continue;
        sum += g * sums->mean[s];
        weight += g;
    }
    return sum / weight;
}

/* Add the sums of u^2 and u^4 of one response to its moments, u = (e - mean of its site)/sqrt(w);
 * within (n): e - mean of its site, NaN: missing. */
static void add_standardised_moments(const kn_site_assignment *sites, const double *within,
                                     kn_site_moments *m)
{
    for (ptrdiff_t i = 0; i < sites->n; i++) {
        double u2 = within[i] * within[i] / m->w;
        if (isnan(within[i]))
            continue;
        m->u2 += u2;
        m->u4 += u2 * u2;
    }
}

kn_site_moments kn_site_moments_of(const kn_site_assignment *sites, const double *e,
                                   const kn_site_sums_of_response *sums, double *within)
{
    kn_site_moments m = {.w = NAN, .tau2 = NAN};
    double sum = 0, squares = 0, n2 = 0, Q = 0;
    split_by_site(sites, e, sums, within);
    for (int s = 0; s < sites->S; s++) {
        m.N += sums->count[s];
        m.S += sums->count[s] > 0;
        sum += sums->count[s] * sums->mean[s];
        squares += sums->square[s];
        n2 += sums->count[s] * sums->count[s];
    }
    for (int s = 0; s < sites->S; s++)
        Q += sums->count[s] * pow(sums->mean[s] - sum / m.N, 2);
    if (m.N > m.S) {
        m.w = squares / (m.N - m.S);
        if (m.w > 0)
            add_standardised_moments(sites, within, &m);
    } else if (m.N > 1) {
        m.w = Q / (m.N - 1);
    }
    if (m.S < 2)
        return m;
    if (m.N > m.S)
        m.tau2 = fmax(0, (Q - (m.S - 1) * m.w) / (m.N - n2 / m.N));
    m.mu = m.N > m.S ? mean_of_sites(sums, sites->S, m.tau2, m.w) : sum / m.N;
    return m;
}

void kn_site_ln_ratio(const kn_site_sums_of_response *sums, int S, double w, double *ln_ratio)
{
    for (int s = 0; s < S; s++) {
        double V = sums->square[s] / (sums->count[s] - 1);
        ln_ratio[s] = sums->count[s] >= MIN_PARTICIPANTS && V > 0 && w > 0 ? log(V / w) : NAN;
    }
}

/* ---- sums over responses -------------------------------------------------------------------- */

enum { CELLS, U2, U4, BETWEEN, TAU2, W_BETWEEN, KNOWN, W, W_SCALE, N_SUMS };
enum { VALUES, RATIOS, LN, LN2, R, LN_R, R2, N_SITE_SUMS }; /* R: 1/(n_s - 1) */

ptrdiff_t kn_site_sums(int S)
{
    return N_SUMS + (ptrdiff_t)S * N_SITE_SUMS;
}

void kn_site_sums_add(double *sums, int S, const kn_site_moments *offset,
                      const kn_site_moments *scale, const double *ln_ratio, const double *count)
{
    if (scale->u2 > 0)
        sums[CELLS] += scale->N;
    sums[U2] += scale->u2;
    sums[U4] += scale->u4;
    if (!isnan(offset->tau2)) {
        sums[BETWEEN]++;
        sums[TAU2] += offset->tau2;
        sums[W_BETWEEN] += offset->w;
    }
    if (!isnan(offset->w) && !isnan(scale->w)) {
        sums[KNOWN]++;
        sums[W] += offset->w;
        sums[W_SCALE] += scale->w;
    }
    for (int s = 0; s < S; s++) {
        double *site = sums + N_SUMS + (ptrdiff_t)s * N_SITE_SUMS, l = ln_ratio[s];
        double r = 1 / (count[s] - 1);
        site[VALUES] += count[s];
        if (isnan(l))
            continue;
        site[RATIOS]++;
        site[LN] += l;
        site[LN2] += l * l;
        site[R] += r;
        site[LN_R] += l * r;
        site[R2] += r * r;
    }
}

/* ---- T_eff ---------------------------------------------------------------------------------- */

/* Scale the usable columns of `within` (n x t; NaN: missing) to length 1 and move them to the
 * front, 0 if missing; returns their number. observed (n): sum over responses j of 1/sqrt(N_j (N_j
 * - S_j)) where the participant has a value. */
static ptrdiff_t normalise_columns(kn_mat within, const double *dof, double *observed)
{
    ptrdiff_t used = 0;
    for (ptrdiff_t j = 0; j < within.cols; j++) {
        const double *e = kn_col(within, j);
        double *z = kn_col(within, used), N = 0, square = 0;
        for (ptrdiff_t i = 0; i < within.rows; i++)
            if (!isnan(e[i])) {
                N++;
                square += e[i] * e[i];
            }
        if (!(dof[j] > 0 && square > 0 && isfinite(square)))
            continue;
        for (ptrdiff_t i = 0; i < within.rows; i++) {
            observed[i] += isnan(e[i]) ? 0 : 1 / sqrt(N * dof[j]);
            z[i] = isnan(e[i]) ? 0 : e[i] / sqrt(square);
        }
        used++;
    }
    return used;
}

/* A|_F^2, the sum of squares of a symmetric matrix, from its lower triangle. */
static double square_of_lower(kn_mat A)
{
    double diagonal = 0, below = 0;
    for (ptrdiff_t j = 0; j < A.cols; j++) {
        const double *a = kn_col(A, j);
        diagonal += a[j] * a[j];
        for (ptrdiff_t i = j + 1; i < A.rows; i++)
            below += a[i] * a[i];
    }
    return diagonal + 2 * below;
}

kn_status kn_site_T_eff(kn_ctx *ctx, kn_mat within, const double *dof, ptrdiff_t T, double *T_eff)
{
    kn_status status;
    kn_mat gram = {0};
    double *observed = NULL, chance = 0, all = (double)T;
    *T_eff = 1;
    KN_TRY(kn_alloc_d(ctx, within.rows, &observed));
    ptrdiff_t t = normalise_columns(within, dof, observed), n = within.rows;
    if (t < 2)
        goto out;
    KN_TRY(kn_mat_new(ctx, kn_min_size(n, t), kn_min_size(n, t), &gram));
    kn_syrk(ctx, 1, n <= t ? KN_N : KN_T, kn_cols(within, 0, t), 0, gram); /* ZZ' or Z'Z */
    for (ptrdiff_t i = 0; i < n; i++)
        chance += pow(observed[i] / (double)t, 2);
    double pairs = (double)t * ((double)t - 1);
    double r2 = (1 + (all - 1) * (square_of_lower(gram) - (double)t) / pairs) / all;
    *T_eff = fmin(fmax(1 / fmax(r2 - chance, 1 / all), 1), all);
out:
    kn_mat_clear(&gram);
    kn_free(observed);
    return status;
}

void kn_site_T_eff_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t t)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, n, 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, kn_min_size(n, t), kn_min_size(n, t));
    kn_plan_free_to(r, mark);
}

/* ---- all responses -------------------------------------------------------------------------- */

/* Set v_a and v_b of the site prior: how the logarithm of the noise varies between sites, and
 * between the responses of a site. From sites with enough values in at least half of the responses;
 * usual values with fewer than 3 such sites. */
static void spread_of_noise(const double *sums, int S, kn_sites *out)
{
    double k = out->kurt, n = 0, mean_a = 0, var_a = 0, f = 0, between = 0;
    for (int s = 0; s < S; s++) {
        const double *site = sums + N_SUMS + (ptrdiff_t)s * N_SITE_SUMS, m = site[RATIOS];
        if (!(m > 0 && 2 * m >= (double)out->T))
            continue;
        double a = (site[LN] + 0.5 * k * site[R]) / m, step = a - mean_a;
        double L2 = (site[LN2] + k * site[LN_R] + 0.25 * k * k * site[R2]) / m;
        n++;
        mean_a += step / n;
        var_a += step * (a - mean_a);
        f += k * site[R] / m;
        between += fmax(L2 - a * a, 0);
    }
    if (n < MIN_SITES) {
        out->v_a = USUAL_V_A;
        out->v_b = USUAL_V_B;
        return;
    }
    out->v_a = fmax(var_a / (n - 1) - f / n / out->T_eff_scale, MIN_V);
    out->v_b = fmax((between - f * (1 - 1 / out->T_eff_scale)) / n, MIN_V);
}

/* Complete variance between sites (tau2), mean (mu) and variance within sites (w) of each response:
 * tau2 is shrunk to ratio w. ratio: mean tau2 over mean w of all responses; sites (T): sites of
 * each response. */
static void shrink_responses(const double *sums, double ratio, const double *sites, kn_sites *out)
{
    double w = sums[W] / sums[KNOWN], w_scale = sums[W_SCALE] / sums[KNOWN];
    for (ptrdiff_t j = 0; j < out->T; j++) {
        double own = isnan(out->tau2[j]) ? 0 : out->tau2[j];
        double weight = isnan(out->tau2[j]) ? 0 : sites[j] - 1;
        if (isnan(out->w[j])) /* too few values: the mean over the other responses */
            out->w[j] = w;
        if (isnan(out->w_scale[j]))
            out->w_scale[j] = w_scale;
        double usual = ratio * out->w[j];
        out->tau2[j] = fmax((PRIOR_WEIGHT * usual + weight * own) / (PRIOR_WEIGHT + weight),
                            MIN_TAU2 * out->w[j]);
        if (!out->between)
            out->mu[j] = 0;
    }
}

kn_status kn_sites_finish(kn_ctx *ctx, const double *sums, int S, const double *sites,
                          kn_sites *out)
{
    double u2 = sums[U2];
    out->S = 0;
    for (int s = 0; s < S; s++)
        out->S += sums[N_SUMS + (ptrdiff_t)s * N_SITE_SUMS + VALUES] > 0;
    if (!(sums[KNOWN] > 0))
        return kn_fail(ctx, KN_ERR_DATA,
                       "no response has two held-out values from participants of one site");
    out->between = sums[BETWEEN] > 0;
    out->S1 = out->between ? out->S - 1 : USUAL_S1;
    out->kurt = u2 > 0 ? fmax(sums[CELLS] * sums[U4] / (u2 * u2) - 1, 0) : NORMAL_KURT;
    spread_of_noise(sums, S, out);
    double ratio = out->between ? sums[TAU2] / sums[W_BETWEEN] : USUAL_TAU2;
    if (!isfinite(ratio)) /* nothing varies within sites */
        ratio = USUAL_TAU2;
    shrink_responses(sums, ratio, sites, out);
    return KN_OK;
}
