/* Finds the same id in two spellings: 7 and 007, sub-01 and 01, S01 and s01, sub-01_ses-02 and
 * 01_2. */
#ifndef KN_DATA_TABLE_ALIGN_IDS_H
#define KN_DATA_TABLE_ALIGN_IDS_H

#include "base/memory/alloc.h"

typedef struct kn_id_list {
    const char *path; /* for messages */
    ptrdiff_t n;
    const char **id; /* borrowed; ids may repeat */
} kn_id_list;

/* Replaces ids of `b` that are not in `a` by the id of `a` that differs only in spaces around it,
 * case, the prefixes sub- and ses-, and zeros at the start. Does so only if one id of `a` and one
 * of `b` have this form; logs a warning that counts the ids and names the first ones. Missing ids
 * stay. n log n. */
kn_status kn_ids_align(kn_ctx *ctx, const kn_id_list *a, kn_id_list *b);

#endif
