/* What a fit understood of its input, as text: participants, IDs, covariates, responses, and what
 * is left out and why. fit prints it before the search, --dry-run prints only it, and info shows
 * it. */
#ifndef KN_COMMANDS_FIT_UNDERSTOOD_H
#define KN_COMMANDS_FIT_UNDERSTOOD_H

#include "base/options/options.h"
#include "data/sample.h"

/* *text = lines "Participants  40 of 42 rows of people.csv; ...", each ended by a newline and
 * without a path's folders. Free with kn_free. */
kn_status kn_understood_text(kn_ctx *ctx, const kn_data *data, const kn_sample *sample,
                             char **text);

/* Logs the lines of such a text under a title. */
void kn_understood_log(kn_ctx *ctx, const char *text);

#endif
