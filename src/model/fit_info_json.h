/* Conversion of kn_fit_info to and from JSON: the record inside a model file, and `info --json`.
 * Also small helpers for numbers in JSON. */
#ifndef KN_MODEL_FIT_INFO_JSON_H
#define KN_MODEL_FIT_INFO_JSON_H

#include <jansson.h>

#include "gp/fit_info.h"

/* The record as a new JSON object; NULL: out of memory. */
json_t *kn_info_to_json(const kn_fit_info *info);
/* Read and validate a record; KN_ERR_FORMAT if a field is absent or invalid. file: for the
 * message. */
kn_status kn_info_from_json(kn_ctx *ctx, const char *file, json_t *json, kn_fit_info *info);

/* A numeric field by its name in the JSON: "lml", "cv.z2", "seconds.fit"; NaN: no such field. */
double kn_info_number(const kn_fit_info *info, const char *name);
/* A text field: "method", "noise", "likelihood" or "stop"; NULL: no such field. */
const char *kn_info_text(const kn_fit_info *info, const char *name);

/* x as JSON; null if x is not finite. */
json_t *kn_json_number(double x);
/* The inverse: `otherwise` if v is NULL or no number. _value: the member of an object. */
double kn_json_real(const json_t *v, double otherwise);
double kn_json_value(const json_t *object, const char *key, double otherwise);

#endif
