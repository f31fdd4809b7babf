/* The memory of a report, asked for before anything is read for it: see base/memory/plan.h.
 *
 * What is held is the material, beside it numbers of each response and of each person, maps of
 * cards and thumbs, and curves at a block of responses for some hundreds of people at once; then,
 * when the material has gone, the pictures of the page. */
#ifndef KN_REPORT_MEMORY_H
#define KN_REPORT_MEMORY_H

#include "base/memory/plan.h"
#include "base/options/options.h"
#include "kronorm.h"

/* r {0}: the highest mark of kn_report_compute and kn_report_write. model NULL: a folder of cv. */
void kn_report_need(kn_ctx *ctx, const kn_settings *s, const kn_model *model, kn_mem_plan *r);

/* KN_ERR_MEMORY where that is more than the context may hold. */
kn_status kn_report_room(kn_ctx *ctx, const kn_settings *s, const kn_model *model);

#endif
