/* Centile curves of a response: five lines for each level of the drawn category, the band of the
 * median, and the participants at the covariates of the curves, at the height given by their
 * z-scores. Each response of the report has one such figure. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/figures/internal.h"

enum { MEDIAN = 2, LABELLED = 2, LABEL = 22 /* px of a column of centiles at the right */ };

static const char *const SIDE[] = {"a", "b"}; /* blue and orange */

/* Returns the number of figures (kn_figure.count): the number of responses with curves; 0 if there
 * is no covariate to draw them along. */
static ptrdiff_t count_curves(const kn_report *r)
{
    return r->curves.over ? r->curves.n : 0;
}

/* Writes the CSS class of curve 0 or 1 (a, b; -1: none) for a kind of element, "line-a" or
 * "participant b". Returns out. */
static const char *class_of(const char *kind, ptrdiff_t curve, char out[32])
{
    snprintf(out, 32, "%s%s%s", kind,
             curve < 0                                      ? ""
             : strcmp(kind, "line") && strcmp(kind, "band") ? " "
                                                            : "-",
             curve < 0 ? "" : SIDE[curve % 2]);
    return out;
}

/* ---- lines ---- */

/* Draws the confidence band of centile q of a curve in the colour of `side`; nothing if there is
 * none. Limited to the plotted range. */
static void draw_band(kn_plot *p, const kn_report_curve *c, int q, ptrdiff_t side)
{
    double x[KN_REPORT_GRID], low[KN_REPORT_GRID], high[KN_REPORT_GRID];
    char class[32];
    if (!c->low[q] || !c->high[q])
        return;
    for (int g = 0; g < KN_REPORT_GRID; g++) {
        x[g] = kn_plot_x(p, c->x[g]);
        low[g] = kn_plot_y(p, fmax(c->low[q][g], p->y.range.low));
        high[g] = kn_plot_y(p, fmin(c->high[q][g], p->y.range.high));
    }
    kn_svg_band(p->svg, class_of("band", side, class), x, low, high, KN_REPORT_GRID);
}

/* Draws the centiles of a curve in the colour of `side`, the median thicker. */
static void draw_lines(kn_plot *p, const kn_report_curve *c, ptrdiff_t side)
{
    char class[32], thin[48];
    class_of("line", side, class);
    snprintf(thin, sizeof thin, "%s thin", class);
    for (int q = 0; q < KN_REPORT_CENTILES; q++)
        kn_plot_path(p, q == MEDIAN ? class : thin, c->x, c->value[q], KN_REPORT_GRID);
}

/* Writes the percents of the centiles at the right end, a column per curve (side 0, 1); a label
 * that would overlap moves up. */
static void draw_labels(kn_plot *p, const kn_report_curve *c, ptrdiff_t side)
{
    static const double MIN = 13;
    double before = INFINITY;
    char class[32];
    for (int q = 0; q < KN_REPORT_CENTILES; q++) {
        char text[16];
        double y = kn_plot_y(p, c->value[q][KN_REPORT_GRID - 1]);
        if (!isfinite(y))
            continue;
        y = fmin(y, before - MIN);
        before = y;
        snprintf(text, sizeof text, "%.0f", kn_report_centile[q]);
        kn_svg_text(p->svg, class_of("halo", side, class), "start",
                    p->right + 5 + LABEL * (double)side, y + 4.4, text);
    }
}

/* ---- participants ---- */

/* Draws the training participants as dots in the colour of their curve (of `curves`), or as a
 * density if there are many. */
static void draw_training(kn_plot *p, const kn_report_points *t, ptrdiff_t curves)
{
    kn_density d = {.limit = 0};
    char class[32];
    const bool many = t->n > KN_FIGURE_DOTS;
    for (ptrdiff_t i = 0; many && i < t->n; i++)
        kn_density_add(&d, kn_plot_x(p, t->x[i]), kn_plot_y(p, t->value[i]));
    if (many)
        kn_density_draw(p->svg, &d, NULL);
    for (ptrdiff_t c = -1; c < curves && !many; c++) {
        kn_svg_pen(p->svg, class_of("dots", c, class));
        for (ptrdiff_t i = 0; i < t->n; i++)
            if (t->curve[i] == c)
                kn_svg_pen_dot(p->svg, kn_plot_x(p, t->x[i]), kn_plot_y(p, t->value[i]));
        kn_svg_pen_up(p->svg, false);
    }
}

/* Draws the scored participants without a mark of their own as a density, below the lines. */
static void draw_unmarked(kn_plot *p, const kn_report *r, const kn_report_points *s)
{
    kn_density d = {.limit = 0};
    for (ptrdiff_t i = 0; i < s->n; i++)
        if (!kn_figure_has_mark(r, i))
            kn_density_add(&d, kn_plot_x(p, s->x[i]), kn_plot_y(p, s->value[i]));
    kn_density_draw(p->svg, &d, "scored");
}

/* Draws the marks of scored participants, grouped by curve (-1: none); cases last, as diamonds. */
static void draw_scored(kn_plot *p, const kn_report *r, const kn_report_points *s)
{
    p->svg->many = kn_figure_mark_size(s->n);
    for (int c = -1; c <= LABELLED; c++) { /* one group element per class, not per participant */
        char class[32];
        kn_svg_group(p->svg, c == LABELLED ? "labelled" : class_of("participant", c, class));
        for (ptrdiff_t i = 0; i < s->n; i++)
            if (kn_figure_has_mark(r, i) &&
                (kn_figure_is_labelled(r, i) ? LABELLED : s->curve[i]) == c)
                kn_svg_mark(p->svg, NULL, c == LABELLED ? KN_MARK_DIAMOND : KN_MARK_CIRCLE,
                            kn_plot_x(p, s->x[i]), kn_plot_y(p, s->value[i]), i);
        kn_svg_group_end(p->svg);
    }
    p->svg->many = 0;
}

/* Returns how many scored participants with a point are cases (labelled), or are none. */
static ptrdiff_t count_drawn(const kn_report *r, const kn_report_points *s, bool labelled)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < s->n; i++)
        n += isfinite(s->x[i]) && isfinite(s->value[i]) && kn_figure_is_labelled(r, i) == labelled;
    return n;
}

/* Returns the number of participants with a point. */
static ptrdiff_t count_known(const kn_report_points *t)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < t->n; i++)
        n += isfinite(t->x[i]) && isfinite(t->value[i]);
    return n;
}

/* ---- figure ---- */

/* Sets the scales of the plot so that all curves and points of a response fit. */
static void find_scales(kn_plot *p, const kn_report_shown *s)
{
    kn_range x = kn_range_empty(), y = kn_range_empty();
    const kn_report_points *points[] = {&s->training, &s->scored};
    for (ptrdiff_t c = 0; c < s->curves; c++) {
        kn_range_include_all(&x, s->curve[c].x, KN_REPORT_GRID);
        for (int q = 0; q < KN_REPORT_CENTILES; q++)
            kn_range_include_all(&y, s->curve[c].value[q], KN_REPORT_GRID);
    }
    for (int k = 0; k < 2; k++)
        for (ptrdiff_t i = 0; i < points[k]->n; i++)
            if (isfinite(points[k]->x[i]) && isfinite(points[k]->value[i])) {
                kn_range_include(&x, points[k]->x[i]);
                kn_range_include(&y, points[k]->value[i]);
            }
    kn_plot_scales(p, kn_range_widen(x, 0.015), kn_range_widen(y, 0.03));
}

/* Draws the key: levels of two curves, and kinds of participants that are present. */
static void draw_key(kn_plot *p, const kn_report *r, const kn_report_shown *s)
{
    const bool two = s->curves > 1;
    const ptrdiff_t scored = count_drawn(r, &s->scored, false),
                    labelled = count_drawn(r, &s->scored, true);
    const ptrdiff_t training = count_known(&s->training);
    const char *level[2];
    for (int c = 0; c < 2; c++)
        level[c] = two && c < s->curves && s->curve[c].level && s->curve[c].level[0]
                       ? s->curve[c].level
                       : NULL;
    kn_plot_key(p,
                (kn_key[]){{"line-a", KN_SWATCH_LINE, level[0], -1},
                           {"line-b", KN_SWATCH_LINE, level[1], -1},
                           {"dots", KN_SWATCH_DOT, training > 0 ? "training" : NULL, -1},
                           {"participant none", KN_SWATCH_CIRCLE, scored > 0 ? "scored" : NULL, -1},
                           {"labelled", KN_SWATCH_DIAMOND, labelled > 0 ? kn_report_cases(r) : NULL,
                            -1}},
                5);
}

/* Draws (kn_figure.draw) shown response k: centile curves along the covariate, band of the median,
 * participants. */
static void draw_curve(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    const kn_report_shown *s = &r->curves.shown[k];
    char buffer[KN_FIGURE_RESPONSE];
    const char *name = kn_figure_response(r, s->response, buffer);
    const kn_svg_head own =
        kn_figure_head(head, "Centile curves of", name,
                       "Lines of five centiles along a covariate, with participants as points.");
    const ptrdiff_t curves = s->curves < 2 ? s->curves : 2;
    kn_plot p = kn_plot_new(svg, &own);
    p.right -= LABEL * (double)curves - 8;
    find_scales(&p, s);
    kn_svg_open(svg, &own);
    char axis[KN_FIGURE_RESPONSE + 64];
    snprintf(axis, sizeof axis, "%s%s%.40s%s, covariate-adjusted", name, r->unit ? " (" : "",
             r->unit ? r->unit : "", r->unit ? ")" : "");
    kn_plot_y_axis(&p, axis, false);
    for (ptrdiff_t c = 0; c < curves; c++)
        draw_band(&p, &s->curve[c], MEDIAN, c); /* bands of the other centiles would overlap */
    draw_training(&p, &s->training, curves);
    draw_unmarked(&p, r, &s->scored);
    for (ptrdiff_t c = 0; c < curves; c++)
        draw_lines(&p, &s->curve[c], c);
    draw_scored(&p, r, &s->scored);
    for (ptrdiff_t c = 0; c < curves; c++)
        draw_labels(&p, &s->curve[c], c);
    kn_plot_x_axis(&p, r->curves.over, false);
    p.right += LABEL * (double)curves - 8;
    draw_key(&p, r, s);
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the centile curves of shown response k: centiles,
 * points, and the levels of the other covariates. */
static void caption_curve(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    const kn_report_shown *s = &r->curves.shown[k];
    kn_html_raw(out, "5th, 25th, 50th, 75th and 95th centile of ");
    kn_html_text(out, kn_figure_response(r, s->response, (char[KN_FIGURE_RESPONSE]){0}));
    bool at = false; /* there is a covariate other than that of the axis */
    for (ptrdiff_t c = 0; c < s->curves; c++)
        if (s->curve[c].label && *s->curve[c].label) {
            kn_html_raw(out, at ? "; " : " (at ");
            kn_html_text(out, s->curve[c].label);
            at = true;
        }
    kn_html_raw(out, at ? ")" : "");
    kn_html_raw(out, s->curves > 0 ? "; band: 95% confidence band of the median. " : ". ");
    if (count_known(&s->training) + count_known(&s->scored) == 0)
        return;
    kn_html_raw(out, "Points (");
    if (count_known(&s->training) > 0)
        kn_html_print(out, "%td training participants%s", count_known(&s->training),
                      count_known(&s->scored) > 0 ? ", " : "");
    if (count_known(&s->scored) > 0)
        kn_html_print(out, "%td scored participants", count_known(&s->scored));
    kn_html_raw(out,
                ") show the z-score on these curves, adjusted to the curve's other covariates, not "
                "the raw value.");
    if (count_known(&s->scored) > 0)
        kn_figure_caption_marks(r, out);
}

/* Returns the text of a curve's covariates other than that of the axis; "n/a" without any. */
static const char *other_covariates(const kn_report_curve *c)
{
    return c->label && *c->label ? c->label : "n/a";
}

/* Writes the centile curves of a response: a row per curve, centile and grid point, with the band.
 */
static kn_status write_curves(kn_ctx *ctx, const kn_report *r, const kn_report_shown *s,
                              kn_table_writer *csv)
{
    kn_status status = KN_OK;
    const char *name = r->responses.name[s->response];
    for (ptrdiff_t c = 0; c < s->curves; c++)
        for (int q = 0; q < KN_REPORT_CENTILES; q++)
            for (int g = 0; g < KN_REPORT_GRID; g++) {
                const kn_report_curve *u = &s->curve[c];
                KN_TRY(kn_figure_row(ctx, csv,
                                     (const char *[]){name, "curve", "n/a", other_covariates(u)}, 4,
                                     (double[]){kn_report_centile[q], u->x[g], u->value[q][g],
                                                u->low[q] ? u->low[q][g] : NAN,
                                                u->high[q] ? u->high[q][g] : NAN, NAN},
                                     6));
            }
out:
    return status;
}

/* Writes the points of training or scored participants; those that are not drawn are left out. */
static kn_status write_points(kn_ctx *ctx, const kn_report *r, const kn_report_shown *s,
                              bool scored, kn_table_writer *csv)
{
    kn_status status = KN_OK;
    const kn_report_points *u = scored ? &s->scored : &s->training;
    for (ptrdiff_t i = 0; i < u->n; i++) {
        const int c = u->curve[i];
        const bool named = scored && i < r->participants.n;
        const char *at = c >= 0 && c < s->curves ? other_covariates(&s->curve[c]) : "n/a";
        const char *kind = !scored                       ? "training"
                           : kn_figure_is_labelled(r, i) ? kn_report_cases(r)
                                                         : "scored";
        if (isfinite(u->x[i]) && isfinite(u->value[i]))
            KN_TRY(kn_figure_row(ctx, csv,
                                 (const char *[]){r->responses.name[s->response], kind,
                                                  named ? r->participants.participant[i].id : "n/a",
                                                  at},
                                 4, (double[]){NAN, u->x[i], u->value[i], NAN, NAN, u->z[i]}, 6));
    }
out:
    return status;
}

/* Writes the table (kn_figure.data) of shown response k: its curves, then the points. */
static kn_status tabulate_curve(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    kn_status status;
    const kn_report_shown *s = &r->curves.shown[k];
    KN_TRY(kn_figure_columns(ctx, csv, "response kind id at centile x value low high z"));
    KN_TRY(write_curves(ctx, r, s, csv));
    KN_TRY(write_points(ctx, r, s, false, csv));
    KN_TRY(write_points(ctx, r, s, true, csv));
out:
    return status;
}

const kn_figure kn_figure_curve = {.name = "curve",
                                   .title = "Centile curves",
                                   .count = count_curves,
                                   .draw = draw_curve,
                                   .caption = caption_curve,
                                   .data = tabulate_curve,
                                   .height = 330,
                                   .many = true};
