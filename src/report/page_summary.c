/* 1. Summary: is it all right? What to look at first, then what is fine. */
#include <string.h>

#include "report/page_parts.h"

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
