/* Private interfaces of kn_overlap: the groups of the scored participants, and the results that are
 * written [METHOD 8d]. overlap.c computes them. */
#ifndef KN_COMMANDS_OVERLAP_INTERNAL_H
#define KN_COMMANDS_OVERLAP_INTERNAL_H

#include <jansson.h>

#include "base/context.h"
#include "base/options/options.h"
#include "commands/common/scored_folder.h"
#include "data/table/levels.h"
#include "io/file/atomic_writer.h"
#include "norm/metrics/permutation_test.h"

/* ---- group_membership.c ---- */

/* Assigns scored participants to groups by column {by} of scored_participants.tsv, or of
 * {covariates}, matched by id. */

enum { KN_MEMBERSHIP_MAX = 50 }; /* most groups; each has maps of its own */

/* Groups of the scored participants. */
typedef struct kn_membership {
    kn_levels levels; /* names of the groups, sorted */
    ptrdiff_t *group; /* per participant of the folder; -1: no group, excluded */
    /* participants per group */
    ptrdiff_t size[KN_MEMBERSHIP_MAX];
    /* participants with and without a group */
    ptrdiff_t n, left_out;
} kn_membership;

/* Reads the groups and warns of small ones. KN_ERR_DATA if no id matches, rows of an id disagree,
 * or no participant has a group. */
kn_status kn_membership_new(kn_ctx *ctx, const kn_settings *s, const kn_scored *scored,
                            kn_membership *out);
void kn_membership_clear(kn_membership *m); /* accepts {0} */

/* ---- write.c ---- */

/* Results of kn_overlap: the share of participants of a group beyond a threshold at each response,
 * and the difference between two groups with p-values [METHOD 8d]. overlap.c computes them, write.c
 * writes them. */

/* Everything that write.c needs; pointers are borrowed from the run. */
typedef struct kn_overlaps {
    const kn_options *options;
    const kn_settings *s;
    const kn_scored *scored;
    const kn_membership *members;
    const kn_warnings *warnings;
    ptrdiff_t T;           /* number of responses; images: voxels inside the mask */
    const ptrdiff_t *kept; /* images: voxel of each response; else NULL */
    kn_exceedance_proportions *proportions;  /* one per group */
    kn_permutation_result compare[KN_SIGNS]; /* with two groups; else empty */
    kn_overlap_info *info;
} kn_overlaps;

extern const char *const kn_sign_name[KN_SIGNS]; /* negative, positive */

/* Checks before the computation that all files can be written; the folder exists. */
kn_status kn_overlap_check(kn_ctx *ctx, const kn_overlaps *o, const kn_write_options *options);

/* Write the tables, or the maps in the format of the input, and summary.json; adds their number to
 * o->info->files. */
kn_status kn_overlap_write(kn_ctx *ctx, const kn_overlaps *o, const kn_write_options *options);

#endif
