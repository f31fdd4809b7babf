/* Implements encoding.h: application of an encoding to a table. Learning is in encoding_learn.c,
 * the choice of columns in encoding_columns.c. */
#include "data/covariates/encoding.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

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

void kn_encoding_clear(kn_encoding *encoding)
{
    for (ptrdiff_t k = 0; k < encoding->n; k++) {
        kn_free(encoding->column[k].name);
        kn_levels_clear(&encoding->column[k].levels);
    }
    kn_free(encoding->column);
    *encoding = (kn_encoding){0};
}

/* Returns how many raw columns covariate c has in the encoding: 1 for a number, for codes and for
 * two levels, else one per level. */
static ptrdiff_t count_columns(const kn_encoding *encoding, const kn_covariate *c)
{
    return encoding->codes || c->kind == KN_COVARIATE_NUMERIC || c->levels.n == 2 ? 1 : c->levels.n;
}

ptrdiff_t kn_encoding_width(const kn_encoding *encoding)
{
    ptrdiff_t F = 0;
    for (ptrdiff_t k = 0; k < encoding->n; k++)
        F += count_columns(encoding, &encoding->column[k]);
    return F;
}

void kn_encoding_levels(const kn_encoding *encoding, int *levels)
{
    assert(encoding->codes);
    for (ptrdiff_t k = 0; k < encoding->n; k++)
        levels[k] = (int)encoding->column[k].levels.n;
}

void kn_encoding_values(const kn_encoding *encoding, int *values)
{
    assert(encoding->codes);
    for (ptrdiff_t k = 0; k < encoding->n; k++)
        values[k] = encoding->column[k].values;
}

void kn_encoding_batch(const kn_encoding *encoding, bool *batch)
{
    assert(encoding->codes);
    for (ptrdiff_t k = 0; k < encoding->n; k++)
        batch[k] = encoding->column[k].batch;
}

kn_status kn_encoding_x_name(kn_ctx *ctx, const kn_encoding *encoding, ptrdiff_t f, char **out)
{
    const kn_covariate *c = encoding->column;
    assert(f >= 0 && f < kn_encoding_width(encoding));
    for (; f >= count_columns(encoding, c); c++)
        f -= count_columns(encoding, c);
    if (encoding->codes || c->kind == KN_COVARIATE_NUMERIC)
        return kn_text_copy(ctx, c->name, strlen(c->name), out);
    char text[2 * KN_LEVEL_SIZE];
    int n = snprintf(text, sizeof text, "%s=%s", c->name, c->levels.text[c->levels.n == 2 ? 1 : f]);
    return kn_text_copy(ctx, text, (size_t)n, out);
}

/* ---- applying ------------------------------------------------------------------------------ */

typedef struct job {
    kn_ctx *ctx;
    const kn_encoding *encoding;
    const kn_table *table;
    const ptrdiff_t *rows;
    ptrdiff_t n;
    const bool *dropped; /* NULL: none */
} job;

/* Returns the row of the table for participant i of the task. */
static ptrdiff_t row_of(const job *a, ptrdiff_t i)
{
    return a->rows ? a->rows[i] : i;
}

/* Encodes numeric covariate c, column `col` of the table, as x (n). Missing values become the
 * training mean with {missing=mean}, which is logged; otherwise they, and texts, are KN_ERR_DATA.
 */
static kn_status fill_numeric(const job *a, const kn_covariate *c, ptrdiff_t col, double *x)
{
    ptrdiff_t filled = 0;
    for (ptrdiff_t i = 0; i < a->n; i++) {
        ptrdiff_t row = row_of(a, i);
        if (a->dropped && a->dropped[i])
            continue;
        switch (kn_table_number(a->table, row, col, &x[i])) {
        case KN_CELL_NUMBER: break;
        case KN_CELL_TEXT:
            return kn_cell_refused(a->ctx, a->table, row, col, "but must be a number");
        case KN_CELL_MISSING:
            if (a->encoding->missing != KN_MISSING_MEAN)
                return kn_cell_refused(a->ctx, a->table, row, col,
                                       "a missing value; use {missing=drop} to exclude such "
                                       "participants, or {missing=mean} to impute");
            x[i] = c->mean;
            filled++;
        }
    }
    if (filled > 0)
        kn_log(a->ctx, KN_LOG_INFO,
               "%s: %td missing values of %s are replaced by the training mean, %.6g",
               kn_table_path(a->table), filled, kn_clipped(c->name).text, c->mean);
    return KN_OK;
}

/* Levels of one column that are not in the training sample, for the warning. */
typedef struct strangers {
    ptrdiff_t n;                      /* participants */
    ptrdiff_t first[KN_NAMES_LISTED]; /* rows where each new level appears first */
    ptrdiff_t n_first;
    kn_listing list;
} strangers;

/* Fails with KN_ERR_DATA for a cell whose level the training sample does not have; the message
 * lists the levels that it has. */
static kn_status refuse_unseen(const job *a, const kn_covariate *c, ptrdiff_t row, ptrdiff_t col)
{
    kn_listing known = {0};
    char what[sizeof known.text + 2 * sizeof(kn_clip) + 128];
    if (c->two_valued) {
        double x;
        kn_clip name = kn_clipped(c->name);
        bool number = kn_table_number(a->table, row, col, &x) == KN_CELL_NUMBER;
        snprintf(what, sizeof what,
                 "which is not a level of the training sample (levels: %s, %s); %s%s%s",
                 c->levels.text[0], c->levels.text[1],
                 number ? "fit with {numeric=" : "write the levels of ",
                 number ? name.text : "the training sample", number ? "} if it is a number" : "");
        return kn_cell_refused(a->ctx, a->table, row, col, what);
    }
    for (ptrdiff_t k = 0; k < c->levels.n; k++)
        kn_listing_add(&known, c->levels.text[k]);
    snprintf(what, sizeof what, "which is not a level of the training sample (levels: %s%s)",
             known.text,
             a->encoding->unseen ? "; {unseen=prior} needs the additive sample kernel" : "");
    return kn_cell_refused(a->ctx, a->table, row, col, what);
}

/* Counts one participant whose level is not in the training sample in *s, and appends the level to
 * the list of the warning if it is not there yet. */
static void count_unseen(const job *a, strangers *s, ptrdiff_t row, ptrdiff_t col)
{
    const char *cell = kn_table_cell(a->table, row, col);
    s->n++;
    for (ptrdiff_t k = 0; k < s->n_first; k++)
        if (kn_names_equal(cell, kn_table_cell(a->table, s->first[k], col)))
            return;
    if (!s->list.closed)
        kn_listing_add(&s->list, cell);
    if (s->n_first < KN_NAMES_LISTED)
        s->first[s->n_first++] = row;
}

/* Returns the index of the level of a cell; c->levels.n if the training sample does not have the
 * level; -1 for a missing cell. */
static ptrdiff_t code_of(const kn_covariate *c, const char *cell)
{
    char level[KN_LEVEL_SIZE];
    ptrdiff_t at, k;
    if (kn_text_is_missing(cell))
        return -1;
    if (!kn_level_of(cell, c->levels.numbers, level))
        return c->levels.n;
    k = kn_levels_find(&c->levels, level, &at);
    return k < 0 ? c->levels.n : k;
}

/* Encodes category c, column `col` of the table, as x: n x 1 codes, or without codes n x 1 or n x L
 * indicators. A new level is code L for a site or with {unseen=prior}, which is logged, else
 * KN_ERR_DATA. A missing cell is NaN with codes and {missing=mean}, else KN_ERR_DATA. */
static kn_status fill_category(const job *a, const kn_covariate *c, ptrdiff_t col, kn_mat x)
{
    const kn_encoding *r = a->encoding;
    strangers unseen = {.list.limit = KN_NAMES_LISTED};
    ptrdiff_t missing = 0;
    for (ptrdiff_t i = 0; i < a->n; i++) {
        ptrdiff_t row = row_of(a, i);
        if (a->dropped && a->dropped[i])
            continue;
        ptrdiff_t k = code_of(c, kn_table_cell(a->table, row, col));
        if (k < 0 && !(r->codes && r->missing == KN_MISSING_MEAN))
            return kn_cell_refused(a->ctx, a->table, row, col,
                                   c->two_valued
                                       ? "a missing value; use {missing=drop} to exclude such "
                                         "participants, or {missing=mean} to impute"
                                       : "a missing value; use {missing=drop} to exclude such "
                                         "participants, or {missing=mean} to impute");
        if (k == c->levels.n && !c->batch) {
            if (!r->codes || !r->unseen)
                return refuse_unseen(a, c, row, col);
            count_unseen(a, &unseen, row, col);
        }
        missing += k < 0;
        if (r->codes)
            kn_col(x, 0)[i] = k < 0 ? NAN : (double)k;
        else
            for (ptrdiff_t f = 0; f < x.cols; f++)
                kn_col(x, f)[i] = k == (x.cols == 1 ? 1 : f);
    }
    if (missing > 0)
        kn_log(a->ctx, KN_LOG_INFO,
               "%s: %td missing values of %s are replaced by the average of its levels in the "
               "training sample",
               kn_table_path(a->table), missing, kn_clipped(c->name).text);
    if (unseen.n > 0)
        kn_log(a->ctx, KN_LOG_WARNING,
               "%s: %s of %td %s is a level that is not in the training sample: %s",
               kn_table_path(a->table), kn_clipped(c->name).text, unseen.n,
               unseen.n == 1 ? "participant" : "participants", unseen.list.text);
    return KN_OK;
}

/* Sets col[k] to the column of the table with the name of covariate k, for all covariates of the
 * encoding. KN_ERR_DATA if the table lacks one. */
static kn_status find_columns(const job *a, ptrdiff_t *col)
{
    for (ptrdiff_t k = 0; k < a->encoding->n; k++) {
        const char *name = a->encoding->column[k].name;
        col[k] = kn_column_find(a->table, name);
        if (col[k] < 0)
            return kn_column_unknown(a->ctx, a->table, name, "a covariate of the model");
    }
    return KN_OK;
}

/* Sets dropped[i], and the row of X to NaN, for each row with a missing covariate, and logs their
 * number. Runs before cells are checked, so that other errors in these rows do not matter. */
static void drop_rows(const job *a, const ptrdiff_t *col, kn_mat X, bool *dropped)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < a->n; i++) {
        for (ptrdiff_t k = 0; k < a->encoding->n && !dropped[i]; k++)
            dropped[i] = kn_text_is_missing(kn_table_cell(a->table, row_of(a, i), col[k]));
        for (ptrdiff_t f = 0; f < X.cols && dropped[i]; f++)
            kn_col(X, f)[i] = NAN;
        count += dropped[i];
    }
    if (count > 0)
        kn_log(a->ctx, KN_LOG_WARNING, "%s: rows that lack a covariate are excluded, %td of %td",
               kn_table_path(a->table), count, a->n);
}

kn_status kn_encoding_apply(kn_ctx *ctx, const kn_encoding *encoding, const kn_table *table,
                            const ptrdiff_t *rows, kn_mat X, bool *dropped)
{
    const job a = {ctx, encoding, table, rows, X.rows, dropped};
    ptrdiff_t *col = NULL, f = 0;
    kn_status status;

    assert(X.cols == kn_encoding_width(encoding));
    assert(dropped || encoding->missing != KN_MISSING_DROP);
    if (dropped && X.rows > 0)
        memset(dropped, 0, (size_t)X.rows * sizeof *dropped);
    KN_TRY(kn_alloc_i(ctx, encoding->n, &col));
    KN_TRY(find_columns(&a, col));
    if (encoding->missing == KN_MISSING_DROP)
        drop_rows(&a, col, X, dropped);
    for (ptrdiff_t k = 0; k < encoding->n; k++) {
        const kn_covariate *c = &encoding->column[k];
        KN_TRY(c->kind == KN_COVARIATE_NUMERIC
                   ? fill_numeric(&a, c, col[k], kn_col(X, f))
                   : fill_category(&a, c, col[k], kn_cols(X, f, count_columns(encoding, c))));
        f += count_columns(encoding, c);
    }
out:
    kn_free(col);
    return status;
}
