/* The levels of a category, in an order that does not depend on the order of the rows: by number
 * when all of them are numbers, else by bytes. */
#ifndef KN_DATA_TABLE_LEVELS_H
#define KN_DATA_TABLE_LEVELS_H

#include "base/memory/alloc.h"

enum {
    KN_LEVELS_MOST = 50,  /* of one category */
    KN_LEVEL_SIZE = 1024, /* bytes of a level or of a column's name, with the NUL */
};

#define KN_LEVEL_EXACT 0x1p53 /* integers below are all doubles */

typedef struct kn_levels {
    ptrdiff_t n;
    char **text;  /* ascending, distinct */
    bool numbers; /* all of them are */
} kn_levels;

/* out = the level a cell stands for: its text without the spaces around it. Where levels are
 * numbers, the shortest text of that number, since 1 in one table is 1.0 in the next; from
 * KN_LEVEL_EXACT, where doubles stop telling integers apart, the text again. False: the text is too
 * long. */
bool kn_level_of(const char *cell, bool numbers, char out[KN_LEVEL_SIZE]);

int kn_level_order(const char *a, const char *b, bool numbers);

/* Index of a level, or -1; *at = where it would stand. */
ptrdiff_t kn_levels_find(const kn_levels *levels, const char *level, ptrdiff_t *at);

/* Puts a level at its place; one that is there already changes nothing. At most KN_LEVELS_MOST. */
kn_status kn_levels_add(kn_ctx *ctx, kn_levels *levels, const char *level);
void kn_levels_clear(kn_levels *levels); /* {0} is fine */

#endif
