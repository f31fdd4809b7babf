/* Image space in a model file: for each part the geometry of its voxels, the ending and side in
 * the names of its maps, and the brain models of CIFTI. */
#ifndef KN_MODEL_FILE_SPACE_H
#define KN_MODEL_FILE_SPACE_H

#include <jansson.h>

#include "data/response_space.h"
#include "io/safetensors/safetensors.h"

/* "parts" of the record. */
json_t *kn_space_parts_to_json(const kn_space *space);
/* Add the NIfTI headers and brain models. */
kn_status kn_space_parts_add(kn_ctx *ctx, const kn_space *space, kn_st_writer *w);

/* Read and validate geometry and parts. Models without parts have one image and write NIfTI.
 * KN_ERR_FORMAT if inconsistent. */
kn_status kn_space_parts_read(kn_ctx *ctx, const kn_st_file *f, const json_t *record,
                              kn_space *space);

#endif
