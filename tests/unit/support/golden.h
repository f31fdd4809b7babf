/* Reading the expected numbers of tests/golden: one JSON file per case, in which each matrix is an
 * array of rows under its name [tests/golden/README.md].
 *
 * Each function aborts with a message when a file or a key is missing, so that a test needs no
 * check of its own. The caller owns the result: free(m.data), json_decref(json). */
#ifndef KN_TEST_GOLDEN_H
#define KN_TEST_GOLDEN_H

#include <jansson.h>

#include "base/matrix.h"

/* `name` is the path of a case in tests/golden without ".json", such as "structured/case1"; `path`
 * names keys from the outside in, such as "settings.base.lml_exact", and "" is the whole. */
json_t *golden_json(const char *name, const char *path);
kn_mat golden_matrix(const char *name, const char *path);

double golden_number(json_t *object, const char *path);
kn_mat golden_column(json_t *object, const char *path); /* an array of n numbers, n x 1 */
kn_mat golden_rows(json_t *object, const char *path);   /* an array of rows */

#endif
