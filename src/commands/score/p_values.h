/* From what was measured of people to how rare it is: against the model's reference, or against
 * rows of the scored table itself                                              [METHOD 8, 8b, 8d]
 */
#ifndef KN_COMMANDS_SCORE_P_VALUES_H
#define KN_COMMANDS_SCORE_P_VALUES_H

#include "commands/score/scores.h"

/* Sets probability and every p of the people, from statistic, deviances, mean z and counts. Members
 * of known groups have none: nobody in the reference was predicted with a relative at hand. */
kn_status kn_scores_p_values(kn_ctx *ctx, kn_scores *s);

/* As tables write p_note: "bound", "rough" or "n/a". */
const char *kn_p_note_name(double note);

#endif
