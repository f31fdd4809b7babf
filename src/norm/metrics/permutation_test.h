/* Permutation test: do two groups differ in the share of participants beyond a threshold?
 * [METHOD 8d]
 *
 *     a = #(beyond_j and second), e = #beyond_j, m = #(observed_j and second), N = #observed_j
 *     d_j     = a/m - (e - a)/(N - m) = (a N - e m) / (m (N - m))        second group minus first
 *     p_j     = (1 + #{b: max_k |d*_bk| >= |d_j|}) / (B + 1)            B permutations, family-wise
 *     own_j   = P(|d| >= |d_j|), a hypergeometric (N, e, m)             all permutations of one j
 *     p_fdr_j = own_j adjusted by Benjamini and Hochberg over responses
 *
 * The quotient is one of integers, rounded once: differences that are equal are equal doubles,
 * and ties count. At most B T n/64 words are intersected; responses with the largest possible
 * difference come first, and the rest are skipped if they cannot reach the maximum. A block of
 * responses stays in cache for all permutations. The bits do not depend on the number of
 * threads, since a maximum does not depend on the order. */
#ifndef KN_NORM_METRICS_PERMUTATION_TEST_H
#define KN_NORM_METRICS_PERMUTATION_TEST_H

#include "norm/metrics/exceedance.h"

typedef struct kn_labels {
    ptrdiff_t n, words, m; /* participants, words of a set, members of the second group */
    ptrdiff_t B;           /* permutations */
    uint64_t *second;      /* words: members of the second group */
    uint64_t *drawn;       /* B x words: its members in each permutation, m each */
} kn_labels;

/* Draw B permutations of the labels by the seed. second[i]: participant i is in the second group;
 * neither group may be empty. order (n; NULL: by index): the participants in the order in which
 * labels are drawn. out is owned by the caller. */
kn_status kn_labels_new(kn_ctx *ctx, const bool *second, ptrdiff_t n, const ptrdiff_t *order,
                        ptrdiff_t B, uint64_t seed, kn_labels *out);
/* Free the labels; {0} is allowed. */
void kn_labels_clear(kn_labels *labels);

/* T each, allocated by the caller; NaN where a group has no observed member. */
typedef struct kn_permutation_result {
    double *difference, *p, *p_fdr;
} kn_permutation_result;

/* Test all responses of e for one sign: difference of the proportions beyond the threshold,
 * family-wise p and FDR-adjusted p (T each). Responses run in parallel; can be cancelled. */
kn_status kn_permutation_test(kn_ctx *ctx, const kn_exceedance *e, kn_sign sign,
                              const kn_labels *labels, kn_permutation_result out);

#endif
