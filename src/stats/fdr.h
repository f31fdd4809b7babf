/* False discovery rate of the z-map of one participant, Benjamini & Hochberg 1995 [METHOD 8d].
 *
 *     p_j = 2 Phi(-|z_j|),  m of them finite
 *     rejected: the k smallest, k the largest number with p_(k) <= k q/m
 *
 * k is the largest fixed point of k -> #{p <= k q/m}. Iteration from k = m decreases to it, and
 * each round looks only at the values that the previous one kept, so that the map need not be
 * sorted. O(T) with two or three erfc for every |z| above the normal quantile of q/2. */
#ifndef KN_STATS_FDR_H
#define KN_STATS_FDR_H

#include <stddef.h>

#include "base/context.h"

#define KN_FDR_Q 0.05

typedef struct kn_fdr {
    ptrdiff_t n;                  /* finite z */
    ptrdiff_t negative, positive; /* rejected responses by the sign of z */
    double bar;                   /* threshold: |z| >= bar is rejected; INFINITY if none is */
} kn_fdr;

/* FDR at level q of z[T], in which missing cells are not finite; work: T doubles. */
kn_fdr kn_fdr_row(const float *z, ptrdiff_t T, double q, double *work);

/* adjusted[n] = adjusted p-values of p[n], without NaN: min over k >= rank of p_(k) n/k, at most 1.
 * The arrays may be the same. O(n log n). kn_adjusted (two_sample_tests.h) allows NaN. */
kn_status kn_fdr_adjust(kn_ctx *ctx, ptrdiff_t n, const double *p, double *adjusted);

#endif
