/* A batch of people through the model, block of responses by block: mean and variance, with
 * responses z and losses, each to the scores and as floats to its map      [METHOD 1d, 4, 6b, 8] */
#ifndef KN_COMMANDS_SCORE_BATCH_PASS_H
#define KN_COMMANDS_SCORE_BATCH_PASS_H

#include "commands/score/scores.h"

enum {
    KN_PASS_Z,
    KN_PASS_YHAT,
    KN_PASS_YS2_MODEL,
    KN_PASS_FDR,
    KN_PASS_YS2
}; /* places of kn_map_name */

typedef struct kn_pass {
    const kn_model *model;
    const kn_sample *people;
    const kn_participant_status *standing;
    kn_scores *scores;
    bool score;          /* false: predictions alone */
    const kn_shash *law; /* of each response in use; NULL: z have no shape */
    /* rows x T of the batch under way; NULL: not needed. z_noise: z by noise alone */
    float *map[KN_N_MAPS], *z_noise;
} kn_pass;

/* People row ... row + rows - 1. Sets z, yhat, both variances and z_noise of them; fdr is made of z
 * afterwards. Doubles of one block are held. */
kn_status kn_pass_run(kn_ctx *ctx, const kn_pass *pass, ptrdiff_t row, ptrdiff_t rows);

#endif
