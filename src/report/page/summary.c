/* Section 1, summary: warnings first, then checks that passed. */
#include <math.h>
#include <string.h>

#include "report/page/internal.h"

bool kn_page_summary_has(const kn_report *r)
{
    (void)r;
    return true;
}

static void warning(kn_page *p, const kn_report_note *note)
{
    kn_html_raw(p->h, "<li class=\"warning\">");
    if (note->title && *note->title) {
        kn_html_raw(p->h, "<strong>");
        kn_page_words(p, note->title);
        kn_html_raw(p->h, "</strong> ");
    }
    kn_html_raw(p->h, "<span>");
    kn_page_words(p, note->words);
    kn_html_raw(p->h, "</span></li>\n");
}

static void good(kn_page *p, const kn_report_note *note)
{
    kn_html_raw(p->h, "<li>");
    if (note->title && *note->title) {
        kn_page_words(p, note->title);
        kn_html_raw(p->h, " ");
    }
    kn_page_words(p, note->words);
    kn_html_raw(p->h, "</li>\n");
}

/* ---- key numbers ---- */

static void number_open(kn_page *p, const char *name)
{
    kn_html_print(p->h, "<div><dt>%s</dt><dd>", name);
}

static void number_close(kn_page *p, const char *beside)
{
    kn_html_print(p->h, " <small>%s</small></dd></div>\n", beside);
}

static void at_a_glance(kn_page *p)
{
    const kn_report *r = p->r;
    const kn_report_calibration *c = &r->calibration[r->calibration[1].n > 0];
    if (c->n == 0)
        return;
    kn_html_raw(p->h, "<dl class=\"glance\">\n");
    number_open(p, "mean z²");
    kn_html_fixed(p->h, c->z2, 2);
    number_close(p, r->calibration[1].n > 0 ? "1 expected" : "of training; 1 expected");
    number_open(p, "within 95&nbsp;%");
    kn_html_fixed(p->h, 100 * c->coverage[2], 1);
    kn_html_raw(p->h, "&nbsp;%");
    number_close(p, r->calibration[1].n > 0 ? "of z" : "of z of training");
    if (!isnan(r->responses.mean_R2)) {
        number_open(p, "mean R²");
        kn_html_fixed(p->h, r->responses.mean_R2, 2);
        number_close(p, r->kind == KN_REPORT_MODEL || r->kind == KN_REPORT_CHANGE
                            ? "explained"
                            : "of people not seen");
    }
    if (r->people.deviance_of > 0) {
        number_open(p, "stand out");
        kn_html_print(p->h, "%td", r->people.deviance_found);
        kn_html_print(p->h, " <small>of %td", r->people.deviance_of);
        if (!isnan(r->people.deviance_expected_low)) {
            kn_html_raw(p->h, "; ");
            kn_html_fixed(p->h, r->people.deviance_expected_low, 0);
            kn_html_raw(p->h, " to ");
            kn_html_fixed(p->h, r->people.deviance_expected_high, 0);
            kn_html_raw(p->h, " expected");
        }
        kn_html_raw(p->h, "</small></dd></div>\n");
    }
    kn_html_raw(p->h, "</dl>\n");
}

static bool anybody(const kn_report *r)
{
    bool any = r->people.n > 0 || r->cohort.n_dropped > 0;
    for (ptrdiff_t j = 0; j < r->cohort.n; j++)
        any = any || r->cohort.column[j].training || r->cohort.column[j].scored;
    return any;
}

void kn_page_summary(kn_page *p)
{
    const kn_report *r = p->r;
    if (r->sentence) {
        kn_html_raw(p->h, "<p class=\"lead\">");
        kn_page_words(p, r->sentence);
        kn_html_raw(p->h, "</p>\n");
    }
    at_a_glance(p);
    if (r->warnings.n > 0) {
        kn_html_raw(p->h, "<h2 class=\"small\">Look at this first</h2>\n<ul class=\"warnings\">\n");
        for (ptrdiff_t k = 0; k < r->warnings.n; k++)
            warning(p, &r->warnings.note[k]);
        kn_html_raw(p->h, "</ul>\n");
    }
    if (r->good.n > 0) {
        kn_html_raw(p->h, "<h2 class=\"small\">What is fine</h2>\n<ul class=\"fine\">\n");
        for (ptrdiff_t k = 0; k < r->good.n; k++)
            good(p, &r->good.note[k]);
        kn_html_raw(p->h, "</ul>\n");
    }
    if (r->space.surface_note) {
        kn_html_raw(p->h, "<p class=\"note\">");
        kn_page_words(p, r->space.surface_note);
        kn_html_raw(p->h, "</p>\n");
    }
    kn_html_raw(
        p->h,
        !anybody(r) ? "<p class=\"personal\"><strong>Nobody's data.</strong> The model has nobody "
                      "in it, and "
                      "so has this page.</p>\n"
        : r->stripped
            ? "<p class=\"personal\"><strong>Personal data.</strong> Ids were replaced by "
              "numbers, but the measurements of single people are still on this page: share it "
              "as you would share the table of participants.</p>\n"
            : "<p class=\"personal\"><strong>Personal data.</strong> This page shows ids, "
              "covariates and measurements of single people: share it as you would share "
              "the table of participants.</p>\n");
}
