/* People by the level of a column, or by the combination of levels of several. */
#ifndef KN_COMMANDS_COMMON_STRATA_H
#define KN_COMMANDS_COMMON_STRATA_H

#include "io/table/table.h"

typedef struct kn_strata {
    ptrdiff_t n;     /* levels; 0: nobody was asked */
    char **name;     /* n: ascending, numbers by size; "n/a" where a cell is missing */
    ptrdiff_t *size; /* n */
    ptrdiff_t people;
    ptrdiff_t *of; /* people: the level of each */
} kn_strata;

/* row[people] of the table. Several columns make levels such as "Leeds Prisma". */
kn_status kn_strata_new(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *col, ptrdiff_t n_cols,
                        const ptrdiff_t *row, ptrdiff_t people, kn_strata *out);
void kn_strata_clear(kn_strata *s); /* {0} is fine */

#endif
