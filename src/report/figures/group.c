/* ROC of each statistic for cases against the other participants. The diagonal is chance. */
#include <math.h>
#include <stdio.h>

#include "report/figures/internal.h"

static const char *const LINE[] = {"line-a", "line-b"};

/* Returns the number of figures (kn_figure.count): 1 if there are cases with a statistic, else 0.
 */
static ptrdiff_t count_roc(const kn_report *r)
{
    return r->group.known && r->group.rocs > 0;
}

/* Writes the AUC of statistic k with its interval to the right of the plot. */
static void draw_auc(kn_plot *p, const kn_report_roc *roc, int k)
{
    char text[2 * KN_TICK_TEXT + 8];
    const kn_ticks t = {.digits = 2};
    char auc[KN_TICK_TEXT], low[KN_TICK_TEXT], high[KN_TICK_TEXT];
    const double x = p->right + 18, y = p->top + 24 + 62 * k;
    kn_tick_text(&t, roc->auc, auc);
    kn_tick_text(&t, roc->low, low);
    kn_tick_text(&t, roc->high, high);
    kn_svg_line(p->svg, LINE[k % 2], x, y - 4, x + 16, y - 4);
    kn_svg_text_cut(p->svg, "start", x + 22, y, roc->name, 16);
    snprintf(text, sizeof text, "AUC %s", isfinite(roc->auc) ? auc : "n/a");
    kn_svg_text(p->svg, "strong", "start", x + 22, y + 17, text);
    snprintf(text, sizeof text, "%s to %s", low, high);
    if (isfinite(roc->low) && isfinite(roc->high))
        kn_svg_text(p->svg, NULL, "start", x + 22, y + 33, text);
}

/* Draws (kn_figure.draw) the ROC curves: proportion of cases detected against that of other
 * participants, for each statistic. */
static void draw_roc(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_svg_head own =
        kn_figure_head(head, "Receiver operating characteristic", NULL,
                       "Proportion of cases detected against the proportion of other participants "
                       "detected, for each statistic; the diagonal is chance.");
    kn_plot p = kn_plot_new(svg, &own);
    p.right = p.left + p.bottom - p.top; /* a square */
    kn_plot_scales(&p, (kn_range){0, 1}, (kn_range){0, 1});
    kn_svg_open(svg, &own);
    char axis[128];
    snprintf(axis, sizeof axis, "%.60s detected", kn_report_cases(r));
    kn_plot_y_axis(&p, axis, true);
    kn_svg_line(svg, "limit", p.left, p.bottom, p.right, p.top);
    for (ptrdiff_t c = 0; c < r->group.rocs; c++) {
        const kn_report_roc *roc = &r->group.roc[c];
        kn_plot_path(&p, LINE[c % 2], roc->fpr, roc->tpr, roc->n);
        draw_auc(&p, roc, (int)c);
    }
    kn_plot_x_axis(&p, "other participants detected", true);
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the ROC curves: group sizes, and how to read the area
 * under a curve. */
static void caption_roc(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    bool chance = false;
    for (ptrdiff_t c = 0; c < r->group.rocs; c++)
        chance = chance || (r->group.roc[c].low <= 0.5 && r->group.roc[c].high >= 0.5);
    kn_html_print(
        out,
        "%td cases and %td other participants, for every threshold. The area under a curve (AUC, "
        "with 95%% CI) is 0.5 for the dashed line (chance).",
        r->group.labelled, r->group.others);
    if (chance)
        kn_html_raw(out, " An interval that includes 0.5 is compatible with chance.");
}

/* Writes the table (kn_figure.data) of the ROC curves: a row per statistic and threshold. */
static kn_status tabulate_roc(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv, "statistic fpr tpr"));
    for (ptrdiff_t c = 0; c < r->group.rocs; c++)
        for (ptrdiff_t i = 0; i < r->group.roc[c].n; i++)
            KN_TRY(kn_figure_row(ctx, csv, &r->group.roc[c].name, 1,
                                 (double[]){r->group.roc[c].fpr[i], r->group.roc[c].tpr[i]}, 2));
out:
    return status;
}

const kn_figure kn_figure_roc = {.name = "roc",
                                 .title = "Detection of cases",
                                 .count = count_roc,
                                 .draw = draw_roc,
                                 .caption = caption_roc,
                                 .data = tabulate_roc,
                                 .height = 330};
