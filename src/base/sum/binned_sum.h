/* Reproducible sum: the result has the same bits for any order of the addends and any grouping into
 * partial sums, without a known bound of the addends (with a bound, exact_sum.h is faster).
 *
 *     x = q_t + q_(t-1) + q_(t-2) + rest     q_b: to the nearest multiple of 2^(28 b)
 *
 * A sum keeps three bins. The uppermost bin t is that of the largest addend so far; a larger addend
 * shifts the bins, and the lowest ones are dropped. Multiples of a unit add without rounding as
 * long as the sum is below 2^53 units: up to 2^24 addends. Together the bins are the sum of all
 * addends, each rounded to a multiple of the lowest unit, which does not depend on the order; the
 * value is this sum, rounded once. Error per addend: at most 2^-57 of the largest addend
 * (Demmel & Nguyen 2015). */
#ifndef KN_BASE_SUM_BINNED_SUM_H
#define KN_BASE_SUM_BINNED_SUM_H

#include <math.h>

typedef struct kn_binned_sum { /* {0}: the empty sum */
    double unit;               /* unit of the uppermost bin; 0: no addend yet */
    double bin[3];             /* from the uppermost; bin[0] is NaN after a non-finite addend */
} kn_binned_sum;

/* Shifts the bins so that an addend of the size of x fits. For kn_binned_sum_add. */
void kn_binned_sum_grow(kn_binned_sum *s, double x);

#define KN_BINNED_STEP 0x1p28 /* ratio of the units of neighbouring bins */
#define KN_BINNED_MAX                                                                              \
    0x1p27 /* largest addend in units: below half a unit of the next bin up, so adds 0 to it */

/* Adds x. NaN or infinity makes the sum NaN. */
static inline void kn_binned_sum_add(kn_binned_sum *s, double x)
{
    double unit = s->unit;
    if (!(fabs(x) < unit * KN_BINNED_MAX)) {
        if (x == 0)
            return;
        kn_binned_sum_grow(s, x);
        unit = s->unit;
    }
    for (int b = 0; b < 3; b++) {
        double c = 0x1.8p52 * unit, q = (x + c) - c;
        s->bin[b] += q;
        x -= q;
        unit /= KN_BINNED_STEP;
    }
}

/* Adds all addends of `other` to s. */
void kn_binned_sum_merge(kn_binned_sum *s, const kn_binned_sum *other);
/* Returns the sum, rounded once: the same bits for any order of the addends. */
double kn_binned_sum_value(const kn_binned_sum *s);

#endif
