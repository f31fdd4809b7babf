#include "data/recipe.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/columns.h"
#include "data/words.h"
#include "io/path.h"

static const char *const MISSING_NAMES[] = {"error", "drop", "mean"};
enum { N_MISSING = sizeof MISSING_NAMES / sizeof MISSING_NAMES[0] };

const char *kn_missing_name(kn_missing missing)
{
    return MISSING_NAMES[missing];
}

bool kn_missing_from_name(const char *name, kn_missing *out)
{
    for (int k = 0; k < N_MISSING; k++)
        if (strcmp(MISSING_NAMES[k], name) == 0) {
            *out = (kn_missing)k;
            return true;
        }
    return false;
}

void kn_recipe_clear(kn_recipe *recipe)
{
    for (ptrdiff_t k = 0; k < recipe->n; k++) {
        kn_free(recipe->column[k].name);
        kn_levels_clear(&recipe->column[k].levels);
    }
    kn_free(recipe->column);
    *recipe = (kn_recipe){0};
}

static ptrdiff_t width(const kn_covariate *c)
{
    return c->kind == KN_COVARIATE_NUMERIC || c->levels.n == 2 ? 1 : c->levels.n;
}

ptrdiff_t kn_recipe_width(const kn_recipe *recipe)
{
    ptrdiff_t F = 0;
    for (ptrdiff_t k = 0; k < recipe->n; k++)
        F += width(&recipe->column[k]);
    return F;
}

kn_status kn_recipe_x_name(kn_ctx *ctx, const kn_recipe *recipe, ptrdiff_t f, char **out)
{
    const kn_covariate *c = recipe->column;
    assert(f >= 0 && f < kn_recipe_width(recipe));
    for (; f >= width(c); c++)
        f -= width(c);
    if (c->kind == KN_COVARIATE_NUMERIC)
        return kn_text_copy(ctx, c->name, strlen(c->name), out);
    char text[2 * KN_LEVEL_SIZE];
    int n = snprintf(text, sizeof text, "%s=%s", c->name, c->levels.text[width(c) == 1 ? 1 : f]);
    return kn_text_copy(ctx, text, (size_t)n, out);
}

/* ---- applying ------------------------------------------------------------------------------ */

typedef struct job {
    kn_ctx *ctx;
    const kn_recipe *recipe;
    const kn_table *table;
    const ptrdiff_t *rows;
    ptrdiff_t n;
    const bool *dropped; /* NULL: none */
} job;

static ptrdiff_t row_of(const job *a, ptrdiff_t i)
{
    return a->rows ? a->rows[i] : i;
}

static kn_status fill_numeric(const job *a, const kn_covariate *c, ptrdiff_t col, double *x)
{
    ptrdiff_t filled = 0;
    for (ptrdiff_t i = 0; i < a->n; i++) {
        ptrdiff_t row = row_of(a, i);
        if (a->dropped && a->dropped[i])
            continue;
        switch (kn_table_number(a->table, row, col, &x[i])) {
        case KN_CELL_NUMBER: break;
        case KN_CELL_TEXT: return kn_cell_refused(a->ctx, a->table, row, col, "expected a number");
        case KN_CELL_MISSING:
            if (a->recipe->missing != KN_MISSING_MEAN)
                return kn_cell_refused(a->ctx, a->table, row, col,
                                       "expected a number (use {missing=drop})");
            x[i] = c->mean;
            filled++;
        }
    }
    if (filled > 0)
        kn_log(a->ctx, KN_LOG_INFO, "%s: %td missing values of %s are the training mean, %.6g",
               kn_table_path(a->table), filled, kn_clipped(c->name).text, c->mean);
    return KN_OK;
}

static kn_status unseen(const job *a, const kn_covariate *c, ptrdiff_t row, ptrdiff_t col)
{
    kn_listing known = {0};
    char what[sizeof known.text + 64];
    for (ptrdiff_t k = 0; k < c->levels.n; k++)
        kn_listing_add(&known, c->levels.text[k]);
    snprintf(what, sizeof what, "a level that training did not have (it had %s)", known.text);
    return kn_cell_refused(a->ctx, a->table, row, col, what);
}

static kn_status fill_category(const job *a, const kn_covariate *c, ptrdiff_t col, kn_mat x)
{
    char level[KN_LEVEL_SIZE];
    for (ptrdiff_t i = 0; i < a->n; i++) {
        ptrdiff_t row = row_of(a, i), at, k = -1;
        const char *cell = kn_table_cell(a->table, row, col);
        if (a->dropped && a->dropped[i])
            continue;
        if (kn_text_is_missing(cell))
            return kn_cell_refused(a->ctx, a->table, row, col,
                                   "expected a category (use {missing=drop})");
        if (kn_level_of(cell, c->levels.numbers, level))
            k = kn_levels_find(&c->levels, level, &at);
        if (k < 0)
            return unseen(a, c, row, col);
        for (ptrdiff_t f = 0; f < x.cols; f++)
            kn_col(x, f)[i] = k == (x.cols == 1 ? 1 : f);
    }
    return KN_OK;
}

static kn_status find_columns(const job *a, ptrdiff_t *col)
{
    for (ptrdiff_t k = 0; k < a->recipe->n; k++) {
        const char *name = a->recipe->column[k].name;
        col[k] = kn_column_find(a->table, name);
        if (col[k] < 0)
            return kn_column_unknown(a->ctx, a->table, name, "which the model was fitted with");
    }
    return KN_OK;
}

/* Before any cell is judged, so that what stands in a dropped row is nobody's concern. */
static void drop_rows(const job *a, const ptrdiff_t *col, kn_mat X, bool *dropped)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < a->n; i++) {
        for (ptrdiff_t k = 0; k < a->recipe->n && !dropped[i]; k++)
            dropped[i] = kn_text_is_missing(kn_table_cell(a->table, row_of(a, i), col[k]));
        for (ptrdiff_t f = 0; f < X.cols && dropped[i]; f++)
            kn_col(X, f)[i] = NAN;
        count += dropped[i];
    }
    if (count > 0)
        kn_log(a->ctx, KN_LOG_WARNING, "%s: %td of %td rows lack a covariate and are left out",
               kn_table_path(a->table), count, a->n);
}

kn_status kn_recipe_apply(kn_ctx *ctx, const kn_recipe *recipe, const kn_table *table,
                          const ptrdiff_t *rows, kn_mat X, bool *dropped)
{
    const job a = {ctx, recipe, table, rows, X.rows, dropped};
    ptrdiff_t *col = NULL, f = 0;
    kn_status status;

    assert(X.cols == kn_recipe_width(recipe));
    assert(dropped || recipe->missing != KN_MISSING_DROP);
    if (dropped && X.rows > 0)
        memset(dropped, 0, (size_t)X.rows * sizeof *dropped);
    KN_TRY(kn_alloc_i(ctx, recipe->n, &col));
    KN_TRY(find_columns(&a, col));
    if (recipe->missing == KN_MISSING_DROP)
        drop_rows(&a, col, X, dropped);
    for (ptrdiff_t k = 0; k < recipe->n; k++) {
        const kn_covariate *c = &recipe->column[k];
        KN_TRY(c->kind == KN_COVARIATE_NUMERIC
                   ? fill_numeric(&a, c, col[k], kn_col(X, f))
                   : fill_category(&a, c, col[k], kn_cols(X, f, width(c))));
        f += width(c);
    }
out:
    kn_free(col);
    return status;
}
