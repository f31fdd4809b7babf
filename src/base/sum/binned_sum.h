/* Sums that have the same bits in whatever order their addends come and however these are dealt
 * among runs, of addends that no bound is known of (base/sum/exact_sum.h has those with one).
 *
 *     x = q_t + q_(t-1) + q_(t-2) + rest     q_b: to the nearest multiple of 2^(28 b)
 *
 * A sum keeps three bins; the uppermost, t, is that of the largest addend so far, and when a larger
 * one comes the lowest bins leave. Multiples of a unit add without rounding while they are below
 * 2^53 of it: 2^24 addends. What the bins hold together is the sum of all addends to the nearest
 * multiple of the lowest unit, which knows no order; the value is that, rounded once. Off by
 * 2^-57 of the largest addend at most for each addend (Demmel & Nguyen 2015). */
#ifndef KN_BASE_SUM_BINNED_SUM_H
#define KN_BASE_SUM_BINNED_SUM_H

#include <math.h>

typedef struct kn_binned_sum { /* {0}: a sum of nothing */
    double unit;               /* of the uppermost bin; 0: nothing yet */
    double bin[3];             /* the first is the uppermost; NaN: the sum is no number */
} kn_binned_sum;

/* Bins for addends up to the size of x; the first addend comes here too. */
void kn_binned_sum_grow(kn_binned_sum *s, double x);

#define KN_STEADY_STEP 0x1p28
#define KN_STEADY_MOST                                                                             \
    0x1p27 /* units: below half of the next bin's, which it then adds nothing to */

static inline void kn_binned_sum_add(kn_binned_sum *s, double x)
{
    double unit = s->unit;
    if (!(fabs(x) < unit * KN_STEADY_MOST)) {
        if (x == 0)
            return;
        kn_binned_sum_grow(s, x);
        unit = s->unit;
    }
    for (int b = 0; b < 3; b++) {
        double c = 0x1.8p52 * unit, q = (x + c) - c;
        s->bin[b] += q;
        x -= q;
        unit /= KN_STEADY_STEP;
    }
}

/* s takes all that `other` has. */
void kn_binned_sum_merge(kn_binned_sum *s, const kn_binned_sum *other);
double kn_binned_sum_value(const kn_binned_sum *s);

#endif
