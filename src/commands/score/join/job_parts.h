/* Scoring by job parts, for job arrays: each part scores its participants, writes their maps and
 * one part file; the join computes what depends on covariates only, reads the rest from the part
 * files and continues as if it had scored all participants. Its output is that of one run, byte for
 * byte. */
#ifndef KN_COMMANDS_SCORE_JOIN_JOB_PARTS_H
#define KN_COMMANDS_SCORE_JOIN_JOB_PARTS_H

#include "base/hash/xxh64.h"
#include "commands/common/map_writer.h"
#include "commands/score/join/job_part_file.h"
#include "commands/score/participants_table.h"

/* Parses {part}, and checks that it fits {join} and {output}; KN_ERR_ARGUMENT if not. */
kn_status kn_job_parts_asked(kn_ctx *ctx, const kn_settings *s, kn_job_part *part);

/* Makes the hashes of model, options, list and responses, as far as scores depend on them. */
kn_status kn_job_parts_stamp(kn_ctx *ctx, const char *command, const kn_settings *s,
                             const kn_participants_table *of, kn_job_part_stamp *out);

/* The n parts of a folder. */
typedef struct kn_job_parts {
    const char *dir; /* borrowed */
    ptrdiff_t n;
    kn_job_part_stamp stamp;
    uint64_t (*map)[KN_N_MAPS]; /* n: hashes of the maps of each part */
} kn_job_parts;

/* Checks that all part files exist; KN_ERR_DATA lists the missing ones. */
kn_status kn_job_parts_find(kn_ctx *ctx, const char *dir, ptrdiff_t n, kn_job_parts *out);
/* Checks the memory plan of the join against the budget; KN_ERR_MEMORY. */
kn_status kn_job_parts_room(kn_ctx *ctx, const kn_job_parts *p, const kn_participants_table *of);
/* Reads participants, sums and counts of all parts into `all`, which must be new. */
kn_status kn_job_parts_take(kn_ctx *ctx, kn_job_parts *p, kn_scores *all);
/* Writes map k of all participants in the order of the list. KN_ERR_FORMAT if a map of a part is
 * damaged. */
kn_status kn_job_parts_map(kn_ctx *ctx, const kn_job_parts *p, int k, const kn_scores *all,
                           kn_mapfile *to);
/* Deletes the files of the parts, after everything else is in place. */
void kn_job_parts_remove(kn_ctx *ctx, const kn_job_parts *p);
void kn_job_parts_clear(kn_job_parts *p); /* accepts {0} */

#endif
