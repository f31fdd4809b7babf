/* The frame of a figure: grid, axes, axis names and key. Coordinates are px, y downwards. */
#ifndef KN_REPORT_FIGURES_PLOT_H
#define KN_REPORT_FIGURES_PLOT_H

#include "report/figures/axis.h"

/* Plot area and its scales. */
typedef struct kn_plot {
    kn_svg *svg;
    double left, top, right, bottom;
    kn_axis_scale x, y;
    const char *x_more; /* literal added to the name of the x axis; NULL: none */
} kn_plot;

/* Returns a plot area that leaves room for labels; kn_plot_scales then sets its scales. */
kn_plot kn_plot_new(kn_svg *svg, const kn_svg_head *head);
void kn_plot_scales(kn_plot *p, kn_range x, kn_range y);
/* Convert data to px. */
double kn_plot_x(const kn_plot *p, double x);
double kn_plot_y(const kn_plot *p, double y);

/* Draws horizontal grid lines with numbers, and the axis name above them at the left. Names may
 * come from files; they are escaped. */
void kn_plot_y_axis(kn_plot *p, const char *name, bool percent);
void kn_plot_y_whole(kn_plot *p, const char *name); /* integer ticks, for counts */
/* Draws the line below with ticks, numbers and a name. */
void kn_plot_x_axis(kn_plot *p, const char *name, bool percent);
void kn_plot_x_whole(kn_plot *p, const char *name);
/* The same with the caller's ticks. */
void kn_plot_x_ticks(kn_plot *p, const kn_ticks *t, const char *name);
/* Draws a horizontal or vertical line at a value, with words at its end; NaN: nothing. */
void kn_plot_level(kn_plot *p, const char *class, double y);
void kn_plot_upright(kn_plot *p, const char *class, double x, const char *words);
/* Draws a line through n points in data coordinates. */
void kn_plot_path(kn_plot *p, const char *class, const double *x, const double *y, ptrdiff_t n);
void kn_plot_empty(kn_plot *p, const char *words); /* message in the middle of an empty plot */

/* Key above the plot, aligned to its right edge: a swatch in a CSS class, and a name. */
typedef enum kn_swatch {
    KN_SWATCH_AREA,
    KN_SWATCH_LINE,
    KN_SWATCH_DOT,
    KN_SWATCH_CIRCLE,
    KN_SWATCH_DIAMOND
} kn_swatch;
enum { KN_KEY_CUT = 14 }; /* longest name, in characters */
typedef struct kn_key {
    const char *class;
    kn_swatch swatch;
    const char *name; /* may come from a file; NULL: entry omitted */
    ptrdiff_t n;      /* count shown after the name; negative: not shown */
} kn_key;
/* Draws a key of n entries. */
void kn_plot_key(kn_plot *p, const kn_key *key, int n);

#endif
