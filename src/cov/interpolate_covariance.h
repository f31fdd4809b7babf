/* Re-expresses R0* U with synthetic points instead of training rows, to de-identify a model
 *
 *     R0* U = C_* E + K_* W       C exact columns [features.h], K covariance of the rest with
 *                                 training rows: W is U itself (dense) or a map from pivots
 *     K_* W ~ K(*, S) K(S, S)^-1 K(S, rows) W      S some of the candidates         [METHOD 8h]
 *
 * The result is a low-rank decomposition whose pivots are S. S is chosen greedily: the next point
 * is the candidate whose row of K W r^-1/2 has the largest interpolation error, until no error
 * exceeds 1e-7 of R0's root mean diagonal. The squared length of such a row is at most R0's
 * self-covariance, so this is an error of the mean in units of the process. n |S| (|S| + m) flops
 * for n candidates. Candidates come from synthetic_points.h; gp/deidentify.c is the caller. */
#ifndef KN_COV_INTERPOLATE_COVARIANCE_H
#define KN_COV_INTERPOLATE_COVARIANCE_H

#include "cov/eigen_dense.h"

typedef struct kn_projection_source { /* The function to interpolate; all memory is borrowed. */
    const kn_cov *cov;                /* the terms of R0 */
    const double *theta;
    double gamma;
    ptrdiff_t N, m;
    const double *r; /* m eigenvalues, ascending */
    double lowest;   /* eigenvalues up to this are left out too */
    kn_mat X;        /* n x F, design rows that W belongs to */
    kn_mat W;        /* n x m */
    kn_mat E;        /* exact columns x m; empty: computed from X and W, where W is U itself */
} kn_projection_source;

/* Represents a decomposition of R0 by synthetic points instead of participants: *out is of low
 * rank, with map and base chosen from the candidates (n x F), but no `pivot`. Directions with r
 * up to 1e-13 of the largest, or up to source->lowest, are left out. At most 1500 points are
 * used. */
kn_status kn_projection_interpolate(kn_ctx *ctx, const kn_projection_source *source,
                                    kn_mat candidates, kn_decomp *out);

/* Returns the source for a decomposition over the rows X, dense or of low rank. Borrows R0
 * (covariance between participants) and X. */
kn_projection_source kn_projection_source_of(const kn_decomp *R0, kn_mat X);

#endif
