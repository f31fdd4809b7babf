/* Which fits are spread over ranks, and cross-validations with them; scoring always is. */
#ifndef KN_WORK_SPREAD_H
#define KN_WORK_SPREAD_H

#include <stdbool.h>

#include "kronorm.h"

/* With these options all ranks call kn_fit, each walks over its own responses, and the first has
 * the model and writes it; the others have it too, and write nothing. Else rank 0 alone calls it
 * (kn_alone): other methods; and what a clock or a file of steps decides, where ranks take steps of
 * their own. Options are of fit, or of cv, whose fits they are of. */
bool kn_fit_spreads(kn_ctx *ctx, const kn_options *options);

/* The same of kn_adapt. Not of a method that fits every response alone: what it predicts for one
 * has other last digits beside others, and ranks begin at other responses than one process. */
bool kn_adapt_spreads(const kn_model *model);

/* kn_score and kn_predict into a folder: all ranks call them, each has its own people, and the
 * first has the scores and writes. Refused, before anything is read: {part} and {join} among ranks.
 */
kn_status kn_score_admits(kn_ctx *ctx, const kn_options *options);

/* Fails where a rank has read another model than rank 0: a file of one name may be another on each
 * node, and people would be scored by either. Collective. */
kn_status kn_same_model(kn_ctx *ctx, const kn_model *model);

#endif
