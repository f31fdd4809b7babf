/* Section 2, cohort: the training sample, the scored participants, and the excluded ones with
 * reasons. */
#include "report/figures/figures.h"
#include "report/page/internal.h"

enum { DROPPED_SHOWN = 200 };

bool kn_page_cohort_has(const kn_report *r)
{
    return r->cohort.n > 0 || r->cohort.n_dropped > 0;
}

/* True if any covariate is known, of training or of the scored participants. */
static bool knows(const kn_report *r, bool training)
{
    bool any = false;
    for (ptrdiff_t j = 0; j < r->cohort.n; j++)
        any = any || (training ? r->cohort.column[j].training : r->cohort.column[j].scored);
    return any;
}

static void missing(kn_page *p)
{
    const kn_report_cohort *c = &p->r->cohort;
    bool any = false;
    for (ptrdiff_t j = 0; j < c->n; j++)
        any = any || c->column[j].training_missing + c->column[j].scored_missing > 0;
    if (!any)
        return;
    static const char *const titles[] = {"covariate", "training", "scored"};
    kn_page_table_open(p, "People without a value of a covariate");
    kn_page_th(p, titles, 3);
    for (ptrdiff_t j = 0; j < c->n; j++)
        if (c->column[j].training_missing + c->column[j].scored_missing > 0) {
            kn_html_raw(p->h, "<tr><th scope=\"row\">");
            kn_page_name(p, c->column[j].name);
            kn_html_print(p->h, "</th><td class=\"n\">%td</td><td class=\"n\">%td</td></tr>\n",
                          c->column[j].training_missing, c->column[j].scored_missing);
        }
    kn_page_table_close(p);
}

static void dropped(kn_page *p)
{
    const kn_report_cohort *c = &p->r->cohort;
    if (c->n_dropped == 0)
        return;
    static const char *const titles[] = {"person", "why"};
    kn_html_raw(p->h, "<details><summary>");
    kn_page_count(p, c->n_dropped, "person was", "people were");
    kn_html_raw(p->h, " left out</summary>\n");
    kn_page_table_open(p, "People who were left out");
    kn_page_th(p, titles, 2);
    for (ptrdiff_t k = 0; k < c->n_dropped && k < DROPPED_SHOWN; k++) {
        kn_html_raw(p->h, "<tr><th scope=\"row\">");
        kn_page_name(p, c->dropped_id[k]);
        kn_html_raw(p->h, "</th><td>");
        kn_html_text(p->h, c->dropped_why[k]);
        kn_html_raw(p->h, "</td></tr>\n");
    }
    kn_page_table_close(p);
    if (c->n_dropped > DROPPED_SHOWN)
        kn_html_print(p->h, "<p class=\"quiet\">The first %d of them.</p>\n", DROPPED_SHOWN);
    kn_html_raw(p->h, "</details>\n");
}

void kn_page_cohort(kn_page *p)
{
    const kn_report *r = p->r;
    const bool training = knows(r, true), scored = knows(r, false);
    kn_html_raw(p->h, training && scored
                          ? "<p>Who the model was made from, and who is shown. Where the two "
                            "differ, the model is asked about people whom it has hardly seen.</p>\n"
                      : training ? "<p>Who the model was made from.</p>\n"
                      : scored   ? "<p>Who is shown.</p>\n"
                                 : "<p>The model has nobody in it.</p>\n");
    if (training || scored)
        kn_html_raw(p->h, "<div class=\"flow\">\n");
    for (ptrdiff_t j = 0; j < r->cohort.n; j++)
        if (training || scored)
            kn_figure_inline(r, "cohort", j, p->h);
    if (training || scored)
        kn_html_raw(p->h, "</div>\n");
    missing(p);
    if (r->cohort.matched_by) {
        kn_html_raw(p->h, "<p>Tables and responses were matched by <b>");
        kn_page_name(p, r->cohort.matched_by);
        kn_html_raw(p->h, "</b>.</p>\n");
    }
    dropped(p);
}
