/* Histogram of one participant's z-scores, against the mean histogram of training and the normal
 * distribution. Ten bins of the report per bar. */
#include <math.h>
#include <stdio.h>

#include "report/figures/internal.h"

enum { PER_BAR = 10, BARS = KN_REPORT_ZBINS / PER_BAR };
static const double WIDTH = 2 * KN_REPORT_ZMAX / BARS; /* of a bar, in z */

/* Returns the number of figures (kn_figure.count): the number of cards, if the z-histograms of
 * scored participants are known. */
static ptrdiff_t count_cards(const kn_report *r)
{
    return r->zhist.n > 0 ? r->participants.n_cards : 0;
}

/* Sets out to the mean density of z per bar of participants from .. from + participants - 1, with
 * equal weights; 0 without any. */
static void compute_densities(const kn_report_zhist *h, ptrdiff_t from, ptrdiff_t participants,
                              double out[BARS])
{
    ptrdiff_t counted = 0;
    for (int b = 0; b < BARS; b++)
        out[b] = 0;
    for (ptrdiff_t i = from; i < from + participants; i++) {
        const uint32_t *row = h->count + i * KN_REPORT_ZBINS;
        double all = 0;
        for (int k = 0; k < KN_REPORT_ZBINS; k++)
            all += row[k];
        for (int k = 0; k < KN_REPORT_ZBINS && all > 0; k++)
            out[k / PER_BAR] += row[k] / (all * WIDTH);
        counted += all > 0;
    }
    for (int b = 0; b < BARS && counted > 0; b++)
        out[b] /= (double)counted;
}

typedef struct bars {
    double participant[BARS], training[BARS];
    bool has_training;
    int from, to; /* range of bars drawn: at least -4 .. 4 */
} bars;

/* Returns whether the mean histogram of the training sample is drawn; not for change, whose
 * z-scores are of differences. */
static bool has_training(const kn_report *r)
{
    return r->zhist_training.n > 0 && r->kind != KN_REPORT_CHANGE;
}

/* Returns the bars of card k: densities of the participant and of the training sample, and the
 * range of bars that is drawn. */
static bars bars_of(const kn_report *r, ptrdiff_t k)
{
    bars b = {.from = (int)(4 / WIDTH), .to = BARS - (int)(4 / WIDTH)};
    const ptrdiff_t participant = r->participants.card[k].participant;
    compute_densities(&r->zhist, participant, participant < r->zhist.n, b.participant);
    compute_densities(&r->zhist_training, 0, r->zhist_training.n, b.training);
    b.has_training = has_training(r);
    for (int i = 0; i < BARS; i++)
        if (b.participant[i] > 0) {
            b.from = i < b.from ? i : b.from;
            b.to = i + 1 > b.to ? i + 1 : b.to;
        }
    return b;
}

/* Returns the left edge of bar b of the z histogram. */
static double bar_edge(int b)
{
    return -KN_REPORT_ZMAX + WIDTH * b;
}

/* Draws the mean histogram of the training sample as a stepped line. */
static void draw_training(kn_plot *p, const bars *b)
{
    double x[2 * BARS], y[2 * BARS];
    int n = 0;
    for (int i = b->from; i < b->to; i++)
        for (int end = 0; end < 2; end++) {
            x[n] = bar_edge(i + end);
            y[n++] = b->training[i];
        }
    kn_plot_path(p, "line-training", x, y, n);
}

/* Draws the density of the standard normal distribution over the drawn bars. */
static void draw_normal(kn_plot *p, const bars *b)
{
    kn_svg_pen(p->svg, "normal");
    for (int i = 5 * b->from; i <= 5 * b->to; i++) {
        const double z = -KN_REPORT_ZMAX + WIDTH / 5 * i;
        kn_svg_pen_to(p->svg, kn_plot_x(p, z),
                      kn_plot_y(p, exp(-0.5 * z * z) / sqrt(2 * acos(-1))));
    }
    kn_svg_pen_up(p->svg, false);
}

/* Draws (kn_figure.draw) card k: histogram of the participant's z-scores, that of training and the
 * normal density. */
static void draw_card(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    const bars b = bars_of(r, k);
    const ptrdiff_t participant = r->participants.card[k].participant;
    const bool labelled = kn_figure_is_labelled(r, participant);
    const kn_svg_head own = kn_figure_head(
        head, "z-scores of", r->participants.participant[participant].id,
        "A histogram of the z-scores of one participant, with that of the training sample and the "
        "normal density.");
    kn_plot p = kn_plot_new(svg, &own);
    double limit = 0.4;
    for (int i = 0; i < BARS; i++)
        limit = fmax(limit, fmax(b.participant[i], b.has_training ? b.training[i] : 0));
    kn_plot_scales(&p, (kn_range){bar_edge(b.from), bar_edge(b.to)}, kn_range_of_counts(limit));
    kn_svg_open(svg, &own);
    kn_plot_y_axis(&p, "density", false);
    kn_svg_group(svg, labelled ? "bar-labelled" : "bar");
    for (int i = b.from; i < b.to; i++) {
        const double x = kn_plot_x(&p, bar_edge(i)), y = kn_plot_y(&p, b.participant[i]);
        if (b.participant[i] > 0)
            kn_svg_rect(svg, NULL, x + 0.5, y, kn_plot_x(&p, bar_edge(i + 1)) - x - 1,
                        p.bottom - y);
    }
    kn_svg_group_end(svg);
    if (b.has_training)
        draw_training(&p, &b);
    draw_normal(&p, &b);
    kn_plot_x_axis(&p, "z", false);
    kn_plot_key(&p,
                (kn_key[]){{labelled ? "bar-labelled" : "bar", KN_SWATCH_AREA, "participant", -1},
                           {"line-training", KN_SWATCH_LINE, b.has_training ? "training" : NULL,
                            -1},
                           {"normal", KN_SWATCH_LINE, "normal", -1}},
                3);
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of card k: the number of z-scores in the histogram, and
 * the curves they are compared with. */
static void caption_card(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    const ptrdiff_t participant = r->participants.card[k].participant;
    kn_html_print(out, "z-scores of the %.0f responses of this participant",
                  r->participants.participant[participant].responses);
    if (has_training(r))
        kn_html_print(out, ", with the average of %td training participants", r->zhist_training.n);
    kn_html_raw(out,
                " and the standard normal density. Bars that exceed these curves at either end are "
                "extreme responses.");
}

/* Writes the table (kn_figure.data) of card k: a row per bar of the histogram of z-scores. */
static kn_status tabulate_card(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    kn_status status;
    const bars b = bars_of(r, k);
    KN_TRY(kn_figure_columns(ctx, csv, "id from to density training"));
    for (int i = b.from; i < b.to; i++)
        KN_TRY(kn_figure_row(ctx, csv,
                             &r->participants.participant[r->participants.card[k].participant].id,
                             1,
                             (double[]){bar_edge(i), bar_edge(i + 1), b.participant[i],
                                        b.has_training ? b.training[i] : NAN},
                             4));
out:
    return status;
}

const kn_figure kn_figure_card = {.name = "card",
                                  .title = "All responses of the participant",
                                  .count = count_cards,
                                  .draw = draw_card,
                                  .caption = caption_card,
                                  .data = tabulate_card,
                                  .height = 250,
                                  .many = true};
