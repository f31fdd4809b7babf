/* What is to be doubted of the people that are scored, and of their file as a whole [METHOD 8]. */
#ifndef KN_COMMANDS_SCORE_IMPLAUSIBLE_H
#define KN_COMMANDS_SCORE_IMPLAUSIBLE_H

#include "commands/score/scores.h"
#include "norm/metrics/implausible_data.h"

/* Before the first batch: nobody is doubted, and every response that may be missing is. */
kn_status kn_implausible_begin(kn_ctx *ctx, kn_scores *s);

/* Of a batch from person `row` on: their values, and their z as rows x T floats. */
kn_status kn_implausible_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, kn_view Y, const float *z);

/* After the last batch: one warning with the ids, and one with responses that nobody has. */
void kn_implausible_warn(kn_ctx *ctx, kn_scores *s, const char *file);

#endif
