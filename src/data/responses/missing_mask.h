/* Marks the missing cells of the responses, and gives each an index into an array of imputed
 * values.
 *
 *     bits     one per cell, set if it is missing: response by response, 64 rows per word
 *     before   for each word, the number of missing cells before it, over all responses
 *
 * The index of a cell is a sum and a popcount, so an array with the missing cells only represents
 * the imputed table: nothing N x T is copied. 1/8 + 1/8 bytes per cell.  [METHOD 0b] */
#ifndef KN_DATA_RESPONSES_MISSING_MASK_H
#define KN_DATA_RESPONSES_MISSING_MASK_H

#include <stdint.h>

#include "base/matrix.h"

typedef struct kn_missing_mask {
    ptrdiff_t N, T, words; /* rows of the caller's table, responses in use, words per response */
    ptrdiff_t cells;       /* number of missing cells */
    uint64_t *bits;        /* words x T */
    ptrdiff_t *before;     /* words x T + 1 */
} kn_missing_mask;

/* Marks the missing cells of the T responses kept[0 .. T-1] of Y. Reads Y once. */
kn_status kn_missing_mask_new(kn_ctx *ctx, kn_view Y, const ptrdiff_t *kept, ptrdiff_t T,
                              kn_missing_mask *out);
void kn_missing_mask_clear(kn_missing_mask *h); /* accepts {0} */

/* Returns whether row i of the caller's table lacks response j of those in use. */
static inline bool kn_is_missing(const kn_missing_mask *h, ptrdiff_t i, ptrdiff_t j)
{
    return h->bits[j * h->words + i / 64] >> (i % 64) & 1;
}

/* Returns the index of a missing cell (row i, response j) among all missing cells. */
static inline ptrdiff_t kn_missing_at(const kn_missing_mask *h, ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t w = j * h->words + i / 64;
    return h->before[w] + __builtin_popcountll(h->bits[w] & ((UINT64_C(1) << (i % 64)) - 1));
}

/* Returns the number of missing cells of response j, which have indices before[j words] ..
 * before[(j+1) words] - 1. */
static inline ptrdiff_t kn_missing_in(const kn_missing_mask *h, ptrdiff_t j)
{
    return h->before[(j + 1) * h->words] - h->before[j * h->words];
}

#endif
