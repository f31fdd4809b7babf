/* Section 6, group: do the cases differ from the other participants, and where? It is left out
 * without cases. */
#include <math.h>

#include "report/figures/figures.h"
#include "report/page/internal.h"

bool kn_page_group_has(const kn_report *r)
{
    return r->group.known;
}

/* Writes a list item per ROC curve: AUC with 95 % interval, its direction, and whether it includes
 * 0.5. */
static void write_areas(kn_page *p)
{
    const kn_report_group *g = &p->r->group;
    kn_html_raw(p->h, "<ul>\n");
    for (ptrdiff_t k = 0; k < g->rocs; k++) {
        const kn_report_roc *roc = &g->roc[k];
        kn_html_raw(p->h, "<li>AUC of ");
        kn_html_text(p->h, roc->name);
        kn_html_raw(p->h, ": <b>");
        kn_html_fixed(p->h, roc->auc, 2);
        kn_html_raw(p->h, "</b> (95% CI ");
        kn_html_fixed(p->h, roc->low, 2);
        kn_html_raw(p->h, " to ");
        kn_html_fixed(p->h, roc->high, 2);
        kn_html_raw(p->h, roc->auc < .5 ? "; lower in " : "; higher in ");
        kn_page_name(p, kn_report_cases(p->r));
        kn_html_raw(p->h, ").");
        if (roc->low <= .5 && roc->high >= .5)
            kn_html_raw(p->h, " The interval includes 0.5, so the statistic does not separate the "
                              "groups in this sample.");
        kn_html_raw(p->h, "</li>\n");
    }
    kn_html_raw(p->h, "</ul>\n");
}

/* Writes a sentence comparing the burden of the groups: both medians, the expected proportion and
 * the Mann-Whitney p-value; nothing without medians. */
static void write_proportions(kn_page *p)
{
    const kn_report_group *g = &p->r->group;
    if (isnan(g->proportion_median[0]) || isnan(g->proportion_median[1]))
        return;
    kn_html_raw(p->h, "<p>Burden (proportion of responses with |z| &gt; ");
    kn_html_fixed(p->h, p->r->participants.threshold, 2);
    kn_html_raw(p->h, "): median ");
    kn_html_fixed(p->h, 100 * g->proportion_median[0], 1);
    kn_html_raw(p->h, "% with ");
    kn_page_name(p, kn_report_cases(p->r));
    kn_html_raw(p->h, ", ");
    kn_html_fixed(p->h, 100 * g->proportion_median[1], 1);
    kn_html_raw(p->h, "% in other participants; ");
    kn_html_fixed(p->h, 100 * g->proportion_expected, 1);
    kn_html_raw(p->h, "% expected on average. Mann-Whitney p = ");
    kn_html_p(p->h, g->proportion_p, false);
    kn_html_raw(p->h, ".</p>\n");
}

/* Writes a map of the proportion of a group's participants beyond the threshold (T values),
 * coloured from the proportion expected by chance to `high`. NULL: nothing. */
static void write_overlap(kn_page *p, const double *proportion, double high,
                          const char *group_words)
{
    const double low = p->r->group.proportion_expected;
    if (!proportion)
        return;
    kn_html_raw(p->h, "<figure class=\"wide\">");
    kn_page_map_values(p, proportion, low, high,
                       "Map of the proportion of participants beyond the threshold");
    kn_page_bar_values(p, 100 * low, 100 * high, 0, "% of participants");
    kn_html_raw(p->h, "<figcaption>Proportion of participants beyond the threshold (");
    kn_page_name(p, group_words);
    kn_html_raw(p->h, "), shown where it exceeds the proportion expected by "
                      "chance.</figcaption></figure>\n");
}

/* Writes the overlap maps of cases and of others on one colour scale; nothing if responses have no
 * location. */
static void write_overlaps(kn_page *p)
{
    const kn_report_group *g = &p->r->group;
    const ptrdiff_t T = p->r->responses.T;
    if (!p->pictures || !g->overlap)
        return;
    double high = kn_page_largest(g->overlap, T, g->proportion_expected + .05);
    if (g->overlap_others)
        high = kn_page_largest(g->overlap_others, T, high);
    kn_html_raw(p->h, "<h3>Overlap of deviations</h3>\n");
    write_overlap(p, g->overlap, high, kn_report_cases(p->r));
    write_overlap(p, g->overlap_others, high, "other participants");
}

/* Writes the number of responses that differ between the groups, and a table of those with the
 * largest difference: t, q and proportions beyond the threshold. */
static void write_best(kn_page *p)
{
    const kn_report_group *g = &p->r->group;
    const char *const titles[] = {"Response", "t", "q (FDR)",
                                  g->overlap ? "% extreme, cases" : NULL,
                                  g->overlap_others ? "% extreme, others" : NULL};
    if (!g->t || !g->q || g->n_best == 0)
        return;
    kn_html_raw(p->h, "<h3>Differences by response</h3>\n<p>");
    kn_html_print(p->h, "<b>%td</b> of ", g->significant);
    kn_page_count(p, p->r->responses.T, "response differs", "responses differ");
    kn_html_raw(p->h, " between the groups after FDR correction (Welch's t-test of z-scores, "
                      "Benjamini-Hochberg q ≤ 0.05).</p>\n");
    kn_page_table_open(p, "Largest differences first");
    kn_page_th(p, titles, 5);
    for (ptrdiff_t k = 0; k < g->n_best && k < KN_PAGE_BEST; k++) {
        const ptrdiff_t t = g->best[k];
        kn_html_raw(p->h, "<tr><th scope=\"row\">");
        kn_page_response(p, t);
        kn_html_raw(p->h, "</th>");
        kn_page_td(p, g->t[t], 2);
        kn_page_td_p(p, g->q[t], false);
        for (int j = 0; j < 2; j++) {
            const double *proportion = j == 0 ? g->overlap : g->overlap_others;
            if (proportion) {
                kn_html_raw(p->h, "<td class=\"n\">");
                kn_html_fixed(p->h, 100 * proportion[t], 0);
                kn_html_raw(p->h, "%</td>");
            }
        }
        kn_html_raw(p->h, "</tr>\n");
    }
    kn_page_table_close(p);
}

void kn_page_group(kn_page *p)
{
    const kn_report_group *g = &p->r->group;
    kn_html_raw(p->h, "<p><b>");
    kn_page_name(p, kn_report_cases(p->r));
    kn_html_print(p->h, "</b>: %td participants; ", g->labelled);
    kn_page_count(p, g->others, "other participant", "other participants");
    kn_html_raw(p->h, ". The model does not use this label.</p>\n");
    write_areas(p);
    write_proportions(p);
    kn_html_raw(p->h, "<div class=\"tiles\">\n");
    kn_figure_inline(p->r, "roc", 0, p->h);
    kn_figure_inline(p->r, "burden", 0, p->h);
    kn_html_raw(p->h, "</div>\n");
    write_overlaps(p);
    write_best(p);
}
