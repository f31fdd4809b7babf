/* What convolved processes are of: tasks, columns of the design; and the memory of it all
 *                                                                  [METHOD 1i] */
#ifndef KN_GP_METHODS_CONVOLVED_TASKS_H
#define KN_GP_METHODS_CONVOLVED_TASKS_H

#include "gp/cv/refit.h"
#include "gp/methods/convolved/model.h"

enum { KN_CONV_SMOOTH = 4 }; /* continuous covariates: the power F/2 of g kills what tasks share */

/* Continuous covariates to smooth over, and columns of the fixed effects: numbers, levels and
 * slopes. Squares are left out: curves are the processes'. */
kn_status kn_conv_columns(kn_ctx *ctx, const kn_gp_options *o, kn_conv_spec *out);

kn_status kn_conv_identity(kn_ctx *ctx, const kn_responses *Y, kn_basis *basis); /* B = I, Z = Y */

/* Coordinates of a fold's training rows in its own principal components, whose loadings are
 * part->B, or in the basis that is held: its own axes inside it (part->rotate) where the model's
 * are axes, else its columns; part->s2: what is outside. */
kn_status kn_conv_fold_tasks(kn_ctx *ctx, const kn_refit *r, kn_mat *Z, kn_fold_prediction *part);

/* For kn_method.need and shape */
void kn_conv_finalise(kn_problem_size *s);
void kn_conv_fit_need(kn_mem_plan *r, const kn_problem_size *s);
void kn_conv_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);
void kn_conv_shape(const kn_gp *gp, kn_problem_size *s);

#endif
