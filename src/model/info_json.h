/* kn_fit_info as JSON, both ways: the record inside a model file and what `info --json` prints. */
#ifndef KN_MODEL_INFO_JSON_H
#define KN_MODEL_INFO_JSON_H

#include <jansson.h>

#include "base/ctx.h"

json_t *kn_info_to_json(const kn_fit_info *info); /* NULL: out of memory */
kn_status kn_info_from_json(kn_ctx *ctx, const char *file, json_t *json, kn_fit_info *info);

/* Numbers that JSON cannot hold become null. */
json_t *kn_json_number(double x);

#endif
