/* Detects implausible data: a map that looks like an error of the data, not like an abnormal
 * participant [METHOD 8]
 *
 *     constant  all values of a participant are equal: a blank image
 *     larger    |y_j| > 5 (mean_j^2 + sd_j^2)^1/2 of training on more than half of the responses
 *     smaller   |y_j| < |mean_j|/5 on more than half of those that have |mean_j| > 3 sd_j
 *     code      some y_j is -999 or -9999, and that is more than 10 sd_j from mean_j
 *     z         the mean of z_j^2 over the half of the responses where it is smallest is above 4
 *
 * Units that differ by a factor of ten or more move most values past 5, and no natural variation
 * does. A lesion, however strong, leaves the smaller half of z^2 alone as long as it covers less
 * than half of the map. */
#ifndef KN_NORM_METRICS_IMPLAUSIBLE_DATA_H
#define KN_NORM_METRICS_IMPLAUSIBLE_DATA_H

#include "data/responses/responses.h"

typedef enum kn_implausible {
    KN_PLAUSIBLE = 0,
    KN_IMPLAUSIBLE_CONSTANT = 1,
    KN_IMPLAUSIBLE_LARGER = 2,
    KN_IMPLAUSIBLE_SMALLER = 3,
    KN_IMPLAUSIBLE_Z = 4,
    KN_IMPLAUSIBLE_CODE = 5,
    KN_N_IMPLAUSIBLE = 6
} kn_implausible;

/* Smallest number of responses for the z test, and for "constant". */
enum { KN_IMPLAUSIBLE_Z_MIN = 8, KN_CONSTANT_MIN = 2 };

/* Description of the reason for messages, such as "blank or constant"; "" if plausible. */
const char *kn_implausible_words(kn_implausible why);

/* Reason why row i of Y (original units) looks like an error of the data, by comparison with the
 * means and sds of the training sample; KN_PLAUSIBLE if none. Missing values are skipped. O(T). */
kn_implausible kn_implausible_values(kn_view Y, ptrdiff_t i, const kn_scaling *training);

/* KN_IMPLAUSIBLE_Z if the smaller half of z^2 (T values, not finite if missing) has a mean above 4,
 * otherwise KN_PLAUSIBLE. work: T doubles. O(T). */
kn_implausible kn_implausible_z(const float *z, ptrdiff_t T, double *work);

#endif
