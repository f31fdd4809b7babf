/* Makes synthetic design rows that replace the training rows of a de-identified model   [METHOD
 * 8h]
 *
 * A numeric column has n values within the training range, at the extrema of a Chebyshev
 * polynomial, and n more, evenly, in the half ranges beyond, to where new participants are clamped.
 * One or two numeric columns: every combination of these values. Three or more: n^2 quasi-random
 * points (Halton), half of them within the range. Columns that are indicators have the
 * combinations of the training sample.
 *
 * If the points do not suffice the caller doubles n, at most twice, with two numeric columns once.
 * Ranges are first rounded outward, because their ends are values of two participants. Columns
 * that no term uses are 0. commands/export/export.c is the caller. */
#ifndef KN_COV_SYNTHETIC_POINTS_H
#define KN_COV_SYNTHETIC_POINTS_H

#include "cov/kernel_sum.h"

typedef struct kn_synthetic_plan {
    kn_mat X;          /* N x F, design of the training sample */
    const kn_cov *cov; /* terms that decide which columns are used */
    bool indicators;   /* columns with two values are levels */
    int points;        /* n, values per numeric column */
} kn_synthetic_plan;

enum { KN_SYNTHETIC_ROUNDS = 3 };

/* Makes candidates for synthetic points, *out (points x F, owned by the caller), with n 2^round
 * values per column, round from 0, and every pattern of levels of the training sample. *last: a
 * further round is not allowed. */
kn_status kn_synthetic_new(kn_ctx *ctx, const kn_synthetic_plan *plan, int round, kn_mat *out,
                           bool *last);
/* Makes `count` other points *out (count x F, owned by the caller), to test the interpolation
 * between the first ones: half of them within the range, half in the extended range, the first
 * at the corners of both if there are at most 6 numeric columns. */
kn_status kn_synthetic_between(kn_ctx *ctx, const kn_synthetic_plan *plan, ptrdiff_t count,
                               kn_mat *out);

/* Rounds the ends of a range outward to a multiple of 1, 2 or 5 times a power of ten, by at most a
 * fiftieth of the range. Does nothing if low equals high. */
void kn_round_outward(double *low, double *high);

#endif
