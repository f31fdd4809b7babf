/* Section 8, methods text, and section 9, how to reproduce the page. The texts come from
 * report/compute/methods_section.c. */
#include <string.h>

#include "report/page/internal.h"

bool kn_page_methods_has(const kn_report *r)
{
    return r->words.paragraphs > 0;
}

void kn_page_methods(kn_page *p)
{
    const kn_report_methods *w = &p->r->words;
    kn_html_raw(p->h, "<p>Text for a publication. Edit it as needed; it is in the public domain "
                      "(CC0&nbsp;1.0).</p>\n<div class=\"box\" id=\"methods-text\">\n");
    kn_html_raw(p->h, "<h3 class=\"small\">Methods</h3>\n");
    for (ptrdiff_t k = 0; k < w->paragraphs; k++) {
        kn_html_raw(p->h, "<p>");
        kn_page_text(p, w->paragraph[k]);
        kn_html_raw(p->h, "</p>\n");
    }
    if (w->results) {
        kn_html_raw(p->h, "<h3 class=\"small\">Results</h3>\n<p>");
        kn_page_text(p, w->results);
        kn_html_raw(p->h, "</p>\n");
    }
    if (w->references > 0) {
        kn_html_raw(p->h, "<h3 class=\"small\">References</h3>\n<ul class=\"references\">\n");
        for (ptrdiff_t k = 0; k < w->references; k++) {
            kn_html_raw(p->h, "<li>");
            kn_html_text(p->h, w->reference[k]);
            kn_html_raw(p->h, "</li>\n");
        }
        kn_html_raw(p->h, "</ul>\n");
    }
    kn_html_raw(p->h,
                "</div>\n<p class=\"control\" hidden><button type=\"button\" "
                "data-copy=\"methods-text\">Copy</button> <span role=\"status\"></span></p>\n");
}

bool kn_page_reproduce_has(const kn_report *r)
{
    return r->words.facts > 0;
}

/* Returns whether the fact is a kronorm command, which can be pasted into a shell. */
static bool is_command(const kn_report_fact *fact)
{
    return strncmp(fact->value, "kronorm ", strlen("kronorm ")) == 0;
}

void kn_page_reproduce(kn_page *p)
{
    const kn_report_methods *w = &p->r->words;
    kn_html_raw(
        p->h, p->r->anonymized
                  ? "<p>With the same input files, and IDs in place of the numbers, these commands "
                    "give the same results.</p>\n"
                  : "<p>With the same input files, these commands give the same results and a "
                    "byte-identical report.</p>\n");
    for (ptrdiff_t k = 0; k < w->facts; k++)
        if (is_command(&w->fact[k])) {
            kn_html_raw(p->h, "<h3 class=\"small\">");
            kn_html_text(p->h, w->fact[k].name);
            kn_html_raw(p->h, "</h3>\n<pre class=\"box\" tabindex=\"0\"><code>");
            kn_html_text(p->h, w->fact[k].value);
            kn_html_raw(p->h, "</code></pre>\n");
        }
    kn_html_raw(p->h, "<dl class=\"facts\">\n");
    for (ptrdiff_t k = 0; k < w->facts; k++)
        if (!is_command(&w->fact[k])) {
            kn_html_raw(p->h, "<div><dt>");
            kn_html_text(p->h, w->fact[k].name);
            kn_html_raw(p->h, "</dt><dd>");
            kn_html_text(p->h, w->fact[k].value);
            kn_html_raw(p->h, "</dd></div>\n");
        }
    kn_html_raw(p->h, "</dl>\n");
}
