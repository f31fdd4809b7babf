/* The figures of the page, one row of a table each. The page draws them inline; {figures} writes
 * them as SVG files with their data as CSV. */
#ifndef KN_REPORT_FIGURES_FIGURES_H
#define KN_REPORT_FIGURES_FIGURES_H

#include "io/table/table.h"
#include "report/markup/svg.h"
#include "report/report.h"

typedef struct kn_figure {
    const char *name;  /* file name: "qq"; numbered if there are several: "curve-1" */
    const char *title; /* "QQ plot, detrended" */
    /* Title from the data, not escaped; NULL: use title. */
    const char *(*title_of)(const kn_report *r, ptrdiff_t k);
    ptrdiff_t (*count)(const kn_report *r); /* number of such figures; 0: none */
    /* Draws figure k: <svg> .. </svg>. */
    void (*draw)(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg);
    /* Writes how to read it, as mark-up. */
    void (*caption)(const kn_report *r, ptrdiff_t k, kn_html *out);
    /* Writes the plotted numbers as a table. */
    kn_status (*data)(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv);
    double width, height; /* px; 0: KN_FIGURE_WIDTH, KN_FIGURE_HEIGHT */
    bool many;            /* number the files even if there is only one */
} kn_figure;

/* All figures in the order of the page; ends with NULL. */
extern const kn_figure *const kn_figures[];
/* Returns the kind of figure with this name; asserts that it exists. */
const kn_figure *kn_figure_named(const char *name);

/* Writes <figure> with drawing, caption and the button that saves it; nothing if count <= k. */
void kn_figure_inline(const kn_report *r, const char *name, ptrdiff_t k, kn_html *out);
/* Writes all figures as DIR/NAME.svg and DIR/NAME.csv; *files receives the number of files. */
kn_status kn_figures_write(kn_ctx *ctx, const kn_report *r, const char *dir,
                           const kn_write_options *options, ptrdiff_t *files);

/* Finds the first vertex of a response. Returns false if responses are not vertices, or no mesh
 * contains it. */
bool kn_figure_vertex(const kn_report *r, ptrdiff_t response, int *mesh, ptrdiff_t *vertex);

#endif
