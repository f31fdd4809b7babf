/* The values of a condition from a file, one on each line: --where 'participant_id in @train.txt'.
 */
#ifndef KN_DATA_TABLE_ROW_FILTER_LIST_H
#define KN_DATA_TABLE_ROW_FILTER_LIST_H

#include <stdbool.h>

#include "base/memory/alloc.h"

typedef struct kn_where_list {
    ptrdiff_t n;
    const char **value; /* ascending, without the spaces around them */
    char *text;         /* what they point into */
} kn_where_list;

/* Refuses a file without values. */
kn_status kn_where_list_read(kn_ctx *ctx, const char *path, kn_where_list *out);
void kn_where_list_clear(kn_where_list *list); /* {0} is fine */

bool kn_where_list_has(const kn_where_list *list, const char *cell); /* to the letter */

#endif
