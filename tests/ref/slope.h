/* Derivatives by central differences whose step fits the function. */
#ifndef KN_REF_SLOPE_H
#define KN_REF_SLOPE_H

#include <math.h>

typedef struct ref_slope {
    double value, error; /* error: an estimate of what truncation and rounding leave in value */
} ref_slope;

/* The rounding of f near 0: the largest of some second differences at steps so small that what f
 * bends is less than that. */
static inline double ref_rounding(double (*f)(void *self, double step), void *self)
{
    enum { POINTS = 9 };
    double y[POINTS], limit = 0;
    for (int i = 0; i < POINTS; i++)
        y[i] = f(self, 1e-8 * (i - POINTS / 2));
    for (int i = 1; i < POINTS - 1; i++)
        limit = fmax(limit, fabs(y[i - 1] - 2 * y[i] + y[i + 1]));
    return limit;
}

/* f'(0), f at the given step from the point of interest. A difference of order four at each of the
 * steps h, h/4, h/16 ... has two errors: truncation, which its distance from the one before bounds,
 * and rounding, at most 1.5 times that of f over the step. The difference with the smallest sum of
 * both is taken. A profile likelihood may bend strongly, and has kinks where a maximum reaches its
 * bound or another one becomes the largest: smaller steps leave them behind. */
static inline ref_slope ref_slope_of(double (*f)(void *self, double step), void *self, double h)
{
    enum { STEPS = 6 };
    static const double ENOUGH = 1e-8; /* error at which no further step is tried */
    ref_slope best = {NAN, INFINITY};
    double rounding = ref_rounding(f, self), before = NAN;
    for (int k = 0; k < STEPS; k++, h /= 4) {
        double here =
            (f(self, -2 * h) - 8 * f(self, -h) + 8 * f(self, h) - f(self, 2 * h)) / (12 * h);
        double error = fabs(here - before) + 1.5 * rounding / h;
        if (k > 0 && error < best.error)
            best = (ref_slope){here, error};
        if (best.error <= ENOUGH * fmax(1, fabs(here)))
            break;
        before = here;
    }
    return best;
}

/* |g - slope| <= tol max(1, |slope|) + its error */
#define assert_slope(g, slope, tol)                                                                \
    do {                                                                                           \
        ref_slope s_ = (slope);                                                                    \
        double g_ = (g), room_ = (tol)*fmax(1, fabs(s_.value)) + s_.error;                         \
        if (!(fabs(g_ - s_.value) <= room_))                                                       \
            fail_msg("%s = %.12g, central differences %.12g +- %.1g, off by %.3g of %.3g allowed", \
                     #g, g_, s_.value, s_.error, fabs(g_ - s_.value), room_);                      \
    } while (0)

#endif
