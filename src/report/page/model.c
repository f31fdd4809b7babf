/* Section 3, model and calibration: is the model trustworthy? */
#include <math.h>

#include "report/figures/figures.h"
#include "report/page/internal.h"

bool kn_page_model_has(const kn_report *r)
{
    return r->model.known || r->calibration[0].n > 0 || r->calibration[1].n > 0 ||
           r->responses.T > 0;
}

static void fact_text(kn_page *p, const char *name, const char *text)
{
    if (!text)
        return;
    kn_page_fact(p, name);
    kn_html_text(p->h, text);
    kn_page_fact_end(p);
}

static void fact_number(kn_page *p, const char *name, double x, int digits)
{
    if (isnan(x))
        return;
    kn_page_fact(p, name);
    kn_html_fixed(p->h, x, digits);
    kn_page_fact_end(p);
}

/* Writes "linear 41 %, smooth 22 % over 18.5 of age". */
static void signal(kn_page *p)
{
    const kn_report_model *m = &p->r->model;
    if (m->terms == 0 || !m->weight)
        return;
    kn_page_fact(p, "signal, by term");
    for (ptrdiff_t k = 0; k < m->terms; k++) {
        kn_html_raw(p->h, k > 0 ? ", " : "");
        kn_html_text(p->h, m->term[k]);
        kn_html_raw(p->h, " ");
        kn_html_fixed(p->h, 100 * m->weight[k], 0);
        kn_html_raw(p->h, "&nbsp;%");
    }
    kn_page_fact_end(p);
    if (!isnan(m->length)) {
        kn_page_fact(p, "length of the smooth term");
        kn_html_fixed(p->h, m->length, 2);
        if (m->length_units) {
            kn_html_raw(p->h, " of ");
            kn_html_text(p->h, m->length_units);
        }
        kn_page_fact_end(p);
    }
}

static void model(kn_page *p)
{
    const kn_report_model *m = &p->r->model;
    kn_html_raw(p->h, "<h3>What the model is</h3>\n<dl class=\"facts\">\n");
    if (m->title && m->means) {
        kn_page_fact(p, "method");
        kn_html_text(p->h, m->title);
        kn_html_raw(p->h, ", ");
        kn_html_text(p->h, m->means);
        kn_page_fact_end(p);
    } else
        fact_text(p, "method", m->method);
    fact_text(p, "noise", m->noise);
    fact_text(p, "likelihood", m->likelihood);
    if (m->components > 0)
        fact_number(p, "components", (double)m->components, 0);
    signal(p);
    if (m->folds > 0)
        fact_number(p, "folds of cross-validation", m->folds, 0);
    fact_number(p, "cross-validated mean z²", m->cv_z2, 2);
    fact_number(p, "cross-validated MSLL", m->cv_msll, 3);
    if (!isnan(m->cv_coverage95)) {
        kn_page_fact(p, "within the 95 % interval");
        kn_html_fixed(p->h, 100 * m->cv_coverage95, 1);
        kn_html_raw(p->h, "&nbsp;%");
        kn_page_fact_end(p);
    }
    if (!isnan(m->smallest_p) && m->smallest_p > 0) {
        kn_page_fact(p, "smallest p that there can be");
        kn_html_p(p->h, m->smallest_p, false);
        kn_page_fact_end(p);
    }
    kn_html_raw(p->h, "</dl>\n");
    if (m->words > 0) {
        kn_html_raw(p->h, "<details><summary>All that the model says of itself</summary><ul>\n");
        for (ptrdiff_t k = 0; k < m->words; k++) {
            kn_html_raw(p->h, "<li>");
            kn_page_words(p, m->word[k]);
            kn_html_raw(p->h, "</li>\n");
        }
        kn_html_raw(p->h, "</ul></details>\n");
    }
    kn_html_raw(p->h, "<div class=\"flow\">\n");
    kn_figure_inline(p->r, "components", 0, p->h);
    kn_figure_inline(p->r, "shares", 0, p->h);
    kn_figure_inline(p->r, "terms", 0, p->h);
    kn_html_raw(p->h, "</div>\n");
}

static void interval(kn_page *p, double x, double low, double high)
{
    kn_html_raw(p->h, "<td class=\"n\">");
    kn_html_fixed(p->h, x, 2);
    kn_html_raw(p->h, " <span class=\"quiet\">(");
    kn_html_fixed(p->h, low, 2);
    kn_html_raw(p->h, " to ");
    kn_html_fixed(p->h, high, 2);
    kn_html_raw(p->h, ")</span></td>");
}

static void calibration(kn_page *p)
{
    static const char *const titles[] = {"people",           "number",           "mean z",
                                         "mean z²",          "within 50&nbsp;%", "within 90&nbsp;%",
                                         "within 95&nbsp;%", "within 99&nbsp;%"};
    const kn_report_calibration *c = p->r->calibration;
    const char *who[] = {"training, cross-validated",
                         p->r->group.known ? "scored, not labelled" : "scored"};
    if (c[0].n + c[1].n == 0)
        return;
    kn_html_raw(p->h,
                "<h3>Calibration</h3>\n<p>Of normal people z should be standard normal: mean 0, "
                "mean z² 1, as many within an interval as its name says. Intervals are over "
                "people, because the responses of one person go together.</p>\n");
    kn_page_table_open(p, "Calibration of normal people, with 95 % intervals");
    kn_page_th(p, titles, 8);
    for (int k = 0; k < 2; k++)
        if (c[k].n > 0) {
            kn_html_print(p->h, "<tr><th scope=\"row\">%s</th><td class=\"n\">%td</td>", who[k],
                          c[k].n);
            interval(p, c[k].mean, c[k].mean_low, c[k].mean_high);
            interval(p, c[k].z2, c[k].z2_low, c[k].z2_high);
            for (int j = 0; j < KN_REPORT_COVERAGES; j++) {
                kn_html_raw(p->h, "<td class=\"n\">");
                kn_html_fixed(p->h, 100 * c[k].coverage[j], 1);
                kn_html_raw(p->h, "&nbsp;%</td>");
            }
            kn_html_raw(p->h, "</tr>\n");
        }
    kn_page_table_close(p);
    kn_html_raw(p->h, "<div class=\"tiles\">\n");
    kn_figure_inline(p->r, "qq", 0, p->h);
    kn_figure_inline(p->r, "pit", 0, p->h);
    kn_figure_inline(p->r, "z2", 0, p->h);
    kn_figure_inline(p->r, "r2", 0, p->h);
    kn_html_raw(p->h, "</div>\n");
}

static void best(kn_page *p)
{
    const kn_report_responses *o = &p->r->responses;
    const char *const titles[] = {"response", o->R2 ? "R²" : NULL, o->MSLL ? "MSLL" : NULL,
                                  o->z2 ? "mean z²" : NULL};
    if (o->n_best == 0)
        return;
    kn_html_raw(p->h, "<h3>Best predicted responses</h3>\n");
    kn_page_table_open(p, "The best predicted first");
    kn_page_th(p, titles, 4);
    for (ptrdiff_t k = 0; k < o->n_best && k < KN_PAGE_BEST; k++) {
        const ptrdiff_t t = o->best[k];
        kn_html_raw(p->h, "<tr><th scope=\"row\">");
        kn_page_response(p, t);
        kn_html_raw(p->h, "</th>");
        if (o->R2)
            kn_page_td(p, o->R2[t], 3);
        if (o->MSLL)
            kn_page_td(p, o->MSLL[t], 3);
        if (o->z2)
            kn_page_td(p, o->z2[t], 2);
        kn_html_raw(p->h, "</tr>\n");
    }
    kn_page_table_close(p);
}

static void map_of_R2(kn_page *p)
{
    const kn_report_responses *o = &p->r->responses;
    if (!p->pictures || !o->R2)
        return;
    const double high = kn_page_largest(o->R2, o->T, .05);
    kn_html_raw(p->h, "<figure class=\"wide\">");
    kn_page_map_values(p, o->R2, 0, high, "Map of R² of each response, where it is above 0");
    kn_page_bar_values(p, 0, high, 2, "R²");
    kn_html_raw(p->h, o->R2_of_model
                          ? "<figcaption>Where covariates explain the responses: R² of the model. "
                          : "<figcaption>Where covariates predict the responses: R² of people not "
                            "seen. ");
    kn_page_words(p, kn_pictures_words(p->pictures));
    kn_html_raw(p->h, "</figcaption></figure>\n");
}

void kn_page_model(kn_page *p)
{
    if (p->r->model.known)
        model(p);
    calibration(p);
    best(p);
    map_of_R2(p);
}
