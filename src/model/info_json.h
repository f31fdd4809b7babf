/* kn_fit_info as JSON, both ways: the record inside a model file and what `info --json` prints. */
#ifndef KN_MODEL_INFO_JSON_H
#define KN_MODEL_INFO_JSON_H

#include <jansson.h>

#include "gp/fit_info.h"

json_t *kn_info_to_json(const kn_fit_info *info); /* NULL: out of memory */
kn_status kn_info_from_json(kn_ctx *ctx, const char *file, json_t *json, kn_fit_info *info);

/* A field by its name in that JSON: "lml", "cv.z2", "seconds.fit"; NaN: there is none. */
double kn_info_number(const kn_fit_info *info, const char *name);
/* "method", "noise", "likelihood" or "stop"; NULL: there is none. */
const char *kn_info_text(const kn_fit_info *info, const char *name);

/* Numbers that JSON cannot hold become null. */
json_t *kn_json_number(double x);
/* And back: null, anything else, or nothing is `otherwise`. _value: what an object has under a key.
 */
double kn_json_real(const json_t *v, double otherwise);
double kn_json_value(const json_t *object, const char *key, double otherwise);

#endif
