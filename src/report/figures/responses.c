/* Histograms over responses: mean z^2, and R2. */
#include <math.h>
#include <stdio.h>

#include "report/figures/common.h"

static bool some(const double *x, ptrdiff_t n)
{
    for (ptrdiff_t t = 0; x && t < n; t++)
        if (isfinite(x[t]))
            return true;
    return false;
}

/* Draws bars, and notes where the outermost hold values beyond their edges. x: range that must
 * be visible too. */
static void draw_histogram(kn_plot *p, const kn_histogram *h, const char *name, kn_range x)
{
    double most = 0;
    kn_range_take_all(&x, h->edge, h->n + 1);
    for (int k = 0; k < h->n; k++)
        most = fmax(most, h->count[k]);
    kn_plot_scales(p, x, kn_range_counts(most));
    kn_plot_y_whole(p, "responses");
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

static ptrdiff_t z2_count(const kn_report *r)
{
    return some(r->responses.z2, r->responses.T);
}

static kn_histogram z2_histogram(const kn_report *r)
{
    const double limit = r->responses.z2_high;
    return kn_histogram_of(r->responses.z2, r->responses.T,
                           (kn_range){0, isfinite(limit) ? 1 + 4 * fabs(limit - 1) + 0.2 : 4});
}

static void z2_draw(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_svg_head own =
        kn_figure_head(head, "Mean z² of each response", NULL,
                       "A histogram over responses with the limits of chance about 1.");
    kn_plot p = kn_plot_new(svg, &own);
    const kn_histogram h = z2_histogram(r);
    kn_svg_open(svg, &own);
    kn_range x = {1, 1};
    kn_range_take(&x, r->responses.z2_low);
    kn_range_take(&x, r->responses.z2_high);
    draw_histogram(&p, &h, "mean z²", x);
    kn_plot_upright(&p, "limit", r->responses.z2_low, "");
    kn_plot_upright(&p, "limit", r->responses.z2_high, "");
    kn_svg_close(svg);
}

static void z2_caption(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(out, "Mean z² of %td responses", z2_histogram(r).all);
    if (r->responses.z2_of) {
        kn_html_raw(out, " (");
        kn_html_text(out, r->responses.z2_of);
        kn_html_raw(out, ")");
    }
    kn_html_raw(out, ": 1 is right, more is too sure, less not sure enough.");
    if (isfinite(r->responses.z2_inside)) {
        kn_html_raw(out, " Dashed: where 95 % would lie by chance; ");
        kn_html_fixed(out, 100 * r->responses.z2_inside, 0);
        kn_html_raw(out, " % do.");
    }
}

static kn_status z2_data(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    return write_histogram(ctx, r, r->responses.z2, "response z2", csv);
}

const kn_figure kn_figure_z2 = {.name = "z2",
                                .title = "Calibration by response",
                                .count = z2_count,
                                .draw = z2_draw,
                                .caption = z2_caption,
                                .data = z2_data,
                                .width = KN_FIGURE_WIDTH,
                                .height = KN_FIGURE_HEIGHT};

/* ---- R2 ---- */

static ptrdiff_t r2_count(const kn_report *r)
{
    return some(r->responses.R2, r->responses.T);
}

static kn_histogram r2_histogram(const kn_report *r)
{
    return kn_histogram_of(r->responses.R2, r->responses.T, (kn_range){-0.5, 1});
}

static void r2_draw(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_svg_head own =
        kn_figure_head(head, "R² of each response", NULL, "A histogram over responses.");
    kn_plot p = kn_plot_new(svg, &own);
    const kn_histogram h = r2_histogram(r);
    kn_svg_open(svg, &own);
    draw_histogram(&p, &h, "R²", (kn_range){0, 0});
    kn_plot_upright(&p, "zero", 0, "");
    kn_plot_upright(&p, "limit", r->responses.mean_R2, "mean");
    kn_svg_close(svg);
}

static void r2_caption(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(out,
                  r->responses.R2_of_model
                      ? "Share of the variance that the model explains in training, of %td "
                        "responses: what held-out people show to be noise is not in it."
                      : "Share of the variance of people not seen that is predicted, of %td "
                        "responses. Below 0 the mean of these people would have done better.",
                  r2_histogram(r).all);
    if (isfinite(r->responses.mean_R2)) {
        kn_html_raw(out, " Mean ");
        kn_html_fixed(out, r->responses.mean_R2, 3);
        kn_html_raw(out, ".");
    }
}

static kn_status r2_data(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    return write_histogram(ctx, r, r->responses.R2, "response R2", csv);
}

const kn_figure kn_figure_r2 = {.name = "r2",
                                .title = "How much is predicted",
                                .count = r2_count,
                                .draw = r2_draw,
                                .caption = r2_caption,
                                .data = r2_data,
                                .width = KN_FIGURE_WIDTH,
                                .height = KN_FIGURE_HEIGHT};
