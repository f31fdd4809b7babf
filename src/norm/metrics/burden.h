/* Signed burden of a participant: how many responses deviate, and to which side [METHOD 8d].
 *
 *     mean_z = mean_j z_j      negative = #{z < -t},  positive = #{z > t}
 *     extreme_z_low, extreme_z_high: mean of the lowest and of the highest 5 %, trimmed as in
 *                                 extreme_statistic.h
 *     n_low_p, n_high_p = (1 + #{reference count >= count})/(n + 1)
 *     mean_z_p               = (1 + #{|reference mean_z| >= |mean_z|})/(n + 1)
 *
 * over the finite z. With fewer than KN_BURDEN_MIN of them counts are NaN; without any all is
 * NaN. Counts are not binomial, so p-values come from a reference only
 * (stats/p_values.h); ties count against the participant. */
#ifndef KN_NORM_METRICS_BURDEN_H
#define KN_NORM_METRICS_BURDEN_H

#include "base/context.h"

enum { KN_BURDEN_MIN = 20 };
#define KN_BURDEN_THRESHOLD 1.96

typedef struct kn_burden {
    ptrdiff_t n; /* finite z */
    double mean_z, negative, positive;
    double extreme_z_low, extreme_z_high;
} kn_burden;

/* Burden of one participant from z (T values, not finite if missing): mean, counts beyond
 * -threshold and threshold, and the trimmed means of the `fraction` lowest and highest values.
 * work: T doubles, overwritten. O(T), cannot fail. */
kn_burden kn_burden_row(const float *z, ptrdiff_t T, double threshold, double fraction,
                        double *work);

#endif
