/* What metrics need of the people scored, gathered in any order and in any number of runs, with the
 * same bits for all of them                                                          [METHOD 8]
 *
 * Values are taken relative to the training mean: a sum of squares about the mean over these people
 * is good to 1e-16 (1 + (mean - training mean)^2 / variance). Whether a value varies at all is
 * asked of its extremes. Cost: eight sums of base/sum/binned_sum.h for each person and response. */
#ifndef KN_NORM_METRICS_ACCUMULATOR_H
#define KN_NORM_METRICS_ACCUMULATOR_H

#include "base/sum/binned_sum.h"
#include "norm/metrics/metrics.h"

/* Of one response; {0}: of nobody. Doubles alone, so that it can lie in a file as it is. */
typedef struct kn_metric_tally {
    double n;
    double y_low, y_high, m_low, m_high;
    kn_binned_sum y, m, yy, mm, ym, e2, z2, loss;
} kn_metric_tally;

enum { KN_TALLY_DOUBLES = sizeof(kn_metric_tally) / sizeof(double) };

/* y, mean, mean0, var0 and use of `m`; z and loss (N* x count) as norm/calibration/transform.h
 * makes them. Responses go in parallel. */
void kn_tallies_add(kn_ctx *ctx, const kn_measured *m, kn_mat z, kn_mat loss,
                    kn_metric_tally *tally);
/* to[j] takes what from[j] has. */
void kn_tallies_join(kn_metric_tally *to, const kn_metric_tally *from, ptrdiff_t n);
/* As metrics.h has them; mean0: what values are relative to. */
kn_metric_sums kn_tally_sums(const kn_metric_tally *t, double mean0);

#endif
