/* Named arrays of something that is kept in a file: what has them names each once, in the order of
 * the file, and a visitor writes it, reads it or looks for one of that name. */
#ifndef KN_BASE_ARRAY_VISITOR_H
#define KN_BASE_ARRAY_VISITOR_H

#include "base/matrix.h"

typedef enum kn_values { KN_ANY, KN_NOT_NEGATIVE, KN_POSITIVE } kn_values; /* KN_ANY: NaN too */

typedef struct kn_arrays kn_arrays;
struct kn_arrays {
    kn_ctx *ctx;
    bool reading; /* what is visited is empty yet, and checked by who has it once it is filled */
    /* Sizes are those expected; -1 where the file may say, and what is read has them then. */
    kn_status (*doubles)(kn_arrays *a, const char *name, ptrdiff_t n, kn_values which,
                         double **data);
    kn_status (*mat)(kn_arrays *a, const char *name, ptrdiff_t rows, ptrdiff_t cols, kn_mat *mat);
    /* The same, in the file as float32. */
    kn_status (*mat_f32)(kn_arrays *a, const char *name, ptrdiff_t rows, ptrdiff_t cols,
                         kn_mat *mat);
    kn_status (*indices)(kn_arrays *a, const char *name, ptrdiff_t *n, ptrdiff_t **index);
    /* In memory, and not in a file: it follows from the others. */
    kn_status (*derived)(kn_arrays *a, const char *name, ptrdiff_t n, double **data);
    /* Is there such an array to be had? A writer says yes. */
    bool (*has)(kn_arrays *a, const char *name);
    /* Fails because of what `name` holds. */
    kn_status (*bad)(kn_arrays *a, const char *name);
};

#endif
