/* Implements strata.h: sorts the participants by level text, then numbers the levels. */
#include "commands/common/strata.h"

#include <stdlib.h>
#include <string.h>

#include "data/response_space.h"
#include "data/table/columns.h"
#include "data/table/levels.h"
#include "io/file/path.h"

void kn_strata_clear(kn_strata *s)
{
    kn_names_free(s->name, s->n);
    kn_free(s->size);
    kn_free(s->of);
    *s = (kn_strata){0};
}

typedef struct cell {
    char *text;
    double number; /* value if there is a single column with numbers, else 0 */
    ptrdiff_t person;
} cell;

static int by_level(const void *a, const void *b)
{
    const cell *x = a, *y = b;
    int order =
        x->number != y->number ? (x->number < y->number ? -1 : 1) : strcmp(x->text, y->text);
    return order ? order : (x->person > y->person) - (x->person < y->person);
}

/* Makes the level text of a row, such as "Leeds Prisma". */
static kn_status level_of(kn_ctx *ctx, const kn_table *t, const ptrdiff_t *col, ptrdiff_t n_cols,
                          ptrdiff_t row, cell *out)
{
    char text[2 * KN_LEVEL_SIZE], one[KN_LEVEL_SIZE];
    size_t used = 0;
    double x;
    for (ptrdiff_t k = 0; k < n_cols; k++) {
        const char *at = kn_table_cell(t, row, col[k]);
        bool number = kn_number_parse(at, &x) == KN_CELL_NUMBER;
        if (kn_text_is_missing(at))
            strcpy(one, "n/a");
        else if (!kn_level_of(at, number, one))
            return kn_cell_refused(ctx, t, row, col[k], "too long for a level");
        size_t n = strlen(one);
        if (used + n + 2 > sizeof text)
            return kn_cell_refused(ctx, t, row, col[k], "too long for a level");
        if (k > 0)
            text[used++] = ' ';
        memcpy(text + used, one, n);
        used += n;
        if (n_cols == 1 && number)
            out->number = x;
    }
    return kn_text_copy(ctx, text, used, &out->text);
}

/* Numbers the levels of sorted cells; the texts of first occurrences are moved to `out`. */
static kn_status number_levels(kn_ctx *ctx, cell *all, ptrdiff_t people, kn_strata *out)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_alloc(ctx, people, sizeof *out->name, &memory));
    out->name = memory;
    KN_TRY(kn_alloc_i(ctx, people, &out->size));
    KN_TRY(kn_alloc_i(ctx, people, &out->of));
    for (ptrdiff_t i = 0; i < people; i++) {
        if (out->n == 0 || strcmp(out->name[out->n - 1], all[i].text) != 0) {
            out->name[out->n++] = all[i].text;
            all[i].text = NULL;
        }
        out->of[all[i].person] = out->n - 1;
        out->size[out->n - 1]++;
    }
    out->people = people;
out:
    return status;
}

kn_status kn_strata_new(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *col, ptrdiff_t n_cols,
                        const ptrdiff_t *row, ptrdiff_t people, kn_strata *out)
{
    kn_status status;
    void *memory = NULL;
    cell *all = NULL;
    *out = (kn_strata){0};
    KN_TRY(kn_alloc(ctx, people, sizeof *all, &memory));
    all = memory;
    for (ptrdiff_t i = 0; i < people; i++) {
        all[i].person = i;
        KN_TRY(level_of(ctx, table, col, n_cols, row[i], &all[i]));
    }
    qsort(all, (size_t)people, sizeof *all, by_level);
    KN_TRY(number_levels(ctx, all, people, out));
out:
    for (ptrdiff_t i = 0; all && i < people; i++)
        kn_free(all[i].text);
    kn_free(memory);
    if (status != KN_OK)
        kn_strata_clear(out);
    return status;
}
