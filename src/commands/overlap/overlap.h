/* Results of kn_overlap: the share of participants of a group beyond a threshold at each response,
 * and the difference between two groups with p-values [METHOD 8d]. overlap.c computes them, write.c
 * writes them. */
#ifndef KN_COMMANDS_OVERLAP_OVERLAP_H
#define KN_COMMANDS_OVERLAP_OVERLAP_H

#include <jansson.h>

#include "base/warnings.h"
#include "commands/overlap/group_membership.h"
#include "io/file/atomic_writer.h"
#include "norm/metrics/permutation_test.h"

/* Everything that write.c needs; pointers are borrowed from the run. */
typedef struct kn_overlaps {
    const kn_options *options;
    const kn_settings *s;
    const kn_scored *scored;
    const kn_membership *members;
    const kn_warnings *warnings;
    ptrdiff_t T;           /* number of responses; images: voxels inside the mask */
    const ptrdiff_t *kept; /* images: voxel of each response; else NULL */
    kn_share *share;       /* one per group */
    kn_permutation_result compare[KN_SIGNS]; /* with two groups; else empty */
    kn_overlap_info *info;
} kn_overlaps;

extern const char *const kn_sign_name[KN_SIGNS]; /* negative, positive */

/* Checks before the computation that all files can be written; the folder exists. */
kn_status kn_overlap_check(kn_ctx *ctx, const kn_overlaps *o, const kn_write_options *options);
/* Writes tables, or maps in the format of the input, and summary.json; adds to o->info->files. */
kn_status kn_overlap_write(kn_ctx *ctx, const kn_overlaps *o, const kn_write_options *options);

#endif
