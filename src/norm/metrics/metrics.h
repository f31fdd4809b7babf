/* Accuracy of predictions per response [METHOD 8].
 *
 *     e = y - mean, s2 = v + noise_j, y0 and var0 the training mean and variance (divisor N)
 *     R2 = 1 - sum e^2 / sum (y - ybar)^2         rho, rho2   correlation of y and mean, its square
 *     RMSE = sqrt(mean e^2)   SMSE = mean e^2 / var y   EXPV = 1 - var e / var y   (divisor n)
 *     MSLL = mean [1/2 ln(2 pi s2) + e^2/(2 s2)] - mean [1/2 ln(2 pi var0) + (y - y0)^2/(2 var0)]
 *     z2 = mean e^2/s2
 *
 * With calibration z2 = mean z^2, and MSLL uses the full density (norm/calibration/transform.h).
 *
 * A participant counts where y is finite and mean and s2 are usable. Undefined metrics are NaN:
 * R2, rho, rho2, SMSE, EXPV if y does not vary over the participants that count (so also for a
 * single one), rho and rho2 if the mean does not vary, all if no participant counts. */
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

extern const char *const kn_metric_name[KN_N_METRICS]; /* column names in metrics.tsv */

/* Sums for the metrics of one response, updated one participant at a time. Values are taken
 * relative to the first that counts, and squares about the running mean (Welford 1962), so that
 * units far from 0 lose no digits and the bits do not depend on the minibatches. */
typedef struct kn_metric_sums {
    double n;          /* participants that count */
    double y0, m0, e0; /* y, mean and e of the first participant */
    double y, m, e;    /* means relative to those */
    /* sums of squares and products about the means; ee: of e */
    double yy, mm, ym, ee;
    /* sum e^2; sum e^2/s2; log loss minus that of the trivial model (mean0, var0) */
    double e2, z2, loss;
} kn_metric_sums;

/* Predictions for N* participants and some responses, all in the same units, standardised or
 * original. */
typedef struct kn_measured {
    kn_mat y, mean, v;                  /* N* x count */
    const double *noise, *mean0, *var0; /* count */
    const bool *use;                    /* N*: participants that count; NULL: all */
} kn_measured;

/* Add them to the sums of their responses (count), in parallel; {0} is an empty sum. Scored
 * participants go to norm/metrics/accumulator.h instead. */
void kn_metrics_add(kn_ctx *ctx, const kn_measured *m, kn_metric_sums *sums);
/* Metrics from the sums; out: count x KN_N_METRICS. */
void kn_metrics_result(const kn_metric_sums *sums, kn_mat out);

/* Convert sums to other units, y -> shift + scale y, to join models with different
 * standardisation; z2 and loss do not change. */
kn_metric_sums kn_metrics_in_units(const kn_metric_sums *sums, double shift, double scale);
/* Sums of two disjoint sets of participants (Chan, Golub & LeVeque 1983). */
kn_metric_sums kn_metrics_joined(const kn_metric_sums *a, const kn_metric_sums *b);

/* Metrics of all participants at once; out: count x KN_N_METRICS. */
void kn_metrics(kn_ctx *ctx, const kn_measured *m, kn_mat out);

/* Mean of each metric over the responses for which it is defined; NaN if there are none. */
void kn_metrics_mean(kn_mat metrics, double mean[KN_N_METRICS]);

#endif
