/* Start of the search for convolved processes [METHOD 1i]. Each task, scaled by its standard
 * deviation, is smoothed by ridge regression on the inducing functions; the leading directions of
 * the smoothed tasks are the latent processes, and S is each task's share of them. Deterministic.
 */
#ifndef KN_GP_METHODS_CONVOLVED_INITIAL_VALUES_H
#define KN_GP_METHODS_CONVOLVED_INITIAL_VALUES_H

#include "base/memory/plan.h"
#include "gp/methods/convolved/kernel.h"

typedef struct kn_conv_scale {
    double distance2; /* median squared distance between two participants */
    double *variance; /* T  variance of each task */
} kn_conv_scale;

/* Computes the scales. X N x F continuous covariates, Y N x T tasks. The caller frees *out. */
kn_status kn_conv_scale_new(kn_ctx *ctx, kn_mat X, kn_mat Y, kn_conv_scale *out);
/* Frees the variances. */
void kn_conv_scale_clear(kn_conv_scale *s);

/* Sets *c, whose sizes are set, to start `number`: 0 has widths of the median distance, odd numbers
 * are narrower and even ones wider. */
kn_status kn_conv_start(kn_ctx *ctx, const kn_conv_data *d, const kn_conv_scale *scale, int number,
                        kn_conv *c);

void kn_conv_start_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t M); /* temporary */

#endif
