/* Implements check_outliers.h: median and median absolute deviation of each column. */
#include "data/table/check_outliers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table/text_list.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, ptrdiff_t n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

typedef struct findings {
    kn_listing list;
    ptrdiff_t n;
} findings;

/* Lists the implausible values of one column. room: work space for n numbers. */
static void find(const kn_table *table, ptrdiff_t col, const ptrdiff_t *rows, ptrdiff_t n,
                 double *room, findings *out)
{
    double x, middle, spread;
    ptrdiff_t m = 0;
    char place[2 * sizeof(kn_clip) + 64];
    for (ptrdiff_t i = 0; i < n; i++)
        if (kn_table_number(table, rows[i], col, &x) == KN_CELL_NUMBER)
            room[m++] = x;
    if (m == 0)
        return;
    middle = median(room, m);
    for (ptrdiff_t i = 0; i < m; i++)
        room[i] = fabs(room[i] - middle);
    spread = 1.4826 * median(room, m);
    for (ptrdiff_t i = 0; i < n; i++) {
        if (kn_table_number(table, rows[i], col, &x) != KN_CELL_NUMBER)
            continue;
        bool stands_in = (x == -999 || x == -9999) && middle > x;
        if (!stands_in && !(spread > 0 && fabs(x - middle) > KN_OUTLIER_SD * spread))
            continue;
        snprintf(place, sizeof place, "%s %td %s is %s", kn_table_unit(table),
                 kn_table_line(table, rows[i]), kn_clipped(kn_table_name(table, col)).text,
                 kn_clipped(kn_table_cell(table, rows[i], col)).text);
        kn_listing_add(&out->list, place);
        out->n++;
    }
}

kn_status kn_outliers_warn(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *cols,
                           ptrdiff_t n_cols, const ptrdiff_t *rows, ptrdiff_t n)
{
    enum { MOST = 3 };
    findings all = {.list.most = MOST};
    double *room;
    kn_status status = kn_alloc_d(ctx, n, &room);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t k = 0; k < n_cols; k++)
        find(table, cols[k], rows, n, room, &all);
    kn_free(room);
    if (all.n > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: %td %s far from all others and may stand for a missing value or be a slip: %s",
               kn_table_path(table), all.n, all.n == 1 ? "number is" : "numbers are",
               all.list.text);
    return KN_OK;
}
