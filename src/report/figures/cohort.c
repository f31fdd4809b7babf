/* Distribution of a covariate in training and in the scored participants, as shares of each.
 * Numbers as a histogram; levels as horizontal bars, so that long names remain readable. */
#include <math.h>
#include <stdio.h>

#include "report/figures/internal.h"

enum { LEVELS = 40, ROW = 32, NAME_CUT = 24 };

/* Returns the number of bars of a covariate: of its histogram, or its levels. */
static ptrdiff_t bars_of(const kn_report_column *c)
{
    return c->numeric ? KN_REPORT_BARS : c->levels;
}

/* Returns the sum of n counts; 0 if count is NULL. */
static double sum_counts(const double *count, ptrdiff_t n)
{
    double sum = 0;
    for (ptrdiff_t k = 0; count && k < n; k++)
        sum += count[k];
    return sum;
}

/* Returns the number of figures (kn_figure.count): the number of covariates; 0 if no participants
 * are known, as in a de-identified model. */
static ptrdiff_t count_covariates(const kn_report *r)
{
    double known = 0;
    for (ptrdiff_t k = 0; k < r->cohort.n; k++) {
        const kn_report_column *c = &r->cohort.column[k];
        known += sum_counts(c->training, bars_of(c)) + sum_counts(c->scored, bars_of(c));
    }
    return known > 0 ? r->cohort.n : 0;
}

/* Returns the share of bar k among all participants that have a value (n bars). */
static double proportion_of(const double *count, ptrdiff_t n, ptrdiff_t k)
{
    const double all = sum_counts(count, n);
    return all > 0 ? count[k] / all : 0;
}

/* Draws the key of a covariate: training and scored participants with their numbers. */
static void draw_key(kn_plot *p, const kn_report_column *c)
{
    const ptrdiff_t n = bars_of(c);
    kn_plot_key(p,
                (kn_key[]){{"area-training", KN_SWATCH_AREA, c->training ? "training" : NULL,
                            (ptrdiff_t)sum_counts(c->training, n)},
                           {c->numeric ? "line-scored" : "area-scored",
                            c->numeric ? KN_SWATCH_LINE : KN_SWATCH_AREA,
                            c->scored ? "scored" : NULL, (ptrdiff_t)sum_counts(c->scored, n)}},
                2);
}

/* Draws the histogram of the scored participants as an outline, down to the axis at both ends. */
static void draw_outline(kn_plot *p, const kn_report_column *c)
{
    double x[2 * KN_REPORT_BARS + 2], y[2 * KN_REPORT_BARS + 2];
    x[0] = kn_plot_x(p, c->edge[0]);
    y[0] = p->bottom;
    for (int k = 0; k < KN_REPORT_BARS; k++)
        for (int end = 0; end < 2; end++) {
            x[2 * k + 1 + end] = kn_plot_x(p, c->edge[k + end]);
            y[2 * k + 1 + end] = kn_plot_y(p, proportion_of(c->scored, KN_REPORT_BARS, k));
        }
    x[2 * KN_REPORT_BARS + 1] = kn_plot_x(p, c->edge[KN_REPORT_BARS]);
    y[2 * KN_REPORT_BARS + 1] = p->bottom;
    kn_svg_path(p->svg, "line-scored", x, y, 2 * KN_REPORT_BARS + 2);
}

/* Draws the distribution of a numeric covariate: grey bars for the training sample, an outline for
 * the scored participants. */
static void draw_numbers(const kn_report_column *c, const kn_svg_head *head, kn_svg *svg)
{
    kn_plot p = kn_plot_new(svg, head);
    double limit = 0;
    for (ptrdiff_t k = 0; k < KN_REPORT_BARS; k++)
        limit = fmax(limit, fmax(proportion_of(c->training, KN_REPORT_BARS, k),
                                 proportion_of(c->scored, KN_REPORT_BARS, k)));
    kn_range x = kn_range_empty();
    kn_range_include_all(&x, c->edge, KN_REPORT_BARS + 1);
    kn_plot_scales(&p, kn_range_widen(x, 0), kn_range_of_counts(limit));
    kn_plot_y_axis(&p, "proportion", true);
    if (!(x.high > x.low))
        kn_plot_empty(&p, "all participants have the same value");
    else if (c->training) {
        kn_svg_group(svg, "area-training");
        for (ptrdiff_t k = 0; k < KN_REPORT_BARS; k++) {
            const double a = kn_plot_x(&p, c->edge[k]), b = kn_plot_x(&p, c->edge[k + 1]);
            const double y = kn_plot_y(&p, proportion_of(c->training, KN_REPORT_BARS, k));
            if (c->training[k] > 0)
                kn_svg_rect(svg, NULL, a + 0.5, y, b - a - 1, p.bottom - y);
        }
        kn_svg_group_end(svg);
    }
    if (x.high > x.low && c->scored)
        draw_outline(&p, c);
    kn_plot_x_axis(&p, c->name, false);
    draw_key(&p, c);
}

/* Draws level k of a category: its name, and one bar with its percentage for each sample. */
static void draw_level(kn_plot *p, const kn_report_column *c, ptrdiff_t k)
{
    const double *group[] = {c->training, c->scored};
    static const char *const CLASS[] = {"area-training", "area-scored"};
    const double top = p->top + ROW * (double)k;
    kn_svg_text_cut(p->svg, "end", p->left - 7, top + 19, c->level[k], NAME_CUT);
    for (int g = 0; g < 2; g++) {
        char text[KN_TICK_TEXT];
        const kn_ticks shown = {.percent = true};
        if (!group[g])
            continue;
        const double s = proportion_of(group[g], c->levels, k), y = top + 3 + 13 * g;
        kn_svg_rect(p->svg, CLASS[g], p->left, y, kn_plot_x(p, s) - p->left, 12);
        kn_tick_text(&shown, s, text);
        kn_svg_text(p->svg, "small", "start", kn_plot_x(p, s) + 4, y + 10, text);
    }
}

/* Draws the distribution of a category: one row per level, at most LEVELS. */
static void draw_levels(const kn_report_column *c, const kn_svg_head *head, kn_svg *svg)
{
    kn_plot p = kn_plot_new(svg, head);
    const ptrdiff_t rows = c->levels < LEVELS ? c->levels : LEVELS;
    double width = 0, limit = 0;
    for (ptrdiff_t k = 0; k < rows; k++) {
        width = fmax(width, fmin(kn_text_width(c->level[k]), 7.8 * NAME_CUT));
        limit = fmax(limit, fmax(proportion_of(c->training, c->levels, k),
                                 proportion_of(c->scored, c->levels, k)));
    }
    p.left = width + 14;
    p.bottom = p.top + ROW * (double)rows;
    p.right -= 40; /* room for the shares after the bars */
    kn_plot_scales(&p, (kn_range){0, fmax(limit, 0.01)}, (kn_range){0, 1});
    kn_svg_text_cut(svg, "start", 4, 15, c->name, 40);
    for (ptrdiff_t k = 0; k < rows; k++)
        draw_level(&p, c, k);
    kn_svg_line(svg, "axis", p.left, p.top, p.left, p.bottom);
    if (rows < c->levels) {
        char more[64];
        snprintf(more, sizeof more, "and %td more levels", c->levels - rows);
        kn_svg_text(svg, NULL, "start", p.left, p.bottom + 16, more);
    }
    p.right += 40;
    draw_key(&p, c);
}

/* Draws (kn_figure.draw) covariate k: its distribution in training and scored participants. */
static void draw_covariate(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    const kn_report_column *c = &r->cohort.column[k];
    kn_svg_head own = kn_figure_head(head, "Distribution of", c->name,
                                     "Proportions of training participants and of scored "
                                     "participants by the value of a covariate.");
    if (!c->numeric)
        own.height = 50 + ROW * (double)(c->levels < LEVELS ? c->levels : LEVELS) +
                     (c->levels > LEVELS ? 16 : 0);
    kn_svg_open(svg, &own);
    (c->numeric ? draw_numbers : draw_levels)(c, &own, svg);
    kn_svg_close(svg);
}

/* Writes " Missing for N of SAMPLE." if n > 0; of: the sample. */
static void caption_missing(kn_html *out, ptrdiff_t n, const char *of)
{
    if (n > 0)
        kn_html_print(out, " Missing for %td of %s.", n, of);
}

/* Writes the caption (kn_figure.caption) of the histogram of covariate k: name, numbers of
 * participants, missing values. / */
static void caption_covariate(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    const kn_report_column *c = &r->cohort.column[k];
    kn_html_raw(out,
                c->batch ? "Batch effect (site or scanner). Proportions of " : "Proportions of ");
    if (c->training)
        kn_html_print(out, "the %.0f training participants%s", sum_counts(c->training, bars_of(c)),
                      c->scored ? " and of " : "");
    if (c->scored)
        kn_html_print(
            out, "the %.0f scored participants%s", sum_counts(c->scored, bars_of(c)),
            c->numeric && c->training
                ? ". Where there is a blue line but no grey bar, the training sample has few "
                  "comparable participants"
                : "");
    kn_html_raw(out, ".");
    caption_missing(out, c->training_missing, "the training sample");
    caption_missing(out, c->scored_missing, "the scored participants");
}

/* Returns the title (kn_figure.title_of): the name of covariate k. */
static const char *covariate_title(const kn_report *r, ptrdiff_t k)
{
    return r->cohort.column[k].name;
}

/* Writes the table (kn_figure.data) of covariate k: a row per bar or level with both counts. */
static kn_status tabulate_covariate(kn_ctx *ctx, const kn_report *r, ptrdiff_t k,
                                    kn_table_writer *csv)
{
    const kn_report_column *c = &r->cohort.column[k];
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv,
                             c->numeric ? "covariate from to n_training n_scored"
                                        : "covariate level n_training n_scored"));
    for (ptrdiff_t b = 0; b < bars_of(c); b++) {
        const double known[] = {c->training ? c->training[b] : NAN, c->scored ? c->scored[b] : NAN};
        if (c->numeric)
            KN_TRY(kn_figure_row(ctx, csv, &c->name, 1,
                                 (double[]){c->edge[b], c->edge[b + 1], known[0], known[1]}, 4));
        else
            KN_TRY(kn_figure_row(ctx, csv, (const char *[]){c->name, c->level[b]}, 2, known, 2));
    }
out:
    return status;
}

const kn_figure kn_figure_cohort = {.name = "cohort",
                                    .title = "Cohort",
                                    .title_of = covariate_title,
                                    .count = count_covariates,
                                    .draw = draw_covariate,
                                    .caption = caption_covariate,
                                    .data = tabulate_covariate,
                                    .height = 260,
                                    .many = true};
