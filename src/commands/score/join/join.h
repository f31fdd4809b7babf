/* Joins the scores of the folds of a cross-validation, each by its own model: maps and tables of
 * all participants in a given order, metrics and calibration over all of them [METHOD 8]
 *
 * Per-participant results (z, statistic, p against the reference of that fold's model) are taken
 * unchanged. Metrics of a response are sums over participants in original units, log losses each
 * against the trivial model of its own training sample. Cost: what is written, once more. */
#ifndef KN_COMMANDS_SCORE_JOIN_JOIN_H
#define KN_COMMANDS_SCORE_JOIN_JOIN_H

#include "commands/score/participants_table.h"
#include "commands/score/provenance.h"
#include "io/file/scratch_file.h"

typedef struct kn_join_plan { /* all borrowed until kn_join_free */
    const kn_settings *s;     /* settings of the whole run: label, format, seed, ... */
    const kn_space *space;
    ptrdiff_t n;
    const ptrdiff_t *row;            /* n: row of the covariate table, in the order of the join */
    const bool *abnormal;            /* n: labelled; NULL: no label */
    ptrdiff_t n_rows;                /* rows of the covariate table */
    unsigned write;                  /* KN_MAP_... and KN_WRITE_METRICS bits */
    const char *scratch;             /* folder of scratch files for the maps; NULL: in memory */
    const kn_exclusions *exclusions; /* of the whole run */
} kn_join_plan;

/* Sums over the cells of one participant, for metrics of subsets such as sites. */
typedef struct kn_join_participant {
    /* cells used for metrics, their log loss minus the trivial one, and gain over the null model */
    double cells, loss, gain;
    double joint; /* ln density of the whole map minus that of the null model */
    double n, sum, sum2,
        beyond;      /* number of finite z, their sum, sum of squares, and count of |z| > 1.96 */
    uint64_t values; /* hash of the responses; 0: not made */
    bool measured;
} kn_join_participant;

/* A join under construction; on ranks other than root it stays empty. */
typedef struct kn_join {
    kn_join_plan plan;
    ptrdiff_t *place;                 /* n_rows: index in the join; -1: not in it */
    kn_scores *scores;                /* of all participants */
    kn_join_participant *participant; /* n */
    char *header, **line;             /* scored_participants.tsv: n lines, then one per exclusion */
    kn_row_spool map[KN_N_MAPS];      /* rows of each requested map; root only */
    kn_metric_sums *sums;             /* T: sums of metrics, original units */
    double *noise_participants;       /* T: participants whose model has the response */
    double fdr_participants;          /* participants with a known fdr_proportion */
    ptrdiff_t n_taken;                /* participants so far */
    const kn_sample *part;            /* current fold, borrowed */
} kn_join;

/* Makes an empty join. *out is owned by the caller (kn_join_free). */
kn_status kn_join_new(kn_ctx *ctx, const kn_join_plan *plan, kn_join **out);
void kn_join_free(kn_join *j); /* accepts NULL */

/* Runs kn_score on the participants of one fold and adds them to the join; each participant exactly
 * once. The options name the maps of the plan, no label and no output. Participants are distributed
 * over MPI ranks (commands/score/mpi.c); only root fills the join. Collective. */
kn_status kn_score_fold(kn_ctx *ctx, const kn_model *model, kn_data *data,
                        const kn_options *options, kn_join *join);

/* Computes the results over all participants and the summary, after the last fold. Root only. */
kn_status kn_join_finish(kn_ctx *ctx, kn_join *j, const kn_provenance *from);

/* Check before the computation that the files of kn_join_write() can be written to dir. */
kn_status kn_join_check(kn_ctx *ctx, const kn_join *j, const char *dir,
                        const kn_write_options *options);

/* Write maps, scored_participants.tsv, abnormality.tsv, metrics.tsv and summary.json to the
 * existing folder dir. */
kn_status kn_join_write(kn_ctx *ctx, kn_join *j, const char *dir, const kn_write_options *options);

/* Bytes that a join of n participants and T responses holds, without maps in memory. */
double kn_join_bytes(ptrdiff_t n, ptrdiff_t T);

/* ---- for score.c ---- */

/* Begins a fold: sets the labels of its participants in s, and allocates their losses. `part` is
 * borrowed until kn_join_add_fold. */
kn_status kn_join_begin_fold(kn_ctx *ctx, kn_join *j, const kn_sample *part, kn_scores *s);
/* Adds maps of participants row .. row + rows - 1 of the fold; map: indexed like kn_map_name. */
kn_status kn_join_add_maps(kn_ctx *ctx, kn_join *j, const kn_scores *s, ptrdiff_t row,
                           ptrdiff_t rows, float *const *map);
/* Adds all other results of a finished fold. */
kn_status kn_join_add_fold(kn_ctx *ctx, kn_join *j, const kn_participants_table *sheet);

#endif
