/* Section 2, cohort: the training sample, the scored participants, and the excluded ones with
 * reasons. Counts come from report/compute/cohort.c. */
#include "report/figures/figures.h"
#include "report/page/internal.h"

enum { DROPPED_SHOWN = 200 };

bool kn_page_cohort_has(const kn_report *r)
{
    return r->cohort.n > 0 || r->cohort.n_excluded > 0;
}

/* Returns whether the values of any covariate are known for the training sample, or for the scored
 * participants. */
static bool has_covariates(const kn_report *r, bool training)
{
    bool any = false;
    for (ptrdiff_t j = 0; j < r->cohort.n; j++)
        any = any || (training ? r->cohort.column[j].training : r->cohort.column[j].scored);
    return any;
}

/* Writes a table of the number of participants with a missing value, per covariate with any;
 * nothing without. */
static void write_missing(kn_page *p)
{
    const kn_report_cohort *c = &p->r->cohort;
    bool any = false;
    for (ptrdiff_t j = 0; j < c->n; j++)
        any = any || c->column[j].training_missing + c->column[j].scored_missing > 0;
    if (!any)
        return;
    static const char *const titles[] = {"Covariate", "Training sample", "Scored"};
    kn_page_table_open(p, "Participants with missing covariates");
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

/* Writes the excluded participants with reasons, at most 200, in a folded table; nothing without.
 */
static void write_excluded(kn_page *p)
{
    const kn_report_cohort *c = &p->r->cohort;
    if (c->n_excluded == 0)
        return;
    static const char *const titles[] = {"Participant", "Reason"};
    kn_html_raw(p->h, "<details><summary>");
    kn_page_count(p, c->n_excluded, "participant was", "participants were");
    kn_html_raw(p->h, " excluded</summary>\n");
    kn_page_table_open(p, "Excluded participants");
    kn_page_th(p, titles, 2);
    for (ptrdiff_t k = 0; k < c->n_excluded && k < DROPPED_SHOWN; k++) {
        kn_html_raw(p->h, "<tr><th scope=\"row\">");
        kn_page_name(p, c->excluded_id[k]);
        kn_html_raw(p->h, "</th><td>");
        kn_html_text(p->h, c->excluded_reason[k]);
        kn_html_raw(p->h, "</td></tr>\n");
    }
    kn_page_table_close(p);
    if (c->n_excluded > DROPPED_SHOWN)
        kn_html_print(p->h, "<p class=\"quiet\">Only the first %d are listed.</p>\n",
                      DROPPED_SHOWN);
    kn_html_raw(p->h, "</details>\n");
}

void kn_page_cohort(kn_page *p)
{
    const kn_report *r = p->r;
    const bool training = has_covariates(r, true), scored = has_covariates(r, false);
    kn_html_raw(p->h, training && scored
                          ? "<p>Covariates of the training sample and of the scored participants. "
                            "If the two differ, the model may extrapolate.</p>\n"
                      : training ? "<p>Covariates of the training sample.</p>\n"
                      : scored   ? "<p>Covariates of the scored participants.</p>\n"
                                 : "<p>The model contains no individual data.</p>\n");
    if (training || scored)
        kn_html_raw(p->h, "<div class=\"flow\">\n");
    for (ptrdiff_t j = 0; j < r->cohort.n; j++)
        if (training || scored)
            kn_figure_inline(r, "cohort", j, p->h);
    if (training || scored)
        kn_html_raw(p->h, "</div>\n");
    write_missing(p);
    if (r->cohort.matched_by) {
        kn_html_raw(p->h, "<p>Covariates and responses were matched by <b>");
        kn_page_name(p, r->cohort.matched_by);
        kn_html_raw(p->h, "</b>.</p>\n");
    }
    write_excluded(p);
}
