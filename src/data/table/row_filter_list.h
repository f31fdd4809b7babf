/* Values of a condition from a file, one per line: --where 'participant_id in @train.txt'. */
#ifndef KN_DATA_TABLE_ROW_FILTER_LIST_H
#define KN_DATA_TABLE_ROW_FILTER_LIST_H

#include <stdbool.h>

#include "base/memory/alloc.h"

typedef struct kn_row_filter_list {
    ptrdiff_t n;
    const char **value; /* sorted, without the spaces around them */
    char *text;         /* storage of the values */
} kn_row_filter_list;

/* Reads the file; KN_ERR_FORMAT if it has no values or is too large. */
kn_status kn_row_filter_list_read(kn_ctx *ctx, const char *path, kn_row_filter_list *out);
void kn_row_filter_list_clear(kn_row_filter_list *list); /* accepts {0} */

bool kn_row_filter_list_has(const kn_row_filter_list *list,
                            const char *cell); /* exact comparison */

#endif
