/* Who is who among the people to be scored: their names, who was in training and is owed the z of
 * the fold that did not see them, who is labelled, and whom probabilities refer to   [METHOD 8] */
#ifndef KN_COMMANDS_SCORE_MATCH_TRAINING_H
#define KN_COMMANDS_SCORE_MATCH_TRAINING_H

#include "commands/score/scores.h"

/* s->id: ids, or row-0001 ... where there are none. */
kn_status kn_match_training_names(kn_ctx *ctx, kn_scores *s, const kn_sample *people);

/* s->training, s->cv_row: people of training, known again by id and by their data. n x N ids, and
 * the T responses of those whose id is known. Ranks that have responses of some look at those, and
 * tell the others. Collective. */
kn_status kn_match_training(kn_ctx *ctx, kn_scores *s, const kn_sample *people);
void kn_match_training_log(kn_ctx *ctx, kn_scores *s); /* of s->changed */

/* s->abnormal, s->normals, s->use, s->measured: who is abnormal, and whom the probabilities refer
 * to. After kn_match_training. */
kn_status kn_match_training_groups(kn_ctx *ctx, kn_scores *s, const kn_data *data,
                                   const kn_sample *people);
/* What it refuses of {label}, of people who are not all scored here. */
kn_status kn_match_training_check(kn_ctx *ctx, const kn_settings *s, const kn_data *data,
                                  const kn_sample *everybody);

#endif
