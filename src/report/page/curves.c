/* Section 4, centile curves. All are in the page, one below the other; report.js shows one at a
 * time. */
#include "report/figures/figures.h"
#include "report/page/internal.h"

bool kn_page_curves_has(const kn_report *r)
{
    return r->curves.over && r->curves.n > 0;
}

/* Writes a menu of the shown responses; report.js makes it visible and shows the chosen curve
 * alone. */
static void write_chooser(kn_page *p)
{
    kn_html_raw(p->h, "<p class=\"control\" hidden><label for=\"which-curve\">Response</label> "
                      "<select id=\"which-curve\">");
    for (ptrdiff_t k = 0; k < p->r->curves.n; k++) {
        kn_html_print(p->h, "<option value=\"%td\">", k);
        kn_page_response_short(p, p->r->curves.shown[k].response);
        kn_html_raw(p->h, "</option>");
    }
    kn_html_raw(p->h, "</select></p>\n");
}

void kn_page_curves(kn_page *p)
{
    const kn_report_curves *c = &p->r->curves;
    kn_html_raw(p->h, "<p>Centile curves along <b>");
    kn_page_name(p, c->over);
    kn_html_raw(p->h,
                "</b>. Points show each participant's z-score on these curves (adjusted to the "
                "curve's other covariates), not raw values. A point above the 95% line has z &gt; "
                "1.64.</p>\n");
    if (c->n > 1)
        write_chooser(p);
    for (ptrdiff_t k = 0; k < c->n; k++) {
        kn_html_print(p->h, "<div class=\"curve beside\" id=\"curve%td\"><h3>", k);
        kn_page_response(p, c->shown[k].response);
        kn_html_raw(p->h, "</h3>\n");
        kn_figure_inline(p->r, "curve", k, p->h);
        kn_html_raw(p->h, "</div>\n");
    }
}
