/* Implements shared_noise_groups.h: groups are found by sorting rows by a text or by all
 * covariates. They are repeated measures, whose rows share noise in the model. */
#include "data/shared_noise_groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/response_space.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

void kn_grouping_clear(kn_grouping *g)
{
    kn_names_free(g->group_name, g->n_groups);
    kn_free(g->group);
    kn_free(g->column);
    *g = (kn_grouping){0};
}

const char *kn_group_column(const char *text)
{
    return text && strcmp(text, "auto") != 0 && strcmp(text, "none") != 0 ? text : NULL;
}

/* ---- equal rows --------------------------------------------------------------------------------
 */

typedef struct item {
    const char *text;     /* a text, or */
    const double *number; /* n numbers */
    ptrdiff_t n, row;
} item;

/* Compares two numbers for sorting; NaN, a missing category, equals NaN and comes last. */
static int by_number(double a, double b)
{
    if (isnan(a) || isnan(b)) /* NaN, a missing category, equals NaN */
        return !!isnan(a) - !!isnan(b);
    return (a > b) - (a < b);
}

/* Compares two items for sorting: by text if they have one, else by their n numbers in order. */
static int by_value(const item *a, const item *b)
{
    int order = a->text ? strcmp(a->text, b->text) : 0;
    for (ptrdiff_t k = 0; k < a->n && order == 0; k++)
        order = by_number(a->number[k], b->number[k]);
    return order;
}

/* Comparison for qsort of items: by value, then by row. */
static int by_value_and_row(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int order = by_value(x, y);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Sets g->group (n, owned) so that rows with equal items have the same number, counted from 0 in
 * the order of the rows, and g->n_groups. Sorts the items. */
static kn_status number_values(kn_ctx *ctx, item *items, ptrdiff_t n, kn_grouping *g)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof *g->group, &memory);
    if (status != KN_OK)
        return status;
    g->group = memory;
    qsort(items, (size_t)n, sizeof *items, by_value_and_row);
    for (ptrdiff_t i = 0, first = 0; i < n;
         i++) { /* group = first row of the equal ones, until it is renumbered below */
        if (by_value(&items[first], &items[i]) != 0)
            first = i;
        g->group[items[i].row] = (int)items[first].row;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        g->group[i] = g->group[i] == i ? (int)g->n_groups++ : g->group[g->group[i]];
    return KN_OK;
}

/* Sets g->group_name (owned) to `text` of the first row of each group; text NULL: "1", "2", ... */
static kn_status name_groups(kn_ctx *ctx, const char *const *text, ptrdiff_t n, kn_grouping *g)
{
    void *memory;
    char number[32];
    kn_status status;
    ptrdiff_t next = 0;
    KN_TRY(kn_alloc(ctx, g->n_groups, sizeof *g->group_name, &memory));
    g->group_name = memory;
    for (ptrdiff_t i = 0; i < n; i++)
        if (g->group[i] == next) {
            snprintf(number, sizeof number, "%td", next + 1);
            const char *name = text ? text[i] : number;
            KN_TRY(kn_text_copy(ctx, name, strlen(name), &g->group_name[next++]));
        }
out:
    return status;
}

/* Sets g->group, n_groups and group_name: rows with equal text[i] (n rows) are one group, numbered
 * in order of first appearance. */
static kn_status group_texts(kn_ctx *ctx, const char *const *text, ptrdiff_t n, kn_grouping *g)
{
    void *items = NULL;
    kn_status status;
    KN_TRY(kn_alloc(ctx, n, sizeof(item), &items));
    for (ptrdiff_t i = 0; i < n; i++)
        ((item *)items)[i] = (item){.text = text[i], .row = i};
    KN_TRY(number_values(ctx, items, n, g));
    KN_TRY(name_groups(ctx, text, n, g));
out:
    kn_free(items);
    return status;
}

/* ---- the three rules
 * ---------------------------------------------------------------------------- */

/* Fails with KN_ERR_DATA if a categorical covariate groups the rows exactly as g does, because both
 * effects could not be distinguished. */
static kn_status check_categories(kn_ctx *ctx, const kn_group_source *s, const kn_grouping *g)
{
    for (ptrdiff_t k = 0; k < s->encoding->n; k++) {
        const kn_covariate *c = &s->encoding->column[k];
        int of[KN_LEVELS_MAX + 1];
        ptrdiff_t levels = 0, i = 0;
        if (c->kind != KN_COVARIATE_CATEGORY)
            continue;
        for (int l = 0; l <= KN_LEVELS_MAX; l++)
            of[l] = -1;
        for (; i < s->X.rows; i++) {
            double x = kn_at(s->X, i, k);
            int *group = &of[isnan(x) ? c->levels.n : (ptrdiff_t)x];
            levels += *group < 0;
            if (*group >= 0 && *group != g->group[i])
                break;
            *group = g->group[i];
        }
        if (i == s->X.rows && levels == g->n_groups)
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: {group=%s} and the covariate %s define the same groups; omit the "
                           "covariate from {use}, or use {group=none}",
                           kn_table_path(s->table), kn_clipped(g->column).text,
                           kn_clipped(c->name).text);
    }
    return KN_OK;
}

/* Sets g to the groups of rows with equal text in the column that {group} names. KN_ERR_DATA if
 * there is no such column, or a cell is missing or not UTF-8. */
static kn_status by_column(kn_ctx *ctx, const kn_group_source *s, const char *name, kn_grouping *g)
{
    ptrdiff_t n = s->X.rows, col = kn_column_find(s->table, name);
    char **text = NULL;
    void *memory = NULL;
    kn_status status;
    if (col < 0)
        return kn_column_unknown(ctx, s->table, name, "named in {group}");
    g->rule = KN_GROUP_COLUMN;
    KN_TRY(kn_trimmed(ctx, kn_table_name(s->table, col), &g->column));
    KN_TRY(kn_alloc(ctx, n, sizeof *text, &memory));
    text = memory;
    for (ptrdiff_t i = 0; i < n; i++) {
        const char *cell = kn_table_cell(s->table, s->row[i], col);
        if (kn_text_is_missing(cell)) {
            status = kn_cell_refused(ctx, s->table, s->row[i], col,
                                     "but {group} requires a group in every row");
            goto out;
        }
        if (!kn_encoding_text_ok(cell)) { /* a model file (JSON) cannot hold it */
            status = kn_cell_refused(ctx, s->table, s->row[i], col, "but must be UTF-8 text");
            goto out;
        }
        KN_TRY(kn_trimmed(ctx, cell, &text[i]));
    }
    KN_TRY(group_texts(ctx, (const char *const *)text, n, g));
out:
    kn_names_free(text, n);
    return status;
}

/* Sets g to the groups of rows with the same id. g->column is empty, since ids are no covariate. */
static kn_status by_ids(kn_ctx *ctx, const kn_group_source *s, kn_grouping *g)
{
    kn_status status = group_texts(ctx, s->id, s->X.rows, g);
    if (status != KN_OK)
        return status;
    g->rule = KN_GROUP_IDS;
    return kn_text_copy(ctx, "", 0, &g->column);
}

/* Returns whether at least KN_STIMULUS_COVARIATES numeric covariates vary, so that equal rows are
 * no coincidence. */
static bool has_many_numbers(const kn_encoding *encoding)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t k = 0; k < encoding->n; k++)
        n += encoding->column[k].kind == KN_COVARIATE_NUMERIC && encoding->column[k].values > 1;
    return n >= KN_STIMULUS_COVARIATES;
}

/* Sets *shared to the number of rows, of n, whose group has more than one row. */
static kn_status count_shared(kn_ctx *ctx, const kn_grouping *g, ptrdiff_t n, ptrdiff_t *shared)
{
    ptrdiff_t *size;
    kn_status status = kn_alloc_i(ctx, g->n_groups, &size);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < n; i++)
        size[g->group[i]]++;
    *shared = 0;
    for (ptrdiff_t k = 0; k < g->n_groups; k++)
        *shared += size[k] > 1 ? size[k] : 0;
    kn_free(size);
    return KN_OK;
}

/* Sets g to the groups of rows with equal covariates, if at least half of the rows have an equal
 * one; otherwise leaves it empty. */
static kn_status by_stimuli(kn_ctx *ctx, const kn_group_source *s, kn_grouping *g)
{
    ptrdiff_t n = s->X.rows, C = s->X.cols, shared;
    kn_mat rows = {0}; /* C x n, X transposed */
    void *items = NULL;
    kn_status status;
    KN_TRY(kn_mat_new(ctx, C, n, &rows));
    KN_TRY(kn_alloc(ctx, n, sizeof(item), &items));
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t c = 0; c < C; c++)
            kn_col(rows, i)[c] = kn_at(s->X, i, c);
        ((item *)items)[i] = (item){.number = kn_col(rows, i), .n = C, .row = i};
    }
    KN_TRY(number_values(ctx, items, n, g));
    KN_TRY(count_shared(ctx, g, n, &shared));
    if (2 * shared < n) {
        kn_grouping_clear(g);
        goto out;
    }
    KN_TRY(name_groups(ctx, NULL, n, g));
    g->rule = KN_GROUP_STIMULI;
out:
    kn_free(items);
    kn_mat_clear(&rows);
    return status;
}

/* Returns in words what groups were formed by: a column's name, "the ID" or "the stimulus". */
static const char *name_of_group_source(const kn_grouping *g)
{
    return g->rule == KN_GROUP_COLUMN ? g->column
           : g->rule == KN_GROUP_IDS  ? "the ID"
                                      : "the stimulus";
}

/* Clears g if there is only one group, or none has two rows, and logs that no rows share noise. */
static void drop_trivial_groups(kn_ctx *ctx, const kn_group_source *s, kn_grouping *g)
{
    bool one = g->n_groups == 1;
    if (g->rule == KN_GROUP_NONE || (!one && g->n_groups < s->X.rows))
        return;
    kn_log(ctx, KN_LOG_INFO, "%s: %s is %s row, so no rows share noise and groups are ignored",
           kn_table_path(s->table), kn_clipped(name_of_group_source(g)).text,
           one ? "the same in every" : "different in every");
    kn_grouping_clear(g);
}

/* Logs how many groups share noise and by which rule they were found; nothing without groups. */
static void log_groups(kn_ctx *ctx, const kn_group_source *s, const kn_grouping *g)
{
    const char *path = kn_table_path(s->table);
    ptrdiff_t n = s->X.rows, k = g->n_groups;
    switch (g->rule) {
    case KN_GROUP_NONE: break;
    case KN_GROUP_COLUMN:
        kn_log(ctx, KN_LOG_INFO, "%s: %td rows form %td groups that share noise, one per %s", path,
               n, k, kn_clipped(g->column).text);
        break;
    case KN_GROUP_IDS:
        kn_log(ctx, KN_LOG_INFO,
               "%s: IDs repeat; %td rows are of %td participants, and the rows of one participant "
               "share noise",
               path, n, k);
        break;
    case KN_GROUP_STIMULI:
        kn_log(ctx, KN_LOG_INFO,
               "%s: covariates repeat; %td rows are of %td stimuli, and the rows of one stimulus "
               "share noise",
               path, n, k);
    }
}

kn_status kn_grouping_find(kn_ctx *ctx, const kn_group_source *s, const char *text,
                           kn_grouping *out)
{
    const char *column = kn_group_column(text);
    kn_status status = KN_OK;
    *out = (kn_grouping){0};
    if (column) {
        KN_TRY(by_column(ctx, s, column, out));
    } else if (text && strcmp(text, "auto") == 0) {
        if (s->id)
            KN_TRY(by_ids(ctx, s, out));
        if (out->n_groups == s->X.rows) /* all ids differ: the usual case, not logged */
            kn_grouping_clear(out);
        if (out->rule == KN_GROUP_NONE && has_many_numbers(s->encoding))
            KN_TRY(by_stimuli(ctx, s, out));
    }
    drop_trivial_groups(ctx, s, out);
    if (out->rule == KN_GROUP_COLUMN)
        KN_TRY(check_categories(ctx, s, out));
    log_groups(ctx, s, out);
out:
    if (status != KN_OK)
        kn_grouping_clear(out);
    return status;
}
