/* Numbers that can hardly be: -999 and its like, and those far from all others of their column. */
#ifndef KN_DATA_TABLE_CHECK_OUTLIERS_H
#define KN_DATA_TABLE_CHECK_OUTLIERS_H

#include "base/memory/alloc.h"
#include "io/table/table.h"

/* |x - median| above this many robust standard deviations, 1.4826 median |x - median| */
#define KN_OUTLIER_SD 10.0

/* Over rows[0..n-1] of the columns: one warning that names the first few by line and column. A
 * column that is constant in half of its rows has no robust deviation: there only -999 and -9999
 * are told. n log n a column. */
kn_status kn_outliers_warn(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *cols,
                           ptrdiff_t n_cols, const ptrdiff_t *rows, ptrdiff_t n);

#endif
