/* Internals shared by the figures: scales and ticks, the frame of a plot, marks, densities and
 * data files. figures.h is the interface for the page. */
#ifndef KN_REPORT_FIGURES_INTERNAL_H
#define KN_REPORT_FIGURES_INTERNAL_H

#include "report/figures/figures.h"
#include "report/markup/svg.h"

/* ---- axis.c ---- */

/* Scales, ticks at round numbers and their labels, in the units of the data. Figures are
 * designed 460 px wide and also shown at 400 px; therefore text is 12.5 px and ticks are few. */

/* ---- ranges of the finite values of a data set ---- */

typedef struct kn_range {
    double low, high;
} kn_range;

/* Returns an empty range, which kn_range_include extends. */
kn_range kn_range_empty(void);
/* Extends the range to x; ignores values that are not finite, and clamps very large ones. */
void kn_range_include(kn_range *r, double x);
/* Extends the range to the finite values of x (n; NULL: none). */
void kn_range_include_all(kn_range *r, const double *x, ptrdiff_t n);
/* Widens a range by `margin` times its length at either end. An empty range becomes 0 to 1, a
 * single point a range that can be drawn. */
kn_range kn_range_widen(kn_range r, double margin);

/* ---- scales ---- */

/* Maps data to px, linearly or by the logarithm. */
typedef struct kn_axis_scale {
    kn_range range;  /* in units of the data */
    double from, to; /* px of the ends of the range */
    bool log;        /* range must be above 0 */
} kn_axis_scale;

/* Returns the position of x in px along the axis; NaN stays NaN. */
double kn_axis_scale_px(const kn_axis_scale *s, double x);
/* Returns whether x is within the range of the axis. */
bool kn_axis_scale_contains(const kn_axis_scale *s, double x);

enum { KN_TICKS = 16 };
typedef struct kn_ticks {
    int n, digits; /* number of ticks; decimals, -1: as few as possible */
    double value[KN_TICKS];
    bool percent; /* shares: 0.05 is printed "5%" */
} kn_ticks;

/* Chooses at most `limit` ticks: multiples of 1, 2 or 5 times a power of ten; on a log scale 1,
 * 2, 5, 10 .. */
kn_ticks kn_ticks_of(const kn_axis_scale *s, int limit);
/* Chooses as many ticks as fit side by side along a horizontal scale. */
kn_ticks kn_ticks_across(const kn_axis_scale *s);
/* Returns a range for counts: from 0 to a round number that is not below `high`. */
kn_range kn_range_of_counts(double high);

enum { KN_TICK_TEXT = 48 };
/* Writes the number of a tick at x with as many decimals as the ticks need, or as a percentage if
 * t->percent. */
void kn_tick_text(const kn_ticks *t, double x, char out[KN_TICK_TEXT]);
/* Approximate width in px of `text` in a wide font at 12.5 px; UTF-8 continuation bytes are not
 * counted. */
double kn_text_width(const char *text);

/* ---- plot.c ---- */

/* The frame of a figure: grid, axes, axis names and key. Coordinates are px, y downwards. */

/* Plot area and its scales. */
typedef struct kn_plot {
    kn_svg *svg;
    double left, top, right, bottom;
    kn_axis_scale x, y;
    const char *x_more; /* literal added to the name of the x axis; NULL: none */
} kn_plot;

/* Returns a plot area that leaves room for labels; kn_plot_scales then sets its scales. */
kn_plot kn_plot_new(kn_svg *svg, const kn_svg_head *head);
/* Sets the scales from the ranges and the present edges of the plot area; log flags stay. */
void kn_plot_scales(kn_plot *p, kn_range x, kn_range y);
/* Returns the horizontal position in px of a value x of the data. */
double kn_plot_x(const kn_plot *p, double x);
/* Returns the vertical position in px, downwards, of a value y of the data. */
double kn_plot_y(const kn_plot *p, double y);

/* Draws horizontal grid lines with numbers, and the axis name above them at the left. Names may
 * come from files; they are escaped. */
void kn_plot_y_axis(kn_plot *p, const char *name, bool percent);
/* Like kn_plot_y_axis with whole numbers only, for counts. */
void kn_plot_y_integer_axis(kn_plot *p, const char *name);
/* Draws the x axis below the plot area with ticks, numbers and a name (escaped). percent:
 * proportions are printed as 5%. */
void kn_plot_x_axis(kn_plot *p, const char *name, bool percent);
/* Like kn_plot_x_axis with whole numbers only. */
void kn_plot_x_integer_axis(kn_plot *p, const char *name);
/* Draws a horizontal line across the plot area at value y, in a CSS class; nothing for NaN. */
void kn_plot_horizontal_line(kn_plot *p, const char *class, double y);
/* Draws a vertical line at value x, in a CSS class, with words at its upper end (NULL: none);
 * nothing for NaN. */
void kn_plot_vertical_line(kn_plot *p, const char *class, double x, const char *words);
/* Draws a line through n points in data coordinates. */
void kn_plot_path(kn_plot *p, const char *class, const double *x, const double *y, ptrdiff_t n);
/* Writes a message in the middle of an empty plot area. */
void kn_plot_empty(kn_plot *p, const char *words);

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

/* ---- marks_and_data.c ---- */

/* Helpers shared by the figures. figures.c lists the kn_figure_* rows in its table kn_figures. */

extern const kn_figure kn_figure_cohort, kn_figure_components, kn_figure_proportions,
    kn_figure_terms, kn_figure_qq, kn_figure_pit, kn_figure_z2, kn_figure_r2, kn_figure_curve,
    kn_figure_strip, kn_figure_card, kn_figure_regions, kn_figure_roc, kn_figure_burden,
    kn_figure_change;

enum { KN_FIGURE_WIDTH = 460, KN_FIGURE_HEIGHT = 300 };

/* Above this number of points, training participants are drawn as a density, and of the scored
 * participants only those in the table as marks. */
enum { KN_FIGURE_DOTS = 1500 };
/* Above this number of scored participants, marks are smaller. */
enum { KN_FIGURE_MARKS = 120 };

/* Returns the caller's head with the title `what` (and `of`, a name from a file, or NULL) and
 * the description `how`. */
kn_svg_head kn_figure_head(const kn_svg_head *head, const char *what, const char *of,
                           const char *how);

/* Two-dimensional histogram drawn as hexagons, darker where there are more points. */
enum { KN_DENSITY_COLS = 64, KN_DENSITY_ROWS = 48 };
typedef struct kn_density {
    uint32_t count[KN_DENSITY_ROWS][KN_DENSITY_COLS], limit;
} kn_density;
/* Adds a point in px; points outside the figure are ignored. */
void kn_density_add(kn_density *d, double x, double y);
/* Draws the hexagons, darker where there are more points; `of`: an additional CSS class, or NULL.
 */
void kn_density_draw(kn_svg *svg, const kn_density *d, const char *of);

/* Histogram of values per response: at most KN_HISTOGRAM bars with round edges; values outside
 * `clip` are counted in the first and the last bar. */
enum { KN_HISTOGRAM = 40 };
typedef struct kn_histogram {
    int n;
    double edge[KN_HISTOGRAM + 1], count[KN_HISTOGRAM];
    /* Values below the first edge, above the last edge, and all finite values. */
    ptrdiff_t below, beyond, all;
} kn_histogram;
/* Counts n values, NaN ignored, in bars between round edges. */
kn_histogram kn_histogram_of(const double *x, ptrdiff_t n, kn_range clip);
/* Draws the bars in a CSS class; the scales of p are in units of the values and counts. */
void kn_histogram_draw(kn_plot *p, const kn_histogram *h, const char *class);

/* Returns a position in 0 .. 1 for the i-th of a row of points; the positions are evenly spread
 * for any number of points (jitter). */
double kn_figure_jitter(ptrdiff_t i);

enum { KN_FIGURE_RESPONSE = 200 };
/* Formats the name of a response for a figure: "voxel 11,2,9", "left, vertex 753", otherwise its
 * name. Returns `buffer`, or a borrowed name. */
const char *kn_figure_response(const kn_report *r, ptrdiff_t response,
                               char buffer[KN_FIGURE_RESPONSE]);

/* True if the participant is labelled; false if no labels are given. */
bool kn_figure_is_labelled(const kn_report *r, ptrdiff_t participant);

/* Returns the size class (0 to 2, smaller marks) for so many participants, for svg->many. */
int kn_figure_mark_size(ptrdiff_t participants);

/* True if the participant is drawn as a mark of its own, false if only as part of a density. */
bool kn_figure_has_mark(const kn_report *r, ptrdiff_t participant);
/* Writes a sentence for the caption if not all participants are marks. */
void kn_figure_caption_marks(const kn_report *r, kn_html *out);

/* Writes a row of a figure's table: `texts` texts, then `numbers` numbers (NaN: n/a). */
kn_status kn_figure_row(kn_ctx *ctx, kn_table_writer *csv, const char *const *text, int texts,
                        const double *number, int numbers);
/* Writes the header row of a figure's table; names are separated by spaces. */
kn_status kn_figure_columns(kn_ctx *ctx, kn_table_writer *csv, const char *names);

#endif
