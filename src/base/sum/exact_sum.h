/* Reproducible sums by pre-rounding (Rump 2009; Demmel & Nguyen 2013): the result has the same bits
 * for any order of the addends and any distribution over threads and processes.
 *
 *     hi += q          q = (x + C1) - C1        x rounded to a multiple of d1
 *     lo += p          p = ((x - q) + C2) - C2  what was cut off, to a multiple of d2
 *
 * with C = 1.5 2^52 d. Multiples of d add without rounding while their sum is below 2^53 d, and so
 * their order does not matter. From a bound b on the absolute value of the addends and of every
 * partial sum (Cauchy-Schwarz gives one for products),
 *
 *     d1 = 2^(ceil log2 b - 51)        4 b fits
 *     d2 = d1 2^-31                    2^20 and more remainders fit
 *
 * Error per addend: at most d1/2 with one limb, d2/2 with two, that is 2^-51 and 2^-82 of b. The
 * loops are additions and comparisons only, and vectorised; limbs are ordinary doubles, which any
 * allreduce can sum. An addend that violates the bound is detected when it is added. */
#ifndef KN_BASE_SUM_EXACT_SUM_H
#define KN_BASE_SUM_EXACT_SUM_H

#include <stdatomic.h>

#include "base/memory/alloc.h"

typedef struct kn_exact_sum {
    ptrdiff_t n;
    int limbs; /* 1 or 2 */
    double bound;
    double d[2];       /* units d1, d2 of the limbs */
    double *limb[2];   /* n each: hi, lo of this process */
    atomic_int broken; /* the bound was violated, or an addend was not finite */
} kn_exact_sum;

/* Allocates n exact sums of value 0 for addends and sums up to `bound`, with 1 or 2 limbs.
 * KN_ERR_NUMERIC if the bound is not in 0 .. 1e300, or if the program was compiled so that (x +
 * C) - C is x (-ffast-math). */
kn_status kn_exact_sum_new(kn_ctx *ctx, ptrdiff_t n, double bound, int limbs, kn_exact_sum *out);
void kn_exact_sum_clear(kn_exact_sum *s); /* {0} is allowed */

/* Adds x[i] to sum first + i, i < n. Threads may add to different sums at the same time. A
 * violated bound is kept for kn_exact_sum_check. */
void kn_exact_sum_add(kn_exact_sum *s, ptrdiff_t first, ptrdiff_t n, const double *x);
/* Adds the floats x[i] to sum first + i, i < n, as kn_exact_sum_add. */
void kn_exact_sum_add_f32(kn_exact_sum *s, ptrdiff_t first, ptrdiff_t n, const float *x);

/* Returns KN_ERR_NUMERIC if the bound was violated or an addend was not finite: then no sum is
 * valid. */
kn_status kn_exact_sum_check(kn_ctx *ctx, kn_exact_sum *s);

/* Writes sums first .. first + n - 1, each rounded once, to out[n]. */
void kn_exact_sum_value(const kn_exact_sum *s, ptrdiff_t first, ptrdiff_t n, double *out);

#endif
