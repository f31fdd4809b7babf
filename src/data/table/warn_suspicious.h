/* Warnings about the contents of a table: implausible values in numeric columns (-999 and the
 * like, and isolated values), and a training table that seems to contain patients. Users see these
 * warnings before the fit begins. */
#ifndef KN_DATA_TABLE_WARN_SUSPICIOUS_H
#define KN_DATA_TABLE_WARN_SUSPICIOUS_H

#include "base/memory/alloc.h"
#include "io/table/table.h"

/* Values outside [low, high] are isolated; codes of missing values are so outside [code_low,
 * code_high]. Infinite: nothing is isolated at that end. */
typedef struct kn_plausible_range {
    double low, high, code_low, code_high;
} kn_plausible_range;

/* Range of a column of n numbers x, which are reordered. Isolated are
 *     codes beyond all others by more than their range, or negative where no other value is
 *     values at an end whose distance to the next is more than 3 ranges of all others, of which
 *         there are 5 distinct ones or more; at most 1 % of the values, but one in any case
 *     0 where the median is 1000 or more and all others are above a tenth of it; as many
 * With fewer than 20 values nothing is. A tail of old participants is not isolated. */
kn_plausible_range kn_plausible_range_of(double *x, ptrdiff_t n);
/* Returns whether x is an isolated value or code of its column by the limits of
 * kn_plausible_range_of. */
bool kn_is_isolated(const kn_plausible_range *r, double x);

/* Cells that the caller names otherwise, by their indices in the lists of rows and columns. */
typedef struct kn_known_cells {
    bool (*has)(const void *self, ptrdiff_t row, ptrdiff_t col);
    const void *self;
} kn_known_cells;

/* Logs one warning if rows[0..n-1] of the columns cols[0..n_cols-1] have isolated values; it names
 * the first few by line and column, except those of `known` (may be NULL). Fails only without
 * memory. O(n log n) per column. */
kn_status kn_outliers_warn(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *cols,
                           ptrdiff_t n_cols, const ptrdiff_t *rows, ptrdiff_t n,
                           const kn_known_cells *known);

/* ---- patients --------------------------------------------------------------------------------
 *
 * Warns if a training table seems to contain patients: a column such as group or diagnosis with
 * several values. */

/* Logs a warning for each column of diagnoses (group, dx, ...) that has several values in
 * rows[0..n-1]. but: the name of a column that is ignored, or NULL. taken: how the participants are
 * treated, for the message, such as "count as healthy controls". */
void kn_patients_warn(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *rows, ptrdiff_t n,
                      const char *but, const char *taken);

#endif
