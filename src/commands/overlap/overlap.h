/* Where the deviations of a group overlap: the share of its people beyond a threshold at each
 * response, and between two groups the difference with p [METHOD 8d]. */
#ifndef KN_COMMANDS_OVERLAP_OVERLAP_H
#define KN_COMMANDS_OVERLAP_OVERLAP_H

#include <jansson.h>

#include "base/warnings.h"
#include "commands/overlap/group_membership.h"
#include "io/file/atomic_writer.h"
#include "norm/metrics/permutation_test.h"

typedef struct kn_overlaps {
    const kn_options *options;
    const kn_settings *s;
    const kn_scored *scored;
    const kn_membership *members;
    const kn_warnings *warnings;
    ptrdiff_t T;                             /* responses: of images the voxels of the maps */
    const ptrdiff_t *kept;                   /* images: the voxel of each; else NULL */
    kn_share *share;                         /* of each group */
    kn_permutation_result compare[KN_SIGNS]; /* of two groups; else NULL */
    kn_overlap_info *info;
} kn_overlaps;

extern const char *const kn_sign_name[KN_SIGNS]; /* negative, positive */

/* What _write would refuse, asked before the work; the folder is there. */
kn_status kn_overlap_check(kn_ctx *ctx, const kn_overlaps *o, const kn_write_options *options);
/* Tables, or maps in the format that was read, and summary.json; counts files in the info. */
kn_status kn_overlap_write(kn_ctx *ctx, const kn_overlaps *o, const kn_write_options *options);

#endif
