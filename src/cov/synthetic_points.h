/* Points that stand for samples without being any of them                            [METHOD 8h]
 *
 *     a number       n values within the range of training, at the extrema of a Chebyshev
 *                    polynomial, and as many evenly in the half ranges beyond, as far as new people
 *                    are held
 *     one or two     every combination of these values
 *     three or more  n^2 quasi-random points (Halton), half of them within the range
 *     levels         of columns that are indicators: the combinations that training has
 *
 * Where they do not suffice n is doubled, at most twice, of two numbers once. Ranges are rounded
 * outward first: their ends are two samples' values. Columns that the covariance does not see are
 * 0.
 */
#ifndef KN_COV_SYNTHETIC_POINTS_H
#define KN_COV_SYNTHETIC_POINTS_H

#include "cov/terms.h"

typedef struct kn_synthetic_plan {
    kn_mat X;          /* N x F   the samples */
    const kn_cov *cov; /* of whose terms the columns are */
    bool indicators;   /* columns of two values are levels */
    int points;        /* n */
} kn_synthetic_plan;

enum { KN_SYNTHETIC_ROUNDS = 3 };

/* out: points x F. round from 0: n 2^round values; *last: there will not be more. */
kn_status kn_synthetic_new(kn_ctx *ctx, const kn_synthetic_plan *plan, int round, kn_mat *out,
                           bool *last);
/* Others, count of them, to see what happens between: half within the range, half beyond it too,
 * the first at the corners of both. */
kn_status kn_synthetic_between(kn_ctx *ctx, const kn_synthetic_plan *plan, ptrdiff_t count,
                               kn_mat *out);

/* Outward to a multiple of 1, 2 or 5 times a power of ten, at most a fiftieth of the range. Of one
 * number nothing happens. */
void kn_round_outward(double *low, double *high);

#endif
