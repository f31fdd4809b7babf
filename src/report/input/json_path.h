/* What a JSON text of a folder or of a model says, by the way to it: "abnormality.smallest_p". */
#ifndef KN_REPORT_INPUT_JSON_PATH_H
#define KN_REPORT_INPUT_JSON_PATH_H

#include <jansson.h>

#include "base/context.h"

/* NULL text: *out NULL. Free with json_decref, which takes NULL. */
kn_status kn_json_parse(kn_ctx *ctx, const char *name, const char *text, json_t **out);

const json_t *kn_json_at(const json_t *root, const char *path);    /* NULL: there is none */
double kn_json_number_at(const json_t *root, const char *path);    /* NaN */
ptrdiff_t kn_json_count_at(const json_t *root, const char *path);  /* 0 */
const char *kn_json_text_at(const json_t *root, const char *path); /* NULL; lent */
bool kn_json_true_at(const json_t *root, const char *path); /* true, or a number other than 0 */

#endif
