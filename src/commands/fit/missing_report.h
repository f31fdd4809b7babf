/* Checks and records missing responses of a fit [METHOD 0b]. fit.c calls it before and after the
 * method. */
#ifndef KN_COMMANDS_FIT_MISSING_REPORT_H
#define KN_COMMANDS_FIT_MISSING_REPORT_H

#include "gp/missing/completion.h"
#include "model/missing_record.h"

/* Counts missing cells of the responses in use into m->info.missing, and warns if few values are
 * left. X: design matrix, N x F. KN_ERR_DATA if more than 90 % of the cells are missing, or a
 * participant has no response at all. */
kn_status kn_missing_check(kn_ctx *ctx, kn_view Y, kn_mat X, kn_model *m);

/* Records the imputation in the model: rounds, components, last change, and which levels of a
 * category have no value of a response (m->empty_level). */
kn_status kn_missing_record_imputation(kn_ctx *ctx, const kn_completion *c, kn_mat X, kn_model *m);

/* Logs what was missing and imputed. Call after the covariates have their names. */
void kn_missing_report_log(kn_ctx *ctx, const kn_model *m);

#endif
