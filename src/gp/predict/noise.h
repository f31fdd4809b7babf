/* Noise variance of each response, in standardised units [METHOD 1d].
 *
 *     noise_j = max( mean_i(e_ij^2 - v_ij), 0.5 mean_i e_ij^2 )
 *
 * e and v are residual (after the slope) and model variance of held-out participants. The floor
 * applies if the model variance exceeds half of the mean squared residual. Without held-out
 * participants the noise is (B.^2 d + psi)_j with psi_j = |y_j - (ZB')_j|^2 / N, and with groups d
 * (1 + gamma) in place of d. All of it is noise of a new group. If the fit determines the noise
 * itself (kn_method.known_noise), nothing is computed here. */
#ifndef KN_GP_PREDICT_NOISE_H
#define KN_GP_PREDICT_NOISE_H

#include "base/context.h"
#include "base/memory/plan.h"
#include "gp/block_visitor.h"
#include "gp/predict/gp_maps.h"

/* ---- noise leave one out ----
 *
 * Leave-one-out noise variance of a response, for the z-scores of the training participants
 * [METHOD 5b].
 *
 *     noise_j^(-i) = max( sum_{k != i} (e_kj^2 - v_kj), 0.5 sum_{k != i} e_kj^2 ) / (n_j - 1)
 *
 * With groups the sums are over the rows of all other groups. noise_j is the mean of the same
 * residuals that it would divide: z^2 of the training participants would be 1 on average by
 * construction, and the reference distribution too narrow. With 40 participants one healthy new
 * participant in six would then look abnormal. */

/* Rows that are held out together. */
typedef struct kn_exclusion_groups {
    int *group;         /* n  0 .. n_groups - 1; NULL: each row alone */
    ptrdiff_t n_groups; /* n if each row is alone */
} kn_exclusion_groups;

/* Renumbers the groups of n rows as 0 .. n_groups - 1. numbers: n arbitrary group numbers, or
 * NULL: each row is its own group, and *out has no numbers. The caller clears *out. */
kn_status kn_exclusion_groups_new(kn_ctx *ctx, ptrdiff_t n, const int *numbers,
                                  kn_exclusion_groups *out);
/* Frees the group numbers. */
void kn_exclusion_groups_clear(kn_exclusion_groups *a);

/* Held-out residuals of one response, n participants, standardised units. */
typedef struct kn_heldout_residuals {
    ptrdiff_t n;
    const double *e, *v; /* n residuals, NaN if missing; n model variances */
    double known;        /* noise as determined by the fit, else NaN */
} kn_heldout_residuals;
/* Computes noise[i] (n) of one response without the rows of i's own group. A noise that the fit
 * determines (known) is scaled by the ratio of the mean squared residuals without and with the
 * group. work: 3 n_groups doubles, unused if each row is its own group. NaN if no other row has
 * a residual. */
void kn_noise_leave_one_out(const kn_heldout_residuals *residuals, const kn_exclusion_groups *apart,
                            double *work, double *noise);

/* ---- noise of all responses ---- */

/* Sets gp->noise (T), the noise variance of each response, by a block loop over the
 * cross-validated maps or, if cv is NULL, in-sample. Y (N x T): training responses. Collective. */
kn_status kn_gp_set_noise(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gp_maps *cv);

/* The same as a visitor, for a block loop that has further visitors: it sets the noise of a block
 * before they see the block. The caller must gather gp->noise over the MPI ranks afterwards. gp, Y
 * and cv are borrowed. kn_noise_builder_new: collective. */
typedef struct kn_noise_builder kn_noise_builder;
/* Creates a builder of gp->noise, used as a visitor of a block loop that has further visitors:
 * it sets the noise of a block before they see the block. cv: cross-validated maps, NULL:
 * in-sample estimate. The caller must gather gp->noise over the MPI ranks afterwards. gp, Y and
 * cv are borrowed. Collective. */
kn_status kn_noise_builder_new(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gp_maps *cv,
                               kn_noise_builder **out);
/* Frees the builder; NULL is allowed. */
void kn_noise_builder_free(kn_noise_builder *m);

/* Computes noise (T) of members of a known group by kn_method.group_noise; the noise of the
 * group is then in the model variance. */
void kn_noise_known_group(const kn_gp *gp, double *noise);
/* Implements kn_method.group_noise for methods with components: noise[j] (T) = max(noise_j -
 * sum_p B_jp^2 d_p gamma_p, 0.5 noise_j). */
void kn_components_group_noise(const kn_gp *gp, double *noise);
/* Implements kn_method.group_noise_proportion for methods with components: sum_p d_p gamma_p
 * over sum_p d_p (1 + gamma_p). */
double kn_components_group_proportion(const kn_gp *gp);

/* Returns the block visitor of a builder. It needs y, and with cv mean and variance of the
 * block. */
kn_visitor kn_noise_visitor(kn_noise_builder *m);

/* Computes the leave-one-out noise variance of response j of the current block for each of its n
 * participants, into noise (n). `residuals`, `work`: see kn_noise_leave_one_out; residuals.known
 * is set here. */
void kn_noise_block_leave_one_out(const kn_noise_builder *m, const kn_block *b, ptrdiff_t j,
                                  const kn_exclusion_groups *apart, kn_heldout_residuals residuals,
                                  double *work, double *noise);

/* Predicts in plan r the memory of kn_noise_visitor in a block loop over n of s->N participants,
 * which stays in the plan; nothing if the fit determines the noise. */
void kn_noise_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
