/* Block elimination for a category with many levels                                 [METHOD 6a]
 *
 * The category is one exact term of the features [features.h]: its columns E hold one 1 per row.
 * So E is stored as the level of each row, products with E are sums over levels, and E'E is
 * diagonal. The other features are called thin, m1 of them. The eigenproblem of
 *
 *     S = [diag(D)  C]      D: L levels     C  L x m1     G  m1 x m1
 *         [C'       G]
 *
 * is reduced by equal entries of D: levels of equal size n_g have a common eigenvalue D_g in the
 * null space of C_g', which has dimension n_g - m1 at least. A QR decomposition C_g = Q [R; 0]
 * separates it. What remains has the size m1 + sum_g min(n_g, m1).
 *
 * Features are numbered as in features.h; the block begins at `first` among them. */
#ifndef KN_COV_INDICATORS_H
#define KN_COV_INDICATORS_H

#include "cov/features.h"
#include "data/covariates/design.h"

typedef struct kn_indicators {
    ptrdiff_t first, count; /* among the exact columns of the features; count 0: none */
    ptrdiff_t column;       /* first column in the design */
} kn_indicators;

/* Returns the category (exact term that says whether two participants have the same level) with
 * most columns among the features, if it has at least `least`; else count is 0. */
kn_indicators kn_indicators_of(const kn_features *f, ptrdiff_t least);

/* Sets level[i] (X.rows) to the index of the only value among the columns of the block in row i of
 * X that is not 0, or to -1 unless it is `one`, as where the category is missing. Returns whether
 * all rows have a level. */
bool kn_indicator_levels(const kn_indicators *b, kn_mat X, double one, double *level);

/* Computes out = alpha [thin | root diag(times) E] R + beta out (n x k) for rows with levels; a row
 * with level -1 gets its thin part only. thin is n x m1, R (m1 + count) x k in the order of the
 * features; times: n values, NULL: 1. 2 n m1 k flops. */
void kn_indicator_product(kn_ctx *ctx, const kn_indicators *b, double alpha, kn_mat thin,
                          const double *level, double root, const double *times, kn_mat R,
                          double beta, kn_mat out);

/* Computes the eigenvalues w (ascending) and eigenvectors V (M x M, M = count + m1, in the order of
 * the features) of S; of G the lower triangle is used. KN_ERR_NUMERIC if LAPACK fails.
 * About 10 K^3 + 2 M m1 K flops for the reduced size K. Results do not depend on the threads. */
kn_status kn_indicator_eig(kn_ctx *ctx, const kn_indicators *b, const double *D, kn_mat C, kn_mat G,
                           kn_mat V, double *w);

#endif
