/* Scores in parts, for job arrays: a part is scored like anybody, writes maps of its people and one
 * file more; the join finds out everything that covariates say of all, takes the rest from these
 * files and goes on as if it had scored everybody. So its files are those of one run. */
#ifndef KN_COMMANDS_SCORE_JOIN_JOB_PARTS_H
#define KN_COMMANDS_SCORE_JOIN_JOB_PARTS_H

#include "base/hash/xxh64.h"
#include "commands/common/map_writer.h"
#include "commands/score/join/job_part_file.h"
#include "commands/score/participants_table.h"

/* {part} and {join}: what was asked for, and whether it can be. */
kn_status kn_job_parts_asked(kn_ctx *ctx, const kn_settings *s, kn_job_part *part);

/* What the model, the options and the people of the list are, as far as scores depend on them. */
kn_status kn_job_parts_stamp(kn_ctx *ctx, const char *command, const kn_settings *s,
                             const kn_participants_table *of, kn_job_part_stamp *out);

/* All n parts of a folder. */
typedef struct kn_job_parts {
    const char *dir; /* lent */
    ptrdiff_t n;
    kn_job_part_stamp stamp;
    uint64_t (*map)[KN_N_MAPS]; /* n  hashes of their maps */
} kn_job_parts;

/* Before the work: every part is there. */
kn_status kn_job_parts_find(kn_ctx *ctx, const char *dir, ptrdiff_t n, kn_job_parts *out);
/* And there is room for what they have together. */
kn_status kn_job_parts_room(kn_ctx *ctx, const kn_job_parts *p, const kn_participants_table *of);
/* People, sums and counts of all parts into scores of everybody that are new. */
kn_status kn_job_parts_take(kn_ctx *ctx, kn_job_parts *p, kn_scores *all);
/* Rows of map k of all parts, in the order of the list. */
kn_status kn_job_parts_map(kn_ctx *ctx, const kn_job_parts *p, int k, const kn_scores *all,
                           kn_mapfile *to);
/* The parts' files, when everything else is in place. */
void kn_job_parts_remove(kn_ctx *ctx, const kn_job_parts *p);
void kn_job_parts_clear(kn_job_parts *p); /* {0} is fine */

#endif
