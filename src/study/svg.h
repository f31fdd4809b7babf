/* Just enough SVG for a figure: elements go to the file as they are drawn. The first failure is
 * kept, and later calls do nothing, so that drawing code reads without checks. */
#ifndef KN_STUDY_SVG_H
#define KN_STUDY_SVG_H

#include "io/writer.h"

typedef struct kn_svg {
    kn_ctx *ctx;
    kn_writer *file;
    kn_status status;
} kn_svg;

typedef struct kn_pen {
    const char *colour; /* "#0072B2" */
    double width;       /* of the line, px */
    const char *dashes; /* "5 3"; NULL: none */
} kn_pen;

/* Lengths are px, y runs downwards. `what` is the figure's description for who cannot see it. */
void kn_svg_open(kn_ctx *ctx, const char *path, double width, double height, const char *what,
                 kn_svg *out);
kn_status kn_svg_close(kn_svg *svg); /* makes the file appear, unless something failed */

void kn_svg_line(kn_svg *svg, double x1, double y1, double x2, double y2, kn_pen pen);
void kn_svg_rect(kn_svg *svg, double x, double y, double width, double height, const char *fill,
                 double opacity);

typedef enum kn_mark { KN_MARK_CIRCLE, KN_MARK_SQUARE, KN_MARK_DIAMOND, KN_MARK_TRIANGLE } kn_mark;
void kn_svg_mark(kn_svg *svg, kn_mark mark, double x, double y, const char *fill, kn_pen edge);

/* anchor: start, middle or end; `turned`: read from below. Text of ours, without <, > or &. */
void kn_svg_text(kn_svg *svg, double x, double y, double size, const char *anchor, bool turned,
                 const char *text);

#endif
