/* Memory plan of kn_report_compute and kn_report_write, made before anything is read; see
 * base/memory/plan.h.
 *
 * The plan contains the input; beside it the numbers per response and per participant, the maps
 * of cards and thumbnails, and the curves of a block of responses for some hundreds of
 * participants at a time; and, after the input is freed, the pictures of the page. */
#ifndef KN_REPORT_MEMORY_H
#define KN_REPORT_MEMORY_H

#include "base/memory/plan.h"
#include "base/options/options.h"
#include "kronorm.h"

/* Adds the peak of kn_report_compute and kn_report_write to r, which is {0} on entry. model
 * NULL: the folder was written by cv. */
void kn_report_need(kn_ctx *ctx, const kn_settings *s, const kn_model *model, kn_mem_plan *r);

/* Returns KN_ERR_MEMORY if the plan exceeds the memory budget of the context. */
kn_status kn_report_room(kn_ctx *ctx, const kn_settings *s, const kn_model *model);

#endif
