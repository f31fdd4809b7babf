/* Finds and describes columns of a table for options: by name, in lists, by the kind of their
 * cells. Messages propose names that are similar to an unknown one. */
#ifndef KN_DATA_TABLE_COLUMNS_H
#define KN_DATA_TABLE_COLUMNS_H

#include "base/memory/alloc.h"
#include "io/table/table.h"

enum { KN_NAMES_LISTED = 5 }; /* names listed in a message */

/* Copies a text without the spaces around it. Free with kn_free. */
kn_status kn_trimmed(kn_ctx *ctx, const char *text, char **out);

/* Returns whether two names are equal, byte by byte, without the spaces around them. */
bool kn_names_equal(const char *a, const char *b);
/* Returns whether two names are equal without regard to case and to the spaces around them. */
bool kn_names_equal_any_case(const char *a, const char *b);

/* Returns the index of the column with this exact name; else with this name without the spaces
 * around it ("age, sex" in a header); else the only one that differs in case; -1 if there is none.
 */
ptrdiff_t kn_column_find(const kn_table *table, const char *name);

/* Returns whether the name of column `col` matches a shell pattern such as lh_*; false for a column
 * without a name. */
bool kn_column_matches(const kn_table *table, ptrdiff_t col, const char *pattern);

/* Fails with KN_ERR_DATA for a name that is no column of the table. The message is "FILE: no column
 * 'NAME', WHY; did you mean a, b?", or "...; its columns are a, b, c" if no name is close. */
kn_status kn_column_unknown(kn_ctx *ctx, const kn_table *table, const char *name, const char *why);

/* Counts of the kinds of cells of a column. */
typedef struct kn_census {
    ptrdiff_t numbers, texts, missing;
    ptrdiff_t first_text; /* row of the table; -1: none */
} kn_census;

/* Counts the numbers, texts and missing cells of column `col` over rows[0..n-1] (NULL: rows
 * 0..n-1). O(n). */
kn_census kn_column_census(const kn_table *table, ptrdiff_t col, const ptrdiff_t *rows,
                           ptrdiff_t n);

/* Returns whether a column is numeric: mostly numbers, so that a text among them is an error to
 * report. */
bool kn_census_is_numeric(kn_census census);

/* Returns the first of rows[0..n-1] (NULL: rows 0..n-1) with a decimal comma, if all texts of
 * column `col` are numbers with decimal commas; else -1. */
ptrdiff_t kn_column_commas(const kn_table *table, ptrdiff_t col, const ptrdiff_t *rows,
                           ptrdiff_t n);

/* Fails with KN_ERR_DATA for a cell: "FILE line L: NAME is 'CELL', WHAT", where `what` says what
 * was expected. If that is a number, the message mentions a decimal comma in the cell. */
kn_status kn_cell_refused(kn_ctx *ctx, const kn_table *table, ptrdiff_t row, ptrdiff_t col,
                          const char *what);

/* A list of names from an option such as --use a,b,c. */
typedef struct kn_names {
    ptrdiff_t n;
    char **name; /* pointers into `text` */
    char *text;
} kn_names;

/* Returns the number of items of a list that is separated by commas: 1 plus the number of commas.
 */
ptrdiff_t kn_names_count(const char *text);
/* Splits a list such as a,b,c at commas and trims spaces; text NULL: no names. *out owns copies
 * (kn_names_clear). KN_ERR_ARGUMENT for an empty or repeated name; `option` is for the message. */
kn_status kn_names_split(kn_ctx *ctx, const char *option, const char *text, kn_names *out);
/* Frees the names; {0} is allowed. */
void kn_names_clear(kn_names *names);

#endif
