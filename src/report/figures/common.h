/* What the figures share; one row of the table kn_figures each. */
#ifndef KN_REPORT_FIGURES_COMMON_H
#define KN_REPORT_FIGURES_COMMON_H

#include "report/figures/figures.h"
#include "report/figures/plot.h"

extern const kn_figure kn_figure_cohort, kn_figure_components, kn_figure_shares, kn_figure_terms,
    kn_figure_qq, kn_figure_pit, kn_figure_z2, kn_figure_r2, kn_figure_curve, kn_figure_strip,
    kn_figure_card, kn_figure_regions, kn_figure_roc, kn_figure_burden, kn_figure_change;

enum { KN_FIGURE_WIDTH = 460, KN_FIGURE_HEIGHT = 300 };

/* Above so many points people of training are drawn as a density, and of the people scored all but
 * those of the table. */
enum { KN_FIGURE_DOTS = 1500 };
/* Above so many people scored their marks are smaller. */
enum { KN_FIGURE_MARKS = 120 };

/* The head of a figure of `what` (and whose, or NULL), drawn by the caller's. */
kn_svg_head kn_figure_head(const kn_svg_head *head, const char *what, const char *of,
                           const char *how);

/* Points as hexagons, the darker the more. */
enum { KN_DENSITY_COLS = 64, KN_DENSITY_ROWS = 48 };
typedef struct kn_density {
    uint32_t count[KN_DENSITY_ROWS][KN_DENSITY_COLS], most;
} kn_density;
void kn_density_take(kn_density *d, double x,
                     double y); /* px; what is not in the figure is not drawn */
void kn_density_draw(kn_svg *svg, const kn_density *d, const char *of); /* a class; NULL: none */

/* Numbers of responses as bars: at most KN_HISTOGRAM of them between round numbers, the last of
 * which holds all beyond `most`. */
enum { KN_HISTOGRAM = 40 };
typedef struct kn_histogram {
    int n;
    double edge[KN_HISTOGRAM + 1], count[KN_HISTOGRAM];
    ptrdiff_t below, beyond,
        all; /* in the first and the last bar, but outside of its edges; known */
} kn_histogram;
kn_histogram kn_histogram_of(const double *x, ptrdiff_t n, kn_range clip);
void kn_histogram_draw(kn_plot *p, const kn_histogram *h, const char *class);

/* A place between 0 and 1 for the i-th of a row of points, spread evenly however many there are. */
double kn_figure_spread(ptrdiff_t i);

/* A response as figures name it: "voxel 11,2,9" where it is one. */
/* The first vertex that is this response; false: responses are no vertices, or no mesh has it. */
bool kn_figure_vertex(const kn_report *r, ptrdiff_t response, int *mesh, ptrdiff_t *vertex);
enum { KN_FIGURE_RESPONSE = 200 };
const char *kn_figure_response(const kn_report *r, ptrdiff_t response,
                               char room[KN_FIGURE_RESPONSE]);

/* Is he labelled? Nobody is where there is no label. */
bool kn_figure_labelled(const kn_report *r, ptrdiff_t person);

/* Of marks, for svg->many. */
int kn_figure_many(ptrdiff_t people);

/* Is he a mark that can be found, or one of a density? */
bool kn_figure_marked(const kn_report *r, ptrdiff_t person);
/* Said in captions where not everybody is a mark. */
void kn_figure_marked_words(const kn_report *r, kn_html *out);

/* A row of a table: texts, then numbers. */
kn_status kn_figure_row(kn_ctx *ctx, kn_table_writer *csv, const char *const *text, int texts,
                        const double *number, int numbers);
/* The header: names divided by spaces. */
kn_status kn_figure_columns(kn_ctx *ctx, kn_table_writer *csv, const char *names);

#endif
