/* Helpers shared by the figures: marks, densities, histograms, data files, and names of responses.
 * They keep the figures alike in size and colour. */
#include "report/figures/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

kn_svg_head kn_figure_head(const kn_svg_head *head, const char *what, const char *of,
                           const char *how)
{
    kn_svg_head own = *head;
    own.what = what;
    own.of = of;
    own.how = how;
    return own;
}

/* Multiples of the golden section: neighbours are far apart, and any number of points fills the
 * range evenly. */
double kn_figure_jitter(ptrdiff_t i)
{
    const double x = 0.6180339887498949 * (double)(i + 1);
    return x - floor(x);
}

bool kn_figure_is_labelled(const kn_report *r, ptrdiff_t participant)
{
    return participant < r->participants.n && r->participants.participant[participant].label == 1;
}

int kn_figure_mark_size(ptrdiff_t participants)
{
    return (participants > KN_FIGURE_MARKS) + (participants > KN_FIGURE_DOTS);
}

/* Participants with a card are always marks, since the card highlights them. */
bool kn_figure_has_mark(const kn_report *r, ptrdiff_t participant)
{
    return r->participants.n <= KN_FIGURE_DOTS || participant >= r->participants.n ||
           r->participants.participant[participant].rank < KN_REPORT_TABLE ||
           r->participants.participant[participant].card;
}

void kn_figure_caption_marks(const kn_report *r, kn_html *out)
{
    if (r->participants.n > KN_FIGURE_DOTS)
        kn_html_print(
            out, " The %d most abnormal participants are marks; the others are shown as a density.",
            KN_REPORT_TABLE);
}

/* ---- density ---- */

enum { HEX_CLASSES = 5 };
static const double HEX_SIDE = 4.6; /* px, as in put_hexagon: 510 x 331 in total */

/* Returns the x coordinate in px of the centre of a hexagon; odd rows are shifted by half. */
static double hex_x(int col, int row)
{
    return HEX_SIDE * sqrt(3) * (col + (row % 2 ? 0.5 : 0));
}

/* Returns the y coordinate in px of the centres of a row of hexagons. */
static double hex_y(int row)
{
    return HEX_SIDE * 1.5 * row;
}

/* Finds the hexagon nearest to (x, y) in px: of two rows, the nearest in each. Returns false if it
 * is outside the figure. */
static bool hex_of(double x, double y, int *col, int *row)
{
    double best = INFINITY;
    *col = *row = 0;
    if (!isfinite(x) || !isfinite(y) || x < 0 || y < 0 || x > 1e4 || y > 1e4)
        return false;
    const int first = (int)(y / (HEX_SIDE * 1.5));
    for (int k = first; k <= first + 1; k++) {
        const int c = (int)round(x / (HEX_SIDE * sqrt(3)) - (k % 2 ? 0.5 : 0));
        const double dx = x - hex_x(c, k), dy = y - hex_y(k), d = dx * dx + dy * dy;
        if (d < best) {
            best = d;
            *col = c;
            *row = k;
        }
    }
    return *col >= 0 && *col < KN_DENSITY_COLS && *row < KN_DENSITY_ROWS;
}

/* Adds the hexagon at this column and row to the open path. */
static void put_hexagon(kn_svg *svg, int col, int row)
{
    kn_svg_pen_shape(svg, hex_x(col, row), hex_y(row) - HEX_SIDE, "l4 2.3v4.6l-4 2.3-4-2.3v-4.6z");
}

void kn_density_add(kn_density *d, double x, double y)
{
    int col, row;
    if (hex_of(x, y, &col, &row) && ++d->count[row][col] > d->limit)
        d->limit = d->count[row][col];
}

/* CSS classes by the square root of the count, like the area of a dot. */
void kn_density_draw(kn_svg *svg, const kn_density *d, const char *of)
{
    if (of && d->limit > 0)
        kn_svg_group(svg, of);
    for (int k = 1; k <= HEX_CLASSES && d->limit > 0; k++) {
        char class[16];
        snprintf(class, sizeof class, "d%d", k);
        kn_svg_pen(svg, class);
        for (int row = 0; row < KN_DENSITY_ROWS; row++)
            for (int col = 0; col < KN_DENSITY_COLS; col++) {
                const double n = d->count[row][col];
                if (n > 0 && (int)ceil(HEX_CLASSES * sqrt(n / d->limit)) == k)
                    put_hexagon(svg, col, row);
            }
        kn_svg_pen_up(svg, false);
    }
    if (of && d->limit > 0)
        kn_svg_group_end(svg);
}

/* ---- histograms ---- */

/* Edges at multiples of a round number; values outside `clip` go to the outermost bars. */
kn_histogram kn_histogram_of(const double *x, ptrdiff_t n, kn_range clip)
{
    kn_histogram h = {0};
    kn_range r = kn_range_empty();
    for (ptrdiff_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            kn_range_include(&r, fmin(fmax(x[i], clip.low), clip.high));
    r = kn_range_widen(r, 0);
    const kn_axis_scale s = {.range = r};
    kn_ticks t = kn_ticks_of(&s, 8);
    const double parts = n > 200 ? 5 : n > 40 ? 2 : 1; /* bars per tick: few responses, wide bars */
    const double step = t.n > 1 ? (t.value[1] - t.value[0]) / parts : r.high - r.low;
    const double first = floor(r.low / step + 1e-9);
    h.n = (int)fmin(KN_HISTOGRAM, fmax(1, ceil(r.high / step - 1e-9) - first));
    for (int k = 0; k <= h.n; k++)
        h.edge[k] = (first + k) * step;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            continue;
        const double bin = floor((x[i] - h.edge[0]) / step);
        h.count[(int)fmin(fmax(bin, 0), h.n - 1)]++;
        h.below += x[i] < h.edge[0];
        h.beyond += x[i] > h.edge[h.n];
        h.all++;
    }
    return h;
}

void kn_histogram_draw(kn_plot *p, const kn_histogram *h, const char *class)
{
    kn_svg_group(p->svg, class);
    for (int k = 0; k < h->n; k++) {
        const double x = kn_plot_x(p, h->edge[k]), y = kn_plot_y(p, h->count[k]);
        if (h->count[k] > 0)
            kn_svg_rect(p->svg, NULL, x + 0.5, y, kn_plot_x(p, h->edge[k + 1]) - x - 1,
                        p->bottom - y);
    }
    kn_svg_group_end(p->svg);
}

/* ---- data ---- */

kn_status kn_figure_columns(kn_ctx *ctx, kn_table_writer *csv, const char *names)
{
    kn_status status = KN_OK;
    while (*names) {
        char name[32];
        const size_t n = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        KN_TRY(kn_table_writer_text(ctx, csv, name));
        names += n + (names[n] == ' ');
    }
    KN_TRY(kn_table_writer_end_row(ctx, csv));
out:
    return status;
}

kn_status kn_figure_row(kn_ctx *ctx, kn_table_writer *csv, const char *const *text, int texts,
                        const double *number, int numbers)
{
    kn_status status = KN_OK;
    for (int k = 0; k < texts; k++)
        KN_TRY(kn_table_writer_text(ctx, csv, text[k]));
    for (int k = 0; k < numbers; k++)
        KN_TRY(kn_table_writer_short(ctx, csv, number[k]));
    KN_TRY(kn_table_writer_end_row(ctx, csv));
out:
    return status;
}

bool kn_figure_vertex(const kn_report *r, ptrdiff_t response, int *mesh, ptrdiff_t *vertex)
{
    const kn_report_space *s = &r->space;
    if (s->kind != KN_REPORT_SURFACE || s->region)
        return false;
    for (*mesh = 0; *mesh < s->meshes; ++*mesh)
        for (*vertex = 0; s->mesh[*mesh].response && *vertex < s->mesh[*mesh].surface.vertices;
             ++*vertex)
            if (s->mesh[*mesh].response[*vertex] == response)
                return true;
    return false;
}

const char *kn_figure_response(const kn_report *r, ptrdiff_t response,
                               char buffer[KN_FIGURE_RESPONSE])
{
    const char *name = r->responses.name[response];
    int mesh;
    ptrdiff_t vertex;
    if (kn_figure_vertex(r, response, &mesh, &vertex)) {
        snprintf(buffer, KN_FIGURE_RESPONSE, "%s, vertex %td",
                 r->space.mesh[mesh].side == 0 ? "left" : "right", vertex);
        return buffer;
    }
    if (r->space.kind != KN_REPORT_VOLUME || strlen(name) > KN_FIGURE_RESPONSE - sizeof "voxel ")
        return name;
    snprintf(buffer, KN_FIGURE_RESPONSE, "voxel %s", name);
    return buffer;
}
