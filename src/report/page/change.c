/* Section 7, change: did a participant change more between two visits than stable participants
 * do? */
#include <math.h>

#include "report/figures/figures.h"
#include "report/page/internal.h"

bool kn_page_change_has(const kn_report *r)
{
    return r->change.known;
}

void kn_page_change(kn_page *p)
{
    const kn_report_change *c = &p->r->change;
    kn_html_raw(p->h, "<p>");
    kn_page_count(p, c->pairs, "pair", "pairs");
    kn_html_raw(p->h, " of visits of ");
    kn_page_count(p, c->people, "person", "people");
    if (c->reference) {
        kn_html_raw(p->h, ", against those of <b>");
        kn_page_name(p, c->reference);
        kn_html_print(p->h, "</b> (%td)", c->reference_people);
    }
    kn_html_raw(
        p->h,
        ". Here z is of the change: 0 where a person changed as stable people do, ±1.96 where "
        "one in twenty of them changes as much.</p>\n");
    if (!isnan(c->gamma)) {
        kn_html_raw(p->h, "<p>Regression to the mean: slope ");
        kn_html_fixed(p->h, c->gamma, 2);
        kn_html_raw(p->h, " of the change on the first visit (0: a deviation stays as it is, −1: "
                          "nothing of it is left at the second), taken out of z.</p>\n");
    }
    kn_figure_inline(p->r, "change", 0, p->h);
}
