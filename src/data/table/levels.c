/* Implements levels.h: a sorted array with binary search. Levels that are numbers are ordered by
 * value, others by their text. */
#include "data/table/levels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "io/file/path.h"
#include "io/table/number.h"

bool kn_level_of(const char *cell, bool numbers, char out[KN_LEVEL_SIZE])
{
    static const char spaces[] = " \t\r\n";
    double x;
    if (numbers && kn_number_parse(cell, &x) == KN_CELL_NUMBER && fabs(x) < KN_LEVEL_EXACT) {
        kn_number_text(x + 0.0, out); /* -0 becomes 0 */
        return true;
    }
    cell += strspn(cell, spaces);
    size_t n = strlen(cell);
    while (n > 0 && strchr(spaces, cell[n - 1]))
        n--;
    if (n >= KN_LEVEL_SIZE)
        return false;
    memcpy(out, cell, n);
    out[n] = '\0';
    return true;
}

int kn_level_order(const char *a, const char *b, bool numbers)
{
    double x, y;
    if (numbers && kn_number_parse(a, &x) == KN_CELL_NUMBER &&
        kn_number_parse(b, &y) == KN_CELL_NUMBER && x != y)
        return x < y ? -1 : 1;
    return strcmp(a, b);
}

ptrdiff_t kn_levels_find(const kn_levels *levels, const char *level, ptrdiff_t *at)
{
    ptrdiff_t low = 0, high = levels->n;
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        int order = kn_level_order(levels->text[middle], level, levels->numbers);
        if (order == 0) {
            *at = middle;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return -1;
}

enum { FIRST = 32 }; /* initial capacity, a power of two */

/* Doubles the capacity of a list that is full: FIRST times a power of two, or 0 without levels. */
static kn_status double_capacity(kn_ctx *ctx, kn_levels *levels)
{
    void *text;
    kn_status status =
        kn_alloc(ctx, levels->n > 0 ? 2 * levels->n : FIRST, sizeof *levels->text, &text);
    if (status != KN_OK)
        return status;
    if (levels->n > 0)
        memcpy(text, levels->text, (size_t)levels->n * sizeof *levels->text);
    kn_free(levels->text);
    levels->text = text;
    return KN_OK;
}

kn_status kn_levels_add(kn_ctx *ctx, kn_levels *levels, const char *level)
{
    ptrdiff_t at;
    char *copy;
    kn_status status = KN_OK;

    if (kn_levels_find(levels, level, &at) >= 0)
        return KN_OK;
    assert(levels->n < KN_LEVELS_MAX);
    if (levels->n == 0 || (levels->n >= FIRST && (levels->n & (levels->n - 1)) == 0))
        KN_TRY(double_capacity(ctx, levels));
    KN_TRY(kn_text_copy(ctx, level, strlen(level), &copy));
    memmove(levels->text + at + 1, levels->text + at,
            (size_t)(levels->n - at) * sizeof *levels->text);
    levels->text[at] = copy;
    levels->n++;
out:
    return status;
}

void kn_levels_clear(kn_levels *levels)
{
    for (ptrdiff_t k = 0; k < levels->n; k++)
        kn_free(levels->text[k]);
    kn_free(levels->text);
    *levels = (kn_levels){0};
}
