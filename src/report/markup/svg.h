/* Just enough SVG for a figure. Colours are classes, which report/assets/figure.css gives them for
 * light and dark; a file of its own carries the light ones with it. Lengths are px in a figure of
 * its own width, y runs downwards; numbers are hundredths of a pixel, so that the same figure is
 * the same bytes everywhere. What has a coordinate that is not finite is not drawn. */
#ifndef KN_REPORT_MARKUP_SVG_H
#define KN_REPORT_MARKUP_SVG_H

#include "report/markup/html.h"

typedef struct kn_svg {
    kn_html *out; /* lent */
    int many;     /* marks are smaller: 1, there are many of them; 2, very many */
    struct {      /* a path that is being drawn */
        const char *class;
        bool begun, down;
    } pen;
} kn_svg;

/* `what` and then `of`: <title>; `how`: <desc>. number: makes their ids unique within the page.
 * standalone: a file, with xmlns and style. */
typedef struct kn_svg_head {
    double width, height;
    const char *what, *how; /* words of ours */
    const char *of;         /* of what: a name of anybody's; NULL: no more words */
    const char *style;      /* more rules of a file, CSS of ours; NULL: none */
    int number;
    bool standalone;
} kn_svg_head;

void kn_svg_open(kn_svg *svg, const kn_svg_head *head);
void kn_svg_close(kn_svg *svg);

/* Elements that share classes. */
void kn_svg_group(kn_svg *svg, const char *class);
void kn_svg_group_end(kn_svg *svg);

/* A path point by point: a NaN lifts the pen. Without a point there is no element. */
void kn_svg_pen(kn_svg *svg, const char *class);
void kn_svg_pen_to(kn_svg *svg, double x, double y);
void kn_svg_pen_dot(kn_svg *svg, double x,
                    double y); /* many of them are one element, without names */
/* Ours, in relative commands from there on; again many are one element. */
void kn_svg_pen_shape(kn_svg *svg, double x, double y, const char *steps);
void kn_svg_pen_up(kn_svg *svg, bool closed);

/* class: of figure.css; NULL: that of the group. */
void kn_svg_line(kn_svg *svg, const char *class, double x1, double y1, double x2, double y2);
void kn_svg_rect(kn_svg *svg, const char *class, double x, double y, double width, double height);
void kn_svg_path(kn_svg *svg, const char *class, const double *x, const double *y,
                 ptrdiff_t n); /* NaN: a gap */
void kn_svg_area(kn_svg *svg, const char *class, const double *x, const double *y,
                 ptrdiff_t n); /* closed */
void kn_svg_band(kn_svg *svg, const char *class, const double *x, const double *low,
                 const double *high, ptrdiff_t n);

/* One mark, of about the same area each; person -1: nobody's, else highlighted when he is looked
 * for. */
typedef enum kn_mark { KN_MARK_CIRCLE, KN_MARK_SQUARE, KN_MARK_DIAMOND, KN_MARK_TRIANGLE } kn_mark;
void kn_svg_mark(kn_svg *svg, const char *class, kn_mark mark, double x, double y,
                 ptrdiff_t person);
void kn_svg_person(kn_svg *svg, const char *class, double x, double y,
                   ptrdiff_t person); /* a circle */

/* anchor: start, middle or end. text of anybody's; cut: the most characters of it. */
void kn_svg_text(kn_svg *svg, const char *class, const char *anchor, double x, double y,
                 const char *text);
void kn_svg_text_cut(kn_svg *svg, const char *anchor, double x, double y, const char *text,
                     ptrdiff_t cut);
/* The same, and more words of ours after it. */
void kn_svg_text_more(kn_svg *svg, const char *anchor, double x, double y, const char *text,
                      ptrdiff_t cut, const char *more);

#endif
