/* The responses Y as the engine sees them: N x T standardised numbers in blocks of columns.
 * Responses that cannot be modelled are left out here. Nothing above this file depends on the
 * caller's type, memory order or units. */
#ifndef KN_DATA_RESPONSES_RESPONSES_H
#define KN_DATA_RESPONSES_RESPONSES_H

#include "base/memory/plan.h"
#include "data/responses/missing_mask.h"

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
enum { KN_LEAST_VALUES = 10 };

/* Computes means and population standard deviations of the responses [METHOD, shapes]; constant
 * responses and those with non-finite values are left out. Each rank reads its own part of Y once.
 * Collective. */
kn_status kn_scaling_new(kn_ctx *ctx, kn_view Y, bool standardise, kn_scaling *out);
/* The same from the observed cells: responses with fewer than KN_LEAST_VALUES values are left out
 * unless none of their cells is missing, and constant ones. Without missing cells the result is
 * the same, bit by bit. Collective. */
kn_status kn_scaling_observed(kn_ctx *ctx, kn_view Y, bool standardise, kn_scaling *out);
/* Frees the contents; accepts {0}. */
void kn_scaling_clear(kn_scaling *s);

typedef struct kn_responses {
    kn_view Y;
    const kn_scaling *scaling;
    ptrdiff_t N, T;        /* participants and responses in use */
    const ptrdiff_t *rows; /* N, the rows of Y that are used; NULL: all */
    /* Missing cells, borrowed; NULL: none. Fits read the imputed values. Scoring reads NaN:
     * imputed is NULL, or NaN in rows that were not imputed.  [METHOD 0b] */
    const kn_missing_mask *holes;
    const double *filled; /* imputed values, standardised, indexed by kn_missing_at */
} kn_responses;

/* Returns Y without imputed values: missing cells are NaN. */
static inline kn_responses kn_responses_as_given(const kn_responses *Y)
{
    kn_responses given = *Y;
    given.filled = NULL;
    return given;
}

/* Returns all rows of Y, with the responses that scaling keeps. Borrows both. */
kn_responses kn_responses_of(kn_view Y, const kn_scaling *scaling);
/* Returns n rows of Y in the order of `rows`, with the scaling of all. rows is borrowed. */
kn_responses kn_responses_rows(const kn_responses *Y, const ptrdiff_t *rows, ptrdiff_t n);

/* Returns an upper bound of |Y|_F^2 from the moments of all rows; by Cauchy-Schwarz it bounds sums
 * of products of responses. */
double kn_responses_energy(const kn_responses *Y);

/* Returns the variance to use for response j: `own`, that of the rows at hand, or that of all rows
 * if `own` is only rounding, as in a fold in which the response is constant. Standardised units. */
double kn_responses_variance(const kn_responses *Y, ptrdiff_t j, double own);

/* block (N x count) = standardised responses first .. first + count - 1 of those in use. */
void kn_responses_block(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_mat block);
/* block (N x count) = the standardised responses index[0 .. count-1] of those in use. */
void kn_responses_columns(kn_ctx *ctx, const kn_responses *Y, const ptrdiff_t *index, kn_mat block);

/* strip (count x N) = the transposed block, one participant per column. Files have this order, so
 * a strip is written at memory speed where a block needs a transposition. */
void kn_responses_strip(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_mat strip);
/* The same rounded to float32 after standardising in double, so that responses far from zero lose
 * no precision. */
void kn_responses_strip_f32(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_fmat strip);

/* Adds a kn_scaling of T responses to the memory plan. */
void kn_scaling_need(kn_mem_plan *r, ptrdiff_t T);

#endif
