/* Predicts and scores one minibatch, block of responses by block: mean and variance, and with
 * responses z and losses; passes them to kn_scores and stores them as float maps [METHOD 1d, 4, 6b,
 * 8] */
#ifndef KN_COMMANDS_SCORE_BATCH_PASS_H
#define KN_COMMANDS_SCORE_BATCH_PASS_H

#include "commands/score/scores.h"

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
    const kn_sample *people;
    const kn_participant_status *standing;
    kn_scores *scores;
    bool score;          /* false: predictions only */
    const kn_shash *law; /* distribution of each response in use; NULL: no SHASH shape */
    /* rows x T of the current minibatch; NULL: not needed. z_noise: z by noise variance alone */
    float *map[KN_N_MAPS], *z_noise;
} kn_pass;

/* Processes participants row .. row + rows - 1. Sets the maps z, yhat, ys2_model, ys2 and z_noise;
 * fdr is computed later from z. Memory: doubles of one block. */
kn_status kn_pass_run(kn_ctx *ctx, const kn_pass *pass, ptrdiff_t row, ptrdiff_t rows);

#endif
