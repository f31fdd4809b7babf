/* Implements svg.h. Elements are written as they are drawn; texts only by kn_html_text. */
#include "report/markup/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/assets/assets.h"

/* Hundredths of a pixel without printf's decimal point: 12.5, -3, 0.07. */
typedef struct px {
    char text[32];
} px;

/* Formats a coordinate with at most two decimals and without trailing zeros, the same on every
 * machine. */
static px format_px(double x)
{
    static const double FAR = 1e6; /* larger than every figure */
    px p;
    const double hundredths = round(100 * fmin(fmax(x, -FAR), FAR));
    const long long h = (long long)fabs(hundredths);
    int n = snprintf(p.text, sizeof p.text, "%s%lld", hundredths < 0 ? "-" : "", h / 100);
    if (h % 10)
        snprintf(p.text + n, sizeof p.text - (size_t)n, ".%02d", (int)(h % 100));
    else if (h % 100)
        snprintf(p.text + n, sizeof p.text - (size_t)n, ".%d", (int)(h % 100 / 10));
    return p;
}

/* Returns whether all four numbers are finite. */
static bool are_finite(double a, double b, double c, double d)
{
    return isfinite(a) && isfinite(b) && isfinite(c) && isfinite(d);
}

/* Writes <name class="class" without the closing bracket; no attribute if class is NULL, because
 * the group has it. */
static void begin_element(kn_svg *svg, const char *name, const char *class)
{
    kn_html_print(svg->out, class ? "<%s class=\"%s\"" : "<%s", name, class);
}

/* ---- style of a standalone file ---- */

/* Writes the CSS from css to end, with every var(--name) replaced by its value in :root of
 * figure.css, because programs that render SVG for print do not support custom properties. */
static void resolve_variables(kn_html *out, const char *css, const char *end)
{
    enum { PIECE = 1024 };
    while (css < end) {
        const char *var = strstr(css, "var(--");
        if (!var || var >= end)
            var = end;
        for (ptrdiff_t n; (n = var - css < PIECE ? var - css : PIECE) > 0; css += n)
            kn_html_print(out, "%.*s", (int)n, css);
        if (css == end)
            return;
        char name[64];
        const size_t length = strcspn(css + 4, ")");
        snprintf(name, sizeof name, "\n    %.*s:", (int)length, css + 4);
        const char *value = strstr(kn_asset_figure_css.text, name);
        if (value) {
            value += strlen(name) + 1;
            kn_html_print(out, "%.*s", (int)strcspn(value, ";"), value);
        }
        css += 4 + length + 1;
    }
}

/* Writes a <style> element for a standalone file: the rules of figure.css without its light and
 * dark colours, then the CSS `more` (NULL: none). */
static void put_style(kn_html *out, const char *more)
{
    static const char RULES[] = "/* rules */";
    const char *css = strstr(kn_asset_figure_css.text, RULES);
    kn_html_raw(out, "<style>");
    if (css) {
        css += strlen(RULES);
        resolve_variables(out, css, css + strlen(css));
    }
    if (more)
        resolve_variables(out, more, more + strlen(more));
    kn_html_raw(out, "</style>\n");
}

/* ---- elements ---- */

void kn_svg_open(kn_svg *svg, const kn_svg_head *head)
{
    kn_html *out = svg->out;
    const px w = format_px(head->width), h = format_px(head->height);
    kn_html_raw(out, "<svg class=\"fig\" role=\"img\"");
    if (head->standalone)
        kn_html_print(out, " xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\"",
                      w.text, h.text);
    kn_html_print(out, " viewBox=\"0 0 %s %s\" aria-labelledby=\"f%dt f%dd\">\n<title id=\"f%dt\">",
                  w.text, h.text, head->number, head->number, head->number);
    kn_html_text(out, head->what);
    if (head->of) {
        kn_html_raw(out, " ");
        kn_html_text(out, head->of);
    }
    kn_html_print(out, "</title>\n<desc id=\"f%dd\">", head->number);
    kn_html_text(out, head->how);
    kn_html_raw(out, "</desc>\n");
    if (head->standalone) {
        put_style(out, head->style);
        kn_svg_rect(svg, "paper", 0, 0, head->width, head->height);
    }
}

void kn_svg_close(kn_svg *svg)
{
    kn_html_raw(svg->out, "</svg>\n");
}

void kn_svg_group(kn_svg *svg, const char *class)
{
    kn_html_print(svg->out, "<g class=\"%s\">\n", class);
}

void kn_svg_group_end(kn_svg *svg)
{
    kn_html_raw(svg->out, "</g>\n");
}

void kn_svg_line(kn_svg *svg, const char *class, double x1, double y1, double x2, double y2)
{
    if (!are_finite(x1, y1, x2, y2))
        return;
    begin_element(svg, "line", class);
    kn_html_print(svg->out, " x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n", format_px(x1).text,
                  format_px(y1).text, format_px(x2).text, format_px(y2).text);
}

void kn_svg_rect(kn_svg *svg, const char *class, double x, double y, double width, double height)
{
    if (!are_finite(x, y, width, height) || !(width >= 0) || !(height >= 0))
        return;
    begin_element(svg, "rect", class);
    kn_html_print(svg->out, " x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", format_px(x).text,
                  format_px(y).text, format_px(width).text, format_px(height).text);
}

/* Writes a path command (M or L) with its coordinates in px. */
static void put_point(kn_svg *svg, char command, double x, double y)
{
    kn_html_print(svg->out, "%c%s %s", command, format_px(x).text, format_px(y).text);
}

void kn_svg_pen(kn_svg *svg, const char *class)
{
    svg->pen.class = class;
    svg->pen.begun = svg->pen.down = false;
}

/* Opens the path element of the pen if this is its first point, so that a path without points
 * writes nothing. */
static void pen_begin(kn_svg *svg)
{
    if (!svg->pen.begun) {
        begin_element(svg, "path", svg->pen.class);
        kn_html_raw(svg->out, " d=\"");
    }
    svg->pen.begun = true;
}

void kn_svg_pen_to(kn_svg *svg, double x, double y)
{
    const bool here = are_finite(x, y, 0, 0);
    if (here) {
        pen_begin(svg);
        put_point(svg, svg->pen.down ? 'L' : 'M', x, y);
    }
    svg->pen.down = here;
}

/* A dot is a line of length 0 with round caps. */
void kn_svg_pen_dot(kn_svg *svg, double x, double y)
{
    if (!are_finite(x, y, 0, 0))
        return;
    pen_begin(svg);
    put_point(svg, 'M', x, y);
    kn_html_raw(svg->out, "h0");
}

void kn_svg_pen_shape(kn_svg *svg, double x, double y, const char *steps)
{
    if (!are_finite(x, y, 0, 0))
        return;
    pen_begin(svg);
    put_point(svg, 'M', x, y);
    kn_html_raw(svg->out, steps);
}

void kn_svg_pen_up(kn_svg *svg, bool closed)
{
    if (svg->pen.begun)
        kn_html_raw(svg->out, closed ? "Z\"/>\n" : "\"/>\n");
    svg->pen.begun = svg->pen.down = false;
}

void kn_svg_path(kn_svg *svg, const char *class, const double *x, const double *y, ptrdiff_t n)
{
    kn_svg_pen(svg, class);
    for (ptrdiff_t i = 0; i < n; i++)
        kn_svg_pen_to(svg, x[i], y[i]);
    kn_svg_pen_up(svg, false);
}

/* For each stretch where both edges are known: forward along one, back along the other. */
void kn_svg_band(kn_svg *svg, const char *class, const double *x, const double *low,
                 const double *high, ptrdiff_t n)
{
    for (ptrdiff_t from = 0; from < n; from++) {
        ptrdiff_t to = from;
        while (to < n && are_finite(x[to], low[to], high[to], 0))
            to++;
        if (to - from > 1) {
            kn_svg_pen(svg, class);
            for (ptrdiff_t i = from; i < to; i++)
                kn_svg_pen_to(svg, x[i], high[i]);
            for (ptrdiff_t i = to - 1; i >= from; i--)
                kn_svg_pen_to(svg, x[i], low[i]);
            kn_svg_pen_up(svg, true);
        }
        from = to;
    }
}

void kn_svg_mark(kn_svg *svg, const char *class, kn_mark mark, double x, double y,
                 ptrdiff_t participant)
{
    static const struct {
        int n;
        double x[4], y[4]; /* corners, relative to the centre */
    } CORNERS[] = {[KN_MARK_SQUARE] = {4, {-2.9, 2.9, 2.9, -2.9}, {-2.9, -2.9, 2.9, 2.9}},
                   [KN_MARK_DIAMOND] = {4, {0, 4.4, 0, -4.4}, {-4.4, 0, 4.4, 0}},
                   [KN_MARK_TRIANGLE] = {3, {0, 4, -4}, {-4.2, 2.8, 2.8}}};
    if (!are_finite(x, y, 0, 0))
        return;
    begin_element(svg, mark == KN_MARK_CIRCLE ? "circle" : "path", class);
    const double size = svg->many == 0 ? 1 : svg->many == 1 ? 0.72 : 0.5;
    if (mark == KN_MARK_CIRCLE)
        kn_html_print(svg->out, " cx=\"%s\" cy=\"%s\" r=\"%s\"", format_px(x).text,
                      format_px(y).text, format_px(3.2 * size).text);
    else {
        kn_html_raw(svg->out, " d=\"");
        for (int k = 0; k < CORNERS[mark].n; k++)
            put_point(svg, k == 0 ? 'M' : 'L', x + size * CORNERS[mark].x[k],
                      y + size * CORNERS[mark].y[k]);
        kn_html_raw(svg->out, "Z\"");
    }
    if (participant >= 0)
        kn_html_print(svg->out, " data-p=\"%td\"", participant);
    kn_html_raw(svg->out, "/>\n");
}

void kn_svg_participant(kn_svg *svg, const char *class, double x, double y, ptrdiff_t participant)
{
    kn_svg_mark(svg, class, KN_MARK_CIRCLE, x, y, participant);
}

/* Opens a text element at (x, y) px. Returns false, and writes nothing, if the position is not
 * finite. */
static bool begin_text(kn_svg *svg, const char *class, const char *anchor, double x, double y)
{
    if (!are_finite(x, y, 0, 0))
        return false;
    begin_element(svg, "text", class);
    kn_html_print(svg->out, " x=\"%s\" y=\"%s\"", format_px(x).text, format_px(y).text);
    if (strcmp(anchor, "start") != 0)
        kn_html_print(svg->out, " text-anchor=\"%s\"", anchor);
    kn_html_raw(svg->out, ">");
    return true;
}

void kn_svg_text(kn_svg *svg, const char *class, const char *anchor, double x, double y,
                 const char *text)
{
    if (!begin_text(svg, class, anchor, x, y))
        return;
    kn_html_text(svg->out, text);
    kn_html_raw(svg->out, "</text>\n");
}

void kn_svg_text_more(kn_svg *svg, const char *anchor, double x, double y, const char *text,
                      ptrdiff_t cut, const char *more)
{
    if (!begin_text(svg, NULL, anchor, x, y))
        return;
    kn_html_cut(svg->out, text, cut);
    kn_html_text(svg->out, more);
    kn_html_raw(svg->out, "</text>\n");
}

void kn_svg_text_cut(kn_svg *svg, const char *anchor, double x, double y, const char *text,
                     ptrdiff_t cut)
{
    kn_svg_text_more(svg, anchor, x, y, text, cut, "");
}
