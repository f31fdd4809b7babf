/* P-values of participants against the model's reference sample, or against rows of the scored
 * table [METHOD 8, 8b, 8d] */
#ifndef KN_COMMANDS_SCORE_P_VALUES_H
#define KN_COMMANDS_SCORE_P_VALUES_H

#include "commands/score/scores.h"

/* Sets probability and all p-values from statistic, deviances, mean z and counts. Members of known
 * groups get NaN: no reference participant was predicted with the group known. KN_ERR_DATA if the
 * rows of {reference} have no statistic. */
kn_status kn_scores_p_values(kn_ctx *ctx, kn_scores *s);

/* Text of p_note in tables: "bound", "rough" or "n/a". */
const char *kn_p_note_name(double note);

#endif
