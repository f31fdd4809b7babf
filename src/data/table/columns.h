/* Columns of a table as options speak of them: by name, in lists, by what their cells are. */
#ifndef KN_DATA_TABLE_COLUMNS_H
#define KN_DATA_TABLE_COLUMNS_H

#include "base/memory/alloc.h"
#include "io/table/table.h"

enum { KN_NAMES_LISTED = 5 }; /* at most, in a sentence */

/* A text without the spaces around it, as a copy. Free with kn_free. */
kn_status kn_trimmed(kn_ctx *ctx, const char *text, char **out);

bool kn_names_equal(const char *a, const char *b); /* but for the spaces around them */
bool kn_names_equal_any_case(const char *a, const char *b);

/* By exact name, else by the name without the spaces around it ("age, sex" in a header), else by
 * the only one that differs in case alone; -1. */
ptrdiff_t kn_column_find(const kn_table *table, const char *name);

/* Does the name of a column match a shell pattern? */
bool kn_column_matches(const kn_table *table, ptrdiff_t col, const char *pattern);

/* Fails with the sentence "FILE: no column 'NAME' WHY; the closest are a, b, c". */
kn_status kn_column_unknown(kn_ctx *ctx, const kn_table *table, const char *name, const char *why);

/* What the cells of a column are, over rows[0..n-1] (NULL: rows 0..n-1). */
typedef struct kn_census {
    ptrdiff_t numbers, texts, missing;
    ptrdiff_t first_text; /* row of the table; -1: none */
} kn_census;

kn_census kn_column_census(const kn_table *table, ptrdiff_t col, const ptrdiff_t *rows,
                           ptrdiff_t n);

/* Mostly numbers: a text among them is a slip to be reported, not another kind of column. */
bool kn_census_is_numeric(kn_census census);

/* The first row whose cell has a decimal comma, in a column where all are numbers but for that; -1:
 * it is no such column. */
ptrdiff_t kn_column_commas(const kn_table *table, ptrdiff_t col, const ptrdiff_t *rows,
                           ptrdiff_t n);

/* Fails with the sentence "FILE line L: NAME is 'CELL', WHAT". Where that is a number, and the cell
 * one with a decimal comma, it is named. */
kn_status kn_cell_refused(kn_ctx *ctx, const kn_table *table, ptrdiff_t row, ptrdiff_t col,
                          const char *what);

/* The value of an option such as --use a,b,c. Spaces around a name are not part of it; an empty
 * or a doubled name is refused, `option` says where. NULL text: no names. */
typedef struct kn_names {
    ptrdiff_t n;
    char **name; /* all in one allocation, `text` */
    char *text;
} kn_names;

ptrdiff_t kn_names_count(const char *text); /* parts between commas */
kn_status kn_names_split(kn_ctx *ctx, const char *option, const char *text, kn_names *out);
void kn_names_clear(kn_names *names); /* {0} is fine */

#endif
