/* A basis of the user's own: a span that is held, and the principal axes inside it  [METHOD 1e]
 *
 *     Z = Y B   N x Q     Z'Z = V diag(w) V', w descending     B <- B V_P     Z <- Z V_P
 *
 * Components are taken for independent, and in the columns as given they seldom are. The span has
 * seen nobody; the axes have, so every fold finds its own from its training rows:
 *
 *     Zc = Z_tr - 1 mean'     Zc'Zc = V_f diag V_f'     B_f = B V_f
 *
 * Cost N Q^2 + 9 Q^3 flops, a fold alike. */
#ifndef KN_GP_BASIS_USER_SPAN_H
#define KN_GP_BASIS_USER_SPAN_H

#include "gp/cv/fold.h"
#include "gp/gp.h"
#include "gp/method.h"

/* From the columns given (b, T x Q) to the P leading axes; 0: all along which the samples vary.
 * *span = the columns as they were, where the axes are fewer; else none, B spans the same.
 * Collective. */
kn_status kn_user_span_axes(kn_ctx *ctx, kn_basis *b, ptrdiff_t P, kn_mat *span);

/* The basis that the user gave and its coordinates, gp->P of its axes or its columns as they are
 * (options->axes_given); gp->span, axes and P as they turn out. Warns of a span that holds less
 * than half of a shift of all responses alike. */
kn_status kn_user_span_given(kn_ctx *ctx, const kn_fit_problem *p, kn_basis *basis, kn_gp *gp,
                             kn_fit_info *info);

/* |B'1|^2 / T: the share that the span of B, orthonormal, has of the same shift of all responses in
 * standardised units. */
double kn_user_span_constant(kn_mat B);

/* The columns that are held in all folds: the span, or the basis (B U_C with iso noise). */
kn_mat kn_user_span_fixed(const kn_gp *gp);
/* Coordinates in them before any rotation by U_C, N x Q: they are the task features. */
kn_status kn_user_span_coordinates(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_mat *Z);

/* f->Z_train, centred coordinates in Z's columns, becomes that of the fold's own axes, f->V (Q x at
 * most P; fewer when a fold's rank is lower). signs: the largest |entry| of each column of B_f
 * becomes positive. */
kn_status kn_fold_axes(kn_ctx *ctx, const kn_gp *gp, bool signs, kn_fold *f);

/* From the held columns to the fold's: V U_C,f, and before it U_C' where they are B U_C. UC: the
 * fold's, or none. */
kn_status kn_user_span_rotation(kn_ctx *ctx, const kn_gp *gp, kn_mat V, kn_mat UC, kn_mat *rotate);

/* kn_user_span_given: all its columns stay, where the axes are fewer; kn_user_span_axes beside the
 * basis itself, of which it leaves the second where P < s->span; and, passing, kn_fold_axes of n
 * samples.
 */
void kn_user_span_need(kn_mem_plan *r, const kn_problem_size *s);
void kn_user_span_axes_need(kn_mem_plan *r, const kn_problem_size *s);
void kn_fold_axes_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
