/* Calibration section of a model file: "layer" in the record, arrays scale_beta, scale_batch and
 * shape. */
#ifndef KN_MODEL_FILE_CALIBRATION_H
#define KN_MODEL_FILE_CALIBRATION_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "norm/calibration/transform.h"

/* The record; JSON null without calibration, NULL: out of memory. */
json_t *kn_calibration_to_json(const kn_calibration_transform *l);
/* Add the arrays that are set. */
kn_status kn_calibration_add(kn_ctx *ctx, const kn_calibration_transform *l, kn_st_writer *w);

/* What the section must agree with: design, number of responses and of training sites. */
typedef struct kn_calibration_for {
    const kn_design *x;
    ptrdiff_t T, S;
} kn_calibration_for;
/* Read and validate the section; KN_ERR_FORMAT if it is inconsistent. Without "layer", out stays
 * as it is. */
kn_status kn_calibration_read(kn_ctx *ctx, const kn_st_file *f, json_t *record,
                              kn_calibration_for of, kn_calibration_transform *out);

#endif
