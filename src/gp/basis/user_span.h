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

#include "gp/basis/basis.h"
#include "gp/gp.h"

/* Computes V (Q x rank, owned by the caller), the leading eigenvectors of Z'Z for coordinates Z
 * (N x Q): at most P, and only those with variance above rounding; P = 0: all of these. shared:
 * MPI rank 0 solves and broadcasts, and the call is collective. */
kn_status kn_leading_axes(kn_ctx *ctx, kn_mat Z, ptrdiff_t P, bool shared, kn_mat *V);
/* Computes *M <- *M V. If V has fewer columns than *M, *M gets new memory and *before the old
 * matrix (owned by the caller); else in place, and *before is not touched. */
kn_status kn_rotate_to_axes(kn_ctx *ctx, kn_mat *M, kn_mat V, kn_mat *before);

/* Rotates b from the given columns (T x Q) to the P leading axes; P = 0: all with variance above
 * rounding. *span (owned by the caller) gets the original columns if there are fewer axes, else
 * none: B spans the same. KN_ERR_DATA if no response varies inside the basis. Collective. */
kn_status kn_user_span_axes(kn_ctx *ctx, kn_basis *b, ptrdiff_t P, kn_mat *span);

/* |B'1|^2 / T for orthonormal B: the proportion of a constant shift of all responses, in
 * standardised units, that the span of B contains. */
double kn_user_span_constant(kn_mat B);

/* Returns the columns (T x Q, borrowed from gp) that all folds share with a basis of the user:
 * gp->span if the model keeps fewer axes, else gp->B (which is B U_C with iso noise). */
kn_mat kn_user_span_fixed(const kn_gp *gp);
/* Computes *Z (N x Q, owned by the caller), the coordinates of Y in the columns of
 * kn_user_span_fixed, before any rotation by U_C: the task features. Reads Y once. Collective. */
kn_status kn_user_span_coordinates(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_mat *Z);

/* Computes *rotate (owned by the caller), the matrix that turns the columns of
 * kn_user_span_fixed into the basis of a fold with axes V (Q x P): V U_C, preceded by U_C' of gp
 * where the fixed columns are B U_C. UC: the fold's own U_C (P x P), or none. */
kn_status kn_user_span_rotation(kn_ctx *ctx, const kn_gp *gp, kn_mat V, kn_mat UC, kn_mat *rotate);

/* Predicts in plan r the memory of kn_leading_axes for s->N rows and s->span columns: V stays in
 * the plan, the eigenproblem only raises the peak. */
void kn_leading_axes_need(kn_mem_plan *r, const kn_problem_size *s);
/* Predicts in plan r the memory of kn_rotate_to_axes for a matrix of n rows and s->span columns:
 * the new matrix stays in the plan (category `part`) if s->P < s->span, else the work space only
 * raises the peak. */
void kn_rotate_to_axes_need(kn_mem_plan *r, kn_mem_category part, const kn_problem_size *s,
                            ptrdiff_t n);
/* Predicts in plan r the memory of kn_user_span_axes: a second basis (s->T x s->P) stays in the
 * plan if s->P < s->span; V and the work space only raise the peak. */
void kn_user_span_axes_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
