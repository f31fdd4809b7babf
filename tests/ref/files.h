/* Reading the expected numbers of tests/golden. */
#ifndef KN_REF_FILES_H
#define KN_REF_FILES_H

#include <jansson.h>

#include "base/matrix.h"

kn_mat ref_csv(const char *dir, const char *name); /* $KN_TESTS/golden/dir/name; aborts if absent */
json_t *ref_json(const char *dir, const char *name);
double ref_number(json_t *object, const char *path);  /* "settings.base.lml_exact" */
kn_mat ref_numbers(json_t *object, const char *path); /* an array as a column */
kn_mat ref_matrix(json_t *object, const char *path);  /* an array of rows */

#endif
