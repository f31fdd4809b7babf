/* What a fit says of missing responses, and where it refuses                        [METHOD 0b] */
#ifndef KN_WORK_MISSING_H
#define KN_WORK_MISSING_H

#include "data/design.h"
#include "data/responses.h"
#include "gp/fill.h"
#include "gp/fit_info.h"

/* Counts what is missing of the responses in use; refuses more than 90 % and people without any;
 * warns of what leaves little to go by. X: the design's matrix. */
kn_status kn_missing_check(kn_ctx *ctx, kn_view Y, const kn_scaling *s, const kn_design *x,
                           kn_mat X, kn_missing_record *out);

/* How it was filled in, in a sentence and for the record. */
void kn_missing_filled(kn_ctx *ctx, const kn_fill_info *info, kn_missing_record *record);

#endif
