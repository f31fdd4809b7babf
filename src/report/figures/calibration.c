/* Calibration figures: the detrended QQ plot (worm) and the histogram of Phi(z). Bands show what
 * chance alone would give. */
#include <math.h>
#include <stdio.h>

#include "report/figures/internal.h"

static const char *const SAMPLE[] = {"training", "scored"};
static const char *const LINE[] = {"line-training", "line-scored"};
static const char *const BAND[] = {"band", "band-scored"};

/* Returns the number of figures (kn_figure.count): 1 if the calibration of a sample is known, else
 * 0. */
static ptrdiff_t count_calibration(const kn_report *r)
{
    return r->calibration[0].n > 0 || r->calibration[1].n > 0;
}

/* Returns the name of a sample for the key, 0 training, 1 scored; NULL if it has no z-scores. */
static const char *name_sample(const kn_report *r, int g)
{
    return r->calibration[g].n > 0 ? SAMPLE[g] : NULL;
}

/* Writes "of 20 training participants and of 9 scored participants", as far as their calibration is
 * known. */
static void caption_samples(const kn_report *r, kn_html *out)
{
    const ptrdiff_t n[] = {r->calibration[0].n, r->calibration[1].n};
    if (n[0] > 0)
        kn_html_print(out, "of %td training participants (cross-validated)", n[0]);
    if (n[0] > 0 && n[1] > 0)
        kn_html_raw(out, " and ");
    if (n[1] > 0)
        kn_html_print(out, "of %td scored participants", n[1]);
    if (n[1] > 0 && r->group.known)
        kn_html_raw(out, " without the cases");
}

/* ---- worm ---- */

/* Draws the band or the line of the worm plot of sample g (0 training, 1 scored), c its
 * calibration. A band far out can be wider than the figure; it is limited to the plotted range. */
static void draw_worm(kn_plot *p, const kn_report_calibration *c, int g, bool band)
{
    double x[KN_REPORT_QQ], y[KN_REPORT_QQ], low[KN_REPORT_QQ], high[KN_REPORT_QQ];
    const kn_range *limits = &p->y.range;
    for (int k = 0; k < KN_REPORT_QQ; k++) {
        const bool known = isfinite(c->worm_low[k]) && isfinite(c->worm_high[k]);
        x[k] = kn_plot_x(p, c->q[k]);
        y[k] = kn_plot_y(p, c->worm[k]);
        low[k] = known ? kn_plot_y(p, fmax(c->worm_low[k], limits->low)) : NAN;
        high[k] = known ? kn_plot_y(p, fmin(c->worm_high[k], limits->high)) : NAN;
    }
    if (band)
        kn_svg_band(p->svg, BAND[g], x, low, high, KN_REPORT_QQ);
    else
        kn_svg_path(p->svg, LINE[g], x, y, KN_REPORT_QQ);
}

/* Draws (kn_figure.draw) the detrended QQ plot: observed minus expected quantiles of z for both
 * samples, with simultaneous bands. */
static void draw_qq(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    static const double INNER = 2.5; /* |q| within which bands are shown in full */
    const kn_svg_head own =
        kn_figure_head(head, "Detrended QQ plot of z-scores", NULL,
                       "Observed minus expected quantile of z against the expected quantile, with "
                       "simultaneous bands; the zero line is a perfect fit.");
    kn_plot p = kn_plot_new(svg, &own);
    kn_range x = kn_range_empty(), y = {-0.1, 0.1};
    for (int g = 0; g < 2; g++) {
        const kn_report_calibration *c = &r->calibration[g];
        for (int j = 0; j < KN_REPORT_QQ && c->n > 0; j++) {
            kn_range_include(&x, c->q[j]);
            kn_range_include(&y, c->worm[j]);
            kn_range_include(&y, fabs(c->q[j]) <= INNER ? c->worm_low[j] : NAN);
            kn_range_include(&y, fabs(c->q[j]) <= INNER ? c->worm_high[j] : NAN);
        }
    }
    kn_plot_scales(&p, kn_range_widen(x, 0), kn_range_widen(y, 0.03));
    kn_svg_open(svg, &own);
    kn_plot_y_axis(&p, "observed − expected z", false);
    for (int band = 1; band >= 0; band--) {
        for (int g = 0; g < 2; g++)
            if (r->calibration[g].n > 0)
                draw_worm(&p, &r->calibration[g], g, band);
        if (band)
            kn_plot_horizontal_line(&p, "zero", 0);
    }
    kn_plot_x_axis(&p, "expected z", false);
    kn_plot_key(&p,
                (kn_key[]){{LINE[0], KN_SWATCH_LINE, name_sample(r, 0), r->calibration[0].n},
                           {LINE[1], KN_SWATCH_LINE, name_sample(r, 1), r->calibration[1].n}},
                2);
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the detrended QQ plot: samples, what a deviation means,
 * and the bands. */
static void caption_qq(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_raw(out, "Quantiles of the z-scores ");
    caption_samples(r, out);
    kn_html_raw(
        out,
        ", minus those of a normal distribution. The zero line is a perfect fit. A line above or "
        "below it indicates a shift. A rising line means that the variance of z-scores is too "
        "large, a falling line that it is too small.");
    const int middle = KN_REPORT_QQ / 2; /* NaN there: too few participants for a band */
    if (isfinite(r->calibration[0].n > 0 ? r->calibration[0].worm_low[middle] : NAN) ||
        isfinite(r->calibration[1].n > 0 ? r->calibration[1].worm_low[middle] : NAN))
        kn_html_raw(out, " Bands: simultaneous 95% bands across participants.");
}

/* Writes the table (kn_figure.data) of the detrended QQ plot: a row per sample and expected
 * quantile. */
static kn_status tabulate_qq(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv, "sample expected difference low high"));
    for (int g = 0; g < 2; g++) {
        const kn_report_calibration *c = &r->calibration[g];
        for (int j = 0; j < KN_REPORT_QQ && c->n > 0; j++)
            KN_TRY(kn_figure_row(ctx, csv, &SAMPLE[g], 1,
                                 (double[]){c->q[j], c->worm[j], c->worm_low[j], c->worm_high[j]},
                                 4));
    }
out:
    return status;
}

const kn_figure kn_figure_qq = {.name = "qq",
                                .title = "Detrended QQ plot",
                                .count = count_calibration,
                                .draw = draw_qq,
                                .caption = caption_qq,
                                .data = tabulate_qq};

/* ---- PIT ---- */

/* Draws the PIT histogram (density of Phi(z) in twentieths) of a sample as grey bars. */
static void draw_pit_bars(kn_plot *p, const kn_report_calibration *c)
{
    const double width = (p->right - p->left) / KN_REPORT_PIT;
    kn_svg_group(p->svg, "area-training");
    for (int k = 0; k < KN_REPORT_PIT; k++)
        kn_svg_rect(p->svg, NULL, p->left + width * k + 0.5, kn_plot_y(p, c->pit[k]), width - 1,
                    p->bottom - kn_plot_y(p, c->pit[k]));
    kn_svg_group_end(p->svg);
}

/* Draws the PIT histogram of the scored participants as a stepped line. */
static void draw_pit_steps(kn_plot *p, const kn_report_calibration *c)
{
    double x[2 * KN_REPORT_PIT], y[2 * KN_REPORT_PIT];
    for (int k = 0; k < 2 * KN_REPORT_PIT; k++) {
        x[k] = kn_plot_x(p, (double)((k + 1) / 2) / KN_REPORT_PIT);
        y[k] = kn_plot_y(p, c->pit[k / 2]);
    }
    kn_svg_path(p->svg, "line-scored", x, y, 2 * KN_REPORT_PIT);
}

/* Returns the sample whose band the PIT histogram shows: the scored participants, or the training
 * sample if there are none. */
static const kn_report_calibration *band_sample(const kn_report *r)
{
    return &r->calibration[r->calibration[1].n > 0];
}

/* Draws (kn_figure.draw) the PIT histogram: density of Phi(z) in each twentieth, with the band of a
 * calibrated model. */
static void draw_pit(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_report_calibration *c = band_sample(r);
    const kn_svg_head own = kn_figure_head(
        head, "Histogram of Φ(z)", NULL,
        "The density of each twentieth of the normal distribution; flat at 1 is a perfect fit.");
    kn_plot p = kn_plot_new(svg, &own);
    kn_range y = {0, 1.2};
    for (int g = 0; g < 2; g++)
        if (r->calibration[g].n > 0)
            kn_range_include_all(&y, r->calibration[g].pit, KN_REPORT_PIT);
    kn_range_include(&y, c->pit_high);
    kn_plot_scales(&p, (kn_range){0, 1}, kn_range_of_counts(y.high));
    kn_svg_open(svg, &own);
    kn_plot_y_axis(&p, "density", false);
    if (r->calibration[0].n > 0)
        draw_pit_bars(&p, &r->calibration[0]);
    const double high = fmin(c->pit_high, p.y.range.high), low = fmax(c->pit_low, 0);
    if (isfinite(c->pit_low) && isfinite(c->pit_high))
        kn_svg_rect(svg, r->calibration[1].n > 0 ? "band-scored" : "band-a", p.left,
                    kn_plot_y(&p, high), p.right - p.left,
                    kn_plot_y(&p, low) - kn_plot_y(&p, high));
    kn_plot_horizontal_line(&p, "zero", 1);
    if (r->calibration[1].n > 0)
        draw_pit_steps(&p, &r->calibration[1]);
    kn_plot_x_axis(&p, "Φ(z)", false);
    kn_plot_key(&p,
                (kn_key[]){{"area-training", KN_SWATCH_AREA, name_sample(r, 0),
                            r->calibration[0].n},
                           {LINE[1], KN_SWATCH_LINE, name_sample(r, 1), r->calibration[1].n}},
                2);
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the PIT histogram (distribution of Phi(z)): samples,
 * how to read it, and the bands. */
static void caption_pit(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_raw(out, "Probability integral transform Φ(z) of the z-scores ");
    caption_samples(r, out);
    kn_html_print(
        out,
        ". A flat histogram means good calibration. High ends mean an overconfident model, a hump "
        "an "
        "underconfident one, and a slope a shift. Band: if the model is calibrated, all bars of "
        "the "
        "%s lie within it in 95%% of samples.",
        r->calibration[1].n > 0 ? "scored participants" : "training sample");
}

/* Writes the table (kn_figure.data) of the PIT histogram: a row per sample and bar with its edges
 * and density. */
static kn_status tabulate_pit(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv, "sample from to density se low high"));
    for (int g = 0; g < 2; g++) {
        const kn_report_calibration *c = &r->calibration[g];
        for (int j = 0; j < KN_REPORT_PIT && c->n > 0; j++)
            KN_TRY(kn_figure_row(ctx, csv, &SAMPLE[g], 1,
                                 (double[]){(double)j / KN_REPORT_PIT, (j + 1.0) / KN_REPORT_PIT,
                                            c->pit[j], c->pit_se[j], c->pit_low, c->pit_high},
                                 6));
    }
out:
    return status;
}

const kn_figure kn_figure_pit = {.name = "pit",
                                 .title = "PIT histogram",
                                 .count = count_calibration,
                                 .draw = draw_pit,
                                 .caption = caption_pit,
                                 .data = tabulate_pit};
