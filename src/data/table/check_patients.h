/* Warns if a training table seems to contain patients: a column such as group or diagnosis with
 * several values. */
#ifndef KN_DATA_TABLE_CHECK_PATIENTS_H
#define KN_DATA_TABLE_CHECK_PATIENTS_H

#include "base/memory/alloc.h"
#include "io/table/table.h"

/* Checks rows[0..n-1]. but: a column that is ignored, or NULL. taken: how the participants are
 * treated, for the message, such as "count as healthy controls". */
void kn_patients_warn(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *rows, ptrdiff_t n,
                      const char *but, const char *taken);

#endif
