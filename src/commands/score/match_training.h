/* Matches scored participants with training participants, whose held-out z is then used, and finds
 * labelled participants and the reference of the p-values [METHOD 8] */
#ifndef KN_COMMANDS_SCORE_MATCH_TRAINING_H
#define KN_COMMANDS_SCORE_MATCH_TRAINING_H

#include "commands/score/scores.h"

/* Sets s->id: ids of the table, or row-0001 ... if there are none. */
kn_status kn_match_training_names(kn_ctx *ctx, kn_scores *s, const kn_sample *people);

/* Sets s->training, s->cv_row and s->changed by id and data. Each rank compares the participants
 * whose responses it holds, then the results are summed over ranks. Cost: n x N ids, and T
 * responses of each participant with a known id. Collective. */
kn_status kn_match_training(kn_ctx *ctx, kn_scores *s, const kn_sample *people);
void kn_match_training_log(kn_ctx *ctx, kn_scores *s); /* counts and logs s->changed */

/* Sets s->abnormal, s->normals, s->use and s->measured from {label} and {reference}. Call after
 * kn_match_training. KN_ERR_DATA if every row is labelled, or {reference=loo} is missing in the
 * model. */
kn_status kn_match_training_groups(kn_ctx *ctx, kn_scores *s, const kn_data *data,
                                   const kn_sample *people);
/* Checks {label} on all participants of the list before a job part is scored; KN_ERR_DATA if every
 * row is labelled. */
kn_status kn_match_training_check(kn_ctx *ctx, const kn_settings *s, const kn_data *data,
                                  const kn_sample *everybody);

#endif
