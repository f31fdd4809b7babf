/* Flags participants whose maps look like data errors, and responses that are 0 in every
 * participant [METHOD 8]. */
#ifndef KN_COMMANDS_SCORE_IMPLAUSIBLE_H
#define KN_COMMANDS_SCORE_IMPLAUSIBLE_H

#include "commands/score/scores.h"
#include "norm/metrics/implausible_data.h"

/* Initialises before the first minibatch: no participant is flagged, and all responses far from 0
 * in training are candidates for "0 in every participant". */
kn_status kn_implausible_begin(kn_ctx *ctx, kn_scores *s);

/* Checks a minibatch from participant `row` on: Y, responses in original units; z, rows x T
 * floats. */
kn_status kn_implausible_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, kn_view Y, const float *z);

/* Warns after the last minibatch: one warning lists the flagged ids, one the responses that are 0
 * in every participant. file: name of the responses, for the message. */
void kn_implausible_warn(kn_ctx *ctx, kn_scores *s, const char *file);

#endif
