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

/* V (Q x rank, owned by the caller) = the leading axes of Z (N x Q), at most P of them; P = 0: all
 * with variance above rounding. shared: root solves and broadcasts, and the call is collective. */
kn_status kn_leading_axes(kn_ctx *ctx, kn_mat Z, ptrdiff_t P, bool shared, kn_mat *V);
/* *M <- *M V. If V has fewer columns than *M, *M gets new memory and *before (owned by the caller)
 * the old matrix; else in place. */
kn_status kn_rotate_to_axes(kn_ctx *ctx, kn_mat *M, kn_mat V, kn_mat *before);

/* Rotates b from the given columns (T x Q) to the P leading axes; P = 0: all with variance above
 * rounding. *span (owned by the caller) gets the original columns if there are fewer axes, else
 * none: B spans the same. KN_ERR_DATA if no response varies inside the basis. Collective. */
kn_status kn_user_span_axes(kn_ctx *ctx, kn_basis *b, ptrdiff_t P, kn_mat *span);

/* |B'1|^2 / T for orthonormal B: the proportion of a constant shift of all responses, in
 * standardised units, that the span of B contains. */
double kn_user_span_constant(kn_mat B);

/* The columns that all folds share (borrowed from gp): the span, or the basis (B U_C with iso
 * noise). */
kn_mat kn_user_span_fixed(const kn_gp *gp);
/* Coordinates of Y in these columns before the rotation by U_C, N x Q, owned by the caller: the
 * task features. Collective. */
kn_status kn_user_span_coordinates(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_mat *Z);

/* rotate (owned by the caller) = the rotation from the shared columns to the fold's: V U_C,f,
 * preceded by U_C' where the shared columns are B U_C. UC: the fold's U_C, or none. */
kn_status kn_user_span_rotation(kn_ctx *ctx, const kn_gp *gp, kn_mat V, kn_mat UC, kn_mat *rotate);

/* Memory plans. kn_leading_axes_need: s->N rows; keeps V. kn_rotate_to_axes_need: n rows; keeps the
 * new matrix if P < s->span. kn_user_span_axes_need: keeps a second basis if P < s->span. */
void kn_leading_axes_need(kn_mem_plan *r, const kn_problem_size *s);
void kn_rotate_to_axes_need(kn_mem_plan *r, kn_mem_category part, const kn_problem_size *s,
                            ptrdiff_t n);
void kn_user_span_axes_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
