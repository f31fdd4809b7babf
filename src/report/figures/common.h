/* Helpers shared by the figures. figures.c lists the kn_figure_* rows in its table kn_figures. */
#ifndef KN_REPORT_FIGURES_COMMON_H
#define KN_REPORT_FIGURES_COMMON_H

#include "report/figures/figures.h"
#include "report/figures/plot.h"

extern const kn_figure kn_figure_cohort, kn_figure_components, kn_figure_shares, kn_figure_terms,
    kn_figure_qq, kn_figure_pit, kn_figure_z2, kn_figure_r2, kn_figure_curve, kn_figure_strip,
    kn_figure_card, kn_figure_regions, kn_figure_roc, kn_figure_burden, kn_figure_change;

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
    uint32_t count[KN_DENSITY_ROWS][KN_DENSITY_COLS], most;
} kn_density;
/* Adds a point in px; points outside the figure are ignored. */
void kn_density_take(kn_density *d, double x, double y);
/* Draws the density; `of`: an additional CSS class, or NULL. */
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
void kn_histogram_draw(kn_plot *p, const kn_histogram *h, const char *class);

/* Returns a position in 0 .. 1 for the i-th of a row of points; the positions are evenly spread
 * for any number of points (jitter). */
double kn_figure_spread(ptrdiff_t i);

/* Finds the first vertex of a response. Returns false if responses are not vertices, or no mesh
 * contains it. */
bool kn_figure_vertex(const kn_report *r, ptrdiff_t response, int *mesh, ptrdiff_t *vertex);
enum { KN_FIGURE_RESPONSE = 200 };
/* Formats the name of a response for a figure: "voxel 11,2,9", "left, vertex 753", otherwise its
 * name. Returns `room`, or a borrowed name. */
const char *kn_figure_response(const kn_report *r, ptrdiff_t response,
                               char room[KN_FIGURE_RESPONSE]);

/* True if the participant is labelled; false if no labels are given. */
bool kn_figure_labelled(const kn_report *r, ptrdiff_t person);

/* Returns the size class of marks for svg->many. */
int kn_figure_many(ptrdiff_t people);

/* True if the participant is drawn as a mark of its own, false if only as part of a density. */
bool kn_figure_marked(const kn_report *r, ptrdiff_t person);
/* Writes a sentence for the caption if not all participants are marks. */
void kn_figure_marked_words(const kn_report *r, kn_html *out);

/* Writes a row: `texts` texts, then `numbers` numbers. */
kn_status kn_figure_row(kn_ctx *ctx, kn_table_writer *csv, const char *const *text, int texts,
                        const double *number, int numbers);
/* Writes the header; names are separated by spaces. */
kn_status kn_figure_columns(kn_ctx *ctx, kn_table_writer *csv, const char *names);

#endif
