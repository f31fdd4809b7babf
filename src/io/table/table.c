/* Tables in memory and access to cells (table.h). Column names are found by binary search. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/file/path.h"
#include "io/table/internal.h"

typedef struct name_ref {
    const char *name;
    ptrdiff_t col;
} name_ref;

/* Comparison for qsort of names of columns: by name, then by column. */
static int by_name(const void *a, const void *b)
{
    const name_ref *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->col > y->col) - (x->col < y->col);
}

kn_status kn_table_index_names(kn_ctx *ctx, kn_table *t)
{
    void *names = NULL;
    kn_status status;
    KN_TRY(kn_alloc(ctx, t->cols, sizeof(name_ref), &names));
    KN_TRY(kn_alloc_i(ctx, t->cols, &t->sorted));
    name_ref *ref = names;
    for (ptrdiff_t j = 0; j < t->cols; j++)
        if (kn_table_named(t, j))
            ref[t->n_named++] = (name_ref){kn_table_name(t, j), j};
    qsort(ref, (size_t)t->n_named, sizeof *ref, by_name);
    for (ptrdiff_t k = 0; k < t->n_named; k++) {
        t->sorted[k] = ref[k].col;
        if (k > 0 && strcmp(ref[k - 1].name, ref[k].name) == 0) {
            status =
                kn_fail(ctx, KN_ERR_FORMAT,
                        "%s line %td: columns %td and %td are both named '%s'; rename one of them",
                        t->path, t->line[0], ref[k - 1].col + 1, ref[k].col + 1, ref[k].name);
            goto out;
        }
    }
out:
    kn_free(names);
    return status;
}

bool kn_table_is_name(const char *path)
{
    return kn_path_ends(path, ".csv") || kn_path_ends(path, ".tsv");
}

/* Returns the text of the cell in `row` of a column in memory; row -1: the column's name. */
static const char *cell_text(const kn_table_column *c, ptrdiff_t row)
{
    return row < 0 ? c->name : c->text[row] ? c->text[row] : "";
}

kn_status kn_table_make(kn_ctx *ctx, const char *name, const kn_table_column *column,
                        ptrdiff_t cols, ptrdiff_t rows, kn_table **out)
{
    kn_status status;
    kn_table *t = NULL;
    void *memory;
    size_t bytes = 0;
    ptrdiff_t cell = 0;
    *out = NULL;
    for (ptrdiff_t j = 0; j < cols; j++)
        for (ptrdiff_t i = -1; i < rows; i++)
            bytes += strlen(cell_text(&column[j], i)) + 1;
    KN_TRY(kn_alloc(ctx, 1, sizeof *t, &memory));
    t = memory;
    t->rows = rows;
    t->cols = cols;
    t->head = 1;
    KN_TRY(kn_text_copy(ctx, name, strlen(name), &t->path));
    KN_TRY(kn_alloc(ctx, (ptrdiff_t)bytes, 1, &memory));
    t->text = memory;
    KN_TRY(kn_alloc(ctx, cols, sizeof *t->category, &memory));
    t->category = memory;
    KN_TRY(kn_alloc_i(ctx, (rows + 1) * cols, &t->start));
    KN_TRY(kn_alloc_i(ctx, rows + 1, &t->line));
    bytes = 0;
    for (ptrdiff_t i = -1; i < rows; i++) {
        t->line[i + 1] = i + 1;
        for (ptrdiff_t j = 0; j < cols; j++) {
            const char *text = cell_text(&column[j], i);
            t->start[cell++] = (ptrdiff_t)bytes;
            strcpy(t->text + bytes, text);
            bytes += strlen(text) + 1;
            t->category[j] = column[j].category;
        }
    }
    KN_TRY(kn_table_index_names(ctx, t));
out:
    if (status == KN_OK)
        *out = t;
    else
        kn_table_free(t);
    return status;
}

bool kn_table_made(const kn_table *t)
{
    return t->category != NULL;
}

const char *kn_table_unit(const kn_table *t)
{
    return t->category || t->numbered ? "row" : "line";
}

bool kn_table_category(const kn_table *t, ptrdiff_t col)
{
    return t->category && t->category[col];
}

void kn_table_free(kn_table *t)
{
    if (!t)
        return;
    kn_free(t->path);
    kn_free(t->text);
    kn_free(t->start);
    kn_free(t->line);
    kn_free(t->sorted);
    kn_free(t->category);
    kn_free(t->aside);
    kn_joined_free(t->joined);
    kn_free(t);
}

const char *kn_table_path(const kn_table *t)
{
    return t->path;
}

ptrdiff_t kn_table_rows(const kn_table *t)
{
    return t->rows;
}

ptrdiff_t kn_table_cols(const kn_table *t)
{
    return t->cols;
}

const char *kn_table_cell(const kn_table *t, ptrdiff_t row, ptrdiff_t col)
{
    return t->text + t->start[(row + t->head) * t->cols + col];
}

const char *kn_table_name(const kn_table *t, ptrdiff_t col)
{
    return t->head ? kn_table_cell(t, -1, col) : "";
}

bool kn_table_named(const kn_table *t, ptrdiff_t col)
{
    const char *name = kn_table_name(t, col);
    return name[strspn(name, " \t")] != '\0';
}

ptrdiff_t kn_table_find(const kn_table *t, const char *name)
{
    ptrdiff_t low = 0, high = t->n_named;
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        int order = strcmp(kn_table_name(t, t->sorted[middle]), name);
        if (order == 0)
            return t->sorted[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* Returns whether a cell is a word of {na}: the same number if the word is a number, else the same
 * text without regard to case and surrounding spaces. */
static bool is_word(const char *cell, const char *word)
{
    static const char spaces[] = " \t\r\n";
    double x, y;
    if (kn_number_parse(word, &x) == KN_CELL_NUMBER)
        return kn_number_parse(cell, &y) == KN_CELL_NUMBER && x == y;
    cell += strspn(cell, spaces);
    size_t n = strlen(word);
    return strncasecmp(cell, word, n) == 0 && cell[n + strspn(cell + n, spaces)] == '\0';
}

void kn_table_blank(kn_table *t, const char *const *words, ptrdiff_t n)
{
    for (ptrdiff_t k = t->head * t->cols; k < (t->head + t->rows) * t->cols; k++)
        for (ptrdiff_t i = 0; i < n; i++)
            if (is_word(t->text + t->start[k], words[i]))
                t->text[t->start[k]] = '\0';
}

kn_cell kn_table_number(const kn_table *t, ptrdiff_t row, ptrdiff_t col, double *out)
{
    return kn_number_parse(kn_table_cell(t, row, col), out);
}

ptrdiff_t kn_table_numbers(kn_ctx *ctx, const kn_table *t, const ptrdiff_t *rows,
                           const ptrdiff_t *cols, kn_mat out)
{
    ptrdiff_t text = -1;
    for (ptrdiff_t i = 0; i < out.rows && !kn_cancelled(ctx); i++)
        for (ptrdiff_t j = 0; j < out.cols; j++) {
            kn_cell cell =
                kn_table_number(t, rows ? rows[i] : i, cols ? cols[j] : j, &kn_col(out, j)[i]);
            if (cell == KN_CELL_TEXT && text < 0)
                text = i * out.cols + j;
        }
    return text;
}

ptrdiff_t kn_table_line(const kn_table *t, ptrdiff_t row)
{
    return t->line[row + t->head];
}
