/* Private interfaces of score and predict: the state of one call and its steps, in the order in
 * which score.c takes them. Each section names the file that implements it. */
#ifndef KN_COMMANDS_SCORE_INTERNAL_H
#define KN_COMMANDS_SCORE_INTERNAL_H

#include "commands/common/map_writer.h"
#include "commands/score/bids_output.h"
#include "commands/score/join/job_parts.h"
#include "commands/score/join/join.h"
#include "commands/score/new_participants.h"
#include "commands/score/scores.h"
#include "norm/metrics/implausible_data.h"
#include "stats/flag.h"
#include "stats/p_values.h"

/* ---- score.c and output.c: one call ---- */

/* One call of score or predict. Owns everything but model, data, given and join. */
typedef struct kn_score_work {
    const kn_model *model;
    kn_data *data;
    const kn_options *given; /* options of the caller */
    kn_join *join; /* receives the results instead of files (cross-validation); NULL: none */
    kn_settings s;
    bool score;             /* score; false: predict */
    unsigned write;         /* KN_MAP_... bits of the requested maps */
    kn_job_part part;       /* job part of this process; n = 0: all participants */
    kn_job_parts parts;     /* job parts to join; n = 0: participants are scored */
    kn_sample participants; /* scored participants */
    kn_exclusions exclusions;
    kn_participant_status relation; /* relation of them to the training sample */
    kn_scores *scores;
    kn_warnings warnings; /* of this call, for the summary */
    /* the following with {output} */
    kn_write_options options;
    const char **inputs;          /* input files, never overwritten */
    kn_created_files made;        /* removed if the call fails */
    kn_uncommitted_files pending; /* written, but not renamed yet */
    kn_maplayout layout;          /* final layout of the maps */
    kn_maplayout rows;            /* layout of the rows written here; for a job part an array */
    kn_stale_files stale;         /* maps of an earlier run */
    kn_mapfile *file[KN_N_MAPS];  /* NULL: not requested */
    char name[KN_N_MAPS][KN_PART_NAME]; /* file names of the maps */
    kn_bids_output bids;                /* the dataset of {bids_output} */
    kn_hashing hash[KN_N_MAPS];         /* running hashes of the maps of a job part */
    ptrdiff_t height, batch;            /* rows of a padded minibatch; participants per minibatch */
    kn_shash *distribution;             /* distribution per response in use; NULL: no SHASH shape */
    kn_shash *null_distribution;        /* the same of the null model */
    float *buffer[KN_N_MAPS], *z_noise; /* maps of a minibatch that the scores do not keep */
} kn_score_work;

/* True if this call writes the files of a job part into {output}. */
static inline bool kn_score_is_job_part(const kn_score_work *w)
{
    return w->part.n > 0 && w->s.folder;
}

/* Creates the folder and checks every file that will be written, before any computation. */
kn_status kn_score_prepare_outputs(kn_ctx *ctx, kn_score_work *w);
/* Opens the map files that receive rows. */
kn_status kn_score_open_maps(kn_ctx *ctx, kn_score_work *w);
/* Appends `rows` rows of each requested map to its file. */
kn_status kn_score_write_rows(kn_ctx *ctx, kn_score_work *w, float *const *map, ptrdiff_t rows);
/* Writes the tables and renames all files at once, the tables last: their presence means that the
 * output is complete. */
kn_status kn_score_write_all(kn_ctx *ctx, kn_score_work *w);

/* ---- mpi.c ---- */

/* Scoring within a cross-validation on several MPI ranks: each rank holds complete rows of its
 * participants (data/responses/responses.h) and scores them alone; root gathers the results in
 * its join. A participant's numbers do not depend on the other participants, and sums over
 * participants do not depend on their order, so the scores are those of one process [METHOD 6b,
 * 8] */

/* Range of participants that an MPI rank scores in a step, at most w->batch; may be empty. */
kn_index_range kn_score_step(const kn_score_work *w, int rank, int ranks, ptrdiff_t step);

/* Number of steps until all ranks have scored their participants; the same on all ranks. */
ptrdiff_t kn_score_steps(const kn_ctx *ctx, const kn_score_work *w);

/* Gathers the maps of all ranks of a step into root's join; map: maps of this rank. Collective. */
kn_status kn_score_gather_maps(kn_ctx *ctx, kn_score_work *w, ptrdiff_t step, float *const *map);

/* Gathers per-participant, per-response and total results on root after the last step.
 * Collective. */
kn_status kn_score_gather_sums(kn_ctx *ctx, kn_score_work *w);

/* ---- batch_pass.c ---- */

/* Predicts and scores one minibatch, block of responses by block: mean and variance, and with
 * responses z and losses; passes them to kn_scores and stores them as float maps [METHOD 1d, 4, 6b,
 * 8] */

enum {
    KN_PASS_Z,
    KN_PASS_YHAT,
    KN_PASS_YS2_MODEL,
    KN_PASS_FDR,
    KN_PASS_YS2
}; /* indices of kn_map_name */

/* Inputs and outputs of scoring one minibatch; all borrowed. */
typedef struct kn_pass {
    const kn_model *model;
    const kn_sample *participants;
    const kn_participant_status *relation;
    kn_scores *scores;
    bool score;                   /* false: predictions only */
    const kn_shash *distribution; /* distribution of each response in use; NULL: no SHASH shape */
    const kn_shash *null_distribution; /* the same of the null model */
    /* rows x T of the current minibatch; NULL: not needed. z_noise: z by noise variance alone */
    float *map[KN_N_MAPS], *z_noise;
} kn_pass;

/* Processes participants row .. row + rows - 1. Sets the maps z, yhat, ys2_model, ys2 and z_noise;
 * fdr is computed later from z. Memory: doubles of one block. */
kn_status kn_pass_minibatch(kn_ctx *ctx, const kn_pass *pass, ptrdiff_t row, ptrdiff_t rows);

/* ---- match_training.c ---- */

/* Matches scored participants with training participants, whose held-out z is then used, and finds
 * labelled participants and the reference of the p-values [METHOD 8] */

/* Sets s->id: ids of the table, or row-0001 ... if there are none. */
kn_status kn_match_training_names(kn_ctx *ctx, kn_scores *s, const kn_sample *participants);

/* Sets s->training, s->cv_row and s->changed by id and data. Each rank compares the participants
 * whose responses it holds, then the results are summed over ranks. Cost: n x N ids, and T
 * responses of each participant with a known id. Collective. */
kn_status kn_match_training(kn_ctx *ctx, kn_scores *s, const kn_sample *participants);

/* Count the participants with known ids but other data (s->changed), and warn of them. */
void kn_match_training_log(kn_ctx *ctx, kn_scores *s);

/* Set which rows are cases (s->abnormal), which form the reference of {reference} (s->normals), and
 * which count for calibration and metrics. Call after kn_match_training(). KN_ERR_DATA if every row
 * is a case, or {reference=loo} is missing in the model. */
kn_status kn_match_training_groups(kn_ctx *ctx, kn_scores *s, const kn_data *data,
                                   const kn_sample *participants);
/* Checks {cases} on all participants of the list before a job part is scored; KN_ERR_DATA if every
 * row is labelled. */
kn_status kn_match_training_check(kn_ctx *ctx, const kn_settings *s, const kn_data *data,
                                  const kn_sample *everybody);

/* ---- implausible.c ---- */

/* Flags participants whose maps look like data errors, and responses that are 0 in every
 * participant [METHOD 8]. */

/* What decides whether participant i is flagged; the label and the site must be set. */
kn_flag_row kn_scores_flag_row(const kn_scores *s, ptrdiff_t i);

/* Initialises before the first minibatch: no participant is flagged, and all responses far from 0
 * in training are candidates for "0 in every participant". */
kn_status kn_implausible_begin(kn_ctx *ctx, kn_scores *s);

/* Checks a minibatch from participant `row` on: Y, responses in original units; z, rows x T
 * floats. */
kn_status kn_implausible_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, kn_view Y, const float *z);

/* Warns after the last minibatch: one warning lists the flagged ids, one the responses that are 0
 * in every participant. file: name of the responses, for the message. */
void kn_implausible_warn(kn_ctx *ctx, kn_scores *s, const char *file);

/* ---- per_participant.c ---- */

/* Signed burdens and FDR findings of the scored participants, and burdens of the reference sample
 * to compare with [METHOD 8d] */

/* Computes the burdens of the reference sample from its z (s->counted) if {threshold} is not the
 * stored one, or the model file has no burdens. Warns if the model keeps no z. */
kn_status kn_burdens_of_reference(kn_ctx *ctx, kn_scores *s);

/* ---- p_values.c ---- */

/* Statistics with a p-value. */
enum {
    KN_P_EXTREME,
    KN_P_DEVIANCE,
    KN_P_DEVIANCE_NOISE,
    KN_P_MEAN_Z,
    KN_P_LOW,
    KN_P_HIGH,
    KN_P_KINDS
};

/* One of them; all borrowed. */
typedef struct kn_p_column {
    double *value, *p;       /* per scored participant */
    const double *reference; /* per reference participant, over all responses; NULL: unknown */
    bool both_sides;         /* two-sided: |value| is compared */
} kn_p_column;

/* The values, p-values and reference values of one statistic (KN_P_...); borrowed. */
kn_p_column kn_p_column_of(const kn_scores *s, int kind);

/* p-value of participant i, bounded at unknown sites; NaN for members of known groups. */
kn_tail_p kn_p_of(const kn_scores *s, int kind, ptrdiff_t i,
                  const kn_tail_p_reference *distribution);

/* P-values of participants against the model's reference sample, or against rows of the scored
 * table [METHOD 8, 8b, 8d] */

/* Sets all p-values from statistic, deviances, mean z and counts. Members of known
 * groups get NaN: no reference participant was predicted with the group known. KN_ERR_DATA if the
 * rows of {reference} have no statistic. */
kn_status kn_scores_p_values(kn_ctx *ctx, kn_scores *s);

/* Text of p_note in tables: "bound", "rough", "missing" or "n/a". */
const char *kn_p_note_name(double note);

/* ---- missing_responses.c ---- */

/* What a statistic of a participant is compared with. */
typedef enum kn_p_basis {
    KN_P_ALL_RESPONSES,  /* reference values over all responses */
    KN_P_SAME_RESPONSES, /* those over the responses that the participant has */
    KN_P_TOO_FEW,        /* p is n/a: fewer than half of the responses */
    KN_P_NO_MAPS,        /* p is n/a: fewer than 95 %, and no reference maps */
} kn_p_basis;

/* What statistic `kind` of participant i is compared with, by how many responses are missing. */
kn_p_basis kn_p_basis_of(const kn_scores *s, int kind, ptrdiff_t i);

/* Sets the p-values of participants row .. row + rows - 1 that are KN_P_SAME_RESPONSES, after their
 * statistics. z: their maps, rows x T floats. Participants who lack the same responses share the
 * work. */
kn_status kn_scores_p_incomplete(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                                 const float *z);

/* Free the reference over fewer responses; NULL is allowed. */
void kn_restricted_free(struct kn_restricted_reference *w);

/* Add to the memory plan r what kn_scores_p_incomplete() allocates; it keeps what all minibatches
 * share. */
void kn_scores_p_incomplete_need(kn_mem_plan *r, const kn_problem_size *s);

/* Warns of participants whose p-values are n/a because responses are missing. */
void kn_scores_warn_incomplete(kn_ctx *ctx, const kn_scores *s);

#endif
