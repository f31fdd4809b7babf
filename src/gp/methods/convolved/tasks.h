/* Tasks and columns of convolved processes, and their memory plan [METHOD 1i]. */
#ifndef KN_GP_METHODS_CONVOLVED_TASKS_H
#define KN_GP_METHODS_CONVOLVED_TASKS_H

#include "gp/cv/refit.h"
#include "gp/methods/convolved/model.h"

/* Most continuous covariates: the power F/2 of g removes what tasks share. */
enum { KN_CONV_SMOOTH = 4 };

/* Chooses the continuous covariates to smooth over, and the columns of the fixed effects: numbers,
 * levels and slopes. Squares are left out, because the processes model curves. Fails with
 * KN_ERR_ARGUMENT or KN_ERR_DATA if there is no suitable covariate or more than KN_CONV_SMOOTH. */
kn_status kn_conv_columns(kn_ctx *ctx, const kn_gp_options *o, kn_conv_spec *out);

/* Sets the basis of {on=responses}: B = I, Z = Y. */
kn_status kn_conv_identity(kn_ctx *ctx, const kn_responses *Y, kn_basis *basis);

/* Computes Z (n x P), coordinates of the training rows of a fold: in its own principal components,
 * with loadings part->B, or in the fixed basis, there in the fold's own principal axes
 * (part->rotate) if the model has axes. part->s2: variance outside the basis. *Z is owned by the
 * caller. */
kn_status kn_conv_fold_tasks(kn_ctx *ctx, const kn_refit *r, kn_mat *Z, kn_fold_prediction *part);

/* Implement kn_method.need and kn_method.shape. */
void kn_conv_finalise(kn_problem_size *s);
void kn_conv_fit_need(kn_mem_plan *r, const kn_problem_size *s);
void kn_conv_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);
void kn_conv_shape(const kn_gp *gp, kn_problem_size *s);

#endif
