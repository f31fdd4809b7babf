/* Change section of a model file (reference for change between visits): "change" in the record;
 * arrays per response change_q, change_m1, change_n; and the reference's own values,
 * change_extreme_z, change_mean_z, ..., each sorted by itself, so that no row belongs to one
 * participant. Layout in docs/developers/model_file.md. */
#ifndef KN_MODEL_FILE_CHANGE_H
#define KN_MODEL_FILE_CHANGE_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "norm/change/reference.h"

/* The record; d0 is null if infinite. */
json_t *kn_change_to_json(const kn_change_reference *r);
/* Add the arrays; nothing without a reference. */
kn_status kn_change_add(kn_ctx *ctx, const kn_change_reference *r, kn_st_writer *w);
/* Read and validate the section for T responses; without it r is not changed. KN_ERR_FORMAT if
 * it is inconsistent. */
kn_status kn_change_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                         kn_change_reference *r);

#endif
