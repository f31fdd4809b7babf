/* Implements kn_encoding_learn of encoding.h: decides which columns are categories, and learns
 * levels and means from the training rows. The encoding is stored in the model and applied to new
 * participants as it is. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/covariates/encoding.h"
#include "data/table/column_role.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "data/table/warn_suspicious.h"

/* ---- kinds of columns ----------------------------------------------------------------------- */

typedef enum stated_kind { STATED_NOTHING, STATED_CATEGORY, STATED_NUMERIC } stated_kind;

typedef struct column_decision {
    stated_kind stated; /* by --categorical, --batch or --numeric */
    kn_census census;
    bool category;
    int values;      /* as in kn_covariate; numeric only */
    bool two_valued; /* a category because it has two numbers */
    bool doubtful;   /* numeric, but may be codes of a category */
    bool batch;      /* named in --batch */
} column_decision;

typedef struct encoding_learner {
    kn_ctx *ctx;
    const kn_table *table;
    kn_missing missing;
    ptrdiff_t *row; /* rows of the training sample */
    ptrdiff_t n;
    ptrdiff_t *col; /* column of each covariate */
    column_decision *of;
    ptrdiff_t n_col;
    bool codes;
    bool checked;    /* the values were checked before: a fold of a cross-validation */
    bool auto_batch; /* --batch auto: sites are found by name */
} encoding_learner;

/* Marks the covariates that one name or pattern in an option matches as stated category or number
 * (`what`). `option` is its name without braces. KN_ERR_ARGUMENT if another option states the
 * opposite, or a column is no covariate; KN_ERR_DATA if no column matches. */
static kn_status apply_name(encoding_learner *l, const char *option, const char *name,
                            stated_kind what)
{
    ptrdiff_t col = kn_column_find(l->table, name), found = 0;
    kn_clip clip = kn_clipped(name);
    char why[64];
    snprintf(why, sizeof why, "named in {%s}", option);
    for (ptrdiff_t k = 0; k < l->n_col; k++) {
        if (col >= 0 ? l->col[k] != col : !kn_column_matches(l->table, l->col[k], name))
            continue;
        if (l->of[k].stated != STATED_NOTHING && l->of[k].stated != what)
            return kn_fail(l->ctx, KN_ERR_ARGUMENT,
                           "{%s} and {%s} both name '%s'; name it in only one of them",
                           what == STATED_NUMERIC && l->of[k].batch ? "batch" : "categorical",
                           "numeric", kn_clipped(kn_table_name(l->table, l->col[k])).text);
        l->of[k].stated = what;
        l->of[k].batch = l->of[k].batch || strcmp(option, "batch") == 0;
        found++;
    }
    if (found > 0)
        return KN_OK;
    if (col < 0)
        return kn_column_unknown(l->ctx, l->table, name, why);
    return kn_fail(l->ctx, KN_ERR_ARGUMENT, "%s: {%s=%s} is not one of the covariates",
                   kn_table_path(l->table), option, clip.text);
}

/* Applies apply_name() to every item of the list `text` of an option ({numeric}, {categorical},
 * {batch}); text NULL: none. */
static kn_status apply_names(encoding_learner *l, const char *option, const char *text,
                             stated_kind what)
{
    kn_names names = {0};
    char braces[32];
    kn_status status;
    snprintf(braces, sizeof braces, "{%s}", option);
    KN_TRY(kn_names_split(l->ctx, braces, text, &names));
    for (ptrdiff_t c = 0; c < names.n; c++)
        KN_TRY(apply_name(l, option, names.name[c], what));
out:
    kn_names_clear(&names);
    return status;
}

/* Sets l->col, the columns of the table that are covariates, and marks in l->of which of them
 * {batch}, {categorical} and {numeric} name. Fails as kn_encoding_names and apply_name() do. */
static kn_status list_covariates(encoding_learner *l, const kn_encoding_options *o)
{
    const char **names = NULL;
    void *memory;
    kn_status status;

    KN_TRY(kn_encoding_names(l->ctx, l->table, o, &names, &l->n_col));
    KN_TRY(kn_alloc_i(l->ctx, l->n_col, &l->col));
    KN_TRY(kn_alloc(l->ctx, l->n_col, sizeof *l->of, &memory));
    l->of = memory;
    for (ptrdiff_t k = 0; k < l->n_col; k++)
        l->col[k] = kn_table_find(l->table, names[k]);
    const char *batch = l->codes && o->batch ? o->batch : "none"; /* sites need codes */
    l->auto_batch = strcmp(batch, "auto") == 0;
    if (!l->auto_batch && strcmp(batch, "none") != 0)
        KN_TRY(apply_names(l, "batch", batch, STATED_CATEGORY));
    KN_TRY(apply_names(l, "categorical", o->categorical, STATED_CATEGORY));
    KN_TRY(apply_names(l, "numeric", o->numeric, STATED_NUMERIC));
out:
    kn_free(names);
    return status;
}

/* Sets l->row (l->n), the rows to learn from: those of the options, with {missing=drop} only the
 * ones without a missing covariate. KN_ERR_DATA if none is left. */
static kn_status choose_rows(encoding_learner *l, const kn_encoding_options *o)
{
    ptrdiff_t given = o->rows ? o->n_rows : kn_table_rows(l->table);
    kn_status status = kn_alloc_i(l->ctx, given, &l->row);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < given; i++) {
        ptrdiff_t row = o->rows ? o->rows[i] : i;
        bool keep = true;
        for (ptrdiff_t k = 0; k < l->n_col && keep && l->missing == KN_MISSING_DROP; k++)
            keep = !kn_text_is_missing(kn_table_cell(l->table, row, l->col[k]));
        if (keep)
            l->row[l->n++] = row;
    }
    if (l->n == 0)
        return kn_fail(l->ctx, KN_ERR_DATA, "%s: no row has a value for every covariate",
                       kn_table_path(l->table));
    return KN_OK;
}

enum {
    CODES_MAX = KN_LEVELS_MAX + 1, /* distinct values of a site column are counted up to this, */
    CODES_COUNTED = 51,            /* and those of other columns up to this */
    CODES_MIN = 3,                 /* distinct values that a category by name needs */
    SUSPECT_CODES = 10             /* up to this many distinct whole numbers may be codes */
};

/* Returns the number of distinct numbers in column `col` of the rows to learn from, counted up to
 * `limit` (at most CODES_MAX). *codes: all of them are whole numbers, as codes of a category are.
 */
static int count_values(const encoding_learner *l, ptrdiff_t col, int limit, bool *codes)
{
    double seen[CODES_MAX], x;
    int n = 0;
    assert(limit <= CODES_MAX);
    *codes = true;
    for (ptrdiff_t i = 0; i < l->n && n < limit; i++) {
        int k = 0;
        if (kn_table_number(l->table, l->row[i], col, &x) != KN_CELL_NUMBER)
            continue;
        while (k < n && seen[k] != x)
            k++;
        if (k == n)
            seen[n++] = x;
        *codes = *codes && fabs(x) < KN_LEVEL_EXACT && x == floor(x);
    }
    return n;
}

/* Returns the number of levels that a category may have: one per KN_LEVEL_ROWS rows, from 1 to
 * KN_LEVELS_MAX. The levels of a fold were checked with all rows. */
static ptrdiff_t levels_max(const encoding_learner *l)
{
    if (l->checked)
        return KN_LEVELS_MAX;
    ptrdiff_t limit = l->n / KN_LEVEL_ROWS;
    return limit > KN_LEVELS_MAX ? KN_LEVELS_MAX : limit < 1 ? 1 : limit;
}

/* Returns whether a column with this name and so many distinct whole numbers has codes of a
 * category: of a site, or of sex if they are few. */
static bool are_codes_by_name(const char *name, int values)
{
    kn_column_role role = kn_column_role_of(name);
    return (role == KN_COLUMN_SITE && values > 0) ||
           (role == KN_COLUMN_SEX && values >= CODES_MIN && values <= KN_LEVELS_FEW);
}

/* Decides about a column without texts and without an option that names it. Whole numbers under the
 * name of a site or sex make it a category, which is logged; other columns with few values are
 * marked for a warning. values: distinct numbers; whole: all are whole numbers. */
static void count_suspect_codes(const encoding_learner *l, column_decision *c, ptrdiff_t col,
                                int values, bool whole)
{
    const char *name = kn_table_name(l->table, col);
    kn_column_role role = kn_column_role_of(name);
    if (c->census.texts > 0)
        return;
    if (whole && are_codes_by_name(name, values)) {
        c->category = true;
        c->values = 0;
        if (values >= CODES_MIN)
            kn_log(l->ctx, KN_LOG_INFO,
                   "%s: %s has %d different whole numbers and is treated as a category; "
                   "{numeric=%s} treats it as a number",
                   kn_table_path(l->table), kn_clipped(name).text, values, kn_clipped(name).text);
        return;
    }
    c->doubtful =
        values <= SUSPECT_CODES && values <= levels_max(l) &&
        (role == KN_COLUMN_SITE || (whole && values >= CODES_MIN && role != KN_COLUMN_AGE));
}

/* Logs one warning that lists the numeric covariates with few different values, which may be codes
 * of categories. */
static void warn_of_implausible(const encoding_learner *l)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    for (ptrdiff_t k = 0; k < l->n_col; k++)
        if (l->of[k].doubtful)
            kn_listing_add(&list, kn_table_name(l->table, l->col[k]));
    if (list.n > 0)
        kn_log(l->ctx, KN_LOG_WARNING,
               "%s: these columns with few different values are treated as numbers: %s; name them "
               "in {categorical} if they are codes, or in {numeric} if not",
               kn_table_path(l->table), list.text);
}

/* Sets kind and number of values of each covariate in l->of. Texts are categories. With codes two
 * distinct whole numbers are one as well, since a slope over two values is equivalent; but if many
 * columns have two values (pixels, genotypes) they stay numeric. */
static void choose_kinds(encoding_learner *l)
{
    ptrdiff_t two = 0;
    for (ptrdiff_t k = 0; k < l->n_col; k++) {
        column_decision *c = &l->of[k];
        c->census = kn_column_census(l->table, l->col[k], l->row, l->n);
        c->category = c->stated == STATED_CATEGORY ||
                      (c->stated == STATED_NOTHING &&
                       (kn_table_category(l->table, l->col[k]) ||
                        (c->census.texts > 0 && !kn_census_is_numeric(c->census))));
        bool codes = false;
        bool site = kn_column_role_of(kn_table_name(l->table, l->col[k])) == KN_COLUMN_SITE;
        int limit = site ? CODES_MAX : CODES_COUNTED;
        int values = c->category ? 0 : count_values(l, l->col[k], limit, &codes);
        c->values = values < KN_VALUES_COUNTED ? values : KN_VALUES_COUNTED;
        two += c->values == 2;
        c->two_valued = l->codes && c->values == 2 && codes && c->stated == STATED_NOTHING;
        if (c->stated == STATED_NOTHING && !c->category)
            count_suspect_codes(l, c, l->col[k], values, codes);
    }
    for (ptrdiff_t k = 0; k < l->n_col; k++) {
        column_decision *c = &l->of[k];
        c->two_valued = c->two_valued && two <= KN_TWO_VALUED_MAX;
        c->category = c->category || c->two_valued;
    }
    warn_of_implausible(l);
}

/* Fails with KN_ERR_DATA at the first missing cell of column `col`, unless {missing=mean} replaces
 * it, which a category without codes cannot do. */
static kn_status check_missing(const encoding_learner *l, ptrdiff_t col, bool category)
{
    if (l->missing == KN_MISSING_MEAN && (!category || l->codes))
        return KN_OK;
    for (ptrdiff_t i = 0; i < l->n; i++)
        if (kn_text_is_missing(kn_table_cell(l->table, l->row[i], col)))
            return kn_cell_refused(l->ctx, l->table, l->row[i], col,
                                   category ? "a missing value; use {missing=drop} to exclude such "
                                              "participants, or {missing=mean} to impute"
                                            : "a missing value; use {missing=drop} to exclude such "
                                              "participants, or {missing=mean} to impute");
    return KN_OK;
}

/* Fails with KN_ERR_DATA at the first text in numeric column `col`; the message says why a number
 * was expected and what to do. */
static kn_status refuse_text(const encoding_learner *l, ptrdiff_t col, const column_decision *of)
{
    bool age = kn_column_role_of(kn_table_name(l->table, col)) == KN_COLUMN_AGE;
    return kn_cell_refused(
        l->ctx, l->table, of->census.first_text, col,
        of->stated == STATED_NUMERIC ? "but {numeric} requires a number"
        : age ? "but most rows contain a number; if it means a missing value, name it in {na}"
              : "but most rows contain a number; if the column contains codes, name it in "
                "{categorical}");
}

/* Sets mean and number of values of numeric covariate k from its cells. KN_ERR_DATA if one is text.
 */
static kn_status learn_numeric(const encoding_learner *l, ptrdiff_t k, kn_covariate *c)
{
    ptrdiff_t col = l->col[k];
    kn_census census = l->of[k].census;
    if (census.texts > 0)
        return refuse_text(l, col, &l->of[k]);
    c->values = l->of[k].values;
    for (ptrdiff_t i = 0; i < l->n; i++) {
        double x;
        if (kn_table_number(l->table, l->row[i], col, &x) == KN_CELL_NUMBER)
            c->mean += x / (double)census.numbers;
    }
    return KN_OK;
}

/* Fails with KN_ERR_DATA unless a name or level, found on this line of the table, is UTF-8 text,
 * which the model file needs. */
static kn_status check_text(const encoding_learner *l, ptrdiff_t line, const char *text)
{
    if (kn_encoding_text_ok(text))
        return KN_OK;
    return kn_fail(l->ctx, KN_ERR_DATA, "%s %s %td: '%s' is not UTF-8 text",
                   kn_table_path(l->table), kn_table_unit(l->table), line, kn_clipped(text).text);
}

/* Logs a warning that lists pairs of levels of a category which differ only in case, such as F and
 * f. */
static void log_alike(const encoding_learner *l, const kn_covariate *c)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    char pair[2 * sizeof(kn_clip) + 8];
    for (ptrdiff_t i = 0; i < c->levels.n; i++)
        for (ptrdiff_t k = 0; k < i; k++)
            if (strcasecmp(c->levels.text[i], c->levels.text[k]) == 0) {
                snprintf(pair, sizeof pair, "%s and %s", kn_clipped(c->levels.text[k]).text,
                         kn_clipped(c->levels.text[i]).text);
                kn_listing_add(&list, pair);
            }
    if (list.n > 0)
        kn_log(l->ctx, KN_LOG_WARNING,
               "%s: some levels of %s differ only in case and are treated as different; correct "
               "them if they are the same: %s",
               kn_table_path(l->table), kn_clipped(c->name).text, list.text);
}

/* Warns of a category that may be a site under an unusual name, and of one with so many levels that
 * the effects of most are uncertain. rows: rows of each level. */
static void log_many_levels(const encoding_learner *l, const kn_covariate *c, const ptrdiff_t *rows)
{
    ptrdiff_t small = 0;
    for (ptrdiff_t k = 0; k < c->levels.n; k++)
        small += rows[k] < KN_LEVEL_ROWS;
    if (c->levels.n >= KN_LEVELS_MANY && !l->checked)
        kn_log(
            l->ctx, KN_LOG_WARNING,
            "%s: category %s has %td levels, %td of them with fewer than %d participants; effects "
            "of small levels are uncertain and are shrunk towards the average",
            kn_table_path(l->table), kn_clipped(c->name).text, c->levels.n, small, KN_LEVEL_ROWS);
    if (!c->batch && c->levels.n > KN_LEVELS_FEW)
        kn_log(l->ctx, KN_LOG_WARNING,
               "%s: category %s has %td levels; if it is a site or a scanner, name it in {batch}",
               kn_table_path(l->table), kn_clipped(c->name).text, c->levels.n);
}

/* Counts the rows of each level and logs what is unusual about the levels. */
static kn_status log_levels(const encoding_learner *l, ptrdiff_t col, const kn_covariate *c)
{
    char level[KN_LEVEL_SIZE];
    ptrdiff_t *rows, at;
    kn_status status = kn_alloc_i(l->ctx, c->levels.n, &rows);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < l->n; i++) {
        const char *cell = kn_table_cell(l->table, l->row[i], col);
        if (!kn_text_is_missing(cell) && kn_level_of(cell, c->levels.numbers, level) &&
            kn_levels_find(&c->levels, level, &at) >= 0)
            rows[at]++;
    }
    log_alike(l, c);
    log_many_levels(l, c, rows);
    kn_free(rows);
    return KN_OK;
}

/* Sets the levels of categorical covariate k from its cells; c owns them. KN_ERR_DATA if there are
 * more than the rows support, or a level is too long or not UTF-8. */
static kn_status learn_category(const encoding_learner *l, ptrdiff_t k, kn_covariate *c)
{
    ptrdiff_t col = l->col[k];
    const char *path = kn_table_path(l->table);
    kn_clip name = kn_clipped(c->name);
    ptrdiff_t limit = levels_max(l), at;
    char level[KN_LEVEL_SIZE];
    kn_status status = KN_OK;

    c->kind = KN_COVARIATE_CATEGORY;
    c->two_valued = l->of[k].two_valued;
    c->batch = l->of[k].batch || (l->auto_batch && kn_column_role_of(c->name) == KN_COLUMN_SITE);
    if (c->two_valued) {
        if (l->of[k].census.texts > 0)
            return refuse_text(l, col, &l->of[k]);
        limit = 2; /* a category by default: too few rows are no reason to reject it */
    }
    c->levels.numbers = l->of[k].census.texts == 0;
    for (ptrdiff_t i = 0; i < l->n; i++) {
        const char *cell = kn_table_cell(l->table, l->row[i], col);
        ptrdiff_t line = kn_table_line(l->table, l->row[i]);
        if (kn_text_is_missing(cell)) /* allowed, as checked before */
            continue;
        if (!kn_level_of(cell, c->levels.numbers, level))
            return kn_fail(l->ctx, KN_ERR_DATA,
                           "%s %s %td: %s has %zu bytes; a level can have at most %d", path,
                           kn_table_unit(l->table), line, name.text, strlen(cell),
                           KN_LEVEL_SIZE - 1);
        if (kn_levels_find(&c->levels, level, &at) >= 0)
            continue;
        KN_TRY(check_text(l, line, level));
        if (c->levels.n == limit)
            return kn_fail(l->ctx, KN_ERR_DATA,
                           "%s: category %s has at least %td levels in %td rows, but at most %d "
                           "and one per %d rows are allowed; merge levels, or omit it from {use}",
                           path, name.text, limit + 1, l->n, KN_LEVELS_MAX, KN_LEVEL_ROWS);
        KN_TRY(kn_levels_add(l->ctx, &c->levels, level));
    }
    KN_TRY(log_levels(l, col, c));
out:
    return status;
}

/* Sets *c to covariate k: its name, kind, and mean or levels. KN_ERR_DATA for a name that is too
 * long, a column without values, decimal commas, and missing or wrong cells. */
static kn_status learn_column(const encoding_learner *l, ptrdiff_t k, kn_covariate *c)
{
    ptrdiff_t col = l->col[k];
    const column_decision *of = &l->of[k];
    kn_status status;

    KN_TRY(kn_trimmed(l->ctx, kn_table_name(l->table, col), &c->name));
    if (strlen(c->name) >= KN_LEVEL_SIZE) {
        status =
            kn_fail(l->ctx, KN_ERR_DATA, "%s: the name %s has %zu bytes; at most %d are allowed",
                    kn_table_path(l->table), kn_clipped(c->name).text, strlen(c->name),
                    KN_LEVEL_SIZE - 1);
        goto out;
    }
    KN_TRY(check_text(l, kn_table_line(l->table, -1), c->name));
    if (of->census.numbers + of->census.texts == 0 && l->missing != KN_MISSING_ERROR) {
        status = kn_fail(l->ctx, KN_ERR_DATA, "%s: %s has no values", kn_table_path(l->table),
                         kn_clipped(c->name).text);
        goto out;
    }
    ptrdiff_t comma =
        of->stated == STATED_CATEGORY ? -1 : kn_column_commas(l->table, col, l->row, l->n);
    if (comma >= 0) {
        status = kn_cell_refused(l->ctx, l->table, comma, col, "but must be a number");
        goto out;
    }
    KN_TRY(check_missing(l, col, of->category && !of->two_valued));
    status = of->category ? learn_category(l, k, c) : learn_numeric(l, k, c);
out:
    return status;
}

/* Comparison for qsort of pointers to covariates: by name. */
static int by_name(const void *a, const void *b)
{
    return strcmp((*(const kn_covariate *const *)a)->name, (*(const kn_covariate *const *)b)->name);
}

/* Names are trimmed, so that names which differ only in spaces count as equal. */
kn_status kn_encoding_check_distinct(kn_ctx *ctx, const char *path, const kn_encoding *encoding)
{
    void *memory;
    kn_status status = kn_alloc(ctx, encoding->n, sizeof(kn_covariate *), &memory);
    if (status != KN_OK)
        return status;
    const kn_covariate **sorted = memory;
    for (ptrdiff_t k = 0; k < encoding->n; k++)
        sorted[k] = &encoding->column[k];
    qsort(sorted, (size_t)encoding->n, sizeof *sorted, by_name);
    for (ptrdiff_t k = 1; k < encoding->n && status == KN_OK; k++)
        if (strcmp(sorted[k - 1]->name, sorted[k]->name) == 0)
            status = kn_fail(ctx, KN_ERR_FORMAT, "%s: two covariates are named '%s'", path,
                             kn_clipped(sorted[k]->name).text);
    kn_free(memory);
    return status;
}

/* Logs a warning if numeric covariates have isolated values or codes such as -999. Fails only
 * without memory. */
static kn_status log_outliers(const encoding_learner *l)
{
    ptrdiff_t *col, n = 0;
    kn_status status = kn_alloc_i(l->ctx, l->n_col, &col);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t k = 0; k < l->n_col; k++)
        if (!l->of[k].category)
            col[n++] = l->col[k];
    status = kn_outliers_warn(l->ctx, l->table, col, n, l->row, l->n, NULL);
    kn_free(col);
    return status;
}

/* Learns all covariates into out->column. Without codes, those with one level are left out with a
 * warning. KN_ERR_DATA if all are constant or one is invalid. */
static kn_status learn_columns(const encoding_learner *l, kn_encoding *out)
{
    kn_status status;
    void *memory;
    ptrdiff_t constant = 0;
    KN_TRY(kn_alloc(l->ctx, l->n_col, sizeof *out->column, &memory));
    out->column = memory;
    for (ptrdiff_t k = 0; k < l->n_col; k++) {
        kn_covariate *c = &out->column[out->n++];
        KN_TRY(learn_column(l, k, c));
        if (c->kind == KN_COVARIATE_CATEGORY && c->levels.n == 1) {
            kn_log(l->ctx, KN_LOG_WARNING, "%s: %s is '%s' in every row, so it %s",
                   kn_table_path(l->table), kn_clipped(c->name).text,
                   kn_clipped(c->levels.text[0]).text,
                   c->batch   ? "only marks the site of the training sample"
                   : l->codes ? "cannot predict the responses"
                              : "is left out");
            constant++;
            if (l->codes)
                continue;
            kn_free(c->name);
            kn_levels_clear(&c->levels);
            *c = (kn_covariate){0};
            out->n--;
        }
        constant += l->codes && c->values == 1;
    }
    if (out->n == 0 || constant == l->n_col)
        status = kn_fail(
            l->ctx, KN_ERR_DATA,
            "%s: every covariate has the same value in all rows, but at least one must vary",
            kn_table_path(l->table));
    else
        status = kn_encoding_check_distinct(l->ctx, kn_table_path(l->table), out);
out:
    return status;
}

/* Logs a warning that lists categories with two levels and unusual names: one may distinguish
 * patients from controls. */
static void warn_of_two_levels(const encoding_learner *l, const kn_encoding *encoding)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    for (ptrdiff_t k = 0; k < encoding->n; k++) {
        const kn_covariate *c = &encoding->column[k];
        if (c->kind == KN_COVARIATE_CATEGORY && c->levels.n == 2 && !kn_column_is_usual(c->name))
            kn_listing_add(&list, c->name);
    }
    if (list.n > 0)
        kn_log(
            l->ctx, KN_LOG_WARNING,
            "%s: used as covariates with two values each: %s; if one distinguishes patients from "
            "controls, omit it from {use}",
            kn_table_path(l->table), list.text);
}

kn_status kn_encoding_learn(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *o,
                            kn_encoding *out)
{
    encoding_learner l = {.ctx = ctx,
                          .table = table,
                          .missing = o->missing,
                          .codes = o->codes,
                          .checked = o->checked};
    kn_status status;

    *out = (kn_encoding){.missing = o->missing, .codes = o->codes};
    KN_TRY(list_covariates(&l, o));
    KN_TRY(choose_rows(&l, o));
    choose_kinds(&l);
    KN_TRY(learn_columns(&l, out));
    if (kn_encoding_is_whole(table, o) && !o->checked)
        warn_of_two_levels(&l, out);
    if (!o->checked)
        KN_TRY(log_outliers(&l));
out:
    kn_free(l.row);
    kn_free(l.col);
    kn_free(l.of);
    if (status != KN_OK)
        kn_encoding_clear(out);
    return status;
}
