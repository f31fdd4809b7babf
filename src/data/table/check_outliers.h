/* Warns of implausible values in numeric columns: -999 and the like, and values far from all
 * others. */
#ifndef KN_DATA_TABLE_CHECK_OUTLIERS_H
#define KN_DATA_TABLE_CHECK_OUTLIERS_H

#include "base/memory/alloc.h"
#include "io/table/table.h"

/* |x - median| above this many robust standard deviations, 1.4826 median |x - median| */
#define KN_OUTLIER_SD 10.0

/* Checks rows[0..n-1] of the columns, and logs one warning that names the first few by line and
 * column. If half of the rows of a column are equal its robust deviation is 0, and only -999 and
 * -9999 are reported. n log n per column. */
kn_status kn_outliers_warn(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *cols,
                           ptrdiff_t n_cols, const ptrdiff_t *rows, ptrdiff_t n);

#endif
