/* Figures of the model: held-out loss against the number of components, share of signal of each
 * component, and shares of the terms. */
#include <math.h>
#include <stdio.h>

#include "report/figures/common.h"

/* ---- components ---- */

static ptrdiff_t components_count(const kn_report *r)
{
    return r->model.known && r->model.curve_n > 1;
}

static void components_lines(kn_plot *p, const kn_report_model *m)
{
    enum { MOST = 256 }; /* far more points than a search evaluates */
    double x[MOST] = {0}, y[MOST] = {0}, low[MOST] = {0}, high[MOST] = {0};
    const ptrdiff_t n = m->curve_n < MOST ? m->curve_n : MOST;
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
        kn_svg_mark(p->svg, "person", KN_MARK_CIRCLE, x[k], y[k], -1);
}

static void components_draw(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_report_model *m = &r->model;
    const kn_svg_head own = kn_figure_head(
        head, "Held-out loss against the number of components", NULL,
        "A curve with a band of one standard error; the number that was chosen is marked.");
    kn_plot p = kn_plot_new(svg, &own);
    kn_range x = kn_range_none(), y = kn_range_none();
    kn_range_take_all(&x, m->curve_components, m->curve_n);
    for (ptrdiff_t i = 0; i < m->curve_n; i++)
        for (int side = -1; side <= 1; side++)
            kn_range_take(&y, m->curve_msll[i] + (m->curve_se && side ? side * m->curve_se[i] : 0));
    p.x.log = x.low > 0 && x.high >= 8 * x.low;
    kn_plot_scales(&p, p.x.log ? (kn_range){x.low / 1.1, x.high * 1.1} : kn_range_wide(x, 0.03),
                   kn_range_wide(y, 0.05));
    kn_svg_open(svg, &own);
    kn_plot_y_axis(&p, "MSLL of people left out (less is better)", false);
    char words[64];
    snprintf(words, sizeof words, "%td chosen", m->components);
    components_lines(&p, m);
    kn_plot_upright(&p, "limit", (double)m->components, words);
    kn_plot_x_axis(&p, "components", false);
    kn_svg_close(svg);
}

static void components_caption(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(out,
                  "Mean standardised log loss of people left out of the fit (%td of training, %d "
                  "folds); band: one standard error. %td components were chosen: the fewest "
                  "that do about as well as the best.",
                  r->people.N, r->model.folds, r->model.components);
}

static kn_status components_data(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
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
                                        .count = components_count,
                                        .draw = components_draw,
                                        .caption = components_caption,
                                        .data = components_data,
                                        .width = KN_FIGURE_WIDTH,
                                        .height = KN_FIGURE_HEIGHT};

/* ---- shares ---- */

static ptrdiff_t shares_count(const kn_report *r)
{
    return r->model.known && r->model.P > 0 && r->model.share;
}

static void shares_draw(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_report_model *m = &r->model;
    const kn_svg_head own =
        kn_figure_head(head, "What covariates explain of each component", NULL,
                       "A bar for each component: the share of its variance that is signal.");
    kn_plot p = kn_plot_new(svg, &own);
    kn_range y = kn_range_none();
    kn_range_take_all(&y, m->share, m->P);
    kn_plot_scales(&p, (kn_range){0.5, (double)m->P + 0.5}, kn_range_counts(fmin(1, y.high)));
    kn_svg_open(svg, &own);
    kn_plot_y_axis(&p, "share explained", true);
    const double room = (p.right - p.left) / (double)m->P;
    const double width = fmin(room - (room > 3 ? fmax(0.2 * room, 1) : 0), 40);
    kn_svg_group(svg, "bar");
    for (ptrdiff_t i = 0; i < m->P; i++) {
        const double top = kn_plot_y(&p, m->share[i]);
        kn_svg_rect(svg, NULL, kn_plot_x(&p, (double)i + 1) - width / 2, top, width,
                    p.bottom - top);
    }
    kn_svg_group_end(svg);
    kn_plot_x_whole(&p, "component");
    kn_svg_close(svg);
}

static void shares_caption(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(
        out,
        "Of the variance of each of the %td components, the share that the covariates explain; "
        "the rest differs between people of the same covariates.",
        r->model.P);
}

static kn_status shares_data(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv, "component share"));
    for (ptrdiff_t i = 0; i < r->model.P; i++)
        KN_TRY(kn_figure_row(ctx, csv, NULL, 0, (double[]){(double)i + 1, r->model.share[i]}, 2));
out:
    return status;
}

const kn_figure kn_figure_shares = {.name = "shares",
                                    .title = "What is explained",
                                    .count = shares_count,
                                    .draw = shares_draw,
                                    .caption = shares_caption,
                                    .data = shares_data,
                                    .width = KN_FIGURE_WIDTH,
                                    .height = KN_FIGURE_HEIGHT};

/* ---- terms ---- */

enum { TERM_ROW = 26, TERM_CUT = 24 };

static ptrdiff_t terms_count(const kn_report *r)
{
    return r->model.known && r->model.terms > 0 && r->model.weight;
}

static void terms_draw(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_report_model *m = &r->model;
    kn_svg_head own = kn_figure_head(head, "What predictions are made of", NULL,
                                     "A bar for each term: its share of the signal.");
    own.height = 28 + TERM_ROW * (double)m->terms;
    kn_plot p = kn_plot_new(svg, &own);
    kn_range x = kn_range_none();
    double width = 0;
    kn_range_take_all(&x, m->weight, m->terms);
    for (ptrdiff_t i = 0; i < m->terms; i++)
        width = fmax(width, fmin(kn_text_width(m->term[i]), 7.8 * TERM_CUT));
    p.left = width + 14;
    p.right -= 40;
    p.top = 22;
    p.bottom = p.top + TERM_ROW * (double)m->terms;
    kn_plot_scales(&p, (kn_range){0, x.high > 0 ? x.high : 1}, (kn_range){0, 1});
    kn_svg_open(svg, &own);
    kn_svg_text(svg, NULL, "start", 4, 15, "share of the signal");
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

static void terms_caption(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(out,
                  "Shares of the %td terms of the model in what it predicts of training people.",
                  r->model.terms);
    if (isfinite(r->model.length) && r->model.length_units) {
        kn_html_raw(out, " The smooth term changes over a length of ");
        kn_html_fixed(out, r->model.length, r->model.length < 10 ? 1 : 0);
        kn_html_raw(out, " (");
        kn_html_text(out, r->model.length_units);
        kn_html_raw(out, ").");
    }
}

static kn_status terms_data(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
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
                                   .count = terms_count,
                                   .draw = terms_draw,
                                   .caption = terms_caption,
                                   .data = terms_data,
                                   .width = KN_FIGURE_WIDTH,
                                   .height = 150};
