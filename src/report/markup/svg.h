/* A minimal SVG writer for figures. Colours are CSS classes, defined for light and dark in
 * report/assets/figure.css; a standalone file embeds the light ones. Lengths are px in the
 * figure's own width, y runs downwards. Coordinates are rounded to hundredths of a pixel, so
 * that output is byte-identical on all platforms. Elements with a coordinate that is not finite
 * are not drawn. */
#ifndef KN_REPORT_MARKUP_SVG_H
#define KN_REPORT_MARKUP_SVG_H

#include "report/markup/html.h"

typedef struct kn_svg {
    kn_html *out; /* borrowed */
    int many;     /* size of marks: 0 normal, 1 small, 2 very small */
    struct {      /* the path being drawn */
        const char *class;
        bool begun, down;
    } pen;
} kn_svg;

/* Attributes of a figure. <title> is `what` followed by `of`; <desc> is `how`. number makes
 * their ids unique within the page. standalone: a file, with xmlns and style. */
typedef struct kn_svg_head {
    double width, height;
    const char *what, *how; /* literals */
    const char *of;         /* a name, escaped; NULL: none */
    const char *style;      /* additional CSS of a standalone file, a literal; NULL: none */
    int number;
    bool standalone;
} kn_svg_head;

/* Opens the <svg> element with title, description and, for a standalone file, style and background.
 */
void kn_svg_open(kn_svg *svg, const kn_svg_head *head);
/* Closes the <svg> element. */
void kn_svg_close(kn_svg *svg);

/* Opens a group; its elements share the CSS classes `class`. */
void kn_svg_group(kn_svg *svg, const char *class);
/* Closes the group. */
void kn_svg_group_end(kn_svg *svg);

/* Starts a path of this CSS class (NULL: that of the group), to be drawn point by point. Without
 * points no element is written. */
void kn_svg_pen(kn_svg *svg, const char *class);
/* Draws a line from the last point to (x, y) px. NaN interrupts the line. */
void kn_svg_pen_to(kn_svg *svg, double x, double y);
/* Adds a dot; many dots are one element. */
void kn_svg_pen_dot(kn_svg *svg, double x, double y);
/* Adds a shape at (x, y), drawn by `steps`, a literal of relative path commands; many shapes are
 * one element. */
void kn_svg_pen_shape(kn_svg *svg, double x, double y, const char *steps);
/* Ends the path; closed: joins the last point to the first. */
void kn_svg_pen_up(kn_svg *svg, bool closed);

/* Draws a line between two points in px. class: defined in figure.css; NULL: that of the group. */
void kn_svg_line(kn_svg *svg, const char *class, double x1, double y1, double x2, double y2);
/* Draws a rectangle with upper left corner (x, y) in px; nothing if a size is negative. */
void kn_svg_rect(kn_svg *svg, const char *class, double x, double y, double width, double height);
/* Draws a line through n points in px; NaN leaves a gap. */
void kn_svg_path(kn_svg *svg, const char *class, const double *x, const double *y, ptrdiff_t n);
/* Draws the filled area between the curves low and high over x (n points, px), in stretches where
 * all three are finite. */
void kn_svg_band(kn_svg *svg, const char *class, const double *x, const double *low,
                 const double *high, ptrdiff_t n);

/* Draws one mark; all kinds have about the same area. participant: its index, for
 * highlighting by the script; -1: none. kn_svg_participant draws a circle. */
typedef enum kn_mark { KN_MARK_CIRCLE, KN_MARK_SQUARE, KN_MARK_DIAMOND, KN_MARK_TRIANGLE } kn_mark;
/* Draws one mark centred at (x, y) px; all kinds have about the same area. participant: its index,
 * for highlighting by the script; -1: none. */
void kn_svg_mark(kn_svg *svg, const char *class, kn_mark mark, double x, double y,
                 ptrdiff_t participant);
/* Draws a circle for a participant at (x, y) px, as kn_svg_mark does. */
void kn_svg_participant(kn_svg *svg, const char *class, double x, double y, ptrdiff_t participant);

/* Writes a text, escaped, at (x, y) px. anchor: "start", "middle" or "end". */
void kn_svg_text(kn_svg *svg, const char *class, const char *anchor, double x, double y,
                 const char *text);
/* Writes a text as kn_svg_text does, cut to `cut` characters, in the class of the group. */
void kn_svg_text_cut(kn_svg *svg, const char *anchor, double x, double y, const char *text,
                     ptrdiff_t cut);
/* Writes a text cut to `cut` characters, followed by `more`, both escaped. */
void kn_svg_text_more(kn_svg *svg, const char *anchor, double x, double y, const char *text,
                      ptrdiff_t cut, const char *more);

#endif
