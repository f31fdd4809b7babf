/* The calibration layer in a model file: "layer" of the record, arrays scale_beta, scale_batch
 * and shape. */
#ifndef KN_MODEL_FILE_CALIBRATION_H
#define KN_MODEL_FILE_CALIBRATION_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "norm/calibration/transform.h"

json_t *kn_calibration_to_json(
    const kn_calibration_transform *l); /* null without a layer; NULL: out of memory */
kn_status kn_calibration_add(kn_ctx *ctx, const kn_calibration_transform *l, kn_st_writer *w);

/* Of T responses, for people of this design at S sites. Believes nothing; no "layer": none. */
typedef struct kn_calibration_for {
    const kn_design *x;
    ptrdiff_t T, S;
} kn_calibration_for;
kn_status kn_calibration_read(kn_ctx *ctx, const kn_st_file *f, json_t *record,
                              kn_calibration_for of, kn_calibration_transform *out);

#endif
