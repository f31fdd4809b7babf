/* Outlying cells of a training sample: responses so far beyond the rest of their distribution that
 * they are errors of the data. The rule looks at the values alone, before any fit, so that the cell
 * cannot bend what it is compared with. Scored participants are never judged. */
#ifndef KN_DATA_OUTLIERS_H
#define KN_DATA_OUTLIERS_H

#include "base/matrix.h"
#include "data/responses/responses.h"

/* Median of a response, and the scale of each tail.                              [METHOD 0c]
 *
 *     rsd    = interquartile range / 1.349
 *     k      = ceil(n/100) + 1
 *     lower  = max(rsd, (median - y_(k+1)) / 2.3263),   y_(k+1) the (k+1)-th smallest value
 *     upper  = max(rsd, (y_(n-k) - median) / 2.3263),   y_(n-k) the (k+1)-th largest value
 *
 * The scales are those of the tails themselves, so that a skewed response has a distant fence on
 * its long side, and k errors in one tail do not move its fence. */
typedef struct kn_tails {
    double median, lower, upper;
} kn_tails;

/* Computes the tails of y (n values, all finite, at least KN_OUTLIERS_MIN), which is reordered.
 * O(n). */
kn_tails kn_tails_of(double *y, ptrdiff_t n);

/* Responses with fewer values are not judged. */
enum { KN_OUTLIERS_MIN = 20 };

typedef struct kn_outlier {
    ptrdiff_t row, response; /* of the view */
    double value;
    double distance; /* from the median, in units of the tail's scale; negative below it */
} kn_outlier;

typedef struct kn_outliers { /* sorted by response, then by row */
    ptrdiff_t n;
    kn_outlier *cell; /* n */
} kn_outliers;

void kn_outliers_clear(kn_outliers *o); /* accepts {0} */

/* Finds the outlying cells of the responses own.first .. own.last - 1 of Y:
 *
 *     y < median - 12 lower   or   y > median + 12 upper
 *     y = 0 where fewer than 1 % of the values are 0, the others are above 0, and
 *     0 < median - 6 lower
 *
 * A tail of scale 0 has no fence. Missing cells are ignored. Reads Y once, and the responses with
 * outlying cells twice. */
kn_status kn_outliers_find(kn_ctx *ctx, kn_view Y, kn_index_range own, kn_outliers *out);

/* Makes *list (kn_outliers_clear) on every rank of the lists of all ranks, which have found their
 * own responses: `mine` is of this rank, and ranks have ascending responses. Collective. */
kn_status kn_outliers_gather(kn_ctx *ctx, const kn_outliers *mine, kn_outliers *list);

/* Returns whether the cell is in the list. O(log n). */
bool kn_is_outlier(const kn_outliers *o, ptrdiff_t row, ptrdiff_t response);

/* Writes a value to a cell of Y, whose storage must be writable. */
void kn_outlier_set(kn_view Y, const kn_outlier *c, double value);
/* Sets the listed cells of the responses own.first .. own.last - 1 to NaN in the storage of Y,
 * which must be writable. */
void kn_outliers_hide(const kn_outliers *o, kn_view Y, kn_index_range own);
/* Writes the original values of these cells back to Y. */
void kn_outliers_restore(const kn_outliers *o, kn_view Y, kn_index_range own);

#endif
