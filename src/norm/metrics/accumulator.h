/* Order-independent sums for the metrics of scored participants: minibatches and runs may come
 * in any order and give the same bits [METHOD 8]. Job parts store them and join them.
 *
 * Values are taken relative to the training mean: a sum of squares about the mean over these
 * participants has a relative error of 1e-16 (1 + (mean - training mean)^2 / variance). Minima
 * and maxima tell whether a value varies at all. Cost: eight sums of base/sum/binned_sum.h per
 * cell. */
#ifndef KN_NORM_METRICS_ACCUMULATOR_H
#define KN_NORM_METRICS_ACCUMULATOR_H

#include "base/sum/binned_sum.h"
#include "norm/metrics/metrics.h"

/* Sums of one response; {0}: no participants. Doubles only, so that it can be stored in a file
 * as it is. */
typedef struct kn_metric_tally {
    double n;                            /* participants that count */
    double y_low, y_high, m_low, m_high; /* ranges of y and mean, relative to the training mean */
    kn_binned_sum y, m, yy, mm, ym, e2, z2, loss;
} kn_metric_tally;

enum { KN_TALLY_DOUBLES = sizeof(kn_metric_tally) / sizeof(double) };

/* Add a minibatch: y, mean, mean0, var0 and use of `m`; z and loss (N* x count) as
 * kn_calibration_z() computes them. tally: count. Responses run in parallel. */
void kn_tallies_add(kn_ctx *ctx, const kn_measured *m, kn_mat z, kn_mat loss,
                    kn_metric_tally *tally);
/* Add from[j] to to[j], n responses. */
void kn_tallies_join(kn_metric_tally *to, const kn_metric_tally *from, ptrdiff_t n);
/* Convert to the sums of metrics.h; mean0: the training mean that values are relative to. */
kn_metric_sums kn_tally_sums(const kn_metric_tally *t, double mean0);

#endif
