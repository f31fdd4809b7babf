/* Scoring by job parts, for job arrays: each part scores its participants, writes their maps and
 * one part file; the join computes what depends on covariates only, reads the rest from the part
 * files and continues as if it had scored all participants. Its output is that of one run, byte for
 * byte. */
#ifndef KN_COMMANDS_SCORE_JOIN_JOB_PARTS_H
#define KN_COMMANDS_SCORE_JOIN_JOB_PARTS_H

#include "base/hash/xxh64.h"
#include "commands/common/map_writer.h"
#include "commands/score/participants_table.h"
#include "commands/score/scores.h"
#include "data/sample.h"

/* ---- the file of a job part ---- */

/* Reads and writes DIR/scores.part-3-of-10.safetensors: the contribution of one job part to the
 * scores of all participants, bit for bit. Written atomically, with a checksum.
 *
 *     person  F64, row per participant  columns of abnormality.tsv before p-values, and tallies
 *                                       of z; for predictions the extrapolation only
 *     sums    F64, row per response     in use: sums over participants, independent of order
 *                                       (norm/metrics/metrics.h)
 *     bins    I64                       histogram of z
 *     zero    I64                       responses that are 0 for all participants of the part
 *     hash    I64, one per participant  of the responses
 *
 * Beside it are the maps of its participants, z.part-3-of-10.npy, unless {split}. */

/* What all parts and the join must have in common. */
typedef struct kn_job_part_stamp {
    ptrdiff_t participants;                   /* participants in the list */
    uint64_t model, options, list, responses; /* hashes; list: covariates and matched rows */
    bool elsewhere;          /* made with other BLAS kernels: last digits may differ */
    uint64_t map[KN_N_MAPS]; /* XXH64 of the map rows of this part; 0: no map */
} kn_job_part_stamp;

/* File name without ending, such as "z.part-3-of-10", and its path dir/NAME + ending. */
enum { KN_PART_NAME = 96, KN_PART_PATH = 4096 };

/* out = file name without ending, such as "z.part-3-of-10" for what = "z". */
void kn_job_part_name(kn_job_part part, const char *what, char out[KN_PART_NAME]);

/* path = dir/NAME + ending, NAME by kn_job_part_name(). KN_ERR_IO if it is too long. */
kn_status kn_job_part_path(kn_ctx *ctx, const char *dir, kn_job_part part, const char *what,
                           const char *ending, char path[KN_PART_PATH]);

/* Check before the computation that the file of the job part can be written. */
kn_status kn_job_part_check(kn_ctx *ctx, const char *dir, kn_job_part part,
                            const kn_write_options *options);

/* Write the file of a job part; s: its scores. */
kn_status kn_job_part_write(kn_ctx *ctx, const kn_scores *s, kn_job_part part,
                            const kn_job_part_stamp *stamp, const char *dir,
                            const kn_write_options *options);

/* Reads a part file into `all`: places its participants and adds its sums. stamp: expected values
 * of the join; its map and elsewhere are set to those of the part. The content is validated:
 * KN_ERR_FORMAT if damaged, KN_ERR_DATA if made from another model, options or data. */
kn_status kn_job_part_read(kn_ctx *ctx, const char *dir, kn_job_part part, kn_job_part_stamp *stamp,
                           kn_scores *all);

/* ---- all parts ---- */

/* Parses {part}, and checks that it fits {join} and {output}; KN_ERR_ARGUMENT if not. */
kn_status kn_job_parts_parse(kn_ctx *ctx, const kn_settings *s, kn_job_part *part);

/* Makes the hashes of model, options, list and responses, as far as scores depend on them. */
kn_status kn_job_parts_stamp(kn_ctx *ctx, const char *command, const kn_settings *s,
                             const kn_participants_table *sheet, kn_job_part_stamp *out);

/* The n parts of a folder. */
typedef struct kn_job_parts {
    const char *dir; /* borrowed */
    ptrdiff_t n;
    kn_job_part_stamp stamp;
    uint64_t (*map)[KN_N_MAPS]; /* n: hashes of the maps of each part */
} kn_job_parts;

/* Check that the files of all n job parts exist in dir (borrowed); KN_ERR_DATA lists the missing
 * ones. out is owned by the caller. */
kn_status kn_job_parts_find(kn_ctx *ctx, const char *dir, ptrdiff_t n, kn_job_parts *out);
/* Checks the memory plan of the join against the budget; KN_ERR_MEMORY. */
kn_status kn_job_parts_check_memory(kn_ctx *ctx, const kn_job_parts *p,
                                    const kn_participants_table *sheet);
/* Reads participants, sums and counts of all parts into `all`, which must be new. */
kn_status kn_job_parts_read(kn_ctx *ctx, kn_job_parts *p, kn_scores *all);
/* Writes map k of all participants in the order of the list. KN_ERR_FORMAT if a map of a part is
 * damaged. */
kn_status kn_job_parts_write_map(kn_ctx *ctx, const kn_job_parts *p, int k, const kn_scores *all,
                                 kn_mapfile *file);
/* Deletes the files of the parts, after everything else is in place. */
void kn_job_parts_remove(kn_ctx *ctx, const kn_job_parts *p);
void kn_job_parts_clear(kn_job_parts *p); /* accepts {0} */

#endif
