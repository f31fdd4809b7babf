/* Which columns of a table are responses, and their values. */
#ifndef KN_DATA_TABLE_SELECT_COLUMNS_H
#define KN_DATA_TABLE_SELECT_COLUMNS_H

#include "base/matrix.h"
#include "io/table/table.h"

typedef struct kn_selection {
    ptrdiff_t n; /* T */
    ptrdiff_t *col;
    char **name;
} kn_selection;

typedef struct kn_select_options {
    const char
        *targets;     /* --targets 'lh_*,rh_*' as typed; NULL: every numeric column that is free */
    ptrdiff_t id_col; /* -1: none */
    const char *const *taken; /* names of covariates and labels, in this table or another */
    ptrdiff_t n_taken;
} kn_select_options;

/* In the order of the table. A pattern passes over the id and the names that are taken; one that
 * is such a name to the letter is refused, as is one that matches nothing. */
kn_status kn_select(kn_ctx *ctx, const kn_table *table, const kn_select_options *options,
                    kn_selection *out);

/* The columns of these names, in this order: the responses that a model has. */
kn_status kn_select_named(kn_ctx *ctx, const kn_table *table, const char *const *names, ptrdiff_t n,
                          kn_selection *out);
void kn_selection_clear(kn_selection *selection); /* {0} is fine */

/* Y (n x T) = rows[0..n-1] of the table (NULL: rows 0..n-1); missing values are NaN, and any other
 * text is refused. */
kn_status kn_select_read(kn_ctx *ctx, const kn_table *table, const kn_selection *selection,
                         const ptrdiff_t *rows, ptrdiff_t n, kn_mat Y);

#endif
