/* Maps of people who are no longer there: with {split} and {force} those that an earlier run wrote
 * into the folder leave it. Only what its people.tsv lists is ever touched. */
#ifndef KN_COMMANDS_SCORE_STALE_MAPS_H
#define KN_COMMANDS_SCORE_STALE_MAPS_H

#include "commands/common/map_writer.h"

/* Is it a regular file, and none that was read in this run? */
bool kn_may_delete(const kn_write_options *options, const char *path);

typedef struct kn_stale_files {
    char **path;
    ptrdiff_t n, capacity;
} kn_stale_files;

/* Files of the earlier people.tsv whose person is none of these n; before it is replaced. A folder
 * without one, or with one that is not ours, has none. */
kn_status kn_stale_files_find(kn_ctx *ctx, const kn_maplayout *layout, ptrdiff_t n,
                              kn_stale_files *out);
/* After the new files have their names. One that cannot be removed stays, with a warning. */
void kn_stale_files_remove(kn_ctx *ctx, const kn_stale_files *l);
void kn_stale_files_clear(kn_stale_files *l); /* {0} is fine */

#endif
