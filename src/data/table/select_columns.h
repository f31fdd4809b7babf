/* Selects the columns of a table that are responses, and reads their values. Names come from
 * {targets} or, for a fitted model, from its list of responses. */
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
    const char *targets; /* --targets 'lh_*,rh_*' as typed; NULL: every numeric column not used as
                            id, covariate, group or label */
    ptrdiff_t id_col;    /* -1: none */
    const char *const *taken; /* names of covariates, groups and labels, in this table or another */
    ptrdiff_t n_taken;
} kn_select_options;

/* Selects the columns of a table that are responses, in the order of the table; *out owns the list.
 * Patterns skip the id and the names in `taken`. KN_ERR_ARGUMENT if a pattern is exactly such a
 * name; KN_ERR_DATA if it matches nothing, or if no numeric column is left. */
kn_status kn_select(kn_ctx *ctx, const kn_table *table, const kn_select_options *options,
                    kn_selection *out);

/* Selects the columns with these n names, in this order: the responses of a model. *out owns the
 * list. KN_ERR_DATA if the table lacks one of them. */
kn_status kn_select_named(kn_ctx *ctx, const kn_table *table, const char *const *names, ptrdiff_t n,
                          kn_selection *out);
void kn_selection_clear(kn_selection *selection); /* accepts {0} */

/* Reads the selected columns as Y (n x T, original units) from rows[0..n-1] of the table (NULL:
 * rows 0..n-1). Missing values are NaN; KN_ERR_DATA for any other text. Parallel. */
kn_status kn_select_read(kn_ctx *ctx, const kn_table *table, const kn_selection *selection,
                         const ptrdiff_t *rows, ptrdiff_t n, kn_mat Y);

#endif
