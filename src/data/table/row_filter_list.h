/* The values of a condition from a file, one on each line: --where 'participant_id in @train.txt'.
 */
#ifndef KN_DATA_TABLE_ROW_FILTER_LIST_H
#define KN_DATA_TABLE_ROW_FILTER_LIST_H

#include <stdbool.h>

#include "base/memory/alloc.h"

typedef struct kn_row_filter_list {
    ptrdiff_t n;
    const char **value; /* ascending, without the spaces around them */
    char *text;         /* what they point into */
} kn_row_filter_list;

/* Refuses a file without values. */
kn_status kn_row_filter_list_read(kn_ctx *ctx, const char *path, kn_row_filter_list *out);
void kn_row_filter_list_clear(kn_row_filter_list *list); /* {0} is fine */

bool kn_row_filter_list_has(const kn_row_filter_list *list, const char *cell); /* to the letter */

#endif
