/* Do two groups differ in the share of people beyond a threshold? By permuting labels [METHOD 8d].
 *
 *     a = #(beyond_j and second), e = #beyond_j, m = #(observed_j and second), N = #observed_j
 *     d_j     = a/m - (e - a)/(N - m) = (a N - e m) / (m (N - m))        second group minus first
 *     p_j     = (1 + #{b: max_k |d*_bk| >= |d_j|}) / (B + 1)            B relabellings, family-wise
 *     own_j   = P(|d| >= |d_j|), a hypergeometric (N, e, m)             all relabellings of one j
 *     p_fdr_j = own_j adjusted by Benjamini and Hochberg over responses
 *
 * The quotient is one of integers, rounded once: differences that are equal are equal doubles, and
 * ties count. At most B T n/64 words are met and counted; those responses come first that can
 * differ most, and the rest are passed over where the maximum is beyond their reach. Blocks of
 * responses stay in cache while all labels meet them. The same bits for any number of threads: a
 * maximum does not depend on an order. */
#ifndef KN_NORM_METRICS_PERMUTATION_TEST_H
#define KN_NORM_METRICS_PERMUTATION_TEST_H

#include "norm/metrics/exceedance.h"

typedef struct kn_labels {
    ptrdiff_t n, words, m; /* people, words of a set, people of the second group */
    ptrdiff_t B;
    uint64_t *second; /* words: who it is */
    uint64_t *drawn;  /* B x words: who it might be, m people each */
} kn_labels;

/* second[i]: person i is of the second group; some are and some are not. */
kn_status kn_labels_new(kn_ctx *ctx, const bool *second, ptrdiff_t n, ptrdiff_t B, uint64_t seed,
                        kn_labels *out);
void kn_labels_clear(kn_labels *labels); /* {0} is fine */

/* T each; NaN where one of the groups has nobody. */
typedef struct kn_permutation_result {
    double *difference, *p, *p_fdr;
} kn_permutation_result;

kn_status kn_permutation_test(kn_ctx *ctx, const kn_exceedance *e, kn_sign sign,
                              const kn_labels *labels, kn_permutation_result out);

#endif
