/* Accuracy of predictions per response [METHOD 8].
 *
 *     e = y - mean, s2 = v + noise_j, y0 and var0 the training mean and variance (divisor N)
 *     R2 = 1 - sum e^2 / sum (y - ybar)^2         rho, rho2   correlation of y and mean, its square
 *     RMSE = sqrt(mean e^2)   SMSE = mean e^2 / var y   EXPV = 1 - var e / var y   (divisor n)
 *     MSLL = mean [1/2 ln(2 pi s2) + e^2/(2 s2)] - mean [1/2 ln(2 pi var0) + (y - y0)^2/(2 var0)]
 *     z2 = mean e^2/s2
 *     gain = mean of the log density minus that of the null model (norm/calibration/null_model.h)
 *
 * With calibration z2 = mean z^2, and MSLL uses the full density
 * (norm/calibration/calibration_transform.h).
 *
 * A participant counts where y is finite and mean and s2 are usable. Undefined metrics are NaN:
 * R2, rho, rho2, SMSE, EXPV if y does not vary over the participants that count (so also for a
 * single one), rho and rho2 if the mean does not vary, all if no participant counts. */
#ifndef KN_NORM_METRICS_METRICS_H
#define KN_NORM_METRICS_METRICS_H

#include <stdbool.h>

#include "base/matrix.h"
#include "base/sum/binned_sum.h"

typedef enum kn_metric {
    KN_METRIC_R2,
    KN_METRIC_RHO,
    KN_METRIC_RHO2,
    KN_METRIC_RMSE,
    KN_METRIC_SMSE,
    KN_METRIC_EXPV,
    KN_METRIC_MSLL,
    KN_METRIC_GAIN,
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
    double gain, gained; /* sum of the gains over the null model, and number of participants */
} kn_metric_sums;

/* Predictions for N* participants and some responses, all in the same units, standardised or
 * original. */
typedef struct kn_measured {
    kn_mat y, mean, v;                  /* N* x count */
    const double *noise, *mean0, *var0; /* count */
    const bool *use;                    /* N*: participants that count; NULL: all */
} kn_measured;

/* Add the predictions of a block to the sums of its responses (count), in parallel; {0} is an empty
 * sum. For scored participants use kn_tallies_add(), which does not depend on their order. */
void kn_metrics_add(kn_ctx *ctx, const kn_measured *m, kn_metric_sums *sums);

/* Metrics of each response from its sums; out: count x KN_N_METRICS. */
void kn_metrics_result(const kn_metric_sums *sums, kn_mat out);

/* The same sums in other units, y -> shift + scale y, for joining models with different
 * standardisation. z2 and loss do not change. */
kn_metric_sums kn_metrics_in_units(const kn_metric_sums *sums, double shift, double scale);

/* Sums over the union of two disjoint sets of participants (Chan, Golub & LeVeque 1983). */
kn_metric_sums kn_metrics_joined(const kn_metric_sums *a, const kn_metric_sums *b);

/* Metrics of each response from one block of predictions; out: count x KN_N_METRICS. */
void kn_metrics(kn_ctx *ctx, const kn_measured *m, kn_mat out);

/* Mean of each metric over the responses (rows of metrics) for which it is defined; NaN if there
 * are none. If R2 is defined for some responses, the others do not vary and are left out of every
 * mean. */
void kn_metrics_mean(kn_mat metrics, double mean[KN_N_METRICS]);

/* ---- order-independent sums for scoring ------------------------------------------------------
 *
 * Order-independent sums for the metrics of scored participants: minibatches and runs may come
 * in any order and give the same bits [METHOD 8]. Job parts store them and join them.
 *
 * Values are taken relative to the training mean: a sum of squares about the mean over these
 * participants has a relative error of 1e-16 (1 + (mean - training mean)^2 / variance). Minima
 * and maxima show whether a value varies. Cost: nine sums of base/sum/binned_sum.h per
 * cell. */

/* Sums of one response; {0}: no participants. Doubles only, so that it can be stored in a file
 * as it is. */
typedef struct kn_metric_tally {
    double n;                            /* participants that count */
    double y_low, y_high, m_low, m_high; /* ranges of y and mean, relative to the training mean */
    kn_binned_sum y, m, yy, mm, ym, e2, z2, loss;
    double gained; /* participants with a gain */
    kn_binned_sum gain;
} kn_metric_tally;

enum { KN_TALLY_DOUBLES = sizeof(kn_metric_tally) / sizeof(double) };

/* What the metrics need beside the predictions, N* x count each: z and loss as kn_calibration_z()
 * computes them, null as kn_null_losses(); null may be kn_mat_none(). */
typedef struct kn_cell_losses {
    kn_mat z, loss, null;
} kn_cell_losses;

/* Add a minibatch: y, mean, mean0, var0 and use of `m`, with the losses of its cells. tally: one
 * per response. Responses run in parallel; cannot fail. */
void kn_tallies_add(kn_ctx *ctx, const kn_measured *m, const kn_cell_losses *losses,
                    kn_metric_tally *tally);

/* Add the tallies of other participants, from[j], to to[j], for n responses. The order of joins
 * does not change the result. */
void kn_tallies_join(kn_metric_tally *out, const kn_metric_tally *from, ptrdiff_t n);

/* Convert the tally of one response to the sums of kn_metrics_result(). mean0: the training mean
 * that its values are relative to. */
kn_metric_sums kn_tally_sums(const kn_metric_tally *t, double mean0);

#endif
