/* Change section of a model file (reference for change between visits): "change" in the record;
 * arrays per response change_q, change_m1, change_n; and the reference's own values,
 * change_extreme_z, change_mean_z, ..., each sorted by itself, so that no row belongs to one
 * participant. Layout in docs/developers/model_file.md. */
#ifndef KN_MODEL_FILE_CHANGE_H
#define KN_MODEL_FILE_CHANGE_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "norm/change/reference.h"

/* The scalars of the reference for change as a new JSON object, owned by the caller; d0 is null if
 * it is infinite. NULL: out of memory. */
json_t *kn_change_to_json(const kn_change_reference *r);

/* Add the arrays of the reference for change to a file that is being written: T variances, means
 * and counts, and the sorted values of the reference. Nothing if there is none (T = 0). */
kn_status kn_change_add(kn_ctx *ctx, const kn_change_reference *r, kn_st_writer *w);

/* Read and validate the reference for change for T responses. If the file has none, r is not
 * changed. KN_ERR_FORMAT if it is inconsistent; r is then partly set, and its owner clears it. */
kn_status kn_change_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                         kn_change_reference *r);

#endif
