/* Which cells of the responses have no value, and where a table of such cells' values has each.
 *
 *     bits     one a cell, set where it is missing: response by response, 64 rows a word
 *     before   for each word, how many missing cells stand before it, over all responses
 *
 * so that the place of a cell is one sum and a count of bits, and values of missing cells alone can
 * stand for a completed table: nothing N x T is copied. 1/8 + 1/8 bytes a cell.  [METHOD 0b] */
#ifndef KN_DATA_RESPONSES_MISSING_MASK_H
#define KN_DATA_RESPONSES_MISSING_MASK_H

#include <stdint.h>

#include "base/matrix.h"

typedef struct kn_missing_mask {
    ptrdiff_t N, T, words; /* rows of the caller's table, responses in use, words a response */
    ptrdiff_t cells;       /* missing ones */
    uint64_t *bits;        /* words x T */
    ptrdiff_t *before;     /* words x T + 1 */
} kn_missing_mask;

/* From the caller's values, of the T responses named by kept. Reads Y once. */
kn_status kn_missing_mask_new(kn_ctx *ctx, kn_view Y, const ptrdiff_t *kept, ptrdiff_t T,
                              kn_missing_mask *out);
void kn_missing_mask_clear(kn_missing_mask *h); /* {0} is fine */

static inline bool kn_is_missing(const kn_missing_mask *h, ptrdiff_t i, ptrdiff_t j)
{
    return h->bits[j * h->words + i / 64] >> (i % 64) & 1;
}

/* The place of a missing cell's value. */
static inline ptrdiff_t kn_missing_at(const kn_missing_mask *h, ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t w = j * h->words + i / 64;
    return h->before[w] + __builtin_popcountll(h->bits[w] & ((UINT64_C(1) << (i % 64)) - 1));
}

/* Those of a response are before[j words] .. before[(j+1) words] - 1. */
static inline ptrdiff_t kn_missing_in(const kn_missing_mask *h, ptrdiff_t j)
{
    return h->before[(j + 1) * h->words] - h->before[j * h->words];
}

#endif
