/* Which of the scored people belong to which group: by a column of people.tsv, or of {covariates}
 * where the ids are the same. */
#ifndef KN_COMMANDS_OVERLAP_GROUP_MEMBERSHIP_H
#define KN_COMMANDS_OVERLAP_GROUP_MEMBERSHIP_H

#include "base/options/options.h"
#include "commands/common/scored_folder.h"
#include "data/table/levels.h"

typedef struct kn_membership {
    kn_levels levels; /* names of the groups, in order */
    ptrdiff_t *group; /* of each person of the folder; -1: has none, and is left out */
    ptrdiff_t size[KN_LEVELS_MOST];
    ptrdiff_t n, left_out;
} kn_membership;

kn_status kn_membership_new(kn_ctx *ctx, const kn_settings *s, const kn_scored *scored,
                            kn_membership *out);
void kn_membership_clear(kn_membership *m); /* {0} is fine */

#endif
