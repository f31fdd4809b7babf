/* Internals of report.c: the memory plan of a page, and the input files that a page must not
 * overwrite. Each folder of report has its own internal header besides. */
#ifndef KN_REPORT_INTERNAL_H
#define KN_REPORT_INTERNAL_H

#include "base/memory/alloc.h"
#include "base/memory/plan.h"
#include "base/options/options.h"
#include "kronorm.h"

/* ---- memory.c ---- */

/* Memory plan of kn_report_compute and kn_report_write, made before anything is read; see
 * base/memory/plan.h.
 *
 * The plan contains the input; beside it the numbers per response and per participant, the maps
 * of cards and thumbnails, and the curves of a block of responses for some hundreds of
 * participants at a time; and, after the input is freed, the pictures of the page. */

/* Adds the peak of kn_report_compute and kn_report_write to r, which is {0} on entry. model
 * NULL: the folder was written by cv. */
void kn_report_need(kn_ctx *ctx, const kn_settings *s, const kn_model *model, kn_mem_plan *r);

/* Returns KN_ERR_MEMORY if the plan exceeds the memory budget of the context. */
kn_status kn_report_check_memory(kn_ctx *ctx, const kn_settings *s, const kn_model *model);

/* ---- protected_inputs.c ---- */

/* Lists the input files of a page, so that the page and its figures never overwrite them, not
 * even with {force}. */

typedef struct kn_protected {
    const char **path; /* n, in the arena */
    ptrdiff_t n, capacity;
} kn_protected;

/* Collects into `out` the model, the files that options name, and the tables, records and maps
 * that a command wrote into the scored folder. Pages and figures in that folder are not listed
 * and may be replaced. Paths are in `arena`. */
kn_status kn_protected_find(kn_ctx *ctx, const kn_settings *s, kn_arena *arena, kn_protected *out);

#endif
