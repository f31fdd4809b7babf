/* R0* U as a function of covariates, from points that are no samples                  [METHOD 8h]
 *
 *     R0* U = C_* E + K_* W       C exact columns [features.h], K the rest's covariance with some
 *                                 samples: U itself (dense) or a map from pivots (low rank)
 *     K_* W ~ K(*, S) K(S, S)^-1 K(S, samples) W         S some of the candidates
 *
 * that is a low-rank decomposition like any other, whose pivots are S. S is chosen greedily: next
 * is the candidate whose row of K W r^-1/2 is the furthest from what those before it say, until
 * none is further than 1e-7 of R0's root mean diagonal. The rows have at most R0's self-covariance
 * as their squared length, so that this is an error of the mean in units of the process. n |S| (|S|
 * + m) flops for n candidates. */
#ifndef KN_COV_INTERPOLATE_H
#define KN_COV_INTERPOLATE_H

#include "cov/eigen_dense.h"

typedef struct kn_projection_source { /* what is interpolated; all of it lent */
    const kn_cov *cov;                /* of R0 */
    const double *theta;
    double gamma;
    ptrdiff_t N, m;
    const double *r; /* m   ascending */
    double least;    /* directions with r below it are left out too */
    kn_mat X;        /* n x F   samples that W is of */
    kn_mat W;        /* n x m */
    kn_mat E;        /* columns x m; none: from X and W, where W is U itself */
} kn_projection_source;

/* out: r, map, base, without pivot, which would name samples; directions with r below 1e-13 of the
 * largest, or below `least`, are left out, the first ones. */
kn_status kn_projection_interpolate(kn_ctx *ctx, const kn_projection_source *of, kn_mat candidates,
                                    kn_decomp *out);

/* Of a decomposition over the samples X, low rank or dense. */
kn_projection_source kn_projection_source_of(const kn_decomp *R0, kn_mat X);

#endif
