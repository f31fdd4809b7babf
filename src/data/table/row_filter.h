/* Filters rows by conditions on their cells: --where 'group=control,age<60,site in a|b', or by the
 * values in a file, participant_id in @train.txt.
 *
 * A condition is COLUMN, one of = != < <= > >= or in, and a value; a comma between conditions
 * means and. Texts are compared exactly, without the spaces around them; two numbers as numbers,
 * so that 1 equals 1.0. A missing cell meets only conditions on n/a: group=n/a, group!=n/a. */
#ifndef KN_DATA_TABLE_ROW_FILTER_H
#define KN_DATA_TABLE_ROW_FILTER_H

#include <stdbool.h>

#include "base/memory/alloc.h"
#include "io/table/table.h"

/* Values of a condition from a file, one per line: --where 'participant_id in @train.txt'. */
typedef struct kn_row_filter_list {
    ptrdiff_t n;
    const char **value; /* sorted, without the spaces around them */
    char *text;         /* storage of the values */
} kn_row_filter_list;

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
    const char *column; /* points into kn_row_filter.text */
    kn_row_filter_op op;
    char *value;             /* NUL-terminated; for "in" several, one after the other */
    ptrdiff_t n;             /* number of values */
    kn_row_filter_list list; /* values of `in @FILE` */
    /* The condition as the user wrote it, for messages. */
    const char *written;
} kn_condition;

typedef struct kn_row_filter {
    ptrdiff_t n;
    kn_condition *condition;
    char *text, *written; /* storage of the texts of the conditions */
} kn_row_filter;

/* Parses the conditions of {where}, separated by commas; text NULL: none. Reads the files of `in
 * @FILE`. *out owns copies of the texts (kn_row_filter_clear). KN_ERR_ARGUMENT if the syntax is
 * wrong. */
kn_status kn_row_filter_parse(kn_ctx *ctx, const char *text, kn_row_filter *out);
/* Frees the conditions of the filter; {0} is allowed. */
void kn_row_filter_clear(kn_row_filter *where);

/* Sets keep[i], one flag per row of the table, to whether row i meets every condition, and logs how
 * many do. KN_ERR_DATA for a column that does not exist, a text compared as a number, and
 * conditions that no row meets. */
kn_status kn_row_filter_rows(kn_ctx *ctx, const kn_row_filter *where, const kn_table *table,
                             bool *keep);

#endif
