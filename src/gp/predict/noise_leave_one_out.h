/* Leave-one-out noise variance of a response, for the z-scores of the training participants
 * [METHOD 5b].
 *
 *     noise_j^(-i) = max( sum_{k != i} (e_kj^2 - v_kj), 0.5 sum_{k != i} e_kj^2 ) / (n_j - 1)
 *
 * With groups the sums are over the rows of all other groups. noise_j is the mean of the same
 * residuals that it would divide: z^2 of the training participants would be 1 on average by
 * construction, and the reference distribution too narrow. With 40 participants one healthy new
 * participant in six would then look abnormal. */
#ifndef KN_GP_PREDICT_NOISE_LEAVE_ONE_OUT_H
#define KN_GP_PREDICT_NOISE_LEAVE_ONE_OUT_H

#include "base/context.h"

/* Rows that are held out together. */
typedef struct kn_exclusion_groups {
    int *group;         /* n  0 .. n_groups - 1; NULL: each row alone */
    ptrdiff_t n_groups; /* n if each row is alone */
} kn_exclusion_groups;

/* Numbers the groups 0 .. n_groups - 1. of: n arbitrary group numbers, or NULL: each row alone. The
 * caller clears *out. */
kn_status kn_exclusion_groups_new(kn_ctx *ctx, ptrdiff_t n, const int *of,
                                  kn_exclusion_groups *out);
/* Frees the group numbers. */
void kn_exclusion_groups_clear(kn_exclusion_groups *a);

/* Held-out residuals of one response, n participants, standardised units. */
typedef struct kn_heldout_residuals {
    ptrdiff_t n;
    const double *e, *v; /* n residuals, NaN if missing; n model variances */
    double known;        /* noise as determined by the fit, else NaN */
} kn_heldout_residuals;
/* Computes noise (n) without each row's own group. A noise that the fit determines (known) is
 * scaled by the ratio of the mean squared residuals without and with the group. work: 3 n_groups
 * doubles, unused if each row is alone. noise is NaN if no other row has a residual. */
void kn_noise_leave_one_out(const kn_heldout_residuals *of, const kn_exclusion_groups *apart,
                            double *work, double *noise);

#endif
