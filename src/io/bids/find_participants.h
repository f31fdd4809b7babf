/* Finds the participants.tsv that belongs to a folder of derivatives or a SUBJECTS_DIR. */
#ifndef KN_IO_BIDS_FIND_PARTICIPANTS_H
#define KN_IO_BIDS_FIND_PARTICIPANTS_H

#include "base/memory/alloc.h"

/* *out = path of participants.tsv in the folder, else in the nearest of the four folders above it,
 * else in the only folder beside it or beside its parent that has one. `folder` may be a pattern:
 * the part before its first wildcard counts. KN_ERR_ARGUMENT if there is none, or several beside;
 * the message names them. Free with kn_free. */
kn_status kn_participants_find(kn_ctx *ctx, const char *folder, char **out);

#endif
