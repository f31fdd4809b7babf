/* The user's basis: its span is fixed, and the components are the principal axes inside it
 * [METHOD 1e]
 *
 *     Z = Y B   N x Q     Z'Z = V diag(w) V', w descending     B <- B V_P     Z <- Z V_P
 *
 * The model takes components as independent, which the columns as given rarely are. The span does
 * not depend on the responses but the axes do, so every fold computes its own axes from its
 * training rows:
 *
 *     Zc = Z_tr - 1 mean'     Zc'Zc = V_f diag V_f'     B_f = B V_f
 *
 * Cost N Q^2 + 9 Q^3 flops, also per fold. */
#ifndef KN_GP_BASIS_USER_SPAN_H
#define KN_GP_BASIS_USER_SPAN_H

#include "gp/cv/fold.h"
#include "gp/gp.h"
#include "gp/method.h"

/* Rotates b from the given columns (T x Q) to the P leading axes; P = 0: all with variance above
 * rounding. *span (owned by the caller) gets the original columns if there are fewer axes, else
 * none: B spans the same. KN_ERR_DATA if no response varies inside the basis. Collective. */
kn_status kn_user_span_axes(kn_ctx *ctx, kn_basis *b, ptrdiff_t P, kn_mat *span);

/* Builds *basis from the user's basis p->options->basis: gp->P of its axes, or its columns as they
 * are (options->axes_given). Sets gp->span, gp->axes and gp->P, and the basis fields of info.
 * Warns if the span contains less than half of a constant shift of all responses. Errors as
 * kn_basis_given; KN_ERR_ARGUMENT if there are fewer axes than gp->P. Collective. */
kn_status kn_user_span_given(kn_ctx *ctx, const kn_fit_problem *p, kn_basis *basis, kn_gp *gp,
                             kn_fit_info *info);

/* |B'1|^2 / T for orthonormal B: the proportion of a constant shift of all responses, in
 * standardised units, that the span of B contains. */
double kn_user_span_constant(kn_mat B);

/* The columns that all folds share (borrowed from gp): the span, or the basis (B U_C with iso
 * noise). */
kn_mat kn_user_span_fixed(const kn_gp *gp);
/* Coordinates of Y in these columns before the rotation by U_C, N x Q, owned by the caller: the
 * task features. Collective. */
kn_status kn_user_span_coordinates(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_mat *Z);

/* Computes the axes of a fold: f->V (Q x P, or fewer columns if the rank of the fold is lower),
 * and rotates f->Z_train, the centred coordinates, to them. signs: make the largest |entry| of
 * each column of B_f positive. KN_ERR_DATA if no response varies in the training rows. */
kn_status kn_fold_axes(kn_ctx *ctx, const kn_gp *gp, bool signs, kn_fold *f);

/* rotate (owned by the caller) = the rotation from the shared columns to the fold's: V U_C,f,
 * preceded by U_C' where the shared columns are B U_C. UC: the fold's U_C, or none. */
kn_status kn_user_span_rotation(kn_ctx *ctx, const kn_gp *gp, kn_mat V, kn_mat UC, kn_mat *rotate);

/* Memory plans. kn_user_span_need: kn_user_span_given, kept, including the original columns if P <
 * s->span. kn_user_span_axes_need: kn_user_span_axes, which keeps a second basis if P < s->span.
 * kn_fold_axes_need: kn_fold_axes of n participants, temporary. */
void kn_user_span_need(kn_mem_plan *r, const kn_problem_size *s);
void kn_user_span_axes_need(kn_mem_plan *r, const kn_problem_size *s);
void kn_fold_axes_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
