/* Calibration of the z-scores: are their mean 0, their variance 1 and their distribution normal?
 * [METHOD 11a]
 *
 * Statistics are over distinct participants: the responses of one participant are correlated, and
 * bands over responses would be too narrow. With x_u the mean of participant u, s its standard
 * deviation over the n participants, and N the size of the training sample:
 *
 *     interval   mean -+ t_{n-1,.975} s/sqrt(n) sqrt(1 + n/N)
 *     worm       F^-1(Phi(q)) - q, F the mean of the participants' histograms, linear in a bin
 *     PIT        20 times the mean proportion of Phi(z) in each twentieth
 *     band       -+ c se sqrt(n/(n-1)) t_{n-1,.975}/Phi^-1(.975) sqrt(1 + n/N)
 *
 * For z^2, s is not below that of the training sample: if few participants have small z, they also
 * vary less, and their interval would miss 1 too often. se is the standard deviation over 400
 * bootstrap samples of participants, c the 95 % point of their largest |difference|/se over all
 * points: a simultaneous band. The band of the PIT is flat, se is 1 for all bars. There is no point
 * where fewer than 5 z are expected beyond q; no band for fewer than 10 participants, and none of
 * the worm for fewer than 15: with 10, it covered in only 78 to 88 % of simulated studies, because
 * few participants determine the tails.
 *
 * Cost: 400 n (ZBINS + PIT). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "report/compute/internal.h"
#include "stats/normal.h"
#include "stats/order_statistics.h"
#include "stats/student_t.h"

enum {
    BOOTSTRAPS = 400,
    CUT = 380,
    MIN_PARTICIPANTS = 10,
    MIN_WORM = 15,
    TENTH = KN_REPORT_PIT / 10
};
static const double MIN_EXPECTED = 5, SAME = 1e-12;
/* Stream of training; the scored participants use the next one. */
static const uint64_t STREAM = 0x70616765;

typedef struct z_sample { /* distribution of each participant's z-scores */
    ptrdiff_t n;
    double z_count;
    double *hist, *pit;         /* n x ZBINS, n x PIT */
    double *mean, *z2, *inside; /* n; inside n x COVERAGES */
} z_sample;

/* Frees the arrays of c. */
static void z_sample_clear(z_sample *c)
{
    kn_free(c->hist);
    kn_free(c->pit);
    kn_free(c->mean);
    kn_free(c->z2);
    kn_free(c->inside);
}

/* to[k] += from[k] for n counts. */
static void add_counts(double *to, const uint32_t *from, ptrdiff_t n)
{
    for (ptrdiff_t k = 0; k < n; k++)
        to[k] += from[k];
}

/* Divides n values by `by`, in place. */
static void divide_values(double *x, ptrdiff_t n, double by)
{
    for (ptrdiff_t k = 0; k < n; k++)
        x[k] /= by;
}

/* Sums the z-histograms of the rows of each participant (map u), and normalises them to a total of
 * 1 per participant; also their means of z and z^2. c owns the arrays; clear it after failure too.
 */
static kn_status z_sample_new(kn_ctx *ctx, const kn_report_zhist *h,
                              const kn_distinct_participants *u, z_sample *c)
{
    kn_status status;
    double *total = NULL;
    c->n = u->n;
    KN_TRY(kn_alloc_d(ctx, u->n, &total));
    KN_TRY(kn_alloc_d(ctx, u->n * KN_REPORT_ZBINS, &c->hist));
    KN_TRY(kn_alloc_d(ctx, u->n * KN_REPORT_PIT, &c->pit));
    KN_TRY(kn_alloc_d(ctx, u->n * KN_REPORT_COVERAGES, &c->inside));
    KN_TRY(kn_alloc_d(ctx, u->n, &c->mean));
    KN_TRY(kn_alloc_d(ctx, u->n, &c->z2));
    for (ptrdiff_t i = 0; i < h->n; i++) {
        const ptrdiff_t k = u->of[i];
        if (k < 0)
            continue;
        add_counts(c->hist + k * KN_REPORT_ZBINS, h->count + i * KN_REPORT_ZBINS, KN_REPORT_ZBINS);
        add_counts(c->pit + k * KN_REPORT_PIT, h->pit + i * KN_REPORT_PIT, KN_REPORT_PIT);
        add_counts(c->inside + k * KN_REPORT_COVERAGES, h->inside + i * KN_REPORT_COVERAGES,
                   KN_REPORT_COVERAGES);
        c->mean[k] += h->sum[i];
        c->z2[k] += h->sum2[i];
        total[k] += (double)h->responses[i];
    }
    for (ptrdiff_t k = 0; k < u->n; k++) {
        divide_values(c->hist + k * KN_REPORT_ZBINS, KN_REPORT_ZBINS, total[k]);
        divide_values(c->pit + k * KN_REPORT_PIT, KN_REPORT_PIT, total[k] / KN_REPORT_PIT);
        divide_values(c->inside + k * KN_REPORT_COVERAGES, KN_REPORT_COVERAGES, total[k]);
        c->mean[k] /= total[k];
        c->z2[k] /= total[k];
        c->z_count += total[k];
    }
out:
    kn_free(total);
    return status;
}

/* ---- means ---- */

/* Returns the mean of n >= 1 values. */
static double mean_of(const double *x, ptrdiff_t n)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* Sets out to mean, low and high of the 95 % interval for the mean of x (n): Student's t with
 * standard deviation of x, at least `spread`, times `widening`. NaN limits for n = 1. */
static void compute_interval(const double *x, ptrdiff_t n, double widening, double spread,
                             double out[3])
{
    double mean = mean_of(x, n), ss = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        ss += (x[i] - mean) * (x[i] - mean);
    double half = n > 1 ? kn_student_quantile(0.975, (double)(n - 1)) * widening *
                              fmax(sqrt(ss / (double)(n - 1)), spread) / sqrt((double)n)
                        : NAN;
    out[0] = mean;
    out[1] = mean - half;
    out[2] = mean + half;
}

/* ---- plotted points: worm, PIT, outer tenths ---- */

enum {
    AT_WORM = 0,
    AT_PIT = KN_REPORT_QQ,
    AT_TENTH = AT_PIT + KN_REPORT_PIT,
    FIGURES = AT_TENTH + 2
};
typedef struct band_range { /* a range of the points, with one simultaneous band */
    int first, n;
    bool flat; /* constant width, for bars */
} band_range;
static const band_range BAND_RANGES[] = {{AT_WORM, KN_REPORT_QQ, false},
                                         {AT_PIT, KN_REPORT_PIT, true},
                                         {AT_TENTH, 2, false}};
enum { N_BAND_RANGES = 3 };

/* Worm plot: out[i] = F^-1(Phi(q[i])) - q[i], i < KN_REPORT_QQ, with F the distribution of hist
 * (KN_REPORT_ZBINS bins on +-KN_REPORT_ZMAX), linear within a bin. q must ascend. On entry out[i] =
 * NaN marks points to skip. */
static void worm_of(const double *hist, const double *q, double *out)
{
    static const double WIDTH = 2 * KN_REPORT_ZMAX / KN_REPORT_ZBINS;
    double total = 0, below = 0;
    int k = 0;
    for (int b = 0; b < KN_REPORT_ZBINS; b++)
        total += hist[b];
    for (int i = 0; i < KN_REPORT_QQ; i++) {
        const double p = kn_normal_cdf(q[i]) * total;
        while (k < KN_REPORT_ZBINS - 1 && below + hist[k] < p)
            below += hist[k++];
        const double bin_fraction = hist[k] > 0 ? fmin((p - below) / hist[k], 1) : 0;
        if (!isnan(out[i]))
            out[i] = -KN_REPORT_ZMAX + WIDTH * (k + bin_fraction) - q[i];
    }
}

/* Computes all plotted points (out, FIGURES values: worm, PIT, outer tenths) of the sample in which
 * participant u has weight[u]. q: the KN_REPORT_QQ quantiles of the worm. hist: work space of
 * ZBINS. */
static void compute_points(const z_sample *c, const double *weight, const double *q, double *hist,
                           double *out)
{
    double *pit = out + AT_PIT, *tenth = out + AT_TENTH;
    memset(hist, 0, KN_REPORT_ZBINS * sizeof *hist);
    memset(pit, 0, KN_REPORT_PIT * sizeof *pit);
    for (ptrdiff_t u = 0; u < c->n; u++) {
        const double w = weight[u] / (double)c->n;
        if (w == 0)
            continue;
        for (int b = 0; b < KN_REPORT_ZBINS; b++)
            hist[b] += w * c->hist[u * KN_REPORT_ZBINS + b];
        for (int b = 0; b < KN_REPORT_PIT; b++)
            pit[b] += w * c->pit[u * KN_REPORT_PIT + b];
    }
    worm_of(hist, q, out + AT_WORM);
    tenth[0] = tenth[1] = 0;
    for (int b = 0; b < TENTH; b++) {
        tenth[0] += pit[b] / TENTH;
        tenth[1] += pit[KN_REPORT_PIT - 1 - b] / TENTH;
    }
}

/* Sets se[k], the standard deviation of each plotted point over the bootstrap samples `drawn`
 * (BOOTSTRAPS x FIGURES), and half[k] = c se[k], half the width of the simultaneous 95 % band of
 * its range. */
static void compute_half_widths(const double *drawn, const double *observed, double *se,
                                double *half)
{
    for (int k = 0; k < FIGURES; k++) {
        double mean = 0, ss = 0;
        for (int b = 0; b < BOOTSTRAPS; b++)
            mean += drawn[b * FIGURES + k] / BOOTSTRAPS;
        for (int b = 0; b < BOOTSTRAPS; b++) {
            double d = drawn[b * FIGURES + k] - mean;
            ss += d * d;
        }
        se[k] = sqrt(ss / (BOOTSTRAPS - 1));
    }
    for (int p = 0; p < N_BAND_RANGES; p++) {
        double largest[BOOTSTRAPS] = {0};
        for (int b = 0; b < BOOTSTRAPS; b++)
            for (int k = BAND_RANGES[p].first; k < BAND_RANGES[p].first + BAND_RANGES[p].n; k++)
                if (se[k] > SAME) /* not NaN, and not equal in every bootstrap sample */
                    largest[b] = fmax(largest[b], fabs(drawn[b * FIGURES + k] - observed[k]) /
                                                      (BAND_RANGES[p].flat ? 1 : se[k]));
        kn_sort(largest, BOOTSTRAPS);
        for (int k = BAND_RANGES[p].first; k < BAND_RANGES[p].first + BAND_RANGES[p].n; k++)
            half[k] = largest[CUT - 1] * (BAND_RANGES[p].flat ? 1 : se[k]);
    }
}

typedef struct bands {
    double observed[FIGURES], se[FIGURES], half[FIGURES];
} bands;

/* Computes the plotted points of sample c, and from BOOTSTRAPS resamples of participants their
 * standard errors and half-widths of bands; NaN for fewer than MIN_PARTICIPANTS, and of the worm
 * for fewer than MIN_WORM. */
static kn_status bootstrap_bands(kn_ctx *ctx, const z_sample *c, const double *q, kn_rng *rng,
                                 bands *out)
{
    kn_status status;
    double *drawn = NULL, *weight = NULL, *hist = NULL;
    KN_TRY(kn_alloc_d(ctx, (ptrdiff_t)BOOTSTRAPS * FIGURES, &drawn));
    KN_TRY(kn_alloc_d(ctx, c->n, &weight));
    KN_TRY(kn_alloc_d(ctx, KN_REPORT_ZBINS, &hist));
    for (ptrdiff_t u = 0; u < c->n; u++)
        weight[u] = 1;
    compute_points(c, weight, q, hist, out->observed);
    for (int k = 0; k < FIGURES; k++)
        out->se[k] = out->half[k] = NAN;
    if (c->n < MIN_PARTICIPANTS)
        goto out;
    for (int b = 0; b < BOOTSTRAPS; b++) {
        KN_TRY(kn_check_cancel(ctx));
        memset(weight, 0, (size_t)c->n * sizeof *weight);
        for (ptrdiff_t u = 0; u < c->n; u++)
            weight[kn_rng_below(rng, c->n)]++;
        memcpy(drawn + b * FIGURES, out->observed, sizeof out->observed); /* keeps its NaN */
        compute_points(c, weight, q, hist, drawn + b * FIGURES);
        kn_report_progress(ctx, "bands", b + 1, BOOTSTRAPS, NAN);
    }
    compute_half_widths(drawn, out->observed, out->se, out->half);
    for (int k = AT_WORM; c->n < MIN_WORM && k < AT_WORM + KN_REPORT_QQ; k++)
        out->half[k] = NAN;
out:
    kn_free(hist);
    kn_free(weight);
    kn_free(drawn);
    return status;
}

/* Sets q to the quantiles -3, -2.9 .. 3 of the worm plot, and observed[k] to NaN where fewer than
 * MIN_EXPECTED of z_count z-scores are expected beyond q[k], else 0. */
static void set_points(double z_count, double *q, double *observed)
{
    for (int k = 0; k < KN_REPORT_QQ; k++) {
        q[k] = (k - KN_REPORT_QQ / 2) / 10.0;
        observed[k] = z_count * kn_normal_cdf(-fabs(q[k])) >= MIN_EXPECTED ? 0 : NAN;
    }
}

/* Copies points and bands to the report; factor: correction of half-widths for few participants and
 * for the size of the training sample. */
static void store_bands(const bands *b, double factor, kn_report_calibration *out)
{
    for (int k = 0; k < KN_REPORT_QQ; k++) {
        out->worm[k] = b->observed[k];
        out->worm_low[k] = b->observed[k] - factor * b->half[k];
        out->worm_high[k] = b->observed[k] + factor * b->half[k];
    }
    for (int k = 0; k < KN_REPORT_PIT; k++) {
        out->pit[k] = b->observed[AT_PIT + k];
        out->pit_se[k] = factor * b->se[AT_PIT + k];
    }
    out->pit_low = 1 - factor * b->half[AT_PIT];
    out->pit_high = 1 + factor * b->half[AT_PIT];
    for (int k = 0; k < 2; k++) {
        out->tenth[k] = b->observed[AT_TENTH + k];
        out->tenth_half[k] = factor * b->half[AT_TENTH + k];
    }
}

/* Returns the standard deviation of the participants' mean z^2, computed back from an interval that
 * was not widened; 0 for fewer than two. */
static double spread_of(const kn_report_calibration *c)
{
    const double n = (double)c->n;
    return c->n > 1 ? (c->z2_high - c->z2) * sqrt(n) / kn_student_quantile(0.975, n - 1) : 0;
}

/* Sets mean z, mean z^2 and their intervals, and the coverages, of sample c in *out. widening,
 * spread: as for compute_interval(). */
static void store_means(const z_sample *c, double widening, double spread,
                        kn_report_calibration *out)
{
    double three[3];
    compute_interval(c->mean, c->n, widening, 0, three);
    out->mean = three[0], out->mean_low = three[1], out->mean_high = three[2];
    compute_interval(c->z2, c->n, widening, spread, three);
    out->z2 = three[0], out->z2_low = three[1], out->z2_high = three[2];
    for (int k = 0; k < KN_REPORT_COVERAGES; k++) {
        out->coverage[k] = 0;
        for (ptrdiff_t u = 0; u < c->n; u++)
            out->coverage[k] += c->inside[u * KN_REPORT_COVERAGES + k] / (double)c->n;
    }
}

/* Computes the calibration *out of one sample: training (cross-validated), or the normal scored
 * participants. Leaves it empty if the sample has no z-scores. */
static kn_status calibrate_sample(kn_ctx *ctx, const kn_report_job *job, bool training,
                                  kn_report_calibration *out)
{
    kn_status status;
    kn_distinct_participants u = {0};
    z_sample c = {0};
    bands b = {0};
    kn_rng rng;
    KN_TRY(kn_distinct_participants_new(ctx, job, training, &u));
    if (u.n == 0)
        goto out;
    KN_TRY(z_sample_new(ctx, training ? &job->r->zhist_training : &job->r->zhist, &u, &c));
    kn_rng_init(&rng, job->s->seed, STREAM + !training);
    const double n = (double)u.n, widening = kn_distinct_participants_widening(job, training, u.n);
    const double factor = u.n > 1
                              ? widening * sqrt(n / (n - 1)) * kn_student_quantile(0.975, n - 1) /
                                    kn_normal_quantile(0.975)
                              : NAN;
    out->n = u.n;
    out->rows = u.rows;
    store_means(&c, widening, training ? 0 : spread_of(&job->r->calibration[0]), out);
    set_points(c.z_count, out->q, b.observed);
    KN_TRY(bootstrap_bands(ctx, &c, out->q, &rng, &b));
    store_bands(&b, factor, out);
out:
    z_sample_clear(&c);
    kn_distinct_participants_clear(&u);
    return status;
}

kn_status kn_compute_calibration(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    KN_TRY(calibrate_sample(ctx, job, true, &job->r->calibration[0]));
    KN_TRY(calibrate_sample(ctx, job, false, &job->r->calibration[1]));
out:
    return status;
}
