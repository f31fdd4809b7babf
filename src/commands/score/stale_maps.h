/* Removes maps of participants who are no longer scored: with {split} and {force}, maps of an
 * earlier run in the same folder. Only files that its people.tsv lists are touched. */
#ifndef KN_COMMANDS_SCORE_STALE_MAPS_H
#define KN_COMMANDS_SCORE_STALE_MAPS_H

#include "commands/common/map_writer.h"

/* True if path is a regular file and not an input of this run. */
bool kn_may_delete(const kn_write_options *options, const char *path);

typedef struct kn_stale_files {
    char **path;
    ptrdiff_t n, capacity;
} kn_stale_files;

/* Lists files of the earlier people.tsv whose participant is not among the n ids of the layout.
 * Call before people.tsv is replaced. Empty without people.tsv, or if it is not from kronorm. */
kn_status kn_stale_files_find(kn_ctx *ctx, const kn_maplayout *layout, ptrdiff_t n,
                              kn_stale_files *out);
/* Deletes the listed files after the new ones are committed. Files that cannot be deleted stay,
 * with a warning. */
void kn_stale_files_remove(kn_ctx *ctx, const kn_stale_files *l);
void kn_stale_files_clear(kn_stale_files *l); /* accepts {0} */

#endif
