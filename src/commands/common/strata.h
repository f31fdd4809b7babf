/* Groups participants by the level of one column, or by the combination of levels of several
 * columns. cv uses it for held-out sites and stratified folds. */
#ifndef KN_COMMANDS_COMMON_STRATA_H
#define KN_COMMANDS_COMMON_STRATA_H

#include "io/table/table.h"

/* Levels of a number of participants. Owns its arrays. */
typedef struct kn_strata {
    ptrdiff_t n;     /* number of levels; 0: no strata were asked for */
    char **name;     /* n, sorted (numbers by value); "n/a" for a missing cell */
    ptrdiff_t *size; /* n: participants of each level */
    /* number of participants */
    ptrdiff_t people;
    ptrdiff_t *of; /* people: index of the level */
} kn_strata;

/* Makes the levels of rows row[0..people) from n_cols columns; several columns make levels such as
 * "Leeds Prisma". KN_ERR_DATA if a cell is too long for a level. Free with kn_strata_clear. */
kn_status kn_strata_new(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *col, ptrdiff_t n_cols,
                        const ptrdiff_t *row, ptrdiff_t people, kn_strata *out);
void kn_strata_clear(kn_strata *s); /* accepts {0} */

#endif
