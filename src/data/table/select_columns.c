/* Implements select_columns.h. By default these are the numeric columns that are neither ids nor
 * covariates. */
#include "data/table/select_columns.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/parallel/parallel_for.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"

/* Returns whether a column has another purpose and cannot be a response: the id, or a name in
 * o->taken (covariates, groups, labels). */
static bool is_taken(const kn_table *table, const kn_select_options *o, ptrdiff_t col)
{
    bool taken = col == o->id_col;
    for (ptrdiff_t k = 0; k < o->n_taken && !taken; k++)
        taken = kn_names_equal(o->taken[k], kn_table_name(table, col));
    return taken;
}

/* Allocates arrays for at most n selected columns and their names. out owns both; the caller clears
 * *out on failure. */
static kn_status alloc_selection(kn_ctx *ctx, ptrdiff_t n, kn_selection *out)
{
    void *memory = NULL;
    kn_status status;
    KN_TRY(kn_alloc_i(ctx, n, &out->col));
    KN_TRY(kn_alloc(ctx, n, sizeof *out->name, &memory));
    out->name = memory;
out:
    return status;
}

/* Appends a column of the table with its trimmed name to the selection, whose arrays have room. */
static kn_status append_column(kn_ctx *ctx, const kn_table *table, ptrdiff_t col, kn_selection *out)
{
    out->col[out->n] = col;
    return kn_trimmed(ctx, kn_table_name(table, col), &out->name[out->n++]);
}

/* Sets chosen[j] for the columns that one pattern of {targets} matches. A pattern that is the exact
 * name of a column, which may contain brackets, matches only that column. KN_ERR_ARGUMENT if the
 * named column, or every matching one, is the id, a covariate or a label; KN_ERR_DATA if none
 * matches. */
static kn_status mark_columns(kn_ctx *ctx, const kn_table *table, const kn_select_options *o,
                              const char *pattern, bool *chosen)
{
    ptrdiff_t found = 0, passed = 0, one = kn_column_find(table, pattern);
    for (ptrdiff_t j = 0; j < kn_table_cols(table); j++) {
        bool exact = j == one;
        const char *name = kn_table_name(table, j);
        if (one >= 0 ? !exact : !kn_column_matches(table, j, pattern))
            continue;
        if (!is_taken(table, o, j)) {
            chosen[j] = true;
            found++;
        } else if (exact) {
            return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: {targets=%s} is %s and cannot be a response",
                           kn_table_path(table), kn_clipped(name).text,
                           j == o->id_col ? "the ID column" : "a covariate or a label");
        } else {
            passed++;
        }
    }
    if (found > 0)
        return KN_OK;
    if (passed > 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s: {targets=%s} matches only the ID, covariates and labels",
                       kn_table_path(table), kn_clipped(pattern).text);
    return kn_column_unknown(ctx, table, pattern, "named in {targets}");
}

enum {
    CODES_MAX = 20
}; /* up to this many distinct whole numbers are codes or counts, not responses */

/* Returns whether all numbers of a column are whole and at most CODES_MAX different ones occur, as
 * in codes and counts. */
static bool are_codes(const kn_table *table, ptrdiff_t col)
{
    double seen[CODES_MAX], x;
    int n = 0;
    for (ptrdiff_t i = 0; i < kn_table_rows(table); i++) {
        int k = 0;
        if (kn_table_number(table, i, col, &x) != KN_CELL_NUMBER)
            continue;
        if (x != floor(x))
            return false;
        while (k < n && seen[k] != x)
            k++;
        if (k == CODES_MAX)
            return false;
        if (k == n)
            seen[n++] = x;
    }
    return true;
}

/* Logs which columns are not responses by default: those with text, and those whose few whole
 * numbers look like codes. */
static void log_excluded(kn_ctx *ctx, const kn_table *table, const kn_listing *texts,
                         const kn_listing *codes, const kn_listing *aside)
{
    if (aside->n > 0)
        kn_log(ctx, KN_LOG_INFO,
               "%s: whole-brain measures beside regions, so not responses unless {targets} names "
               "them: %s",
               kn_table_path(table), aside->text);
    if (texts->n > 0)
        kn_log(ctx, KN_LOG_INFO, "%s: not numbers, so not responses: %s", kn_table_path(table),
               texts->text);
    if (codes->n > 0)
        kn_log(ctx, KN_LOG_INFO,
               "%s: at most %d different whole numbers, so not responses unless {targets} names "
               "them: %s",
               kn_table_path(table), CODES_MAX, codes->text);
}

typedef struct column_kind {
    bool open;       /* may be a response */
    bool aside;      /* a response only if {targets} names it */
    ptrdiff_t comma; /* first row with a decimal comma; -1: none */
    bool numeric, codes;
} column_kind;

typedef struct columns {
    const kn_table *table;
    const kn_select_options *o;
    column_kind *kind;
} columns;

/* Thread task (self: columns): sets the column_kind of columns first to last - 1 of the table:
 * whether it may be a response, is numeric, looks like codes, has decimal commas. */
static void inspect_columns(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const columns *c = self;
    ptrdiff_t rows = kn_table_rows(c->table);
    for (ptrdiff_t j = first; j < last; j++) {
        column_kind *k = &c->kind[j];
        k->open = kn_table_named(c->table, j) && !is_taken(c->table, c->o, j);
        if (!k->open)
            continue;
        k->comma = kn_column_commas(c->table, j, NULL, rows);
        k->aside = kn_table_is_aside(c->table, j);
        k->numeric = kn_census_is_numeric(kn_column_census(c->table, j, NULL, rows));
        k->codes = k->numeric && are_codes(c->table, j);
    }
}

/* Without {targets}: sets chosen[j] for all numeric columns without another purpose (is_taken()),
 * except those that look like codes, and logs the excluded ones. KN_ERR_DATA for decimal commas, or
 * if no column is left. Parallel over columns. */
static kn_status mark_numeric(kn_ctx *ctx, const kn_table *table, const kn_select_options *o,
                              bool *chosen)
{
    enum { COLUMNS = 8 }; /* columns per thread task: neighbours share cache lines */
    kn_listing texts = {.limit = KN_NAMES_LISTED}, codes = texts, aside = texts;
    ptrdiff_t n = 0, cols = kn_table_cols(table);
    columns c = {table, o, NULL};
    void *memory;
    kn_status status;
    KN_TRY(kn_alloc(ctx, cols, sizeof *c.kind, &memory));
    c.kind = memory;
    kn_parallel(ctx, cols, COLUMNS, inspect_columns, &c);
    for (ptrdiff_t j = 0; j < cols; j++) {
        const column_kind *k = &c.kind[j];
        if (!k->open)
            continue;
        if (k->aside) {
            kn_listing_add(&aside, kn_table_name(table, j));
            continue;
        }
        if (k->comma >= 0) {
            status = kn_cell_refused(ctx, table, k->comma, j, "but must be a number");
            goto out;
        }
        chosen[j] = k->numeric && !k->codes;
        n += chosen[j];
        if (!chosen[j])
            kn_listing_add(k->numeric ? &codes : &texts, kn_table_name(table, j));
    }
    if (n > 0)
        log_excluded(ctx, table, &texts, &codes, &aside);
    else
        status = kn_fail(ctx, KN_ERR_DATA, "%s has no numeric column left for the responses%s",
                         kn_table_path(table),
                         codes.n > 0 ? "; if columns with few different whole numbers are "
                                       "responses, name them in {targets}"
                                     : "");
out:
    kn_free(c.kind);
    return status;
}

kn_status kn_select(kn_ctx *ctx, const kn_table *table, const kn_select_options *o,
                    kn_selection *out)
{
    kn_names patterns = {0};
    void *flags = NULL;
    ptrdiff_t cols = kn_table_cols(table);
    kn_status status;

    *out = (kn_selection){0};
    KN_TRY(kn_names_split(ctx, "{targets}", o->targets, &patterns));
    KN_TRY(kn_alloc(ctx, cols, sizeof(bool), &flags));
    KN_TRY(alloc_selection(ctx, cols, out));
    bool *chosen = flags;
    for (ptrdiff_t k = 0; k < patterns.n; k++)
        KN_TRY(mark_columns(ctx, table, o, patterns.name[k], chosen));
    if (!o->targets)
        KN_TRY(mark_numeric(ctx, table, o, chosen));
    for (ptrdiff_t j = 0; j < cols; j++)
        if (chosen[j])
            KN_TRY(append_column(ctx, table, j, out));
out:
    kn_names_clear(&patterns);
    kn_free(flags);
    if (status != KN_OK)
        kn_selection_clear(out);
    return status;
}

kn_status kn_select_named(kn_ctx *ctx, const kn_table *table, const char *const *names, ptrdiff_t n,
                          kn_selection *out)
{
    kn_status status;

    *out = (kn_selection){0};
    KN_TRY(alloc_selection(ctx, n, out));
    for (ptrdiff_t k = 0; k < n; k++) {
        ptrdiff_t col = kn_column_find(table, names[k]);
        if (col < 0) {
            status = kn_column_unknown(ctx, table, names[k], "a response of the model");
            goto out;
        }
        KN_TRY(append_column(ctx, table, col, out));
    }
out:
    if (status != KN_OK)
        kn_selection_clear(out);
    return status;
}

void kn_selection_clear(kn_selection *selection)
{
    for (ptrdiff_t t = 0; t < selection->n; t++)
        kn_free(selection->name[t]);
    kn_free(selection->name);
    kn_free(selection->col);
    *selection = (kn_selection){0};
}

kn_status kn_select_read(kn_ctx *ctx, const kn_table *table, const kn_selection *selection,
                         const ptrdiff_t *rows, ptrdiff_t n, kn_mat Y)
{
    assert(Y.rows == n && Y.cols == selection->n);
    ptrdiff_t text = kn_table_numbers(ctx, table, rows, selection->col, Y);
    if (text < 0)
        return kn_check_cancel(ctx);
    ptrdiff_t i = text / Y.cols;
    return kn_cell_refused(ctx, table, rows ? rows[i] : i, selection->col[text % Y.cols],
                           "but must be a number");
}
