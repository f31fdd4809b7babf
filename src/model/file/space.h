/* The images that a model was trained on, in its file: of each part where its voxels are, how maps
 * of it are named, and the brain models of CIFTI. */
#ifndef KN_MODEL_FILE_SPACE_H
#define KN_MODEL_FILE_SPACE_H

#include <jansson.h>

#include "data/response_space.h"
#include "io/safetensors/safetensors.h"

json_t *kn_space_parts_to_json(const kn_space *space); /* of the record */
kn_status kn_space_parts_add(kn_ctx *ctx, const kn_space *space, kn_st_writer *w);

/* Geometry and parts. Models without parts were of one image, and write NIfTI. */
kn_status kn_space_parts_read(kn_ctx *ctx, const kn_st_file *f, const json_t *record,
                              kn_space *space);

#endif
