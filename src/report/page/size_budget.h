/* What of a page there is room for. */
#ifndef KN_REPORT_PAGE_SIZE_BUDGET_H
#define KN_REPORT_PAGE_SIZE_BUDGET_H

#include "report/page/internal.h"

kn_status kn_page_plan_all(kn_page *p); /* everything, and memory for its sizes */
/* From the sizes of the page of `bytes` that was just drawn by the plan, one that is smaller by
 * what it is too large: fewer cards; where not one is left no data of the viewer; then fewer
 * thumbnails; then fewer rows of the table. A page that is too large without all of these is
 * refused. */
kn_status kn_page_plan_less(kn_page *p, const char *path, ptrdiff_t bytes);
void kn_page_plan_clear(kn_page *p);

#endif
