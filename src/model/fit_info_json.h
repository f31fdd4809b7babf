/* Conversion of kn_fit_info to and from JSON: the record inside a model file, and `info --json`.
 * Also small helpers for numbers in JSON. */
#ifndef KN_MODEL_FIT_INFO_JSON_H
#define KN_MODEL_FIT_INFO_JSON_H

#include <jansson.h>

#include "gp/fit_info.h"

/* The record of the fit as a new JSON object, owned by the caller. Numbers that are not finite
 * become null. NULL: out of memory. */
json_t *kn_info_to_json(const kn_fit_info *info);

/* Read *info from the JSON record of a model file. KN_ERR_FORMAT, with the name of the file in the
 * message, if a field is absent or invalid. */
kn_status kn_info_from_json(kn_ctx *ctx, const char *file, json_t *json, kn_fit_info *info);

/* Numeric field of the record by its name in the JSON, such as "lml", "cv.z2" or "seconds.fit". NaN
 * if no numeric field has that name. */
double kn_info_number(const kn_fit_info *info, const char *name);

/* Text field of the record by name: "method", "noise", "likelihood" or "stop". A static text; NULL
 * if there is no such field, or if the method has no such choice. */
const char *kn_info_text(const kn_fit_info *info, const char *name);

/* x as a new JSON number, or JSON null if x is not finite. */
json_t *kn_json_number(double x);

/* text as a new JSON string; JSON null if it is NULL or not UTF-8, as a path may be. */
json_t *kn_json_text(const char *text);

/* x (n numbers) as a new JSON array, null for those that are not finite. NULL: out of memory. */
json_t *kn_json_numbers(const double *x, ptrdiff_t n);

/* The number that v holds; `otherwise` if v is NULL or not a number. */
double kn_json_real(const json_t *v, double otherwise);

/* The number in the member `key` of a JSON object; `otherwise` if the member is absent or not a
 * number. */
double kn_json_value(const json_t *object, const char *key, double otherwise);

#endif
