/* Implements warn_suspicious.h: isolated values by the gaps at the ends of a sorted column,
 * patients by the name of a column. Both only warn; no value is changed. */
#include "data/table/warn_suspicious.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table/column_role.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "stats/order_statistics.h"

typedef struct findings {
    kn_listing list;
    ptrdiff_t n;
} findings;

/* Returns whether a number is a usual code of a missing value: 999, -999, 9999 or -9999. */
static bool is_missing_code(double x)
{
    double size = fabs(x);
    return size == 999 || size == 9999;
}

static const double FAR = 3;

enum {
    DISTINCT = 5,   /* distinct values that the others must have */
    MIN_ROWS = 20,  /* values below which nothing is isolated */
    PER_VALUE = 100 /* one value of so many may be isolated */
};

/* Returns the number of distinct values of sorted x (n), counted up to DISTINCT. */
static ptrdiff_t count_distinct(const double *x, ptrdiff_t n)
{
    ptrdiff_t distinct = n > 0;
    for (ptrdiff_t i = 1; i < n && distinct < DISTINCT; i++)
        distinct += x[i] > x[i - 1];
    return distinct;
}

/* Removes codes of missing values (999, -9999, ...) from sorted x (n) in place, if they lie beyond
 * all other values by more than the range of those, or alone below 0. Sets range->code_low and
 * code_high to these limits. Returns how many values are left. */
static ptrdiff_t remove_codes(double *x, ptrdiff_t n, kn_plausible_range *range)
{
    double low = INFINITY, high = -INFINITY;
    ptrdiff_t m = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        if (!is_missing_code(x[i])) {
            low = fmin(low, x[i]);
            high = fmax(high, x[i]);
        }
    range->code_low = fmax(low - (high - low), low >= 0 ? 0 : -INFINITY);
    range->code_high = high + (high - low);
    for (ptrdiff_t i = 0; i < n; i++)
        if (!is_missing_code(x[i]) || (x[i] >= range->code_low && x[i] <= range->code_high))
            x[m++] = x[i];
    return m;
}

/* Sets range->low and high so that isolated values at the ends of sorted x (n) are outside. A value
 * at an end is isolated if its gap to the next is more than FAR ranges of all others, of which
 * DISTINCT differ. No more than 1 % of the values, and at least one, can be isolated; else the
 * range stays infinite. */
static void find_ends(const double *x, ptrdiff_t n, kn_plausible_range *range)
{
    ptrdiff_t limit = n >= PER_VALUE ? n / PER_VALUE : 1, first = 0, last = n - 1;
    for (ptrdiff_t k = 1; k <= limit; k++) {
        double rest = x[n - 1 - k] - x[0];
        if (x[n - k] - x[n - 1 - k] > FAR * rest && count_distinct(x, n - k) == DISTINCT)
            last = n - 1 - k;
        rest = x[n - 1] - x[k];
        if (x[k] - x[k - 1] > FAR * rest && count_distinct(x + k, n - k) == DISTINCT)
            first = k;
    }
    /* 0 where all others are far from it, as a volume that was not measured */
    while (last == n - 1 && first < limit && x[first] == 0 && x[limit] > x[n / 2] / 10 &&
           x[n / 2] >= 1000)
        first++;
    if (first + n - 1 - last > limit)
        return;
    range->low = first > 0 ? x[first] : -INFINITY;
    range->high = last < n - 1 ? x[last] : INFINITY;
}

kn_plausible_range kn_plausible_range_of(double *x, ptrdiff_t n)
{
    kn_plausible_range range = {-INFINITY, INFINITY, -INFINITY, INFINITY};
    if (n < MIN_ROWS)
        return range;
    kn_sort(x, n);
    ptrdiff_t m = remove_codes(x, n, &range);
    if (m >= MIN_ROWS / 2)
        find_ends(x, m, &range);
    return range;
}

bool kn_is_isolated(const kn_plausible_range *r, double x)
{
    if (is_missing_code(x) && (x < r->code_low || x > r->code_high))
        return true;
    return x < r->low || x > r->high;
}

/* Appends "line L COLUMN is VALUE" to out->list for each isolated number of column cols[k] among
 * rows[0..n-1] that is not `known`, and counts them. work: space for n numbers. O(n log n). */
static void find_outliers(const kn_table *table, const ptrdiff_t *cols, ptrdiff_t k,
                          const ptrdiff_t *rows, ptrdiff_t n, const kn_known_cells *known,
                          double *work, findings *out)
{
    double x;
    ptrdiff_t m = 0, col = cols[k];
    char location[2 * sizeof(kn_clip) + 64];
    for (ptrdiff_t i = 0; i < n; i++)
        if (kn_table_number(table, rows[i], col, &x) == KN_CELL_NUMBER)
            work[m++] = x;
    kn_plausible_range range = kn_plausible_range_of(work, m);
    for (ptrdiff_t i = 0; i < n; i++) {
        if (kn_table_number(table, rows[i], col, &x) != KN_CELL_NUMBER ||
            !kn_is_isolated(&range, x) || (known && known->has(known->self, i, k)))
            continue;
        snprintf(location, sizeof location, "%s %td %s is %s", kn_table_unit(table),
                 kn_table_cell_line(table, rows[i], col),
                 kn_clipped(kn_table_name(table, col)).text,
                 kn_clipped(kn_table_cell(table, rows[i], col)).text);
        kn_listing_add(&out->list, location);
        out->n++;
    }
}

kn_status kn_outliers_warn(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *cols,
                           ptrdiff_t n_cols, const ptrdiff_t *rows, ptrdiff_t n,
                           const kn_known_cells *known)
{
    enum { MAX_COUNT = 3 };
    findings all = {.list.limit = MAX_COUNT};
    double *work;
    kn_status status = kn_alloc_d(ctx, n, &work);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t k = 0; k < n_cols; k++)
        find_outliers(table, cols, k, rows, n, known, work, &all);
    kn_free(work);
    if (all.n > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: %td %s far from all others; correct errors, and name codes for missing values "
               "in {na}: %s",
               kn_table_path(table), all.n, all.n == 1 ? "number is" : "numbers are",
               all.list.text);
    return KN_OK;
}

/* ---- patients -------------------------------------------------------------------------------- */

/* Appends the first two distinct values of column `col` among rows[0..n-1] to the list; returns how
 * many it found (0 to 2). */
static ptrdiff_t two_values(const kn_table *t, ptrdiff_t col, const ptrdiff_t *rows, ptrdiff_t n,
                            kn_listing *list)
{
    const char *first = NULL;
    for (ptrdiff_t i = 0; i < n && list->n < 2; i++) {
        const char *cell = kn_table_cell(t, rows[i], col);
        if (kn_text_is_missing(cell) || (first && kn_names_equal(first, cell)))
            continue;
        first = first ? first : cell;
        kn_listing_add(list, cell);
    }
    return list->n;
}

void kn_patients_warn(kn_ctx *ctx, const kn_table *t, const ptrdiff_t *rows, ptrdiff_t n,
                      const char *but, const char *taken)
{
    for (ptrdiff_t col = 0; col < kn_table_cols(t); col++) {
        kn_listing list = {.limit = KN_NAMES_LISTED};
        const char *name = kn_table_name(t, col);
        if (!kn_table_named(t, col) || kn_column_role_of(name) != KN_COLUMN_GROUP ||
            (but && kn_names_equal_any_case(but, name)))
            continue;
        if (two_values(t, col, rows, n, &list) > 1)
            kn_log(ctx, KN_LOG_WARNING,
                   "%s: %s has the values %s, and all participants %s; select the controls with "
                   "{where}",
                   kn_table_path(t), kn_clipped(name).text, list.text, taken);
    }
}
