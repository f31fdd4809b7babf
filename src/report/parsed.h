/* JSON that the material brings along, and how to ask it. What is missing is NULL or NaN. */
#ifndef KN_REPORT_PARSED_H
#define KN_REPORT_PARSED_H

#include <jansson.h>

#include "base/mem.h"

/* *out NULL where there is no text; json_decref it. `name` is for the sentence. */
kn_status kn_report_parse(kn_ctx *ctx, const char *name, const char *text, json_t **out);

json_t *kn_parsed_at(json_t *j, const char *path); /* "theta.c"; borrowed */
double kn_parsed_number(json_t *j, const char *path);
const char *kn_parsed_text(json_t *j, const char *path); /* lives as long as j */

#endif
