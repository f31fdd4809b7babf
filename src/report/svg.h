/* Just enough SVG for a figure. Colours are classes, which report/figure.css gives them for light
 * and dark; a file of its own (kn_svg_standalone) carries the style with it. Lengths are px in a
 * figure of its own width, y runs downwards; numbers are hundredths of a pixel, so that the same
 * figure is the same bytes everywhere. */
#ifndef KN_REPORT_SVG_H
#define KN_REPORT_SVG_H

#include "report/html.h"

typedef struct kn_svg {
    kn_html *out; /* lent */
} kn_svg;

/* `what`: <title>, `how`: <desc>; number: makes their ids unique within the page. standalone: a
 * file, with xmlns and style. */
typedef struct kn_svg_head {
    double width, height;
    const char *what, *how;
    int number;
    bool standalone;
} kn_svg_head;

void kn_svg_open(kn_svg *svg, const kn_svg_head *head);
void kn_svg_close(kn_svg *svg);

/* class: of figure.css. */
void kn_svg_line(kn_svg *svg, const char *class, double x1, double y1, double x2, double y2);
void kn_svg_rect(kn_svg *svg, const char *class, double x, double y, double width, double height);
void kn_svg_path(kn_svg *svg, const char *class, const double *x, const double *y,
                 ptrdiff_t n); /* NaN: a gap */
void kn_svg_band(kn_svg *svg, const char *class, const double *x, const double *low,
                 const double *high, ptrdiff_t n);
/* Many dots as one element: small, and without names. */
void kn_svg_dots(kn_svg *svg, const char *class, const double *x, const double *y, ptrdiff_t n);
/* One dot that has a person: highlighted when he is looked for. */
void kn_svg_person(kn_svg *svg, const char *class, double x, double y, ptrdiff_t person);
/* anchor: start, middle or end. text of anybody's. */
void kn_svg_text(kn_svg *svg, const char *class, const char *anchor, double x, double y,
                 const char *text);

#endif
