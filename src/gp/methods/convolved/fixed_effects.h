/* Fixed effects of covariates by least squares; convolved processes then smooth the residuals
 * [METHOD 1i].
 *
 *     X  columns of the design, centred: numbers, levels of categories, slopes of each level
 *     W = (X'X)^+      beta = W X'Z      leverage of x*:  h* = 1/N + x*'W x*
 *
 * The levels of a category are collinear, so W is a pseudo-inverse over the eigenvalues of X'X
 * above rounding: the minimum-norm solution, in which the effects of the levels of a category sum
 * to zero. A level that is not in training has effect zero, that of the average level, and the
 * variance of the known effects. */
#ifndef KN_GP_METHODS_CONVOLVED_FIXED_EFFECTS_H
#define KN_GP_METHODS_CONVOLVED_FIXED_EFFECTS_H

#include "base/matrix.h"
#include "base/memory/plan.h"

/* Columns of the design that have fixed effects. */
typedef struct kn_fixed_columns {
    ptrdiff_t n;
    ptrdiff_t *column; /* n  index in the design */
    ptrdiff_t *block;  /* n  common to the columns of a category, or to the slopes of its
                        * levels; -1: a number */
} kn_fixed_columns;

typedef struct kn_fixed {
    ptrdiff_t N, rank; /* participants, rank of X */
    kn_mat mean;       /* n x 1  means of the columns */
    kn_mat W;          /* n x n */
    kn_mat beta;       /* n x P */
    kn_mat spread;     /* n x P  variance of an unknown effect, else 0 */
    kn_mat level;      /* 1 x P  mean of Z */
} kn_fixed;

/* Frees all arrays. */
void kn_fixed_clear(kn_fixed *f);

/* Estimates the effects. X N x F design; Z (N x P) is replaced by its residuals. The caller frees
 * *out. */
kn_status kn_fixed_new(kn_ctx *ctx, const kn_fixed_columns *columns, kn_mat X, kn_mat Z,
                       kn_fixed *out);

/* Outputs of kn_fixed_predict for the n rows of X: mean and spread n x P, leverage n; each may be
 * absent. */
typedef struct kn_fixed_prediction {
    kn_mat mean, spread;
    double *leverage;
} kn_fixed_prediction;
/* Predicts the fixed effects of the rows of X (n x F), including the mean of Z. */
kn_status kn_fixed_predict(kn_ctx *ctx, const kn_fixed_columns *columns, const kn_fixed *f,
                           kn_mat X, kn_fixed_prediction out);

void kn_fixed_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t n, ptrdiff_t P); /* keeps kn_fixed */
void kn_fixed_predict_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t n);      /* temporary */

#endif
