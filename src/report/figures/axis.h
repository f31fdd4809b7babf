/* Scales, ticks at round numbers and their labels, in the units of the data. Figures are
 * designed 460 px wide and also shown at 400 px; therefore text is 12.5 px and ticks are few. */
#ifndef KN_REPORT_FIGURES_AXIS_H
#define KN_REPORT_FIGURES_AXIS_H

#include "report/markup/svg.h"

/* ---- ranges of the finite values of a data set ---- */

typedef struct kn_range {
    double low, high;
} kn_range;

/* An empty range; _take extends it by the finite values given. */
kn_range kn_range_none(void);
void kn_range_take(kn_range *r, double x);
void kn_range_take_all(kn_range *r, const double *x, ptrdiff_t n);
/* Widens a range by `room` times its length at either end. An empty range becomes 0 to 1, a
 * single point a range that can be drawn. */
kn_range kn_range_wide(kn_range r, double room);

/* ---- scales ---- */

/* Maps data to px, linearly or by the logarithm. */
typedef struct kn_axis_scale {
    kn_range range;  /* in units of the data */
    double from, to; /* px of the ends of the range */
    bool log;        /* range must be above 0 */
} kn_axis_scale;

double kn_axis_scale_px(const kn_axis_scale *s, double x); /* NaN stays NaN */
/* True if x is within the range. */
bool kn_axis_scale_holds(const kn_axis_scale *s, double x);

enum { KN_TICKS = 16 };
typedef struct kn_ticks {
    int n, digits; /* number of ticks; decimals, -1: as few as possible */
    double at[KN_TICKS];
    bool percent; /* shares: 0.05 is printed "5 %" */
} kn_ticks;

/* Chooses at most `most` ticks: multiples of 1, 2 or 5 times a power of ten; on a log scale 1,
 * 2, 5, 10 .. */
kn_ticks kn_ticks_of(const kn_axis_scale *s, int most);
/* Chooses as many ticks as fit side by side along a horizontal scale. */
kn_ticks kn_ticks_across(const kn_axis_scale *s);
/* Range of counts: from 0 to a round number above `high`. */
kn_range kn_range_counts(double high);

enum { KN_TICK_TEXT = 48 };
/* Formats the label of a tick at x. */
void kn_tick_text(const kn_ticks *t, double x, char out[KN_TICK_TEXT]);
/* Approximate width in px of `text` in a wide font at 12.5 px; UTF-8 continuation bytes are not
 * counted. */
double kn_text_width(const char *text);

#endif
