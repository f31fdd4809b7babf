/* Assigns the scored participants to groups, by a column of scored_participants.tsv or of another
 * table matched by id. Participants without a group are excluded with a warning. */
#include "commands/overlap/internal.h"

#include <stdlib.h>
#include <string.h>

#include "data/table/columns.h"
#include "data/table/match_ids.h"
#include "data/table/text_list.h"

enum { FEW = 5 }; /* participants of a group below which a warning is given */

/* ---- rows of {covariates} ---- */

typedef struct entry {
    const char *id;
    ptrdiff_t row;
} entry;

/* Order of table rows by id, then by row, for qsort. */
static int by_id(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Position of the first of n sorted entries whose id is not less than `id`; n if there is none. */
static ptrdiff_t find_id(const entry *sorted, ptrdiff_t n, const char *id)
{
    ptrdiff_t low = 0, high = n;
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        if (strcmp(sorted[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* KN_ERR_DATA if the entries that follow the first and have its id differ in column col; a
 * participant must have one value. */
static kn_status check_same_value(kn_ctx *ctx, const kn_table *t, ptrdiff_t col,
                                  const entry *entries, ptrdiff_t n)
{
    for (ptrdiff_t k = 1; k < n && strcmp(entries[k].id, entries[0].id) == 0; k++)
        if (!kn_names_equal(kn_table_cell(t, entries[k].row, col),
                            kn_table_cell(t, entries[0].row, col)))
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: %s of %s is '%s' on line %td and '%s' on line %td; a participant "
                           "must have one value",
                           kn_table_path(t), kn_clipped(kn_table_name(t, col)).text,
                           kn_clipped(entries[0].id).text,
                           kn_clipped(kn_table_cell(t, entries[0].row, col)).text,
                           kn_table_line(t, entries[0].row),
                           kn_clipped(kn_table_cell(t, entries[k].row, col)).text,
                           kn_table_line(t, entries[k].row));
    return KN_OK;
}

/* row[i] = row of the table with the id of scored participant i; -1: none. KN_ERR_DATA if no id
 * matches, or rows of an id differ in column col. */
static kn_status match_rows(kn_ctx *ctx, const kn_table *t, ptrdiff_t id_col, ptrdiff_t col,
                            const kn_scored *scored, ptrdiff_t *row)
{
    kn_status status;
    void *memory = NULL;
    ptrdiff_t rows = kn_table_rows(t), found = 0;
    KN_TRY(kn_alloc(ctx, rows, sizeof(entry), &memory));
    entry *sorted = memory;
    for (ptrdiff_t r = 0; r < rows; r++)
        sorted[r] = (entry){kn_table_cell(t, r, id_col), r};
    qsort(sorted, (size_t)rows, sizeof *sorted, by_id);
    for (ptrdiff_t i = 0; i < scored->n; i++) {
        const char *id = kn_scored_id(scored, i);
        ptrdiff_t at = find_id(sorted, rows, id);
        bool there = at < rows && strcmp(sorted[at].id, id) == 0;
        row[i] = there ? sorted[at].row : -1;
        found += there;
        if (there)
            KN_TRY(check_same_value(ctx, t, col, sorted + at, rows - at));
    }
    if (found == 0)
        status = kn_fail(
            ctx, KN_ERR_DATA,
            "%s and %s have no IDs in common (the first are %s and %s); name the ID column in {id}",
            kn_table_path(t), kn_table_path(scored->participants),
            kn_clipped(kn_table_cell(t, 0, id_col)).text, kn_clipped(kn_scored_id(scored, 0)).text);
out:
    kn_free(memory);
    return status;
}

/* ---- groups ---- */

typedef struct column { /* the column of {by} */
    const kn_table *table;
    ptrdiff_t col;
    const ptrdiff_t *row; /* per participant; -1: none */
    ptrdiff_t n;
} column;

/* Cell of participant i in the column of {by}; NULL if it is missing. */
static const char *cell_of(const column *c, ptrdiff_t i)
{
    const char *cell = c->row[i] < 0 ? NULL : kn_table_cell(c->table, c->row[i], c->col);
    return cell && !kn_text_is_missing(cell) ? cell : NULL;
}

/* True if all cells are numbers, so that 1 and 1.0 are one group. */
static bool all_numbers(const column *c)
{
    double x;
    for (ptrdiff_t i = 0; i < c->n; i++)
        if (cell_of(c, i) && kn_number_parse(cell_of(c, i), &x) != KN_CELL_NUMBER)
            return false;
    return true;
}

/* Collect the levels of the column; KN_ERR_DATA if there are none or too many, or one is too
 * long. */
static kn_status collect_levels(kn_ctx *ctx, const column *c, kn_membership *m)
{
    char level[KN_LEVEL_SIZE];
    kn_clip name = kn_clipped(kn_table_name(c->table, c->col));
    ptrdiff_t at;
    kn_status status = KN_OK;
    m->levels.numbers = all_numbers(c);
    for (ptrdiff_t i = 0; i < c->n; i++) {
        if (!cell_of(c, i))
            continue;
        if (!kn_level_of(cell_of(c, i), m->levels.numbers, level))
            return kn_cell_refused(ctx, c->table, c->row[i], c->col, "too long for a group");
        if (m->levels.n == KN_MEMBERSHIP_MAX && kn_levels_find(&m->levels, level, &at) < 0)
            return kn_fail(ctx, KN_ERR_DATA, "%s: %s has more than %d values, too many for groups",
                           kn_table_path(c->table), name.text, KN_MEMBERSHIP_MAX);
        KN_TRY(kn_levels_add(ctx, &m->levels, level));
    }
    if (m->levels.n == 0)
        status = kn_fail(ctx, KN_ERR_DATA, "%s: %s is missing for every scored participant",
                         kn_table_path(c->table), name.text);
out:
    return status;
}

/* Set the group of each participant (-1: none), and count. */
static kn_status sort_participants(kn_ctx *ctx, const column *c, kn_membership *m)
{
    char level[KN_LEVEL_SIZE];
    ptrdiff_t at;
    kn_status status = collect_levels(ctx, c, m);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < c->n; i++) {
        const char *cell = cell_of(c, i);
        m->group[i] = -1;
        if (cell && kn_level_of(cell, m->levels.numbers, level)) {
            m->group[i] = kn_levels_find(&m->levels, level, &at);
            m->size[m->group[i]]++;
        }
        m->n += cell != NULL;
        m->left_out += cell == NULL;
    }
    return KN_OK;
}

/* Warn of participants without a group, and of groups with fewer than FEW participants. */
static void warn_of_small_groups(kn_ctx *ctx, const kn_settings *s, const kn_membership *m)
{
    if (m->left_out > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td participants are excluded, because their %s is missing", m->left_out,
               m->n + m->left_out, kn_clipped(s->by).text);
    for (ptrdiff_t g = 0; g < m->levels.n; g++)
        if (m->size[g] < FEW)
            kn_log(ctx, KN_LOG_WARNING,
                   "group %s has only %td %s, so its proportions are uncertain",
                   kn_clipped(m->levels.text[g]).text, m->size[g],
                   m->size[g] == 1 ? "participant" : "participants");
}

kn_status kn_membership_new(kn_ctx *ctx, const kn_settings *s, const kn_scored *scored,
                            kn_membership *out)
{
    kn_status status;
    kn_table *other = NULL;
    ptrdiff_t *row = NULL, id_col, unused;
    *out = (kn_membership){0};
    KN_TRY(kn_alloc_i(ctx, scored->n, &out->group));
    if (s->covariates)
        KN_TRY(kn_table_read(ctx, s->covariates, &other));
    column c = {.table = other ? other : scored->participants, .row = scored->row, .n = scored->n};
    c.col = kn_column_find(c.table, s->by);
    if (c.col < 0) {
        status = kn_column_unknown(
            ctx, c.table, s->by,
            other ? "named in {by}"
                  : "named in {by}; if another table has it, name that table in {covariates}");
        goto out;
    }
    if (other) {
        KN_TRY(kn_match_id_columns(ctx, s->id, other, NULL, &id_col, &unused));
        if (id_col < 0) {
            status = kn_fail(ctx, KN_ERR_DATA, "%s has no ID column; name it in {id}",
                             kn_table_path(other));
            goto out;
        }
        KN_TRY(kn_alloc_i(ctx, scored->n, &row));
        KN_TRY(match_rows(ctx, other, id_col, c.col, scored, row));
        c.row = row;
    }
    KN_TRY(sort_participants(ctx, &c, out));
    warn_of_small_groups(ctx, s, out);
out:
    kn_free(row);
    kn_table_free(other);
    if (status != KN_OK)
        kn_membership_clear(out);
    return status;
}

void kn_membership_clear(kn_membership *m)
{
    kn_levels_clear(&m->levels);
    kn_free(m->group);
    *m = (kn_membership){0};
}
