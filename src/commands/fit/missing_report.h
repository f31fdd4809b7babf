/* What a fit says of missing responses, and where it refuses                        [METHOD 0b] */
#ifndef KN_COMMANDS_FIT_MISSING_REPORT_H
#define KN_COMMANDS_FIT_MISSING_REPORT_H

#include "gp/missing/completion.h"
#include "model/missing_record.h"

/* Counts what is missing of the responses in use; refuses more than 90 % and people without any;
 * warns of what leaves little to go by. X: the design's matrix. */
kn_status kn_missing_check(kn_ctx *ctx, kn_view Y, kn_mat X, kn_model *m);

/* How it was filled in, for the record, and which levels have nobody with a response. */
kn_status kn_missing_filled(kn_ctx *ctx, const kn_completion *c, kn_mat X, kn_model *m);

/* What was done, in sentences, once covariates have their names. */
void kn_missing_report_log(kn_ctx *ctx, const kn_model *m);

#endif
