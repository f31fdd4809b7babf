/* Rows by what stands in their columns: --where 'group=control,age<60,site in a|b', or the
 * values of a file, participant_id in @train.txt.
 *
 * A condition is COLUMN, one of = != < <= > >= or in, and a value; a comma between conditions is
 * and. Texts are compared to the letter, without the spaces around them; two numbers as numbers, so
 * that 1 is 1.0. A missing cell meets no condition but those of n/a: group=n/a, group!=n/a. */
#ifndef KN_DATA_TABLE_ROW_FILTER_H
#define KN_DATA_TABLE_ROW_FILTER_H

#include "base/memory/alloc.h"
#include "data/table/row_filter_list.h"
#include "io/table/table.h"

typedef enum kn_row_filter_op {
    KN_WHERE_IS,
    KN_WHERE_IS_NOT,
    KN_WHERE_LESS,
    KN_WHERE_AT_MOST,
    KN_WHERE_MORE,
    KN_WHERE_AT_LEAST,
    KN_WHERE_IN,
} kn_row_filter_op;

typedef struct kn_condition {
    const char *column; /* all texts are in kn_row_filter's `text` */
    kn_row_filter_op op;
    char *value;             /* of `in` several, each closed by a NUL, one behind the other */
    ptrdiff_t n;             /* how many */
    kn_row_filter_list list; /* instead of them, of `in @FILE` */
    const char *written;
} kn_condition;

typedef struct kn_row_filter {
    ptrdiff_t n;
    kn_condition *condition;
    char *text, *written; /* what the conditions point into */
} kn_row_filter;

/* NULL text: no condition. */
kn_status kn_row_filter_parse(kn_ctx *ctx, const char *text, kn_row_filter *out);
void kn_row_filter_clear(kn_row_filter *where); /* {0} is fine */

/* keep[i] = row i of the table meets every condition, and says how many do. Refuses a column that
 * is not there, a text where a number is compared, and conditions that nobody meets. */
kn_status kn_row_filter_rows(kn_ctx *ctx, const kn_row_filter *where, const kn_table *table,
                             bool *keep);

#endif
