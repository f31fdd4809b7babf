/* Record of missing responses in the training sample, as stored in the model [METHOD 0b].
 * Summaries, warnings and the report read it. */
#ifndef KN_MODEL_MISSING_RECORD_H
#define KN_MODEL_MISSING_RECORD_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "model/model.h"

/* The record of missing cells as a new JSON object: their counts and proportion, what was excluded,
 * the rounds of imputation, and their relation to covariates. NULL if no cell was missing and
 * nothing was excluded. */
json_t *kn_missing_record_to_json(const kn_model *m);

/* Read and validate the record and its arrays: values per response, proportions per design column,
 * and levels without data at a response. Scaling and design of m must have been read. A file
 * without the record had no missing cell. KN_ERR_FORMAT if it is inconsistent. */
kn_status kn_missing_record_read(kn_ctx *ctx, const kn_st_file *f, const json_t *record,
                                 kn_model *m);

/* Relate missing cells to covariates, per design column, into proportion (x->F). For a level: the
 * mean proportion of missing cells of its participants. For a number: its correlation with that
 * proportion. NaN for other columns. X is the N x F design, missing (N) the proportion of missing
 * cells of each participant. */
void kn_missing_record_proportions(const kn_design *x, kn_mat X, const double *missing,
                                   double *proportion);

/* True if participant i has a level of a category in which no training participant has a value of
 * response j (index among those in use). A z-score there rests on other levels. raw: N x C
 * covariates as kn_design_apply() takes them. */
bool kn_missing_record_untrained(const kn_model *m, kn_view raw, ptrdiff_t i, ptrdiff_t j);

/* Log one line per level and per numeric covariate, such as "missing cells, site site3: 21.5 %".
 * Nothing if no cell was missing. */
void kn_missing_record_log(kn_ctx *ctx, const kn_model *m);

#endif
