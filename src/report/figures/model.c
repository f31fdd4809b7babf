/* Figures of the model: held-out loss against the number of components, share of signal of each
 * component, and shares of the terms. Methods without components have fewer of them. */
#include <math.h>
#include <stdio.h>

#include "report/figures/internal.h"

/* ---- components ---- */

/* Returns the count (kn_figure.count) of the figure of the number of components: 1 if the search
 * evaluated several numbers, else 0. */
static ptrdiff_t count_components(const kn_report *r)
{
    return r->model.known && r->model.curve_n > 1;
}

/* Draws the held-out loss against the number of components, with its band and the evaluated points.
 */
static void draw_component_lines(kn_plot *p, const kn_report_model *m)
{
    enum { MAX_POINTS = 256 }; /* far more points than a search evaluates */
    double x[MAX_POINTS] = {0}, y[MAX_POINTS] = {0}, low[MAX_POINTS] = {0}, high[MAX_POINTS] = {0};
    const ptrdiff_t n = m->curve_n < MAX_POINTS ? m->curve_n : MAX_POINTS;
    for (ptrdiff_t k = 0; k < n; k++) {
        const double se = m->curve_se ? m->curve_se[k] : NAN;
        x[k] = kn_plot_x(p, m->curve_components[k]);
        y[k] = kn_plot_y(p, m->curve_msll[k]);
        low[k] = kn_plot_y(p, m->curve_msll[k] - se);
        high[k] = kn_plot_y(p, m->curve_msll[k] + se);
    }
    kn_svg_band(p->svg, "band-scored", x, low, high, n);
    kn_svg_path(p->svg, "line-scored", x, y, n);
    for (ptrdiff_t k = 0; k < n; k++)
        kn_svg_mark(p->svg, "participant", KN_MARK_CIRCLE, x[k], y[k], -1);
}

/* Draws (kn_figure.draw) the held-out loss against the number of components; the chosen number is
 * marked. */
static void draw_components(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_report_model *m = &r->model;
    const kn_svg_head own =
        kn_figure_head(head, "Held-out loss against the number of components", NULL,
                       "A curve with a band of one standard error; the chosen number is marked.");
    kn_plot p = kn_plot_new(svg, &own);
    kn_range x = kn_range_empty(), y = kn_range_empty();
    kn_range_include_all(&x, m->curve_components, m->curve_n);
    for (ptrdiff_t i = 0; i < m->curve_n; i++)
        for (int side = -1; side <= 1; side++)
            kn_range_include(&y,
                             m->curve_msll[i] + (m->curve_se && side ? side * m->curve_se[i] : 0));
    p.x.log = x.low > 0 && x.high >= 8 * x.low;
    kn_plot_scales(&p, p.x.log ? (kn_range){x.low / 1.1, x.high * 1.1} : kn_range_widen(x, 0.03),
                   kn_range_widen(y, 0.05));
    kn_svg_open(svg, &own);
    kn_plot_y_axis(&p, "held-out MSLL (lower is better)", false);
    char words[64];
    snprintf(words, sizeof words, "%td chosen", m->components);
    draw_component_lines(&p, m);
    kn_plot_vertical_line(&p, "limit", (double)m->components, words);
    kn_plot_x_axis(&p, "components", false);
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the held-out loss against the number of components:
 * what the loss and the band are. */
static void caption_components(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(out,
                  "Mean standardised log loss (MSLL) of held-out participants (%td training "
                  "participants, %d folds); band: one standard error. %td components were chosen, "
                  "the smallest number that predicts about as well as the best.",
                  r->participants.N, r->model.folds, r->model.components);
}

/* Writes the table (kn_figure.data) of the number of components: a row per evaluated number. */
static kn_status tabulate_components(kn_ctx *ctx, const kn_report *r, ptrdiff_t k,
                                     kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    const kn_report_model *m = &r->model;
    KN_TRY(kn_figure_columns(ctx, csv, "components msll se chosen"));
    for (ptrdiff_t i = 0; i < m->curve_n; i++)
        KN_TRY(kn_figure_row(ctx, csv, NULL, 0,
                             (double[]){m->curve_components[i], m->curve_msll[i],
                                        m->curve_se ? m->curve_se[i] : NAN,
                                        m->curve_components[i] == (double)m->components},
                             4));
out:
    return status;
}

const kn_figure kn_figure_components = {.name = "components",
                                        .title = "Number of components",
                                        .count = count_components,
                                        .draw = draw_components,
                                        .caption = caption_components,
                                        .data = tabulate_components};

/* ---- shares ---- */

/* Returns the number of figures (kn_figure.count): 1 if the model has components with a known share
 * of signal, else 0. */
static ptrdiff_t count_shares(const kn_report *r)
{
    return r->model.known && r->model.P > 0 && r->model.proportion;
}

/* Draws (kn_figure.draw) the share of each component's variance that the covariates explain, a bar
 * per component. */
static void draw_shares(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_report_model *m = &r->model;
    const kn_svg_head own =
        kn_figure_head(head, "Variance of each component explained by covariates", NULL,
                       "A bar per component: the proportion of its variance that is signal.");
    kn_plot p = kn_plot_new(svg, &own);
    kn_range y = kn_range_empty();
    kn_range_include_all(&y, m->proportion, m->P);
    kn_plot_scales(&p, (kn_range){0.5, (double)m->P + 0.5}, kn_range_of_counts(fmin(1, y.high)));
    kn_svg_open(svg, &own);
    kn_plot_y_axis(&p, "proportion explained", true);
    const double step_width = (p.right - p.left) / (double)m->P;
    const double width = fmin(step_width - (step_width > 3 ? fmax(0.2 * step_width, 1) : 0), 40);
    kn_svg_group(svg, "bar");
    for (ptrdiff_t i = 0; i < m->P; i++) {
        const double top = kn_plot_y(&p, m->proportion[i]);
        kn_svg_rect(svg, NULL, kn_plot_x(&p, (double)i + 1) - width / 2, top, width,
                    p.bottom - top);
    }
    kn_svg_group_end(svg);
    kn_plot_x_integer_axis(&p, "component");
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the proportion of each component's variance that the
 * covariates explain. */
static void caption_shares(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(
        out,
        "Proportion of the variance of each of the %td components that the covariates explain; the "
        "rest varies between participants with equal covariates.",
        r->model.P);
}

/* Writes the table (kn_figure.data) of the explained proportion of variance: a row per component.
 */
static kn_status tabulate_shares(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv, "component share"));
    for (ptrdiff_t i = 0; i < r->model.P; i++)
        KN_TRY(
            kn_figure_row(ctx, csv, NULL, 0, (double[]){(double)i + 1, r->model.proportion[i]}, 2));
out:
    return status;
}

const kn_figure kn_figure_proportions = {.name = "shares",
                                         .title = "Explained variance by component",
                                         .count = count_shares,
                                         .draw = draw_shares,
                                         .caption = caption_shares,
                                         .data = tabulate_shares};

/* ---- terms ---- */

enum { TERM_ROW = 26, TERM_CUT = 24 };

/* Returns the number of figures (kn_figure.count): 1 if the covariance has terms with weights, else
 * 0. */
static ptrdiff_t count_terms(const kn_report *r)
{
    return r->model.known && r->model.terms > 0 && r->model.weight;
}

/* Draws (kn_figure.draw) the terms: a bar per term with its proportion of the predicted variance.
 */
static void draw_terms(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_report_model *m = &r->model;
    kn_svg_head own = kn_figure_head(head, "Terms of the prediction", NULL,
                                     "A bar per term: its proportion of the predicted variance.");
    own.height = 28 + TERM_ROW * (double)m->terms;
    kn_plot p = kn_plot_new(svg, &own);
    kn_range x = kn_range_empty();
    double width = 0;
    kn_range_include_all(&x, m->weight, m->terms);
    for (ptrdiff_t i = 0; i < m->terms; i++)
        width = fmax(width, fmin(kn_text_width(m->term[i]), 7.8 * TERM_CUT));
    p.left = width + 14;
    p.right -= 40;
    p.top = 22;
    p.bottom = p.top + TERM_ROW * (double)m->terms;
    kn_plot_scales(&p, (kn_range){0, x.high > 0 ? x.high : 1}, (kn_range){0, 1});
    kn_svg_open(svg, &own);
    kn_svg_text(svg, NULL, "start", 4, 15, "proportion of predicted variance");
    for (ptrdiff_t i = 0; i < m->terms; i++) {
        char text[KN_TICK_TEXT];
        const kn_ticks shown = {.percent = true};
        const double y = p.top + TERM_ROW * (double)i, end = kn_plot_x(&p, m->weight[i]);
        kn_svg_text_cut(svg, "end", p.left - 7, y + 17, m->term[i], TERM_CUT);
        kn_svg_rect(svg, "bar", p.left, y + 4, end - p.left, TERM_ROW - 8);
        kn_tick_text(&shown, m->weight[i], text);
        kn_svg_text(svg, NULL, "start", end + 5, y + 17, text);
    }
    kn_svg_line(svg, "axis", p.left, p.top, p.left, p.bottom);
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the proportions of predicted variance per term of the
 * covariance. */
static void caption_terms(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(
        out,
        "Proportions of the predicted variance in the training sample due to the %td terms "
        "of the model.",
        r->model.terms);
    if (isfinite(r->model.length) && r->model.length_units) {
        kn_html_raw(out, " Length-scale of the smooth term: ");
        kn_html_fixed(out, r->model.length, r->model.length < 10 ? 1 : 0);
        kn_html_raw(out, " (in units of ");
        kn_html_text(out, r->model.length_units);
        kn_html_raw(out, ").");
    }
}

/* Writes the table (kn_figure.data) of the proportions of predicted variance: a row per term. */
static kn_status tabulate_terms(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv, "term share"));
    for (ptrdiff_t i = 0; i < r->model.terms; i++)
        KN_TRY(kn_figure_row(ctx, csv, &r->model.term[i], 1, &r->model.weight[i], 1));
out:
    return status;
}

const kn_figure kn_figure_terms = {.name = "terms",
                                   .title = "Terms",
                                   .count = count_terms,
                                   .draw = draw_terms,
                                   .caption = caption_terms,
                                   .data = tabulate_terms,
                                   .height = 150};
