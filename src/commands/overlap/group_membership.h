/* Assigns scored participants to groups by column {by} of people.tsv, or of {covariates}, matched
 * by id. */
#ifndef KN_COMMANDS_OVERLAP_GROUP_MEMBERSHIP_H
#define KN_COMMANDS_OVERLAP_GROUP_MEMBERSHIP_H

#include "base/options/options.h"
#include "commands/common/scored_folder.h"
#include "data/table/levels.h"

/* Groups of the scored participants. */
typedef struct kn_membership {
    kn_levels levels; /* names of the groups, sorted */
    ptrdiff_t *group; /* per participant of the folder; -1: no group, excluded */
    /* participants per group */
    ptrdiff_t size[KN_LEVELS_MOST];
    /* participants with and without a group */
    ptrdiff_t n, left_out;
} kn_membership;

/* Reads the groups and warns of small ones. KN_ERR_DATA if no id matches, rows of an id disagree,
 * or no participant has a group. */
kn_status kn_membership_new(kn_ctx *ctx, const kn_settings *s, const kn_scored *scored,
                            kn_membership *out);
void kn_membership_clear(kn_membership *m); /* accepts {0} */

#endif
