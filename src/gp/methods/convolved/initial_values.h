/* Where the search for convolved processes begins, and where their inducing inputs are [METHOD 1i]
 *
 * Each task, in units of its own deviation, is smoothed by ridge regression on the inducing
 * functions; the leading directions of what that gives are the latent processes, and what each task
 * has of them is S. The same numbers give the same start. */
#ifndef KN_GP_METHODS_CONVOLVED_INITIAL_VALUES_H
#define KN_GP_METHODS_CONVOLVED_INITIAL_VALUES_H

#include "base/memory/plan.h"
#include "gp/methods/convolved/kernel.h"

typedef struct kn_conv_scale {
    double distance2; /* median squared distance of two samples */
    double *variance; /* T  of each task */
} kn_conv_scale;

kn_status kn_conv_scale_new(kn_ctx *ctx, kn_mat X, kn_mat Y, kn_conv_scale *out);
void kn_conv_scale_clear(kn_conv_scale *s);

/* c, whose sizes are set, at start `number`: 0 with widths of the median, others wider and
 * narrower in turn. */
kn_status kn_conv_start(kn_ctx *ctx, const kn_conv_data *d, const kn_conv_scale *scale, int number,
                        kn_conv *c);

void kn_conv_start_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t M); /* passes */

#endif
