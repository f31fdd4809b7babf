/* How well held-out responses are predicted, per response [METHOD 8].
 *
 *     e = y - mean, s2 = v + noise_j, y0 and var0 the training mean and variance (divisor N)
 *     R2 = 1 - sum e^2 / sum (y - ybar)^2         rho, rho2   correlation of y and mean, and its
 * square RMSE = sqrt(mean e^2)   SMSE = mean e^2 / var y   EXPV = 1 - var e / var y   (divisor n)
 *     MSLL = mean [1/2 ln(2 pi s2) + e^2/(2 s2)] - mean [1/2 ln(2 pi var0) + (y - y0)^2/(2 var0)]
 *     z2 = mean e^2/s2
 * With a calibration layer z2 = mean z^2, and MSLL is by the full density
 * (norm/calibration/transform.h).
 *
 * A sample counts where y is finite and mean and s2 usable. What is not defined is NaN: R2, rho,
 * rho2, SMSE, EXPV when y does not vary over the samples that count (so for a single one), rho when
 * the mean does not, everything when none counts. */
#ifndef KN_NORM_METRICS_METRICS_H
#define KN_NORM_METRICS_METRICS_H

#include <stdbool.h>

#include "base/matrix.h"

typedef enum kn_metric {
    KN_METRIC_R2,
    KN_METRIC_RHO,
    KN_METRIC_RHO2,
    KN_METRIC_RMSE,
    KN_METRIC_SMSE,
    KN_METRIC_EXPV,
    KN_METRIC_MSLL,
    KN_METRIC_Z2,
    KN_N_METRICS
} kn_metric;

extern const char *const kn_metric_name[KN_N_METRICS]; /* as in the header of metrics.tsv */

/* What the metrics of one response need, gathered sample by sample. Values are taken relative to
 * the first that counts, and squares about the running mean (Welford 1962), so that units far from
 * 0 lose no digits and the bits do not depend on how the samples are cut into batches. */
typedef struct kn_metric_sums {
    double n;
    double y0, m0, e0;     /* of the first: y, mean, e */
    double y, m, e;        /* means relative to those */
    double yy, mm, ym, ee; /* sums of squares and products about the means; ee of e ... */
    double e2, z2, loss;   /* ... sum e^2; sum e^2/s2; log loss less that of the trivial model */
} kn_metric_sums;

/* Some samples of some responses, in any units, the same for all of it. */
typedef struct kn_measured {
    kn_mat y, mean, v;                  /* N* x count */
    const double *noise, *mean0, *var0; /* count */
    const bool *use;                    /* N*  samples that count; NULL: all */
} kn_measured;

/* Adds them to the sums of their responses, which go in parallel. Sums of no samples are zero. What
 * is scored goes to norm/metrics/accumulator.h. */
void kn_metrics_add(kn_ctx *ctx, const kn_measured *m, kn_metric_sums *sums);
void kn_metrics_result(const kn_metric_sums *sums, kn_mat out); /* count x KN_N_METRICS */

/* Sums of y and mean in other units, y = shift + scale y: of models that standardise each in its
 * own way. z2 and loss have none. */
kn_metric_sums kn_metrics_in_units(const kn_metric_sums *sums, double shift, double scale);
/* The sums of both samples (Chan, Golub & LeVeque 1983). */
kn_metric_sums kn_metrics_joined(const kn_metric_sums *a, const kn_metric_sums *b);

/* The same of all samples at once. */
void kn_metrics(kn_ctx *ctx, const kn_measured *m, kn_mat out);

/* Mean over the responses where the metric is defined; NaN where it is nowhere. */
void kn_metrics_mean(kn_mat metrics, double mean[KN_N_METRICS]);

#endif
