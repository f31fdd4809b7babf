/* The responses Y as the engine sees them: N x T standardised numbers in blocks of columns.
 * Responses that cannot be modelled are left out here. Nothing above this file depends on the
 * caller's type, memory order or units. */
#ifndef KN_DATA_RESPONSES_RESPONSES_H
#define KN_DATA_RESPONSES_RESPONSES_H

#include <stdint.h>

#include "base/matrix.h"
#include "base/memory/plan.h"

/* ---- missing cells ---------------------------------------------------------------------------
 *
 * Marks the missing cells of the responses, and gives each an index into an array of imputed
 * values.
 *
 *     bits     one per cell, set if it is missing: response by response, 64 rows per word
 *     before   for each word, the number of missing cells before it, over all responses
 *
 * The index of a cell is a sum and a popcount, so an array with the missing cells only represents
 * the imputed table: nothing N x T is copied. 1/8 + 1/8 bytes per cell.  [METHOD 0b] */

typedef struct kn_missing_mask {
    ptrdiff_t N, T, words; /* rows of the caller's table, responses in use, words per response */
    ptrdiff_t cells;       /* number of missing cells */
    uint64_t *bits;        /* words x T */
    ptrdiff_t *before;     /* words x T + 1 */
} kn_missing_mask;

/* Marks the missing (non-finite) cells of the T responses kept[0 .. T-1] of Y; *out is owned
 * (kn_missing_mask_clear). Reads Y once, in parallel. */
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

/* ---- scaling and blocks ---------------------------------------------------------------------- */

enum { KN_MOMENTS_COLUMNS = 512 }; /* responses per thread task while moments are computed */
enum { KN_BLOCK = 2048 };          /* responses per block [METHOD 6b] */

typedef struct kn_scaling { /* Scaling of the caller's n_all responses. */
    ptrdiff_t n_all, n_kept;
    ptrdiff_t *kept;     /* indices of the responses in use, ascending */
    double *mean, *sd;   /* n_kept, subtracted and divided by; 0 and 1 if not standardised */
    double *mean0, *sd0; /* n_kept, moments in original units: the trivial model [METHOD 8] */
    /* Only with missing cells [METHOD 0b]: */
    ptrdiff_t *n;         /* n_kept, number of values of each; NULL: no cell is missing */
    ptrdiff_t n_few;      /* responses left out because they have too few values */
    ptrdiff_t n_constant; /* responses left out because they do not vary */
} kn_scaling;

/* Number of values that a response with missing cells needs. */
enum { KN_MIN_VALUES = 10 };

/* Frees the contents, which the struct owns; accepts {0}. */
void kn_scaling_clear(kn_scaling *s);

/* Side of the products of responses: YY' (N x N) or Y'Y (T x T). By size, except in tests. */
typedef enum kn_product_side {
    KN_SIDE_BY_SIZE,
    KN_SIDE_PARTICIPANTS,
    KN_SIDE_RESPONSES
} kn_product_side;

/* True if products of T responses of N participants are taken as Y'Y. */
static inline bool kn_by_responses(kn_product_side side, ptrdiff_t N, ptrdiff_t T)
{
    return side == KN_SIDE_BY_SIZE ? T < N : side == KN_SIDE_RESPONSES;
}

typedef struct kn_responses {
    kn_view Y;
    const kn_scaling *scaling;
    ptrdiff_t N, T;        /* participants and responses in use */
    const ptrdiff_t *rows; /* N, the rows of Y that are used; NULL: all */
    /* Missing cells, borrowed; NULL: none. Fits read the imputed values. Scoring reads NaN:
     * imputed is NULL, or NaN in rows that were not imputed.  [METHOD 0b] */
    const kn_missing_mask *missing;
    const double *imputed; /* imputed values, standardised, indexed by kn_missing_at */
    /* T, borrowed: samples of responses are drawn by these hashes [data/canonical_order.h]; NULL:
     * by index */
    const uint64_t *key;
    kn_product_side side;
} kn_responses;

/* Returns Y without imputed values: missing cells are NaN. */
static inline kn_responses kn_responses_as_given(const kn_responses *Y)
{
    kn_responses given = *Y;
    given.imputed = NULL;
    return given;
}

/* Returns all rows of Y, with the responses that scaling keeps. Borrows both. */
kn_responses kn_responses_of(kn_view Y, const kn_scaling *scaling);
/* Returns n rows of Y in the order of `rows`, with the scaling of all. rows is borrowed. */
kn_responses kn_responses_rows(const kn_responses *Y, const ptrdiff_t *rows, ptrdiff_t n);

/* Returns an upper bound of |Y|_F^2, the sum of squares of all standardised responses, from the
 * moments of all rows and the imputed values; by Cauchy-Schwarz it bounds sums of products of
 * responses. O(T). */
double kn_responses_energy(const kn_responses *Y);

/* Returns the variance to use for response j, in standardised units: `own`, that of the rows at
 * hand, or that of all rows if `own` is only rounding, as in a fold in which the response is
 * constant. */
double kn_responses_variance(const kn_responses *Y, ptrdiff_t j, double own);

/* Sets block (N x count) to the standardised responses first .. first + count - 1 of those in use,
 * a participant per row. Parallel; missing cells are imputed values or NaN. */
void kn_responses_block(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_mat block);
/* Sets block (N x count) to the standardised responses index[0 .. count-1] of those in use, as
 * kn_responses_block does. */
void kn_responses_columns(kn_ctx *ctx, const kn_responses *Y, const ptrdiff_t *index, kn_mat block);

/* Sets strip (count x N) to the standardised responses first .. first + count - 1, one participant
 * per column. Files have this order, so a strip is written at memory speed where a block needs a
 * transposition. */
void kn_responses_strip(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_mat strip);
/* Sets strip (count x N, one participant per column) to standardised responses first .. first +
 * count - 1, rounded to float32. Standardising is in double, so that responses far from zero lose
 * no precision. */
void kn_responses_strip_f32(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_fmat strip);

/* ---- index ranges of MPI ranks ---------------------------------------------------------------
 *
 * With b = ceil(T_all / KN_BLOCK) blocks in the numbering of the mask, rank r of R processes
 * blocks b r/R .. b (r+1)/R - 1: whole blocks for any R, and none if there are more ranks than
 * blocks. The numbering is that of the mask and not of the responses in use, so that excluding a
 * response does not move the boundaries. */

typedef struct kn_index_range {
    ptrdiff_t first, last; /* last is exclusive */
} kn_index_range;

/* Returns the first response in the range `among` whose number in the mask is at least `limit`;
 * among.last if there is none. Y->scaling NULL: all responses are in use. */
ptrdiff_t kn_first_from(const kn_responses *Y, kn_index_range among, ptrdiff_t limit);

/* Returns the responses in use that rank `rank` of `ranks` processes, by the rule above; all of
 * them if ranks is 1. */
kn_index_range kn_response_range_of(const kn_responses *Y, int rank, int ranks);
/* Returns the responses in use that this rank processes. */
kn_index_range kn_response_range(const kn_ctx *ctx, const kn_responses *Y);
/* Returns the range of this rank among T responses that are all in use. */
kn_index_range kn_responses_own(const kn_ctx *ctx, ptrdiff_t T);

/* Returns the participants of rank r of R for work that is distributed by participants: n r/R .. n
 * (r+1)/R - 1. */
kn_index_range kn_sample_range_of(ptrdiff_t n, int rank, int ranks);

/* ---- moments ----------------------------------------------------------------------------------*/

/* Computes mean and population standard deviation of the responses first .. last - 1 of Y, in one
 * pass: mean[j] and sd[j] for j in that range. A response with a non-finite value gets non-finite
 * moments. */
void kn_moments(kn_ctx *ctx, kn_view Y, kn_index_range range, double *mean, double *sd);
/* For the responses in `range`: sets n[j], the number of finite cells, and recomputes mean[j] and
 * sd[j] from these cells if kn_moments left them non-finite. */
void kn_moments_observed(kn_ctx *ctx, kn_view Y, kn_index_range range, double *mean, double *sd,
                         ptrdiff_t *n);

#endif
