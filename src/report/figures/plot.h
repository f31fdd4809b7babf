/* The frame of a figure: grid, numbers, names, key. */
#ifndef KN_REPORT_FIGURES_PLOT_H
#define KN_REPORT_FIGURES_PLOT_H

#include "report/figures/axis.h"

typedef struct kn_plot {
    kn_svg *svg;
    double left, top, right, bottom;
    kn_noise_scale x, y;
    const char *x_more; /* words of ours after the name of the x axis; NULL: none */
} kn_plot;

/* Where there is room for labels around it; scales follow by kn_plot_scales. */
kn_plot kn_plot_new(kn_svg *svg, const kn_svg_head *head);
void kn_plot_scales(kn_plot *p, kn_range x, kn_range y);
double kn_plot_x(const kn_plot *p, double x);
double kn_plot_y(const kn_plot *p, double y);

/* Grid lines across with their numbers; the name above them at the left. Texts of anybody's. */
void kn_plot_y_axis(kn_plot *p, const char *name, bool percent);
void kn_plot_y_whole(kn_plot *p, const char *name); /* numbers of things, no fractions */
/* The line below with ticks, numbers and a name. */
void kn_plot_x_axis(kn_plot *p, const char *name, bool percent);
void kn_plot_x_whole(kn_plot *p, const char *name);
/* The same with ticks of the caller's. */
void kn_plot_x_ticks(kn_plot *p, const kn_ticks *t, const char *name);
/* A line across or upwards at a value, with words at its end; NaN: none. */
void kn_plot_level(kn_plot *p, const char *class, double y);
void kn_plot_upright(kn_plot *p, const char *class, double x, const char *words);
/* A line through n points of the data. */
void kn_plot_path(kn_plot *p, const char *class, const double *x, const double *y, ptrdiff_t n);
void kn_plot_empty(kn_plot *p, const char *words); /* in the middle: why nothing is drawn */

/* A key above the plot that ends at its right edge: a swatch of a class, and a name. */
typedef enum kn_swatch {
    KN_SWATCH_AREA,
    KN_SWATCH_LINE,
    KN_SWATCH_DOT,
    KN_SWATCH_CIRCLE,
    KN_SWATCH_DIAMOND
} kn_swatch;
enum { KN_KEY_CUT = 14 }; /* the most characters of a name */
typedef struct kn_key {
    const char *class;
    kn_swatch swatch;
    const char *name; /* of anybody's; NULL: left out */
    ptrdiff_t n;      /* how many: after the name; below 0: not told */
} kn_key;
void kn_plot_key(kn_plot *p, const kn_key *key, int n);

#endif
