/* The responses Y as the engine sees them: N x T standardised numbers, by blocks of columns, from
 * whatever the caller holds. Responses that cannot be modelled are left out here, once.
 * Nothing above this file knows the caller's type, order or units. */
#ifndef KN_DATA_RESPONSES_RESPONSES_H
#define KN_DATA_RESPONSES_RESPONSES_H

#include "base/memory/plan.h"
#include "data/responses/missing_mask.h"

enum { KN_MOMENTS_COLUMNS = 512 }; /* that a thread passes over for their moments */
enum { KN_BLOCK = 2048 };          /* responses per block [METHOD 6b] */

typedef struct kn_scaling { /* of the T_all responses the caller has; NaN mean where left out */
    ptrdiff_t n_all, n_kept;
    ptrdiff_t *kept;     /* indices of the responses in use, ascending */
    double *mean, *sd;   /* n_kept: removed and divided by; 0 and 1 when not standardising */
    double *mean0, *sd0; /* n_kept: of the responses themselves: the trivial model [METHOD 8] */
    /* of a table with missing cells [METHOD 0b]: */
    ptrdiff_t *n;         /* n_kept: values of each; NULL: all have one of everybody */
    ptrdiff_t n_few;      /* responses left out because they have too few values */
    ptrdiff_t n_constant; /* ... or do not vary */
} kn_scaling;

/* Values that a response with missing cells must have. */
enum { KN_LEAST_VALUES = 10 };

/* Means and population standard deviations of the responses [METHOD, shapes]; constant and
 * non-finite ones are left out. Reads Y once: a rank its own. Collective. */
kn_status kn_scaling_new(kn_ctx *ctx, kn_view Y, bool standardise, kn_scaling *out);
/* The same of the cells that have a value: left out are responses with fewer than KN_LEAST_VALUES
 * of them, unless everybody has one, and constant ones. Without a missing cell the same bits. */
kn_status kn_scaling_observed(kn_ctx *ctx, kn_view Y, bool standardise, kn_scaling *out);
void kn_scaling_clear(kn_scaling *s);

typedef struct kn_responses {
    kn_view Y;
    const kn_scaling *scaling;
    ptrdiff_t N, T;        /* samples and responses in use */
    const ptrdiff_t *rows; /* N  which rows of Y the samples are; NULL: all */
    /* Where cells are missing, lent; NULL: nowhere. Those who learn read what is filled in, those
     * who judge read NaN (filled NULL, or NaN there: rows that were not filled).  [METHOD 0b] */
    const kn_missing_mask *holes;
    const double *filled; /* standardised */
} kn_responses;

/* The same with nothing filled in. */
static inline kn_responses kn_responses_as_given(const kn_responses *Y)
{
    kn_responses given = *Y;
    given.filled = NULL;
    return given;
}

kn_responses kn_responses_of(kn_view Y, const kn_scaling *scaling);
/* Some samples of them, in this order, standardised as all are. The list stays the caller's. */
kn_responses kn_responses_rows(const kn_responses *Y, const ptrdiff_t *rows, ptrdiff_t n);

/* At least |Y|_F^2, from the moments of all rows: what bounds every sum of products of responses,
 * by Cauchy and Schwarz. */
double kn_responses_energy(const kn_responses *Y);

/* What the variance of response j is taken for: that of the rows at hand (own), or that of all
 * people where it does not vary but for rounding, as in a fold without the one who differs. */
double kn_responses_variance(const kn_responses *Y, ptrdiff_t j, double own);

/* block (N x count) = standardised responses first .. first + count - 1 of those in use. */
void kn_responses_block(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_mat block);
/* block (N x count) = those named. */
void kn_responses_columns(kn_ctx *ctx, const kn_responses *Y, const ptrdiff_t *index, kn_mat block);

/* strip (count x N) = the same block lying down, a sample's responses in a column: the order files
 * have, so it is written at the speed of memory where a block has to be transposed. */
void kn_responses_strip(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_mat strip);
/* Rounded to float32 after standardising in double: responses far from zero lose nothing. */
void kn_responses_strip_f32(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, kn_fmat strip);

void kn_scaling_need(kn_mem_plan *r, ptrdiff_t T);

#endif
