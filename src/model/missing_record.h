/* Record of missing responses in the training sample, as stored in the model [METHOD 0b].
 * Summaries, warnings and the report read it. */
#ifndef KN_MODEL_MISSING_RECORD_H
#define KN_MODEL_MISSING_RECORD_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "model/model.h"

/* The record {cells, responses, share, responses_out, people_out, rounds, P_fill, rms_change,
 * share_by_level, correlation}; NULL: nothing was missing and no participant was excluded. */
json_t *kn_missing_record_to_json(const kn_model *m);
/* Read and validate the record and its arrays (values per response, shares, empty levels), after
 * scaling and design. Absent: nothing was missing. KN_ERR_FORMAT if inconsistent. */
kn_status kn_missing_record_read(kn_ctx *ctx, const kn_st_file *f, const json_t *record,
                                 kn_model *m);

/* proportion (x->F): for a level of a category the share of cells that its participants lack, for a
 * number the correlation with the share of each participant, NaN for other columns. X: N x F
 * design. missing: N, share of missing cells of each participant. */
void kn_missing_record_proportions(const kn_design *x, kn_mat X, const double *missing,
                                   double *proportion);

/* True if no training participant of a level that participant i has was observed at response j
 * (of those in use), so that z there rests on other levels. raw: covariates as kn_design_apply()
 * takes them. */
bool kn_missing_record_untrained(const kn_model *m, kn_view raw, ptrdiff_t i, ptrdiff_t j);

/* Log a line for each level and number, such as "missing cells, site site3: 21.5 %". */
void kn_missing_record_log(kn_ctx *ctx, const kn_model *m);

#endif
