/* What change between visits is compared with, in a model file: "change" of the record; arrays of
 * each response change_q, change_m1, change_n; and the reference's own values, change_statistic,
 * change_mean_z,
 * ..., each sorted: no row of them is a person. Layout in docs/formats.md. */
#ifndef KN_MODEL_FILE_CHANGE_H
#define KN_MODEL_FILE_CHANGE_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "norm/change/reference.h"

json_t *kn_change_to_json(const kn_change_reference *r); /* d0 null: infinite */
kn_status kn_change_add(kn_ctx *ctx, const kn_change_reference *r, kn_st_writer *w);
/* Over T responses; nothing where the record has none. Believes nothing. */
kn_status kn_change_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                         kn_change_reference *r);

#endif
