/* Implements measures.h. Rows mostly have the same columns in the same order, so a column is looked
 * for first where the last row had it. */
#include "io/freesurfer/measures.h"

#include <string.h>

#include "io/file/path.h"

static const kn_stats_measure MEASURES[] = {
    {"area", "SurfArea", true, "WhiteSurfArea"},
    {"volume", "GrayVol", true, NULL},
    {"thickness", "ThickAvg", true, "MeanThickness"},
    {"thicknessstd", "ThickStd", true, NULL},
    {"meancurv", "MeanCurv", true, NULL},
    {"gauscurv", "GausCurv", true, NULL},
    {"foldind", "FoldInd", true, NULL},
    {"curvind", "CurvInd", true, NULL},
    {"volume", "Volume_mm3", false, NULL},
    {"mean", "normMean", false, NULL},
    {"std", "normStdDev", false, NULL},
};

const kn_stats_measure *kn_stats_measure_find(const char *name, bool surface)
{
    for (size_t k = 0; k < sizeof MEASURES / sizeof *MEASURES; k++)
        if (MEASURES[k].surface == surface && strcmp(MEASURES[k].name, name) == 0)
            return &MEASURES[k];
    return NULL;
}

struct kn_wide_cell {
    ptrdiff_t row, col;
    const char *text;
};

/* Appends a copy of a name, in the arena of w, to a list of *n names that grows. Fails only without
 * memory. */
static kn_status append_name(kn_ctx *ctx, kn_wide *w, const char *name, ptrdiff_t *n,
                             ptrdiff_t *room, const char ***names)
{
    void *memory = *names;
    const char *copy;
    kn_status status = kn_grow(ctx, *n + 1, sizeof **names, &memory, room);
    *names = memory;
    if (status == KN_OK)
        status = kn_arena_text(ctx, &w->texts, name, &copy);
    if (status == KN_OK)
        (*names)[(*n)++] = copy;
    return status;
}

kn_status kn_wide_row(kn_ctx *ctx, kn_wide *w, const char *id)
{
    kn_status status = kn_path_check_cell(ctx, id);
    w->next_col = 0;
    return status != KN_OK ? status : append_name(ctx, w, id, &w->rows, &w->row_room, &w->row);
}

/* Returns the index of a column; cols: it is new. */
static ptrdiff_t find_column(const kn_wide *w, const char *name)
{
    if (w->next_col < w->cols && strcmp(w->col[w->next_col], name) == 0)
        return w->next_col;
    ptrdiff_t k = 0;
    while (k < w->cols && strcmp(w->col[k], name) != 0)
        k++;
    return k;
}

kn_status kn_wide_cell_add(kn_ctx *ctx, kn_wide *w, const char *column, const char *value)
{
    kn_status status;
    void *memory = w->cell;
    ptrdiff_t col = find_column(w, column);
    KN_TRY(kn_path_check_cell(ctx, column));
    KN_TRY(kn_path_check_cell(ctx, value));
    if (col == w->cols)
        KN_TRY(append_name(ctx, w, column, &w->cols, &w->col_room, &w->col));
    status = kn_grow(ctx, w->cells + 1, sizeof *w->cell, &memory, &w->cell_room);
    w->cell = memory;
    KN_TRY(status);
    struct kn_wide_cell *c = &w->cell[w->cells];
    *c = (struct kn_wide_cell){w->rows - 1, col, NULL};
    KN_TRY(kn_arena_text(ctx, &w->texts, value, &c->text));
    w->cells++;
    w->next_col = col + 1;
out:
    return status;
}

bool kn_wide_has(const kn_wide *w, const char *column)
{
    ptrdiff_t col = find_column(w, column);
    for (ptrdiff_t k = w->cells; col < w->cols && k > 0 && w->cell[k - 1].row == w->rows - 1; k--)
        if (w->cell[k - 1].col == col)
            return true;
    return false;
}

typedef struct sink {
    char *text; /* NULL: only measure */
    size_t n;
} sink;

/* Appends a text and the character `end` to the output; if s->text is NULL, only counts the bytes.
 */
static void put(sink *s, const char *text, char end)
{
    size_t n = strlen(text);
    if (s->text) {
        memcpy(s->text + s->n, text, n);
        s->text[s->n + n] = end;
    }
    s->n += n + 1;
}

/* Writes the wide table as tab-separated text, n/a for cells without a value. row: work space of
 * w->cols texts. */
static void put_table(const kn_wide *w, const char *corner, const char **row, sink *s)
{
    put(s, corner, '\t');
    for (ptrdiff_t j = 0; j < w->cols; j++)
        put(s, w->col[j], j + 1 < w->cols ? '\t' : '\n');
    for (ptrdiff_t i = 0, k = 0; i < w->rows; i++) {
        for (ptrdiff_t j = 0; j < w->cols; j++)
            row[j] = "n/a";
        for (; k < w->cells && w->cell[k].row == i; k++)
            row[w->cell[k].col] = w->cell[k].text;
        put(s, w->row[i], '\t');
        for (ptrdiff_t j = 0; j < w->cols; j++)
            put(s, row[j], j + 1 < w->cols ? '\t' : '\n');
    }
    put(s, "", '\0');
}

kn_status kn_wide_text(kn_ctx *ctx, const kn_wide *w, const char *corner, char **text)
{
    kn_status status;
    void *memory, *row = NULL;
    sink s = {0};
    *text = NULL;
    KN_TRY(kn_alloc(ctx, w->cols + 1, sizeof(char *), &row));
    put_table(w, corner, row, &s);
    KN_TRY(kn_alloc(ctx, (ptrdiff_t)s.n, 1, &memory));
    s = (sink){.text = memory};
    put_table(w, corner, row, &s);
    *text = memory;
out:
    kn_free(row);
    return status;
}

void kn_wide_clear(kn_wide *w)
{
    kn_arena_clear(&w->texts);
    kn_free(w->row);
    kn_free(w->col);
    kn_free(w->cell);
    *w = (kn_wide){0};
}
