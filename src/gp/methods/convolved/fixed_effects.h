/* Fixed effects of covariates by least squares, before convolved processes smooth what is left
 *                                                                                   [METHOD 1i]
 *     X  columns of the design, centred: numbers, levels of categories, slopes of each level
 *     W = (X'X)^+      beta = W X'Z      leverage of x*:  h* = 1/N + x*'W x*
 *
 * Levels of a category are collinear with one another, so that the inverse is over the directions
 * of X'X that are more than rounding: of the effects that fit alike the smallest, and those of the
 * levels of a category sum to zero. A level that training does not have has effect zero, the
 * average level's, and in its place the variance of the effects that are known. */
#ifndef KN_GP_METHODS_CONVOLVED_FIXED_EFFECTS_H
#define KN_GP_METHODS_CONVOLVED_FIXED_EFFECTS_H

#include "base/matrix.h"
#include "base/memory/plan.h"

typedef struct kn_fixed_columns {
    ptrdiff_t n;
    ptrdiff_t *column; /* n  of the design */
    ptrdiff_t *block;  /* n  columns of the same category, or slopes of its levels, share one; -1 */
} kn_fixed_columns;

typedef struct kn_fixed {
    ptrdiff_t N, rank; /* samples, directions of X */
    kn_mat mean;       /* n x 1  of the columns */
    kn_mat W;          /* n x n */
    kn_mat beta;       /* n x P */
    kn_mat spread;     /* n x P  variance of an effect that is not known, else 0 */
    kn_mat level;      /* 1 x P  mean of Z */
} kn_fixed;

void kn_fixed_clear(kn_fixed *f);

/* Z (N x P) becomes what is left of it. */
kn_status kn_fixed_new(kn_ctx *ctx, const kn_fixed_columns *columns, kn_mat X, kn_mat Z,
                       kn_fixed *out);

/* For the rows of X: mean (n x P), spread (n x P) and leverage (n), each may be absent. */
typedef struct kn_fixed_prediction {
    kn_mat mean, spread;
    double *leverage;
} kn_fixed_prediction;
kn_status kn_fixed_predict(kn_ctx *ctx, const kn_fixed_columns *columns, const kn_fixed *f,
                           kn_mat X, kn_fixed_prediction out);

void kn_fixed_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t n, ptrdiff_t P); /* leaves it */
void kn_fixed_predict_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t n);      /* passes */

#endif
