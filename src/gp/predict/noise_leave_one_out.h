/* The noise of a response as those say who are not this person                      [METHOD 5b]
 *
 *     noise_j^(-i) = max( sum_{k != i} (e_kj^2 - v_kj), 0.5 sum_{k != i} e_kj^2 ) / (n_j - 1)
 *
 * with groups over the rows of all other groups. noise_j is the mean of the same residuals that it
 * then divides, so that z^2 of those people is 1 by construction and what is normal would come out
 * too narrow: of 40 people by a factor that makes one healthy person in six look rare. */
#ifndef KN_GP_PREDICT_NOISE_LEAVE_ONE_OUT_H
#define KN_GP_PREDICT_NOISE_LEAVE_ONE_OUT_H

#include "base/context.h"

/* Who leaves together. */
typedef struct kn_exclusion_groups {
    int *group;         /* n  0 .. n_groups - 1; NULL: each person alone */
    ptrdiff_t n_groups; /* n where each is alone */
} kn_exclusion_groups;

/* of: numbers that tell groups apart, n; NULL: each person alone */
kn_status kn_exclusion_groups_new(kn_ctx *ctx, ptrdiff_t n, const int *of,
                                  kn_exclusion_groups *out);
void kn_exclusion_groups_clear(kn_exclusion_groups *a);

/* One response over n people: e residuals, NaN where there is none, v model variances. known: the
 * noise where the fit says it, else NaN; it then goes as the mean squares do. work: 3 n_groups, not
 * needed where each is alone. */
typedef struct kn_heldout_residuals {
    ptrdiff_t n;
    const double *e, *v;
    double known;
} kn_heldout_residuals;
void kn_noise_leave_one_out(const kn_heldout_residuals *of, const kn_exclusion_groups *apart,
                            double *work, double *noise);

#endif
