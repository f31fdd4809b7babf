/* Access to values of a JSON text by a path such as "abnormality.smallest_p". */
#ifndef KN_REPORT_INPUT_JSON_PATH_H
#define KN_REPORT_INPUT_JSON_PATH_H

#include <jansson.h>

#include "base/context.h"

/* Parses `text`; `name` is used in the error message. NULL text: *out is NULL. Free with
 * json_decref, which accepts NULL. */
kn_status kn_json_parse(kn_ctx *ctx, const char *name, const char *text, json_t **out);

const json_t *kn_json_at(const json_t *root, const char *path);    /* NULL if absent */
double kn_json_number_at(const json_t *root, const char *path);    /* NaN if absent */
ptrdiff_t kn_json_count_at(const json_t *root, const char *path);  /* 0 if absent */
const char *kn_json_text_at(const json_t *root, const char *path); /* NULL if absent; borrowed */
bool kn_json_true_at(const json_t *root, const char *path);        /* true, or a nonzero number */

#endif
