/* Joins tables by ID (table.h). The IDs of each part are sorted once; a row of the result has the
 * number of the row of each part, and cells are copied. */
#include <stdlib.h>
#include <string.h>

#include "io/file/path.h"
#include "io/table/internal.h"

typedef struct id_row {
    const char *id;
    ptrdiff_t row;
} id_row;

static int by_id(const void *a, const void *b)
{
    return strcmp(((const id_row *)a)->id, ((const id_row *)b)->id);
}

typedef struct join {
    kn_ctx *ctx;
    const kn_join_part *part;
    int n;
    id_row **sorted;    /* n: rows of each part, by ID */
    ptrdiff_t rows;     /* of the result */
    ptrdiff_t *at;      /* rows x n: row of each part; -1: none */
    ptrdiff_t cols;     /* of the result, with the IDs */
    int *part_of;       /* cols */
    ptrdiff_t *col;     /* cols: column of that part */
    const char **twice; /* names of repeated columns */
    ptrdiff_t n_twice;
} join;

/* Row of an ID in a part; -1: none. */
static ptrdiff_t find_row(const join *j, int part, const char *id)
{
    const id_row key = {.id = id};
    const id_row *found = bsearch(&key, j->sorted[part], (size_t)kn_table_rows(j->part[part].table),
                                  sizeof key, by_id);
    return found ? found->row : -1;
}

/* Sorts the rows of each table of the join by their ids, into j->sorted. Fails only without memory.
 */
static kn_status sort_ids(join *j)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_alloc(j->ctx, j->n, sizeof *j->sorted, &memory));
    j->sorted = memory;
    for (int p = 0; p < j->n; p++) {
        ptrdiff_t rows = kn_table_rows(j->part[p].table);
        KN_TRY(kn_alloc(j->ctx, rows, sizeof **j->sorted, &memory));
        j->sorted[p] = memory;
        for (ptrdiff_t i = 0; i < rows; i++)
            j->sorted[p][i] = (id_row){j->part[p].id[i], i};
        qsort(j->sorted[p], (size_t)rows, sizeof **j->sorted, by_id);
    }
out:
    return status;
}

/* Lists the rows of the result: those of a part whose ID no earlier part has. */
static kn_status list_rows(join *j)
{
    kn_status status;
    ptrdiff_t most = 0;
    for (int p = 0; p < j->n; p++)
        most += kn_table_rows(j->part[p].table);
    KN_TRY(kn_alloc_i(j->ctx, most * j->n, &j->at));
    for (int p = 0; p < j->n; p++)
        for (ptrdiff_t i = 0; i < kn_table_rows(j->part[p].table); i++) {
            bool known = false;
            for (int q = 0; q < p && !known; q++)
                known = find_row(j, q, j->part[p].id[i]) >= 0;
            if (known)
                continue;
            for (int q = 0; q < j->n; q++)
                j->at[j->rows * j->n + q] = q < p ? -1 : find_row(j, q, j->part[p].id[i]);
            j->rows++;
        }
out:
    return status;
}

/* Two cells have the same value: the same number or text, or neither has one. */
static bool same_value(const char *a, const char *b)
{
    double x, y;
    kn_cell of_a = kn_number_parse(a, &x), of_b = kn_number_parse(b, &y);
    if (of_a != of_b)
        return false;
    return of_a == KN_CELL_TEXT ? strcmp(a, b) == 0 : of_a == KN_CELL_MISSING || x == y;
}

/* KN_ERR_DATA if column c of part p differs from column k of the result in a common row. */
static kn_status check_repeat(const join *j, ptrdiff_t k, int p, ptrdiff_t c)
{
    const kn_table *a = j->part[j->part_of[k]].table, *b = j->part[p].table;
    for (ptrdiff_t i = 0; i < j->rows; i++) {
        ptrdiff_t x = j->at[i * j->n + j->part_of[k]], y = j->at[i * j->n + p];
        if (x >= 0 && y >= 0 && !same_value(kn_table_cell(a, x, j->col[k]), kn_table_cell(b, y, c)))
            return kn_fail(j->ctx, KN_ERR_DATA,
                           "%s %s %td: %s is '%s', but '%s' on %s %td of %s; rename or remove "
                           "the column in one of the tables",
                           b->path, kn_table_unit(b), kn_table_line(b, y), kn_table_name(b, c),
                           kn_table_cell(b, y, c), kn_table_cell(a, x, j->col[k]), kn_table_unit(a),
                           kn_table_line(a, x), a->path);
    }
    return KN_OK;
}

typedef struct named {
    const char *name;
    ptrdiff_t k; /* column of the result */
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* Lists the columns of the result; a repeated one is checked and kept once. */
static kn_status list_columns(join *j)
{
    kn_status status;
    void *memory, *names = NULL;
    ptrdiff_t most = 1, sorted = 0;
    for (int p = 0; p < j->n; p++)
        most += kn_table_cols(j->part[p].table);
    KN_TRY(kn_alloc(j->ctx, most, sizeof *j->part_of, &memory));
    j->part_of = memory;
    KN_TRY(kn_alloc_i(j->ctx, most, &j->col));
    KN_TRY(kn_alloc(j->ctx, most, sizeof *j->twice, &memory));
    j->twice = memory;
    KN_TRY(kn_alloc(j->ctx, most, sizeof(named), &names));
    named *all = names;
    j->col[j->cols++] = j->part[0].id_col;
    for (int p = 0; p < j->n; p++) {
        const kn_table *t = j->part[p].table;
        for (ptrdiff_t c = 0; c < kn_table_cols(t); c++) {
            if (c == j->part[p].id_col || !kn_table_named(t, c))
                continue;
            const named key = {.name = kn_table_name(t, c)};
            const named *found = bsearch(&key, all, (size_t)sorted, sizeof key, by_name);
            if (found) {
                KN_TRY(check_repeat(j, found->k, p, c));
                bool counted = false;
                for (ptrdiff_t i = 0; i < j->n_twice && !counted; i++)
                    counted = strcmp(j->twice[i], key.name) == 0;
                if (!counted)
                    j->twice[j->n_twice++] = key.name;
                continue;
            }
            j->part_of[j->cols] = p;
            j->col[j->cols++] = c;
        }
        for (sorted = 0; sorted + 1 < j->cols; sorted++) {
            ptrdiff_t k = sorted + 1;
            all[sorted] = (named){kn_table_name(j->part[j->part_of[k]].table, j->col[k]), k};
        }
        qsort(all, (size_t)sorted, sizeof *all, by_name);
    }
out:
    kn_free(names);
    return status;
}

/* Returns the text of a cell of the result; row -1: the name of the column. A repeated column has
 * the value of the first part that has the row. */
static const char *cell_of(const join *j, ptrdiff_t row, ptrdiff_t k)
{
    const kn_join_part *from = &j->part[j->part_of[k]];
    const char *name = kn_table_name(from->table, j->col[k]);
    if (row < 0)
        return name;
    const ptrdiff_t *at = j->at + row * j->n;
    for (int p = 0; k == 0 && p < j->n; p++)
        if (at[p] >= 0)
            return j->part[p].id[at[p]];
    if (at[j->part_of[k]] >= 0)
        return kn_table_cell(from->table, at[j->part_of[k]], j->col[k]);
    for (int p = j->part_of[k] + 1; p < j->n; p++) {
        ptrdiff_t c = at[p] >= 0 ? kn_table_find(j->part[p].table, name) : -1;
        if (c >= 0 && c != j->part[p].id_col)
            return kn_table_cell(j->part[p].table, at[p], c);
    }
    return "";
}

/* Allocates the result and copies all cells. */
static kn_status fill_table(const join *j, kn_table *t)
{
    kn_status status;
    void *memory;
    size_t bytes = 0;
    for (ptrdiff_t i = -1; i < j->rows; i++)
        for (ptrdiff_t k = 0; k < j->cols; k++)
            bytes += strlen(cell_of(j, i, k)) + 1;
    KN_TRY(kn_alloc(j->ctx, (ptrdiff_t)bytes, 1, &memory));
    t->text = memory;
    KN_TRY(kn_alloc_i(j->ctx, (j->rows + 1) * j->cols, &t->start));
    KN_TRY(kn_alloc_i(j->ctx, j->rows + 1, &t->line));
    t->rows = j->rows;
    t->cols = j->cols;
    t->head = 1;
    t->ids = 1;
    bytes = 0;
    for (ptrdiff_t i = -1, cell = 0; i < j->rows; i++)
        for (ptrdiff_t k = 0; k < j->cols; k++) {
            const char *text = cell_of(j, i, k);
            t->start[cell++] = (ptrdiff_t)bytes;
            strcpy(t->text + bytes, text);
            bytes += strlen(text) + 1;
        }
    for (ptrdiff_t k = 0; k < j->cols; k++)
        if (k > 0 && kn_table_is_aside(j->part[j->part_of[k]].table, j->col[k]))
            KN_TRY(kn_table_set_aside(j->ctx, t, k));
out:
    return status;
}

/* Records files and lines, for messages, and the names of repeated columns. */
static kn_status fill_origin(const join *j, kn_table *t)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_alloc(j->ctx, 1, sizeof *t->joined, &memory));
    kn_joined *o = t->joined = memory;
    o->parts = j->n;
    KN_TRY(kn_alloc(j->ctx, j->n, sizeof *o->path, &memory));
    o->path = memory;
    KN_TRY(kn_alloc_i(j->ctx, j->rows * j->n, &o->line));
    KN_TRY(kn_alloc(j->ctx, j->cols, sizeof *o->part_of_col, &memory));
    o->part_of_col = memory;
    memcpy(o->part_of_col, j->part_of, (size_t)j->cols * sizeof *j->part_of);
    for (int p = 0; p < j->n; p++) {
        const kn_table *from = j->part[p].table;
        KN_TRY(kn_text_copy(j->ctx, from->path, strlen(from->path), &o->path[p]));
        for (ptrdiff_t i = 0; i < j->rows; i++) {
            ptrdiff_t at = j->at[i * j->n + p];
            o->line[i * j->n + p] = at < 0 ? 0 : kn_table_line(from, at);
        }
    }
    for (ptrdiff_t i = j->rows - 1; i >= 0; i--)
        for (int p = j->n - 1; p >= 0; p--)
            if (o->line[i * j->n + p] > 0)
                t->line[i + 1] = o->line[i * j->n + p];
    t->line[0] = 1;
    t->numbered = j->part[0].table->numbered;
    KN_TRY(kn_alloc(j->ctx, j->n_twice, sizeof *o->repeated, &memory));
    o->repeated = memory;
    for (; o->n_repeated < j->n_twice; o->n_repeated++) {
        const char *name = j->twice[o->n_repeated];
        KN_TRY(kn_text_copy(j->ctx, name, strlen(name), &o->repeated[o->n_repeated]));
    }
out:
    return status;
}

kn_status kn_table_join(kn_ctx *ctx, const char *name, const kn_join_part *part, int n,
                        kn_table **out)
{
    join j = {.ctx = ctx, .part = part, .n = n};
    kn_table *t = NULL;
    void *memory;
    kn_status status;
    *out = NULL;
    KN_TRY(sort_ids(&j));
    KN_TRY(list_rows(&j));
    KN_TRY(list_columns(&j));
    KN_TRY(kn_alloc(ctx, 1, sizeof *t, &memory));
    t = memory;
    KN_TRY(kn_text_copy(ctx, name, strlen(name), &t->path));
    KN_TRY(fill_table(&j, t));
    KN_TRY(fill_origin(&j, t));
    KN_TRY(kn_table_index_names(ctx, t));
out:
    for (int p = 0; j.sorted && p < n; p++)
        kn_free(j.sorted[p]);
    kn_free(j.sorted);
    kn_free(j.at);
    kn_free(j.part_of);
    kn_free(j.col);
    kn_free(j.twice);
    if (status == KN_OK)
        *out = t;
    else
        kn_table_free(t);
    return status;
}

void kn_joined_free(kn_joined *o)
{
    if (!o)
        return;
    for (int p = 0; o->path && p < o->parts; p++)
        kn_free(o->path[p]);
    for (ptrdiff_t k = 0; k < o->n_repeated; k++)
        kn_free(o->repeated[k]);
    kn_free(o->path);
    kn_free(o->line);
    kn_free(o->part_of_col);
    kn_free(o->repeated);
    kn_free(o);
}

const char *kn_table_repeated(const kn_table *t, ptrdiff_t k)
{
    return t->joined && k < t->joined->n_repeated ? t->joined->repeated[k] : NULL;
}

const char *kn_table_absent(const kn_table *t, ptrdiff_t row)
{
    const kn_joined *o = t->joined;
    for (int p = 0; o && p < o->parts; p++)
        if (o->line[row * o->parts + p] == 0)
            return o->path[p];
    return NULL;
}

const char *kn_table_cell_path(const kn_table *t, ptrdiff_t row, ptrdiff_t col)
{
    const kn_joined *o = t->joined;
    (void)row;
    return o ? o->path[o->part_of_col[col]] : t->path;
}

ptrdiff_t kn_table_cell_line(const kn_table *t, ptrdiff_t row, ptrdiff_t col)
{
    const kn_joined *o = t->joined;
    ptrdiff_t line = o ? o->line[row * o->parts + o->part_of_col[col]] : 0;
    return line > 0 ? line : kn_table_line(t, row);
}
