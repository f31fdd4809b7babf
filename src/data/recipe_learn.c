#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/columns.h"
#include "data/recipe.h"
#include "data/words.h"

/* ---- which columns ------------------------------------------------------------------------- */

static bool is_response(const kn_recipe_options *o, const char *name)
{
    for (ptrdiff_t k = 0; k < o->n_responses; k++)
        if (kn_same_name(o->responses[k], name))
            return true;
    return false;
}

/* Why a column cannot be a covariate; NULL: it can. */
static const char *barred(const kn_table *table, const kn_recipe_options *o, ptrdiff_t col)
{
    if (col == o->id_col)
        return "is the id column";
    if (is_response(o, kn_table_name(table, col)))
        return "is a response";
    if (o->group && kn_same_name(kn_table_name(table, col), o->group))
        return "is the column of {group}";
    return NULL;
}

static kn_status names_by_use(kn_ctx *ctx, const kn_table *table, const kn_recipe_options *o,
                              const kn_names *use, const char **names)
{
    for (ptrdiff_t k = 0; k < use->n; k++) {
        ptrdiff_t col = kn_column_find(table, use->name[k]);
        if (col < 0)
            return kn_column_unknown(ctx, table, use->name[k], "as {use} asks for");
        const char *why = barred(table, o, col);
        if (why)
            return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: {use=%s}: it %s and cannot be a covariate",
                           kn_table_path(table), kn_clipped(use->name[k]).text, why);
        names[k] = kn_table_name(table, col);
    }
    return KN_OK;
}

static kn_status check_default(kn_ctx *ctx, const kn_table *table, const kn_recipe_options *o)
{
    ptrdiff_t named = 0;
    for (ptrdiff_t j = 0; j < kn_table_cols(table); j++)
        named += kn_table_named(table, j);
    if (o->one_file)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s: covariates and responses are one file, name the covariates with {use}",
                       kn_table_path(table));
    if (named > KN_COLUMNS_UNCHOSEN && !kn_table_made(table))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s: %td columns, more than the %d that are covariates by default, name the "
                       "covariates with {use}",
                       kn_table_path(table), named, KN_COLUMNS_UNCHOSEN);
    return KN_OK;
}

kn_status kn_recipe_names(kn_ctx *ctx, const kn_table *table, const kn_recipe_options *o,
                          const char ***names, ptrdiff_t *n)
{
    kn_names use = {0};
    void *memory = NULL;
    kn_status status;

    *names = NULL;
    *n = 0;
    KN_TRY(kn_names_split(ctx, "{use}", o->use, &use));
    if (!o->use)
        KN_TRY(check_default(ctx, table, o));
    KN_TRY(kn_alloc(ctx, o->use ? use.n : kn_table_cols(table), sizeof **names, &memory));
    const char **list = memory;
    if (o->use) {
        KN_TRY(names_by_use(ctx, table, o, &use, list));
        *n = use.n;
    } else {
        for (ptrdiff_t j = 0; j < kn_table_cols(table); j++)
            if (kn_table_named(table, j) && !barred(table, o, j))
                list[(*n)++] = kn_table_name(table, j);
    }
    if (*n == 0)
        status = kn_fail(ctx, KN_ERR_DATA, "%s: no column is left to be a covariate",
                         kn_table_path(table));
    else if (*n > KN_RECIPE_MOST)
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "{use} names %td columns, at most %d can be used",
                         *n, KN_RECIPE_MOST);
out:
    kn_names_clear(&use);
    if (status == KN_OK) {
        *names = memory;
    } else {
        kn_free(memory);
        *n = 0;
    }
    return status;
}

/* ---- what is in them ----------------------------------------------------------------------- */

typedef enum said { SAID_NOTHING, SAID_CATEGORY, SAID_NUMERIC } said;

typedef struct lesson_column {
    said said; /* by --categorical or --numeric */
    kn_census census;
    bool category;
    int values;      /* as in kn_covariate; of a numeric column */
    bool two_valued; /* a category because it has two numbers */
} lesson_column;

typedef struct lesson {
    kn_ctx *ctx;
    const kn_table *table;
    kn_missing missing;
    ptrdiff_t *row; /* rows that training uses */
    ptrdiff_t n;
    ptrdiff_t *col; /* of each covariate */
    lesson_column *of;
    ptrdiff_t n_col;
    bool codes;
} lesson;

/* What an option says of the columns that it names. */
static kn_status say(lesson *l, const char *option, const char *text, said what)
{
    kn_names names = {0};
    char braces[32], why[64];
    kn_status status;
    snprintf(braces, sizeof braces, "{%s}", option);
    snprintf(why, sizeof why, "as {%s} asks for", option);
    KN_TRY(kn_names_split(l->ctx, braces, text, &names));
    for (ptrdiff_t c = 0; c < names.n; c++) {
        ptrdiff_t col = kn_column_find(l->table, names.name[c]), k = 0;
        kn_clip name = kn_clipped(names.name[c]);
        if (col < 0) {
            status = kn_column_unknown(l->ctx, l->table, names.name[c], why);
            goto out;
        }
        while (k < l->n_col && l->col[k] != col)
            k++;
        if (k == l->n_col) {
            status = kn_fail(l->ctx, KN_ERR_ARGUMENT, "%s: {%s=%s}: it is not among the covariates",
                             kn_table_path(l->table), option, name.text);
            goto out;
        }
        if (l->of[k].said != SAID_NOTHING) {
            status = kn_fail(l->ctx, KN_ERR_ARGUMENT,
                             "{categorical} and {numeric} both name '%s', expected one of them",
                             name.text);
            goto out;
        }
        l->of[k].said = what;
    }
out:
    kn_names_clear(&names);
    return status;
}

static kn_status start(lesson *l, const kn_recipe_options *o)
{
    const char **names = NULL;
    void *memory;
    kn_status status;

    KN_TRY(kn_recipe_names(l->ctx, l->table, o, &names, &l->n_col));
    KN_TRY(kn_alloc_i(l->ctx, l->n_col, &l->col));
    KN_TRY(kn_alloc(l->ctx, l->n_col, sizeof *l->of, &memory));
    l->of = memory;
    for (ptrdiff_t k = 0; k < l->n_col; k++)
        l->col[k] = kn_table_find(l->table, names[k]);
    KN_TRY(say(l, "categorical", o->categorical, SAID_CATEGORY));
    KN_TRY(say(l, "numeric", o->numeric, SAID_NUMERIC));
out:
    kn_free(names);
    return status;
}

/* With --missing drop, a row that lacks a value teaches nothing: no level and no mean. */
static kn_status choose_rows(lesson *l, const kn_recipe_options *o)
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

/* Different numbers of a column, counted up to KN_VALUES_COUNTED; *codes: they look like codes of
 * a category, whole numbers. */
static int count_values(const lesson *l, ptrdiff_t col, bool *codes)
{
    double seen[KN_VALUES_COUNTED], x;
    int n = 0;
    *codes = true;
    for (ptrdiff_t i = 0; i < l->n && n < KN_VALUES_COUNTED; i++) {
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

/* Texts are categories. With codes two numbers are one as well, since a slope over two values says
 * no more; but pixels and genotypes, where they are many, stay numbers. */
static void choose_kinds(lesson *l)
{
    ptrdiff_t two = 0;
    for (ptrdiff_t k = 0; k < l->n_col; k++) {
        lesson_column *c = &l->of[k];
        c->census = kn_column_census(l->table, l->col[k], l->row, l->n);
        c->category = c->said == SAID_CATEGORY ||
                      (c->said == SAID_NOTHING &&
                       (kn_table_category(l->table, l->col[k]) ||
                        (c->census.texts > 0 && !kn_census_is_numeric(c->census))));
        bool codes = false;
        c->values = c->category ? 0 : count_values(l, l->col[k], &codes);
        two += c->values == 2;
        c->two_valued = l->codes && c->values == 2 && codes && c->said == SAID_NOTHING;
    }
    for (ptrdiff_t k = 0; k < l->n_col; k++) {
        lesson_column *c = &l->of[k];
        c->two_valued = c->two_valued && two <= KN_TWO_VALUED_MOST;
        c->category = c->category || c->two_valued;
    }
}

static kn_status check_missing(const lesson *l, ptrdiff_t col, bool category)
{
    if (l->missing == KN_MISSING_MEAN && (!category || l->codes))
        return KN_OK;
    for (ptrdiff_t i = 0; i < l->n; i++)
        if (kn_text_is_missing(kn_table_cell(l->table, l->row[i], col)))
            return kn_cell_refused(l->ctx, l->table, l->row[i], col,
                                   category ? "expected a category (use {missing=drop})"
                                            : "expected a number (use {missing=drop})");
    return KN_OK;
}

static kn_status refuse_text(const lesson *l, ptrdiff_t col, const lesson_column *of)
{
    return kn_cell_refused(l->ctx, l->table, of->census.first_text, col,
                           of->said == SAID_NUMERIC ? "expected a number as {numeric} asks for"
                                                    : "expected a number as in most rows (or name "
                                                      "the column in {categorical})");
}

static kn_status learn_numeric(const lesson *l, ptrdiff_t k, kn_covariate *c)
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

static kn_status check_text(const lesson *l, ptrdiff_t line, const char *text)
{
    if (kn_recipe_text_ok(text))
        return KN_OK;
    return kn_fail(l->ctx, KN_ERR_DATA, "%s %s %td: '%s' is not UTF-8 text",
                   kn_table_path(l->table), kn_table_unit(l->table), line, kn_clipped(text).text);
}

static kn_status learn_category(const lesson *l, ptrdiff_t k, kn_covariate *c)
{
    ptrdiff_t col = l->col[k];
    const char *path = kn_table_path(l->table);
    kn_clip name = kn_clipped(c->name);
    ptrdiff_t most = l->n / KN_LEVEL_ROWS, at;
    char level[KN_LEVEL_SIZE];
    kn_status status = KN_OK;

    most = most > KN_LEVELS_MOST ? KN_LEVELS_MOST : most < 1 ? 1 : most;
    c->kind = KN_COVARIATE_CATEGORY;
    c->two_valued = l->of[k].two_valued;
    if (c->two_valued) {
        if (l->of[k].census.texts > 0)
            return refuse_text(l, col, &l->of[k]);
        most = 2; /* nobody asked for a category: few rows are no reason to refuse it */
    }
    c->levels.numbers = l->of[k].census.texts == 0;
    for (ptrdiff_t i = 0; i < l->n; i++) {
        const char *cell = kn_table_cell(l->table, l->row[i], col);
        ptrdiff_t line = kn_table_line(l->table, l->row[i]);
        if (kn_text_is_missing(cell)) /* and allowed to be */
            continue;
        if (!kn_level_of(cell, c->levels.numbers, level))
            return kn_fail(l->ctx, KN_ERR_DATA, "%s %s %td: %s has %zu bytes, a level at most %d",
                           path, kn_table_unit(l->table), line, name.text, strlen(cell),
                           KN_LEVEL_SIZE - 1);
        if (kn_levels_find(&c->levels, level, &at) >= 0)
            continue;
        KN_TRY(check_text(l, line, level));
        if (c->levels.n == most)
            return kn_fail(l->ctx, KN_ERR_DATA,
                           "%s: %s is a category with at least %td levels in %td rows, at most "
                           "%d and one for every %d rows can be used (leave it out with {use})",
                           path, name.text, most + 1, l->n, KN_LEVELS_MOST, KN_LEVEL_ROWS);
        KN_TRY(kn_levels_add(l->ctx, &c->levels, level));
    }
out:
    return status;
}

static kn_status learn_column(const lesson *l, ptrdiff_t k, kn_covariate *c)
{
    ptrdiff_t col = l->col[k];
    const lesson_column *of = &l->of[k];
    kn_status status;

    KN_TRY(kn_trimmed(l->ctx, kn_table_name(l->table, col), &c->name));
    if (strlen(c->name) >= KN_LEVEL_SIZE) {
        status = kn_fail(l->ctx, KN_ERR_DATA,
                         "%s: the name %s has %zu bytes, at most %d can be "
                         "used",
                         kn_table_path(l->table), kn_clipped(c->name).text, strlen(c->name),
                         KN_LEVEL_SIZE - 1);
        goto out;
    }
    KN_TRY(check_text(l, kn_table_line(l->table, -1), c->name));
    if (of->census.numbers + of->census.texts == 0 && l->missing != KN_MISSING_ERROR) {
        status = kn_fail(l->ctx, KN_ERR_DATA, "%s: %s has no value at all", kn_table_path(l->table),
                         kn_clipped(c->name).text);
        goto out;
    }
    KN_TRY(check_missing(l, col, of->category && !of->two_valued));
    status = of->category ? learn_category(l, k, c) : learn_numeric(l, k, c);
out:
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const kn_covariate *const *)a)->name, (*(const kn_covariate *const *)b)->name);
}

/* Names that differ only in the spaces around them would be one name when applied. */
kn_status kn_recipe_check_distinct(kn_ctx *ctx, const char *path, const kn_recipe *recipe)
{
    void *memory;
    kn_status status = kn_alloc(ctx, recipe->n, sizeof(kn_covariate *), &memory);
    if (status != KN_OK)
        return status;
    const kn_covariate **sorted = memory;
    for (ptrdiff_t k = 0; k < recipe->n; k++)
        sorted[k] = &recipe->column[k];
    qsort(sorted, (size_t)recipe->n, sizeof *sorted, by_name);
    for (ptrdiff_t k = 1; k < recipe->n && status == KN_OK; k++)
        if (strcmp(sorted[k - 1]->name, sorted[k]->name) == 0)
            status = kn_fail(ctx, KN_ERR_FORMAT, "%s: two covariates are named '%s'", path,
                             kn_clipped(sorted[k]->name).text);
    kn_free(memory);
    return status;
}

static kn_status learn_columns(const lesson *l, kn_recipe *out)
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
            kn_log(l->ctx, KN_LOG_WARNING, "%s: %s is '%s' in every row, it %s",
                   kn_table_path(l->table), kn_clipped(c->name).text,
                   kn_clipped(c->levels.text[0]).text,
                   l->codes ? "says nothing of the responses" : "is left out");
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
        status = kn_fail(l->ctx, KN_ERR_DATA, "%s: every covariate is constant",
                         kn_table_path(l->table));
    else
        status = kn_recipe_check_distinct(l->ctx, kn_table_path(l->table), out);
out:
    return status;
}

kn_status kn_recipe_learn(kn_ctx *ctx, const kn_table *table, const kn_recipe_options *o,
                          kn_recipe *out)
{
    lesson l = {.ctx = ctx, .table = table, .missing = o->missing, .codes = o->codes};
    kn_status status;

    *out = (kn_recipe){.missing = o->missing, .codes = o->codes};
    KN_TRY(start(&l, o));
    KN_TRY(choose_rows(&l, o));
    choose_kinds(&l);
    KN_TRY(learn_columns(&l, out));
out:
    kn_free(l.row);
    kn_free(l.col);
    kn_free(l.of);
    if (status != KN_OK)
        kn_recipe_clear(out);
    return status;
}
