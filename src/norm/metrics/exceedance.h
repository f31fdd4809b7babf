/* Sets of participants whose z is beyond a threshold at each response, and the share of a group
 * in them [METHOD 8d]. Used by `kronorm overlap`.
 *
 *     beyond-_j = {i: z_ij < -t}    beyond+_j = {i: z_ij > t}    observed_j = {i: z_ij finite}
 *     share_gj  = #(beyond_j and g) / #(observed_j and g)
 *
 * n participants, T responses; a set is n bits, so that the share of any group is a popcount
 * over n/64 words. 3 T n/8 bytes; participants are added one after the other, and no map is
 * kept. */
#ifndef KN_NORM_METRICS_EXCEEDANCE_H
#define KN_NORM_METRICS_EXCEEDANCE_H

#include <stdint.h>

#include "base/memory/alloc.h"

typedef enum kn_sign { KN_SIGN_NEGATIVE = 0, KN_SIGN_POSITIVE = 1, KN_SIGNS = 2 } kn_sign;

typedef struct kn_exceedance {
    ptrdiff_t n, T, words; /* words: of 64 participants */
    double threshold;
    uint64_t *observed, *beyond[KN_SIGNS]; /* T x words, row-major */
    bool *other;                           /* T: some participant has a value other than 0 */
} kn_exceedance;

/* Allocate empty sets of n participants for T responses, 3 T n/8 bytes; release them with
 * kn_exceedance_clear(). KN_ERR_MEMORY if they do not fit. */
kn_status kn_exceedance_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t T, double threshold,
                            kn_exceedance *out);

/* Add participant i to the sets: T z-scores, not finite if missing. O(T). */
void kn_exceedance_row(kn_exceedance *e, ptrdiff_t i, const float *z);

/* Remove the responses that are 0 for all participants, such as voxels outside the mask, and set
 * e->T. kept (T entries) receives the former index of each remaining response. */
void kn_exceedance_drop_zeros(kn_exceedance *e, ptrdiff_t *kept);
/* Free the sets; {0} is allowed. */
void kn_exceedance_clear(kn_exceedance *e);

/* Add participant i to a bit set. */
static inline void kn_set_add(uint64_t *set, ptrdiff_t i)
{
    set[i / 64] |= UINT64_C(1) << (i % 64);
}

/* Number of participants in both of two bit sets of `words` words. */
static inline ptrdiff_t kn_set_common(const uint64_t *a, const uint64_t *b, ptrdiff_t words)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t w = 0; w < words; w++)
        n += __builtin_popcountll(a[w] & b[w]);
    return n;
}

/* Result of kn_exceedance_group(), T doubles each, allocated by the caller. */
typedef struct kn_exceedance_proportions {
    double *n, *proportion[KN_SIGNS];
} kn_exceedance_proportions;

/* For each response, the number of members of `group` (a bit set) that are observed, and the
 * proportion of these beyond each threshold; NaN if none is observed. out: T each. */
void kn_exceedance_group(const kn_exceedance *e, const uint64_t *group,
                         kn_exceedance_proportions out);

#endif
