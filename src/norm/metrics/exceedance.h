/* Who is beyond a threshold where, as sets of people, and the share of a group that is
 * [METHOD 8d]
 *
 *     beyond-_j = {i: z_ij < -t}    beyond+_j = {i: z_ij > t}    observed_j = {i: z_ij finite}
 *     share_gj  = #(beyond_j and g) / #(observed_j and g)
 *
 * n people, T responses; a set is n bits, so that the share of any group is a popcount over n/64
 * words. 3 T n/8 bytes; people come one after the other, and no map is held. */
#ifndef KN_NORM_METRICS_EXCEEDANCE_H
#define KN_NORM_METRICS_EXCEEDANCE_H

#include <stdint.h>

#include "base/memory/alloc.h"

typedef enum kn_sign { KN_SIGN_NEGATIVE = 0, KN_SIGN_POSITIVE = 1, KN_SIGNS = 2 } kn_sign;

typedef struct kn_exceedance {
    ptrdiff_t n, T, words; /* words: of 64 people */
    double threshold;
    uint64_t *observed, *beyond[KN_SIGNS]; /* T x words, a response after the other */
    bool *other;                           /* T: somebody has something else than 0 there */
} kn_exceedance;

kn_status kn_exceedance_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t T, double threshold,
                            kn_exceedance *out);
void kn_exceedance_row(kn_exceedance *e, ptrdiff_t i, const float *z); /* T values of person i */
/* Those responses stay that are other than 0 for somebody; kept[k], T places, is where response k
 * was. */
void kn_exceedance_drop_zeros(kn_exceedance *e, ptrdiff_t *kept);
void kn_exceedance_clear(kn_exceedance *e); /* {0} is fine */

/* A set of people: `words` words. */
static inline void kn_set_add(uint64_t *set, ptrdiff_t i)
{
    set[i / 64] |= UINT64_C(1) << (i % 64);
}

/* How many of `group` are observed at each response, and which share of these is beyond; NaN where
 * nobody is. n and share are T doubles. */
typedef struct kn_share {
    double *n, *share[KN_SIGNS];
} kn_share;

void kn_exceedance_share(const kn_exceedance *e, const uint64_t *group, kn_share out);

#endif
