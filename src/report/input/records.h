/* Values that a scored folder or a model records as text: JSON values by a path such as
 * "abnormality.smallest_p", and options of the recorded command line. Readers must expect records
 * that other programs wrote. */
#ifndef KN_REPORT_INPUT_RECORDS_H
#define KN_REPORT_INPUT_RECORDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

/* Parses `text`; `name` is used in the error message. NULL text: *out is NULL. Free with
 * json_decref, which accepts NULL. */
kn_status kn_json_parse(kn_ctx *ctx, const char *name, const char *text, json_t **out);

/* Returns the value at a path of keys such as "abnormality.smallest_p"; NULL if it is absent, or
 * root is NULL. Borrowed from root. */
const json_t *kn_json_at(const json_t *root, const char *path);
/* Returns the number at a path of keys; NaN if it is absent or no number. */
double kn_json_number_at(const json_t *root, const char *path);
/* Returns the number at a path of keys as a count; 0 if it is absent, negative or above 9e15. */
ptrdiff_t kn_json_count_at(const json_t *root, const char *path);
/* Returns the text at a path of keys, borrowed from root; NULL if it is absent or no text. */
const char *kn_json_text_at(const json_t *root, const char *path);
/* Returns whether the value at a path of keys is true or a nonzero number. */
bool kn_json_true_at(const json_t *root, const char *path);

/* ---- options of a command line ---- */

/* Reads an option from the command line that a scored folder records. */

/* Copies the word after `option`, such as "--threshold", to `out` without quotes. Returns false
 * if the option is absent or its word is longer than `size`. */
bool kn_command_option(const char *command, const char *option, char *out, size_t size);

#endif
