/* Sorted levels of a categorical covariate. Their order does not depend on the order of rows: by
 * number if all are numbers, else by bytes. */
#ifndef KN_DATA_TABLE_LEVELS_H
#define KN_DATA_TABLE_LEVELS_H

#include "base/memory/alloc.h"

enum {
    KN_LEVELS_MAX = 2000, /* of one category */
    KN_LEVEL_SIZE = 1024, /* bytes of a level or of a column's name, with the NUL */
};

#define KN_LEVEL_EXACT 0x1p53 /* smaller integers are exact in double */

typedef struct kn_levels {
    ptrdiff_t n;
    char **text;  /* ascending, distinct */
    bool numbers; /* all levels are numbers */
} kn_levels;

/* Writes the level that a cell means to `out`: its text without the spaces around it. With
 * `numbers` it is the shortest text of the number, because 1 in one table is 1.0 in another; from
 * KN_LEVEL_EXACT on the text again, because doubles no longer distinguish integers. Returns false
 * if the text is too long. */
bool kn_level_of(const char *cell, bool numbers, char out[KN_LEVEL_SIZE]);

/* Compares two levels, as strcmp does: by value if `numbers` and both are numbers, else by bytes.
 */
int kn_level_order(const char *a, const char *b, bool numbers);

/* Finds a level by binary search. Returns its index, also in *at; if it is absent -1, and *at is
 * where it would be inserted. */
ptrdiff_t kn_levels_find(const kn_levels *levels, const char *level, ptrdiff_t *at);

/* Inserts a copy of a level at its sorted position; does nothing if it exists. The caller ensures
 * that there are fewer than KN_LEVELS_MAX. */
kn_status kn_levels_add(kn_ctx *ctx, kn_levels *levels, const char *level);
void kn_levels_clear(kn_levels *levels); /* accepts {0} */

#endif
