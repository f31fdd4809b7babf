/* ROC of each statistic for labelled participants against the others. */
#include <math.h>
#include <stdio.h>

#include "report/figures/common.h"

static const char *const LINE[] = {"line-a", "line-b"};

static ptrdiff_t count(const kn_report *r)
{
    return r->group.known && r->group.rocs > 0;
}

static void words(kn_plot *p, const kn_report_roc *roc, int k)
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

static void draw(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_svg_head own =
        kn_figure_head(head, "Receiver operating characteristic", NULL,
                       "Share of labelled people found against share of the others found, for each "
                       "statistic; the diagonal is chance.");
    kn_plot p = kn_plot_new(svg, &own);
    p.right = p.left + p.bottom - p.top; /* a square */
    kn_plot_scales(&p, (kn_range){0, 1}, (kn_range){0, 1});
    kn_svg_open(svg, &own);
    kn_plot_y_axis(&p, "labelled people found", true);
    kn_svg_line(svg, "limit", p.left, p.bottom, p.right, p.top);
    for (ptrdiff_t c = 0; c < r->group.rocs; c++) {
        const kn_report_roc *roc = &r->group.roc[c];
        kn_plot_path(&p, LINE[c % 2], roc->fpr, roc->tpr, roc->n);
        words(&p, roc, (int)c);
    }
    kn_plot_x_axis(&p, "others found", true);
    kn_svg_close(svg);
}

static void caption(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    bool chance = false;
    for (ptrdiff_t c = 0; c < r->group.rocs; c++)
        chance = chance || (r->group.roc[c].low <= 0.5 && r->group.roc[c].high >= 0.5);
    kn_html_print(
        out,
        "%td people with the label against %td without, for every threshold. The area below a "
        "curve (AUC, with its 95 %% interval) is 0.5 on the dashed line, where the "
        "statistic knows nothing.",
        r->group.labelled, r->group.others);
    if (chance)
        kn_html_raw(out, " An interval that holds 0.5 does not rule chance out.");
}

static kn_status data(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
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
                                 .title = "Labelled people against the others",
                                 .count = count,
                                 .draw = draw,
                                 .caption = caption,
                                 .data = data,
                                 .width = KN_FIGURE_WIDTH,
                                 .height = 330};
