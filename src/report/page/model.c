/* Section 3, model and calibration: is the model trustworthy? Numbers come from
 * report/compute/model.c and calibration.c. */
#include <math.h>

#include "report/figures/figures.h"
#include "report/page/internal.h"
#include "report/text/sentence.h"

bool kn_page_model_has(const kn_report *r)
{
    return r->model.known || r->calibration[0].n > 0 || r->calibration[1].n > 0 ||
           r->responses.T > 0;
}

/* Writes a fact "name: text", escaped; nothing if text is NULL. */
static void write_fact_text(kn_page *p, const char *name, const char *text)
{
    if (!text)
        return;
    kn_page_fact(p, name);
    kn_html_text(p->h, text);
    kn_page_fact_end(p);
}

/* Writes a fact "name: x" with `digits` decimals; nothing for NaN. */
static void write_fact_number(kn_page *p, const char *name, double x, int digits)
{
    if (isnan(x))
        return;
    kn_page_fact(p, name);
    kn_html_fixed(p->h, x, digits);
    kn_page_fact_end(p);
}

/* Writes the proportion of predicted variance of each term, "linear 41%, smooth 22%", and the
 * length-scale of the smooth term; nothing without weights. */
static void write_signal(kn_page *p)
{
    const kn_report_model *m = &p->r->model;
    if (m->terms == 0 || !m->weight)
        return;
    kn_page_fact(p, "Predicted variance by term");
    for (ptrdiff_t k = 0; k < m->terms; k++) {
        kn_html_raw(p->h, k > 0 ? ", " : "");
        kn_html_text(p->h, m->term[k]);
        kn_html_raw(p->h, " ");
        kn_html_fixed(p->h, 100 * m->weight[k], 0);
        kn_html_raw(p->h, "%");
    }
    kn_page_fact_end(p);
    if (!isnan(m->length)) {
        kn_page_fact(p, "Length-scale of the smooth term");
        kn_html_text(p->h, kn_format_figures(m->length, 3).text);
        if (m->length_units) {
            kn_html_raw(p->h, " (in units of ");
            kn_html_text(p->h, m->length_units);
            kn_html_raw(p->h, ")");
        }
        kn_page_fact_end(p);
    }
}

/* Writes the summary of the model: method, noise, components, terms, cross-validated metrics, a
 * folded full description, and figures. */
static void write_model(kn_page *p)
{
    const kn_report_model *m = &p->r->model;
    kn_html_raw(p->h, "<h3>Model summary</h3>\n<dl class=\"facts\">\n");
    if (m->title && m->means) {
        kn_page_fact(p, "Method");
        kn_html_text(p->h, m->title);
        kn_html_raw(p->h, ", ");
        kn_html_text(p->h, m->means);
        kn_page_fact_end(p);
    } else
        write_fact_text(p, "Method", m->method);
    write_fact_text(p, "Noise", m->noise);
    write_fact_text(p, "Likelihood", m->likelihood);
    if (m->components > 0)
        write_fact_number(p, "Components", (double)m->components, 0);
    write_signal(p);
    if (m->folds > 0)
        write_fact_number(p, "Cross-validation folds", m->folds, 0);
    write_fact_number(p, "Cross-validated mean z²", m->cv_z2, 2);
    write_fact_number(p, "Cross-validated mean R²", m->cv_R2, 3);
    write_fact_number(p, "Cross-validated gain of the covariates (nats per response)", m->cv_gain,
                      3);
    write_fact_number(p, "Cross-validated MSLL (mean standardised log loss)", m->cv_msll, 3);
    if (!isnan(m->cv_coverage95)) {
        kn_page_fact(p, "Cross-validated coverage of the 95% interval");
        kn_html_fixed(p->h, 100 * m->cv_coverage95, 1);
        kn_html_raw(p->h, "%");
        kn_page_fact_end(p);
    }
    if (!isnan(m->smallest_p) && m->smallest_p > 0) {
        kn_page_fact(p, "Smallest possible p-value (extreme values)");
        kn_html_p(p->h, m->smallest_p, false);
        kn_page_fact_end(p);
    }
    kn_html_raw(p->h, "</dl>\n");
    if (m->words > 0) {
        kn_html_raw(p->h, "<details><summary>Full model description</summary><ul>\n");
        for (ptrdiff_t k = 0; k < m->words; k++) {
            kn_html_raw(p->h, "<li>");
            kn_page_text(p, m->word[k]);
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

/* Writes a table cell "x (low to high)" with two decimals. */
static void write_interval(kn_page *p, double x, double low, double high)
{
    kn_html_raw(p->h, "<td class=\"n\">");
    kn_html_fixed(p->h, x, 2);
    kn_html_raw(p->h, " <span class=\"quiet\">(");
    kn_html_fixed(p->h, low, 2);
    kn_html_raw(p->h, " to ");
    kn_html_fixed(p->h, high, 2);
    kn_html_raw(p->h, ")</span></td>");
}

/* Writes the calibration of the z-scores: a row each for training sample and scored participants
 * with mean z, mean z^2 and coverages, and figures; nothing without z-scores. */
static void write_calibration(kn_page *p)
{
    static const char *const titles[] = {"Participants",    "n",
                                         "Mean z (95% CI)", "Mean z² (95% CI)",
                                         "In 50% interval", "In 90% interval",
                                         "In 95% interval", "In 99% interval"};
    const kn_report_calibration *c = p->r->calibration;
    const char *samples[] = {"Training sample, cross-validated",
                             p->r->group.known ? "Scored, without the cases" : "Scored"};
    if (c[0].n + c[1].n == 0)
        return;
    kn_html_raw(
        p->h, "<h3>Calibration</h3>\n<p>In healthy participants, z-scores should follow a standard "
              "normal distribution: mean 0, mean z² = 1, and 95% of values in the 95% interval. "
              "Confidence intervals are computed across participants, because responses within a "
              "participant are correlated.</p>\n");
    kn_page_table_open(p, "Calibration of z-scores");
    kn_page_th(p, titles, 8);
    for (int k = 0; k < 2; k++)
        if (c[k].n > 0) {
            kn_html_print(p->h, "<tr><th scope=\"row\">%s</th><td class=\"n\">%td</td>", samples[k],
                          c[k].n);
            write_interval(p, c[k].mean, c[k].mean_low, c[k].mean_high);
            write_interval(p, c[k].z2, c[k].z2_low, c[k].z2_high);
            for (int j = 0; j < KN_REPORT_COVERAGES; j++) {
                kn_html_raw(p->h, "<td class=\"n\">");
                kn_html_fixed(p->h, 100 * c[k].coverage[j], 1);
                kn_html_raw(p->h, "%</td>");
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

/* Writes a table of the best predicted responses with R2, gain, MSLL and mean z^2; nothing without.
 */
static void write_best(kn_page *p)
{
    const kn_report_responses *o = &p->r->responses;
    const char *const titles[] = {"Response", o->R2 ? "R²" : NULL, o->gain ? "Gain" : NULL,
                                  o->MSLL ? "MSLL" : NULL, o->z2 ? "Mean z²" : NULL};
    if (o->n_best == 0)
        return;
    kn_html_raw(p->h, "<h3>Best predicted responses</h3>\n");
    kn_page_table_open(p, "Largest R² in held-out participants first");
    kn_page_th(p, titles, 5);
    for (ptrdiff_t k = 0; k < o->n_best && k < KN_PAGE_BEST; k++) {
        const ptrdiff_t t = o->best[k];
        kn_html_raw(p->h, "<tr><th scope=\"row\">");
        kn_page_response(p, t);
        kn_html_raw(p->h, "</th>");
        if (o->R2)
            kn_page_td(p, o->R2[t], 3);
        if (o->gain)
            kn_page_td(p, o->gain[t], 3);
        if (o->MSLL)
            kn_page_td(p, o->MSLL[t], 3);
        if (o->z2)
            kn_page_td(p, o->z2[t], 2);
        kn_html_raw(p->h, "</tr>\n");
    }
    kn_page_table_close(p);
}

/* Writes the map of R2 of the responses with its colour bar; nothing if they have no location. */
static void write_R2_map(kn_page *p)
{
    const kn_report_responses *o = &p->r->responses;
    if (!p->pictures || !o->R2)
        return;
    const double high = kn_page_largest(o->R2, o->T, .05);
    kn_html_raw(p->h, "<figure class=\"wide\">");
    kn_page_map_values(p, o->R2, 0, high, "Map of R² of each response, shown where it is above 0");
    kn_page_bar_values(p, 0, high, 2, "R²");
    kn_html_raw(p->h, o->R2_of_training
                          ? "<figcaption>Variance explained by the covariates: cross-validated R² "
                            "of the training sample. "
                          : "<figcaption>Variance explained by the covariates: out-of-sample R². ");
    kn_page_text(p, kn_pictures_description(p->pictures));
    kn_html_raw(p->h, "</figcaption></figure>\n");
}

void kn_page_model(kn_page *p)
{
    if (p->r->model.known)
        write_model(p);
    write_calibration(p);
    write_best(p);
    write_R2_map(p);
}
