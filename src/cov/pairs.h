/* Inner products and squared distances between the rows of feature matrices: all that the
 * kernels need of the data, computed once per fit. */
#ifndef KN_COV_PAIRS_H
#define KN_COV_PAIRS_H

#include "base/mat.h"

typedef struct kn_pairs {
    kn_mat dot;     /* x_i . y_j */
    kn_mat d2;      /* |x_i - y_j|^2 */
    bool symmetric; /* both sides are the same samples; only the lower triangle is filled */
} kn_pairs;

/* X n x F, Y m x F (rows are samples). `kernels` says which of dot and d2 are needed. */
kn_status kn_pairs_between(kn_ctx *ctx, kn_mat X, kn_mat Y, unsigned kernels, kn_pairs *out);
kn_status kn_pairs_within(kn_ctx *ctx, kn_mat X, unsigned kernels, kn_pairs *out);
void kn_pairs_clear(kn_pairs *pairs);

/* The pairs among a subset of the samples, copied. */
kn_status kn_pairs_subset(kn_ctx *ctx, const kn_pairs *pairs, const ptrdiff_t *index, ptrdiff_t n,
                          kn_pairs *out);
/* The cross pairs between two subsets of the samples, copied. */
kn_status kn_pairs_cross(kn_ctx *ctx, const kn_pairs *pairs, const ptrdiff_t *rows, ptrdiff_t n,
                         const ptrdiff_t *cols, ptrdiff_t m, kn_pairs *out);

/* Typical distances, which bound the length-scale [METHOD 9.12, SCALE 2]. Of at most 2000 rows. */
typedef struct kn_distances {
    double median;  /* of all pairs of distinct rows */
    double nearest; /* median distance to the nearest distinct row */
} kn_distances;
kn_status kn_pairs_distances(kn_ctx *ctx, const kn_pairs *pairs, kn_distances *out);
/* The same from the rows of X, N x F, without anything N x N. */
kn_status kn_row_distances(kn_ctx *ctx, kn_mat X, kn_distances *out);

#endif
