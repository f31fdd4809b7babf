/* Fits the page into max_size: page.c draws it, and draws it again by a smaller plan if it was
 * too large. */
#ifndef KN_REPORT_PAGE_SIZE_BUDGET_H
#define KN_REPORT_PAGE_SIZE_BUDGET_H

#include "report/page/internal.h"

/* Plans the whole page, and allocates p->sizes. */
kn_status kn_page_plan_all(kn_page *p);
/* Reduces the plan from the element sizes of the page just drawn, of `bytes` bytes: first fewer
 * cards; if not one fits with viewer data, cards without the viewer; then fewer thumbnails; then
 * fewer table rows. Fails if the page would be too large without all of these. */
kn_status kn_page_plan_less(kn_page *p, const char *path, ptrdiff_t bytes);
/* Frees the arrays of p->sizes. */
void kn_page_plan_clear(kn_page *p);

#endif
