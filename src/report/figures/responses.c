/* Histograms over responses: mean z^2, and R2. They show how well responses are calibrated and
 * predicted. */
#include <math.h>
#include <stdio.h>

#include "report/figures/internal.h"

/* Returns whether x (n values; may be NULL) has a finite value. */
static bool has_finite(const double *x, ptrdiff_t n)
{
    for (ptrdiff_t t = 0; x && t < n; t++)
        if (isfinite(x[t]))
            return true;
    return false;
}

/* Draws a histogram over responses with axes (`name`: of the x axis), and notes how many values lie
 * beyond the outermost edges. x: range that must be visible too. */
static void draw_histogram(kn_plot *p, const kn_histogram *h, const char *name, kn_range x)
{
    double limit = 0;
    kn_range_include_all(&x, h->edge, h->n + 1);
    for (int k = 0; k < h->n; k++)
        limit = fmax(limit, h->count[k]);
    kn_plot_scales(p, x, kn_range_of_counts(limit));
    kn_plot_y_integer_axis(p, "responses");
    kn_histogram_draw(p, h, "bar");
    kn_plot_x_axis(p, name, false);
    if (h->below > 0) {
        char words[64];
        snprintf(words, sizeof words, "← %td below", h->below);
        kn_svg_text(p->svg, "halo", "start", p->left + 4, p->top - 6, words);
    }
    if (h->beyond > 0) {
        char words[64];
        snprintf(words, sizeof words, "%td beyond →", h->beyond);
        kn_svg_text(p->svg, "halo", "end", p->right - 4, p->top - 6, words);
    }
}

/* Writes the columns `name` ("response <metric>"), then a row per response with its name and x[t].
 * x has one value per response. */
static kn_status write_histogram(kn_ctx *ctx, const kn_report *r, const double *x, const char *name,
                                 kn_table_writer *csv)
{
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv, name));
    for (ptrdiff_t t = 0; t < r->responses.T; t++)
        KN_TRY(kn_figure_row(ctx, csv, &r->responses.name[t], 1, &x[t], 1));
out:
    return status;
}

/* ---- mean z^2 ---- */

/* Returns the count (kn_figure.count) of the histogram of mean z^2: 1 if any response has one, else
 * 0. */
static ptrdiff_t count_z2(const kn_report *r)
{
    return has_finite(r->responses.z2, r->responses.T);
}

/* Returns the histogram of mean z^2 over responses, from 0 to a limit well above its expected
 * range. */
static kn_histogram make_z2_histogram(const kn_report *r)
{
    const double limit = r->responses.z2_high;
    return kn_histogram_of(r->responses.z2, r->responses.T,
                           (kn_range){0, isfinite(limit) ? 1 + 4 * fabs(limit - 1) + 0.2 : 4});
}

/* Draws (kn_figure.draw) the histogram of mean z^2 over responses, with lines at the range expected
 * by chance around 1. */
static void draw_z2(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_svg_head own =
        kn_figure_head(head, "Mean z² of each response", NULL,
                       "A histogram over responses, with the range expected by chance around 1.");
    kn_plot p = kn_plot_new(svg, &own);
    const kn_histogram h = make_z2_histogram(r);
    kn_svg_open(svg, &own);
    kn_range x = {1, 1};
    kn_range_include(&x, r->responses.z2_low);
    kn_range_include(&x, r->responses.z2_high);
    draw_histogram(&p, &h, "mean z²", x);
    kn_plot_vertical_line(&p, "limit", r->responses.z2_low, "");
    kn_plot_vertical_line(&p, "limit", r->responses.z2_high, "");
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the histogram of mean z^2: how to read it, and the
 * proportion within the expected range. */
static void caption_z2(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(out, "Mean z² of %td responses", make_z2_histogram(r).all);
    if (r->responses.z2_of) {
        kn_html_raw(out, " (");
        kn_html_text(out, r->responses.z2_of);
        kn_html_raw(out, ")");
    }
    kn_html_raw(out,
                ". 1 is expected. Above 1 the model is overconfident, below 1 underconfident.");
    if (isfinite(r->responses.z2_inside)) {
        kn_html_raw(out, " Dashed lines: expected range of 95% of responses; ");
        kn_html_fixed(out, 100 * r->responses.z2_inside, 0);
        kn_html_raw(out, "% lie within it.");
    }
}

/* Writes the table (kn_figure.data) of the histogram of mean z^2: a row per response. */
static kn_status tabulate_z2(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    return write_histogram(ctx, r, r->responses.z2, "response z2", csv);
}

const kn_figure kn_figure_z2 = {.name = "z2",
                                .title = "Calibration by response",
                                .count = count_z2,
                                .draw = draw_z2,
                                .caption = caption_z2,
                                .data = tabulate_z2};

/* ---- R2 ---- */

/* Returns the count (kn_figure.count) of the histogram of R2: 1 if any response has one, else 0. */
static ptrdiff_t count_r2(const kn_report *r)
{
    return has_finite(r->responses.R2, r->responses.T);
}

/* Returns the histogram over responses of R2, the proportion of explained variance, between -0.5
 * and 1. */
static kn_histogram make_r2_histogram(const kn_report *r)
{
    return kn_histogram_of(r->responses.R2, r->responses.T, (kn_range){-0.5, 1});
}

/* Draws (kn_figure.draw) the histogram of R2 over responses, with lines at 0 and at the mean. */
static void draw_r2(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_svg_head own =
        kn_figure_head(head, "R² of each response", NULL, "A histogram over responses.");
    kn_plot p = kn_plot_new(svg, &own);
    const kn_histogram h = make_r2_histogram(r);
    kn_svg_open(svg, &own);
    draw_histogram(&p, &h, "R²", (kn_range){0, 0});
    kn_plot_vertical_line(&p, "zero", 0, "");
    kn_plot_vertical_line(&p, "limit", r->responses.mean_R2, "mean");
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the histogram of R2: whose predictions, and the mean.
 */
static void caption_r2(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(
        out,
        r->responses.R2_of_training
            ? "Cross-validated R² of %td responses in the training sample. Below 0, the mean would "
              "predict better."
            : "Out-of-sample R² of %td responses. Below 0, the mean of these participants "
              "would predict better.",
        make_r2_histogram(r).all);
    if (isfinite(r->responses.mean_R2)) {
        kn_html_raw(out, " Mean ");
        kn_html_fixed(out, r->responses.mean_R2, 3);
        kn_html_raw(out, ".");
    }
}

/* Writes the table (kn_figure.data) of the histogram of R2: a row per response. */
static kn_status tabulate_r2(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    return write_histogram(ctx, r, r->responses.R2, "response R2", csv);
}

const kn_figure kn_figure_r2 = {.name = "r2",
                                .title = "Explained variance by response",
                                .count = count_r2,
                                .draw = draw_r2,
                                .caption = caption_r2,
                                .data = tabulate_r2};
