/* Section 6, group: do the labelled participants differ, and where? */
#include <math.h>

#include "report/figures/figures.h"
#include "report/page/internal.h"

bool kn_page_group_has(const kn_report *r)
{
    return r->group.known;
}

static void areas(kn_page *p)
{
    const kn_report_group *g = &p->r->group;
    kn_html_raw(p->h, "<ul>\n");
    for (ptrdiff_t k = 0; k < g->rocs; k++) {
        const kn_report_roc *roc = &g->roc[k];
        kn_html_raw(p->h, "<li>AUC of the ");
        kn_html_text(p->h, roc->name);
        kn_html_raw(p->h, ": <b>");
        kn_html_fixed(p->h, roc->auc, 2);
        kn_html_raw(p->h, "</b> (95&nbsp;% interval ");
        kn_html_fixed(p->h, roc->low, 2);
        kn_html_raw(p->h, " to ");
        kn_html_fixed(p->h, roc->high, 2);
        kn_html_raw(p->h, ").");
        if (roc->low <= .5 && roc->high >= .5)
            kn_html_raw(p->h, " The interval holds 0.5: these people do not show that it tells the "
                              "two apart.");
        kn_html_raw(p->h, "</li>\n");
    }
    kn_html_raw(p->h, "</ul>\n");
}

static void shares(kn_page *p)
{
    const kn_report_group *g = &p->r->group;
    if (isnan(g->share_median[0]) || isnan(g->share_median[1]))
        return;
    kn_html_raw(p->h, "<p>Responses beyond |z| = ");
    kn_html_fixed(p->h, p->r->people.threshold, 2);
    kn_html_raw(p->h, ", of all responses of a person: median ");
    kn_html_fixed(p->h, 100 * g->share_median[0], 1);
    kn_html_raw(p->h, "&nbsp;% of the labelled, ");
    kn_html_fixed(p->h, 100 * g->share_median[1], 1);
    kn_html_raw(p->h, "&nbsp;% of the others; ");
    kn_html_fixed(p->h, 100 * g->share_expected, 1);
    kn_html_raw(p->h, "&nbsp;% are expected of normal people. Mann-Whitney p ");
    kn_html_p(p->h, g->share_p, false);
    kn_html_raw(p->h, ".</p>\n");
}

static void overlap(kn_page *p, const double *share, double high, const char *who)
{
    const double low = p->r->group.share_expected;
    if (!share)
        return;
    kn_html_raw(p->h, "<figure class=\"wide\">");
    kn_page_map_values(p, share, low, high, "Map of the share of people beyond the threshold");
    kn_page_bar_values(p, 100 * low, 100 * high, 0, "% of people");
    kn_html_print(p->h,
                  "<figcaption>Share of %s people beyond the threshold, where it is above "
                  "what is expected by chance.</figcaption></figure>\n",
                  who);
}

static void maps(kn_page *p)
{
    const kn_report_group *g = &p->r->group;
    const ptrdiff_t T = p->r->responses.T;
    if (!p->pictures || !g->overlap)
        return;
    double high = kn_page_largest(g->overlap, T, g->share_expected + .05);
    if (g->overlap_others)
        high = kn_page_largest(g->overlap_others, T, high);
    kn_html_raw(p->h, "<h3>Where they overlap</h3>\n");
    overlap(p, g->overlap, high, "labelled");
    overlap(p, g->overlap_others, high, "other");
}

static void best(kn_page *p)
{
    const kn_report_group *g = &p->r->group;
    const char *const titles[] = {"response", "t", "q (FDR)", g->overlap ? "labelled beyond" : NULL,
                                  g->overlap_others ? "others beyond" : NULL};
    if (!g->t || !g->q || g->n_best == 0)
        return;
    kn_html_raw(p->h, "<h3>Response by response</h3>\n<p>");
    kn_html_print(p->h, "<b>%td</b> of ", g->significant);
    kn_page_count(p, p->r->responses.T, "response differs", "responses differ");
    kn_html_raw(p->h,
                " between the labelled and the others at 5&nbsp;% false discoveries (Welch's t of "
                "z, Benjamini-Hochberg).</p>\n");
    kn_page_table_open(p, "The largest differences first");
    kn_page_th(p, titles, 5);
    for (ptrdiff_t k = 0; k < g->n_best && k < KN_PAGE_BEST; k++) {
        const ptrdiff_t t = g->best[k];
        kn_html_raw(p->h, "<tr><th scope=\"row\">");
        kn_page_response(p, t);
        kn_html_raw(p->h, "</th>");
        kn_page_td(p, g->t[t], 2);
        kn_page_td_p(p, g->q[t], false);
        for (int j = 0; j < 2; j++) {
            const double *share = j == 0 ? g->overlap : g->overlap_others;
            if (share) {
                kn_html_raw(p->h, "<td class=\"n\">");
                kn_html_fixed(p->h, 100 * share[t], 0);
                kn_html_raw(p->h, "&nbsp;%</td>");
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
    kn_page_name(p, g->label ? g->label : "labelled");
    kn_html_print(p->h, "</b>: %td labelled, ", g->labelled);
    kn_page_count(p, g->others, "other", "others");
    kn_html_raw(p->h, ". The model knows nothing of the label.</p>\n");
    areas(p);
    shares(p);
    kn_html_raw(p->h, "<div class=\"tiles\">\n");
    kn_figure_inline(p->r, "roc", 0, p->h);
    kn_figure_inline(p->r, "burden", 0, p->h);
    kn_html_raw(p->h, "</div>\n");
    maps(p);
    best(p);
}
