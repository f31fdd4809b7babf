/* Sums that have the same bits in whatever order their addends come, and however these are dealt
 * among threads and processes: pre-rounding (Rump 2009; Demmel & Nguyen 2013).
 *
 *     hi += q          q = (x + C1) - C1        x rounded to a multiple of d1
 *     lo += p          p = ((x - q) + C2) - C2  what was cut off, to a multiple of d2
 *
 * with C = 1.5 2^52 d. Multiples of d add without rounding while their sum is below 2^53 d, and
 * what is not rounded does not know its order. From a bound b on the size of the addends and of
 * every sum of some of them (Cauchy-Schwarz gives one for products),
 *
 *     d1 = 2^(ceil log2 b - 51)        4 b fits
 *     d2 = d1 2^-31                    2^20 and more remainders fit
 *
 * An addend puts its sum off by d1/2 at most with one limb, by d2/2 with two: 2^-51 and 2^-82 of b.
 * Additions and comparisons only, vectorised; limbs are ordinary doubles, which any allreduce adds
 * up. A bound that does not hold is noticed at the addend that breaks it. */
#ifndef KN_BASE_SUM_EXACT_SUM_H
#define KN_BASE_SUM_EXACT_SUM_H

#include <stdatomic.h>

#include "base/memory/alloc.h"

typedef struct kn_exact_sum {
    ptrdiff_t n;
    int limbs; /* 1 or 2 */
    double bound;
    double d[2];       /* units of the limbs */
    double *limb[2];   /* n each: hi, lo; a sum is theirs over all processes */
    atomic_int broken; /* the bound did not hold, or an addend was not a number */
} kn_exact_sum;

/* n sums, all zero. Refused when the bound is no number from 0 to 1e300, or when the program was
 * compiled to arithmetic in which (x + C) - C is x (-ffast-math). */
kn_status kn_exact_sum_new(kn_ctx *ctx, ptrdiff_t n, double bound, int limbs, kn_exact_sum *out);
void kn_exact_sum_clear(kn_exact_sum *s);

/* Sums first .. first + n - 1 take x. Threads may add to different sums at the same time. */
void kn_exact_sum_add(kn_exact_sum *s, ptrdiff_t first, ptrdiff_t n, const double *x);
void kn_exact_sum_add_f32(kn_exact_sum *s, ptrdiff_t first, ptrdiff_t n, const float *x);

/* KN_ERR_NUMERIC when the bound did not hold: then no sum is to be trusted. */
kn_status kn_exact_sum_check(kn_ctx *ctx, kn_exact_sum *s);

/* out[n] = sums first .. first + n - 1, each rounded once. */
void kn_exact_sum_value(const kn_exact_sum *s, ptrdiff_t first, ptrdiff_t n, double *out);

#endif
