/* Implements binned_sum.h. Each value is split into bins of fixed exponent, so that the result
 * does not depend on the order of the terms. */
#include "base/sum/binned_sum.h"

#include <stdint.h>
#include <string.h>

/* The unit of the uppermost bin is 2^(b WIDTH), MIN <= b <= MAX: so the lowest unit is not
 * subnormal and the rounding constant 1.5 2^52 unit is finite. Larger addends make the sum NaN. */
static const int MIN = -34, MAX = 32, WIDTH = 28;

/* Makes the sum NaN for good, whatever is added later. */
static void set_nan(kn_binned_sum *s)
{
    s->unit = ldexp(1, MAX * WIDTH);
    s->bin[0] = NAN;
}

/* Shifts the bins of *s until the unit of the uppermost one is at least `unit`. */
static void raise_to(kn_binned_sum *s, double unit)
{
    while (s->unit > 0 && s->unit < unit) {
        s->unit *= KN_BINNED_STEP;
        s->bin[2] = s->bin[1];
        s->bin[1] = s->bin[0];
        s->bin[0] = 0;
    }
    if (s->unit == 0)
        s->unit = unit;
}

/* b = ceil((e - 26)/WIDTH), e the exponent of x, as KN_BINNED_MAX is 2^27. Computed from the bits
 * of the double, because ilogb and ldexp would take most of the time of a short sum. */
void kn_binned_sum_grow(kn_binned_sum *s, double x)
{
    enum { BIAS = 1023, FRACTION = 52, ALL = 0x7ff, DOWN = 40 }; /* DOWN: b > -DOWN */
    uint64_t bits;
    double unit;
    memcpy(&bits, &x, sizeof bits);
    int field = (int)(bits >> FRACTION) & ALL, e = field - BIAS; /* subnormal x: b = MIN below */
    int b = (e + 1 + DOWN * WIDTH) / WIDTH - DOWN;
    if (field == ALL || b > MAX) {
        set_nan(s);
        return;
    }
    bits = (uint64_t)((b > MIN ? b : MIN) * WIDTH + BIAS) << FRACTION;
    memcpy(&unit, &bits, sizeof unit);
    raise_to(s, unit);
}

void kn_binned_sum_merge(kn_binned_sum *s, const kn_binned_sum *other)
{
    kn_binned_sum from = *other;
    if (from.unit == 0)
        return;
    raise_to(s, from.unit);
    raise_to(&from, s->unit);
    for (int b = 0; b < 3; b++)
        s->bin[b] += from.bin[b];
}

/* First carries whole units of the upper bins upwards, rounded down: the bins are then the same for
 * any order of the addends. */
double kn_binned_sum_value(const kn_binned_sum *s)
{
    double bin[3] = {s->bin[0], s->bin[1], s->bin[2]};
    double unit[2] = {s->unit, s->unit / KN_BINNED_STEP};
    for (int b = 1; b >= 0 && s->unit > 0; b--) {
        double up = floor(bin[b + 1] / unit[b]) * unit[b];
        bin[b] += up;
        bin[b + 1] -= up;
    }
    return bin[0] + (bin[1] + bin[2]);
}
