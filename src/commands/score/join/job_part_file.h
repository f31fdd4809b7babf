/* Reads and writes DIR/scores.part-3-of-10.safetensors: the contribution of one job part to the
 * scores of all participants, bit for bit. Written atomically, with a checksum.
 *
 *     person  F64, row per participant  columns of abnormality.tsv before p-values, and tallies
 *                                       of z; for predictions the extrapolation only
 *     sums    F64, row per response     in use: sums over participants, independent of order
 *                                       (norm/metrics/accumulator.h)
 *     bins    I64                       histogram of z
 *     zero    I64                       responses that are 0 for all participants of the part
 *     hash    I64, one per participant  of the responses
 *
 * Beside it are the maps of its participants, z.part-3-of-10.npy, unless {split}. */
#ifndef KN_COMMANDS_SCORE_JOIN_JOB_PART_FILE_H
#define KN_COMMANDS_SCORE_JOIN_JOB_PART_FILE_H

#include "commands/score/scores.h"
#include "data/table/job_part.h"

/* What all parts and the join must have in common. */
typedef struct kn_job_part_stamp {
    ptrdiff_t people;                         /* participants in the list */
    uint64_t model, options, list, responses; /* hashes; list: covariates and matched rows */
    bool elsewhere;          /* made with other BLAS kernels: last digits may differ */
    uint64_t map[KN_N_MAPS]; /* XXH64 of the map rows of this part; 0: no map */
} kn_job_part_stamp;

/* File name without ending, such as "z.part-3-of-10", and its path dir/NAME + ending. */
enum { KN_PART_NAME = 96, KN_PART_PATH = 4096 };
void kn_job_part_name(kn_job_part part, const char *what, char out[KN_PART_NAME]);
kn_status kn_job_part_path(kn_ctx *ctx, const char *dir, kn_job_part part, const char *what,
                           const char *ending, char path[KN_PART_PATH]);

/* Checks that the file of the part can be written; then writes it. s: scores of the part. */
kn_status kn_job_part_check(kn_ctx *ctx, const char *dir, kn_job_part part,
                            const kn_write_options *options);
kn_status kn_job_part_write(kn_ctx *ctx, const kn_scores *s, kn_job_part part,
                            const kn_job_part_stamp *stamp, const char *dir,
                            const kn_write_options *options);

/* Reads a part file into `all`: places its participants and adds its sums. stamp: expected values
 * of the join; its map and elsewhere are set to those of the part. The content is validated:
 * KN_ERR_FORMAT if damaged, KN_ERR_DATA if made from another model, options or data. */
kn_status kn_job_part_take(kn_ctx *ctx, const char *dir, kn_job_part part, kn_job_part_stamp *stamp,
                           kn_scores *all);

#endif
