/* What a model remembers of the cells that training did not have                    [METHOD 0b] */
#ifndef KN_MODEL_MISSING_RECORD_H
#define KN_MODEL_MISSING_RECORD_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "model/model.h"

/* {cells, responses, share, responses_out, people_out, rounds, P_fill, rms_change, share_by_level,
 * correlation}; NULL: nothing was missing and nobody left out. */
json_t *kn_missing_record_to_json(const kn_model *m);
/* From a file, once scaling and design are read: the record, how many values each response has,
 * shares, levels without any. Believes nothing; absent: nothing was missing. */
kn_status kn_missing_record_read(kn_ctx *ctx, const kn_st_file *f, const json_t *record,
                                 kn_model *m);

/* share (m->x.F): of a category's level the share of cells that its people lack, of a number the
 * correlation with that of each person; NaN elsewhere. missing: N, that share of each person. */
void kn_missing_record_shares(const kn_design *x, kn_mat X, const double *missing, double *share);

/* Has nobody in training of a level that person i of raw belongs to response j, of those in use? z
 * there rest on other levels. raw: as kn_design_apply takes people. */
bool kn_missing_record_untrained(const kn_model *m, kn_view raw, ptrdiff_t i, ptrdiff_t j);

/* A line for each level and number: "site site3 21.5 %". */
void kn_missing_record_log(kn_ctx *ctx, const kn_model *m);

#endif
