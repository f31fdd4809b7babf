/* Section 7, change: did a participant change more between two visits than stable participants do?
 * It is left out for other folders. */
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
    kn_page_count(p, c->pairs, "pair of visits", "pairs of visits");
    kn_html_raw(p->h, " of ");
    kn_page_count(p, c->participants, "participant", "participants");
    if (c->reference) {
        kn_html_raw(p->h, ", compared with those of the reference sample <b>");
        kn_page_name(p, c->reference);
        kn_html_print(p->h, "</b> (n = %td)", c->reference_participants);
    }
    kn_html_raw(p->h,
                ". In this report, z is the z-score of the change. It is 0 for the average change "
                "of stable participants, 5% of whom have |z| &gt; 1.96.</p>\n");
    if (!isnan(c->gamma)) {
        kn_html_raw(p->h, "<p>Regression to the mean was removed: the slope of the change on the "
                          "first visit is ");
        kn_html_fixed(p->h, c->gamma, 2);
        kn_html_raw(p->h, " (0: deviations persist; −1: deviations disappear at the second "
                          "visit).</p>\n");
    }
    kn_figure_inline(p->r, "change", 0, p->h);
}
