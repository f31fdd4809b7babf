/* The figures of the page: a row of one table each. The page draws them inline, {figures} writes
 * them as files with their data beside them. */
#ifndef KN_REPORT_FIGURES_FIGURES_H
#define KN_REPORT_FIGURES_FIGURES_H

#include "io/table/table.h"
#include "report/markup/svg.h"
#include "report/report.h"

typedef struct kn_figure {
    const char *name;  /* of its files: "qq"; with more than one "curve-1" */
    const char *title; /* "QQ plot, detrended" */
    const char *(*title_of)(const kn_report *r, ptrdiff_t k); /* NULL: title; else from a file */
    ptrdiff_t (*count)(const kn_report *r); /* how many there are; 0: nothing to draw */
    /* Figure k: <svg> .. </svg>. */
    void (*draw)(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg);
    void (*caption)(const kn_report *r, ptrdiff_t k, kn_html *out); /* how to read it; mark-up */
    kn_status (*data)(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv);
    double width, height; /* of the figure */
    bool many;            /* of its kind: its files are numbered though there is but one */
} kn_figure;

/* The table, in the order of the page; ends with NULL. */
extern const kn_figure *const kn_figures[];
const kn_figure *kn_figure_named(const char *name); /* an assert where there is none */

/* <figure> with the drawing, the caption and the button that saves it; nothing where count <= k. */
void kn_figure_inline(const kn_report *r, const char *name, ptrdiff_t k, kn_html *out);
/* All of them as DIR/NAME.svg and DIR/NAME.csv; *files is how many. */
kn_status kn_figures_write(kn_ctx *ctx, const kn_report *r, const char *dir,
                           const kn_write_options *options, ptrdiff_t *files);

#endif
