/* False discovery rate of one person's map, Benjamini & Hochberg 1995 [METHOD 8d].
 *
 *     p_j = 2 Phi(-|z_j|),  m of them finite
 *     rejected: the k smallest, k the largest number with p_(k) <= k q/m
 *
 * k is the largest fixed point of k -> #{p <= k q/m}, and from k = m the map comes down to it: each
 * round looks at what the one before has left, so that a map is not sorted. O(T) with two or three
 * erfc for every |z| beyond the normal quantile of q/2; nothing beyond it: nothing to do. */
#ifndef KN_STATS_FDR_H
#define KN_STATS_FDR_H

#include <stddef.h>

#include "base/context.h"

#define KN_FDR_Q 0.05

typedef struct kn_fdr {
    ptrdiff_t n;                  /* finite z */
    ptrdiff_t negative, positive; /* rejected */
    double bar;                   /* rejected: |z| >= bar; infinite where nothing is */
} kn_fdr;

/* z: T values, not finite where missing; work: T doubles. */
kn_fdr kn_fdr_row(const float *z, ptrdiff_t T, double q, double *work);

/* Adjusted p of n values without NaN: min over k >= rank of p_(k) n/k, at most 1. O(n log n). */
kn_status kn_fdr_adjust(kn_ctx *ctx, ptrdiff_t n, const double *p, double *adjusted);

#endif
