/* People who may not be healthy among those who are taken to be: a column such as group that says
 * several things of them. */
#ifndef KN_DATA_TABLE_CHECK_PATIENTS_H
#define KN_DATA_TABLE_CHECK_PATIENTS_H

#include "base/memory/alloc.h"
#include "io/table/table.h"

/* rows: n of the table. but: a column that is not looked at, or NULL. taken: what all of them are
 * taken to be, "count as healthy controls". */
void kn_patients_warn(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *rows, ptrdiff_t n,
                      const char *but, const char *taken);

#endif
