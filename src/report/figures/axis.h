/* Scales, ticks at round numbers, and their labels in the units of the data. Figures are designed
 * at 460 px and shown at 400 as well, so that text is 12.5 px and ticks are few. */
#ifndef KN_REPORT_FIGURES_AXIS_H
#define KN_REPORT_FIGURES_AXIS_H

#include "report/markup/svg.h"

/* ---- ranges: of what is known and finite ---- */

typedef struct kn_range {
    double low, high;
} kn_range;

kn_range kn_range_none(void);
void kn_range_take(kn_range *r, double x);
void kn_range_take_all(kn_range *r, const double *x, ptrdiff_t n);
/* `room` of its length more at either end; of nothing 0 to 1, of a point as much as can be seen. */
kn_range kn_range_wide(kn_range r, double room);

/* ---- scales ---- */

typedef struct kn_noise_scale {
    kn_range range;  /* of the data */
    double from, to; /* px of its ends */
    bool log;        /* range must be above 0 */
} kn_noise_scale;

double kn_noise_scale_px(const kn_noise_scale *s, double x); /* NaN stays NaN */
bool kn_noise_scale_holds(const kn_noise_scale *s, double x);

enum { KN_TICKS = 16 };
typedef struct kn_ticks {
    int n, digits; /* after the point; -1: as short as possible */
    double at[KN_TICKS];
    bool percent; /* shares: 0.05 is "5 %" */
} kn_ticks;

/* At most `most`: multiples of 1, 2 or 5 times a power of ten; on a log scale 1, 2, 5, 10 .. */
kn_ticks kn_ticks_of(const kn_noise_scale *s, int most);
/* As many as fit side by side along the scale. */
kn_ticks kn_ticks_across(const kn_noise_scale *s);
/* From 0 to a round number above `high`. */
kn_range kn_range_counts(double high);

enum { KN_TICK_TEXT = 48 };
void kn_tick_text(const kn_ticks *t, double x, char out[KN_TICK_TEXT]);
double kn_text_width(const char *text); /* of a wide font, about, at 12.5 px; bytes of UTF-8 after
                                           the first count nothing */

#endif
