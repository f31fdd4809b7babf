#include "study/svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "io/number.h"

/* Hundredths of a pixel, with a point under every locale. */
typedef struct px {
    char text[KN_NUMBER_SIZE];
} px;

static px at(double x)
{
    px p;
    kn_number_text(round(100 * x) / 100, p.text);
    return p;
}

static void put(kn_svg *svg, const char *format, ...) KN_PRINTF(2, 3);

static void put(kn_svg *svg, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (svg->status != KN_OK)
        return;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    svg->status = n >= 0 && (size_t)n < sizeof text
                      ? kn_writer_write(svg->ctx, svg->file, text, n)
                      : kn_fail(svg->ctx, KN_ERR_ARGUMENT, "%s: an element of %d bytes is too long",
                                kn_writer_path(svg->file), n);
}

void kn_svg_open(kn_ctx *ctx, const char *path, double width, double height, const char *what,
                 kn_svg *out)
{
    const kn_write_options options = {.force = true};
    *out = (kn_svg){.ctx = ctx};
    out->status = kn_writer_new(ctx, path, &options, &out->file);
    px w = at(width), h = at(height);
    put(out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" "
        "viewBox=\"0 0 %s %s\" font-family=\"Helvetica, Arial, sans-serif\" fill=\"#222\">\n"
        "<title>%s</title>\n",
        w.text, h.text, w.text, h.text, what);
    kn_svg_rect(out, 0, 0, width, height, "#fff", 1);
}

kn_status kn_svg_close(kn_svg *svg)
{
    put(svg, "</svg>\n");
    if (svg->status == KN_OK)
        svg->status = kn_writer_commit(svg->ctx, svg->file);
    kn_writer_free(svg->file);
    svg->file = NULL;
    return svg->status;
}

static void stroke(kn_svg *svg, kn_pen pen)
{
    put(svg, " stroke=\"%s\" stroke-width=\"%s\"", pen.colour, at(pen.width).text);
    if (pen.dashes)
        put(svg, " stroke-dasharray=\"%s\"", pen.dashes);
    put(svg, "/>\n");
}

void kn_svg_line(kn_svg *svg, double x1, double y1, double x2, double y2, kn_pen pen)
{
    put(svg, "<line x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"", at(x1).text, at(y1).text, at(x2).text,
        at(y2).text);
    stroke(svg, pen);
}

void kn_svg_rect(kn_svg *svg, double x, double y, double width, double height, const char *fill,
                 double opacity)
{
    put(svg,
        "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" fill=\"%s\" fill-opacity=\"%s\"/>\n",
        at(x).text, at(y).text, at(width).text, at(height).text, fill, at(opacity).text);
}

/* Of about the same area each; the corners in px from the middle. */
void kn_svg_mark(kn_svg *svg, kn_mark mark, double x, double y, const char *fill, kn_pen edge)
{
    static const struct {
        int n;
        double x[4], y[4];
    } CORNERS[] = {[KN_MARK_SQUARE] = {4, {-2.9, 2.9, 2.9, -2.9}, {-2.9, -2.9, 2.9, 2.9}},
                   [KN_MARK_DIAMOND] = {4, {0, 4.1, 0, -4.1}, {-4.1, 0, 4.1, 0}},
                   [KN_MARK_TRIANGLE] = {3, {0, 4, -4}, {-4.2, 2.8, 2.8}}};
    if (mark == KN_MARK_CIRCLE)
        put(svg, "<circle cx=\"%s\" cy=\"%s\" r=\"3.2\"", at(x).text, at(y).text);
    else {
        put(svg, "<polygon points=\"");
        for (int k = 0; k < CORNERS[mark].n; k++)
            put(svg, "%s%s,%s", k > 0 ? " " : "", at(x + CORNERS[mark].x[k]).text,
                at(y + CORNERS[mark].y[k]).text);
        put(svg, "\"");
    }
    put(svg, " fill=\"%s\"", fill);
    stroke(svg, edge);
}

void kn_svg_text(kn_svg *svg, double x, double y, double size, const char *anchor, bool turned,
                 const char *text)
{
    px a = at(x), b = at(y);
    put(svg, "<text x=\"%s\" y=\"%s\" font-size=\"%s\" text-anchor=\"%s\"", a.text, b.text,
        at(size).text, anchor);
    if (turned)
        put(svg, " transform=\"rotate(-90 %s %s)\"", a.text, b.text);
    put(svg, ">%s</text>\n", text);
}
