#include "ref/sites.h"

#include <math.h>
#include <stdlib.h>

/* Values of response j in site s (-1: in any), and their mean. */
static double values(kn_mat e, const int *site, int s, ptrdiff_t j, double *mean)
{
    double n = 0, sum = 0;
    for (ptrdiff_t i = 0; i < e.rows; i++)
        if (site[i] >= 0 && (s < 0 || site[i] == s) && isfinite(kn_at(e, i, j))) {
            n++;
            sum += kn_at(e, i, j);
        }
    if (mean)
        *mean = n > 0 ? sum / n : 0;
    return n;
}

/* Sum of squares about the site's own mean. */
static double squares(kn_mat e, const int *site, int s, ptrdiff_t j)
{
    double mean, sum = 0;
    values(e, site, s, j, &mean);
    for (ptrdiff_t i = 0; i < e.rows; i++)
        if (site[i] == s && isfinite(kn_at(e, i, j)))
            sum += pow(kn_at(e, i, j) - mean, 2);
    return sum;
}

static double sites_of(kn_mat e, const int *site, int S, ptrdiff_t j)
{
    double n = 0;
    for (int s = 0; s < S; s++)
        n += values(e, site, s, j, NULL) > 0;
    return n;
}

/* e_ij - ebar_s; NaN: missing. */
static double inside(kn_mat e, const int *site, ptrdiff_t i, ptrdiff_t j)
{
    double mean;
    if (site[i] < 0 || !isfinite(kn_at(e, i, j)))
        return NAN;
    values(e, site, site[i], j, &mean);
    return kn_at(e, i, j) - mean;
}

/* Degrees of freedom within sites. */
static double freedom(kn_mat e, const int *site, int S, ptrdiff_t j)
{
    return values(e, site, -1, j, NULL) - sites_of(e, site, S, j);
}

/* Where no site has two values, the variance of all; NaN with fewer than two values. */
static double within_variance(kn_mat e, const int *site, int S, ptrdiff_t j)
{
    double sum = 0, mean, n = values(e, site, -1, j, &mean);
    if (freedom(e, site, S, j) > 0) {
        for (int s = 0; s < S; s++)
            sum += squares(e, site, s, j);
        return sum / freedom(e, site, S, j);
    }
    for (ptrdiff_t i = 0; i < e.rows; i++)
        if (site[i] >= 0 && isfinite(kn_at(e, i, j)))
            sum += pow(kn_at(e, i, j) - mean, 2);
    return n > 1 ? sum / (n - 1) : NAN;
}

/* NaN becomes the mean of the others. */
static void fill_in(double *w, ptrdiff_t T)
{
    double n = 0, sum = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (!isnan(w[j])) {
            n++;
            sum += w[j];
        }
    for (ptrdiff_t j = 0; j < T; j++)
        if (isnan(w[j]))
            w[j] = sum / n;
}

/* From the t responses that vary within sites; without any missing cells t = T. */
static double T_eff_of(kn_mat e, const int *site, int S)
{
    double r2 = 0, chance = 0, t = 0, T = (double)e.cols;
    for (ptrdiff_t j = 0; j < e.cols; j++) {
        if (!(freedom(e, site, S, j) > 0))
            continue;
        t++;
        for (ptrdiff_t l = 0; l < e.cols; l++) {
            double jl = 0, jj = 0, ll = 0, both = 0;
            if (!(freedom(e, site, S, l) > 0))
                continue;
            for (ptrdiff_t i = 0; i < e.rows; i++) {
                double a = inside(e, site, i, j), b = inside(e, site, i, l);
                jj += isnan(a) ? 0 : a * a;
                ll += isnan(b) ? 0 : b * b;
                jl += isnan(a) || isnan(b) ? 0 : a * b;
                both += !isnan(a) && !isnan(b);
            }
            double nj = values(e, site, -1, j, NULL), nl = values(e, site, -1, l, NULL);
            r2 += jl * jl / (jj * ll);
            chance += both / sqrt(nj * freedom(e, site, S, j) * nl * freedom(e, site, S, l));
        }
    }
    if (t < 2)
        return 1;
    double mean_r2 = (1 + (T - 1) * (r2 - t) / (t * (t - 1))) / T;
    return fmin(fmax(1 / fmax(mean_r2 - chance / (t * t), 1 / T), 1), T);
}

static double kurt_of(kn_mat e, const int *site, int S)
{
    double n = 0, u2 = 0, u4 = 0;
    for (ptrdiff_t j = 0; j < e.cols; j++)
        for (ptrdiff_t i = 0; i < e.rows; i++) {
            double x = inside(e, site, i, j);
            if (isnan(x) || !(freedom(e, site, S, j) > 0))
                continue;
            n++;
            x = x * x / within_variance(e, site, S, j);
            u2 += x;
            u4 += x * x;
        }
    return u4 / n / pow(u2 / n, 2) - 1;
}

static void noise_of_sites(kn_mat e, const int *site, int S, ref_prior *p)
{
    double *a = calloc((size_t)S, sizeof *a), n = 0, f = 0, b = 0, mean = 0, var = 0;
    for (int s = 0; s < S; s++) {
        double m = 0, L2 = 0, r = 0;
        for (int pass = 0; pass < 2; pass++)
            for (ptrdiff_t j = 0; j < e.cols; j++) {
                double c = values(e, site, s, j, NULL);
                double V = squares(e, site, s, j) / (c - 1);
                if (c < 8)
                    continue;
                double L = log(V / p->w_scale[j]) + p->kurt / (2 * (c - 1));
                if (pass == 0) {
                    m++;
                    a[s] += L;
                    r += p->kurt / (c - 1);
                } else {
                    L2 += pow(L - a[s] / m, 2);
                }
            }
        a[s] = m > 0 && m >= 0.5 * (double)e.cols ? a[s] / m : NAN;
        if (isnan(a[s]))
            continue;
        n++;
        f += r / m;
        b += L2 / m;
        mean += a[s];
    }
    for (int s = 0; s < S; s++)
        var += isnan(a[s]) ? 0 : pow(a[s] - mean / n, 2) / (n - 1);
    p->v_a = n < 3 ? 0.05 : fmax(var - f / n / p->T_eff_scale, 0.001);
    p->v_b = n < 3 ? 0.015 : fmax(b / n - f / n * (1 - 1 / p->T_eff_scale), 0.001);
    free(a);
}

/* tau2 before it is shrunk, and mu; NaN and 0 of one site, NaN and the mean of all values where no
 * site has two */
static double between_variance(kn_mat e, const int *site, int S, ptrdiff_t j, double *mu)
{
    double all, N = values(e, site, -1, j, &all), Q = 0, n2 = 0, sum = 0, weight = 0;
    double Sj = sites_of(e, site, S, j), w = within_variance(e, site, S, j);
    *mu = 0;
    if (Sj < 2)
        return NAN;
    if (!(freedom(e, site, S, j) > 0)) {
        *mu = all;
        return NAN;
    }
    for (int s = 0; s < S; s++) {
        double mean, n = values(e, site, s, j, &mean);
        Q += n * pow(mean - all, 2);
        n2 += n * n;
    }
    double tau2 = fmax(0, (Q - (Sj - 1) * w) / (N - n2 / N));
    for (int s = 0; s < S; s++) {
        double mean, n = values(e, site, s, j, &mean);
        if (n == 0)
            continue;
        sum += mean / (tau2 + w / n);
        weight += 1 / (tau2 + w / n);
    }
    *mu = sum / weight;
    return tau2;
}

ref_prior ref_sites(kn_mat e, kn_mat es, const int *site, int S)
{
    ref_prior p = {.T = e.cols};
    double tau2 = 0, w = 0, n;
    double **array[] = {&p.mu, &p.tau2, &p.w, &p.w_scale};
    for (int k = 0; k < 4; k++)
        *array[k] = calloc((size_t)e.cols, sizeof **array[k]);
    for (int s = 0; s < S; s++) {
        bool any = false;
        for (ptrdiff_t j = 0; j < e.cols; j++)
            any = any || values(e, site, s, j, NULL) > 0;
        p.S += any;
    }
    for (ptrdiff_t j = 0; j < e.cols; j++) {
        p.w[j] = within_variance(e, site, S, j);
        p.w_scale[j] = within_variance(es, site, S, j);
        p.tau2[j] = between_variance(e, site, S, j, &p.mu[j]);
        if (isnan(p.tau2[j]))
            continue;
        p.between = true;
        tau2 += p.tau2[j];
        w += p.w[j];
    }
    fill_in(p.w, e.cols);
    fill_in(p.w_scale, e.cols);
    p.S1 = p.between ? p.S - 1 : 5;
    for (ptrdiff_t j = 0; j < e.cols; j++) {
        n = isnan(p.tau2[j]) ? 0 : sites_of(e, site, S, j) - 1;
        if (!p.between)
            p.tau2[j] = 0.42 * p.w[j];
        else
            p.tau2[j] = fmax((10 * tau2 / w * p.w[j] + (n > 0 ? n * p.tau2[j] : 0)) / (10 + n),
                             0.001 * p.w[j]);
    }
    p.kurt = kurt_of(es, site, S);
    p.T_eff_offset = T_eff_of(e, site, S);
    p.T_eff_scale = T_eff_of(es, site, S);
    noise_of_sites(es, site, S, &p);
    return p;
}

void ref_sites_free(ref_prior *p)
{
    free(p->mu), free(p->tau2), free(p->w), free(p->w_scale);
}

/* v, by responses of 5 controls or more. */
static double within_site(const ref_prior *p, kn_mat r, const double *L)
{
    double count = 0, sum = 0, var = 0, f = 0, mean;
    int *all = calloc((size_t)r.rows, sizeof *all);
    for (int pass = 0; pass < 2; pass++)
        for (ptrdiff_t j = 0; j < r.cols; j++) {
            double n = values(r, all, 0, j, &mean);
            if (isnan(L[j]) || n < 5)
                continue;
            if (pass == 0) {
                count++;
                sum += L[j];
                f += p->kurt / (n - 1);
            } else {
                var += pow(L[j] - sum / count, 2) / (count - 1);
            }
        }
    free(all);
    if (count < 2)
        return p->v_b;
    double T_eff = fmin(p->T_eff_scale, count);
    return (p->S1 * p->v_b + T_eff * fmax(0, var - f / count * (1 - 1 / T_eff))) / (p->S1 + T_eff);
}

ref_adapted ref_adapt(const ref_prior *p, kn_mat r, kn_mat rs)
{
    ref_adapted out = {.kappa = 1, .factor = 1};
    double **array[] = {&out.offset, &out.offset_var, &out.scale};
    int *all = calloc((size_t)r.rows, sizeof *all); /* the controls are one site */
    double count = 0, far = 0, L_n = 0, L_sum = 0, f = 0;
    double *L = calloc((size_t)r.cols, sizeof *L);
    for (int k = 0; k < 3; k++)
        *array[k] = calloc((size_t)r.cols, sizeof **array[k]);
    for (ptrdiff_t j = 0; j < r.cols; j++) {
        double mean, n = values(r, all, 0, j, &mean), k = p->kurt / (n - 1);
        double V = squares(rs, all, 0, j) / (n - 1);
        L[j] = n >= 3 && V > 0 ? log(V / p->w_scale[j]) + k / 2 : NAN;
        if (n > 0) {
            count++;
            far += pow(mean - p->mu[j], 2) / p->tau2[j] - p->w[j] / (n * p->tau2[j]);
        }
        if (!isnan(L[j])) {
            L_n++;
            L_sum += L[j];
            f += k;
        }
    }
    double T_eff = fmin(p->T_eff_offset, count), a = L_sum / L_n;
    if (count > 0)
        out.kappa = (p->S1 + T_eff * fmax(0, far / count)) / (p->S1 + T_eff);
    T_eff = fmin(p->T_eff_scale, L_n);
    f /= L_n;
    double k_a = p->v_a / (p->v_a + f / T_eff), v = within_site(p, r, L);
    if (L_n > 0)
        out.factor = exp(k_a * a);
    for (ptrdiff_t j = 0; j < r.cols; j++) {
        double mean, n = values(r, all, 0, j, &mean), t = out.kappa * p->tau2[j];
        double b = n > 0 ? t / (t + p->w[j] / n) : 0, k_b = v / (v + p->kurt / (n - 1));
        out.offset[j] = p->mu[j] + (n > 0 ? b * (mean - p->mu[j]) : 0);
        out.offset_var[j] = n > 0 ? b * p->w[j] / n : t;
        if (isnan(L[j]))
            out.scale[j] = L_n > 0 ? exp(k_a * a + (p->v_a * (1 - k_a) + v) / 2) : 1;
        else
            out.scale[j] =
                exp(k_a * a + k_b * (L[j] - a) + (p->v_a * (1 - k_a) + v * (1 - k_b)) / 2);
    }
    free(all), free(L);
    return out;
}

void ref_adapted_free(ref_adapted *a)
{
    free(a->offset), free(a->offset_var), free(a->scale);
}
