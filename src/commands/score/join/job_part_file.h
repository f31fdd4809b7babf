/* DIR/scores.part-3-of-10.safetensors: what one part of the people adds to the scores of all, to
 * the bit. Whole or absent; a checksum in it tells damage apart.
 *
 *     person  F64, a row a person      columns of abnormality.tsv before people are compared, and
 *                                      counts of z; without responses the extrapolation alone
 *     sums    F64, a row a response    those in use: sums over people, order-free
 *                                      (norm/metrics/accumulator.h)
 *     bins    I64                      how many z are where
 *     zero    I64                      responses that are 0 for all of these people
 *     hash    I64, one a person        of their responses
 *
 * With it lie maps of its people, z.part-3-of-10.npy, unless each person has files of their own. */
#ifndef KN_COMMANDS_SCORE_JOIN_JOB_PART_FILE_H
#define KN_COMMANDS_SCORE_JOIN_JOB_PART_FILE_H

#include "commands/score/scores.h"
#include "data/table/job_part.h"

/* What all parts and the join must have in common. */
typedef struct kn_job_part_stamp {
    ptrdiff_t people;                         /* in the list */
    uint64_t model, options, list, responses; /* hashes; list: ids and covariates, in order */
    bool elsewhere; /* the part is by other kernels of the BLAS: its last digits may differ */
    uint64_t map[KN_N_MAPS]; /* of this part's own, XXH64 of the rows; 0: none */
} kn_job_part_stamp;

/* Name of a file of the part: "z.part-3-of-10". */
enum { KN_PART_NAME = 96, KN_PART_PATH = 4096 };
void kn_job_part_name(kn_job_part part, const char *what, char out[KN_PART_NAME]);
kn_status kn_job_part_path(kn_ctx *ctx, const char *dir, kn_job_part part, const char *what,
                           const char *ending, char path[KN_PART_PATH]);

kn_status kn_job_part_check(kn_ctx *ctx, const char *dir, kn_job_part part,
                            const kn_write_options *options);
kn_status kn_job_part_write(kn_ctx *ctx, const kn_scores *s, kn_job_part part,
                            const kn_job_part_stamp *stamp, const char *dir,
                            const kn_write_options *options);

/* Its people to their places among all, and what it adds. `stamp` is that of the join; its map and
 * elsewhere are set to the part's. Nothing in the file is believed. */
kn_status kn_job_part_take(kn_ctx *ctx, const char *dir, kn_job_part part, kn_job_part_stamp *stamp,
                           kn_scores *all);

#endif
