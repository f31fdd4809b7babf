/* Visitor over the named arrays of an object that is stored in the model file. The object lists its
 * arrays once, in the order of the file; a visitor writes them (model/file/write.c), reads them
 * (model/file/read.c) or looks one up by name (model/model.c). */
#ifndef KN_BASE_ARRAY_VISITOR_H
#define KN_BASE_ARRAY_VISITOR_H

#include "base/matrix.h"

/* The values that a reader accepts, none of them infinite; KN_ANY accepts NaN too. */
typedef enum kn_values { KN_ANY, KN_NOT_NEGATIVE, KN_POSITIVE } kn_values;

typedef struct kn_arrays kn_arrays;
struct kn_arrays {
    kn_ctx *ctx;
    bool reading; /* the visitor fills the arrays; the object then checks what it can check */
    /* Visit an array of n, or rows x cols, values. A reader requires this size and allocates the
     * array, which the object owns; a size of -1 is taken from the file. */
    kn_status (*doubles)(kn_arrays *a, const char *name, ptrdiff_t n, kn_values which,
                         double **data);
    kn_status (*mat)(kn_arrays *a, const char *name, ptrdiff_t rows, ptrdiff_t cols, kn_mat *mat);
    /* As mat, stored as float32 in the file. */
    kn_status (*mat_f32)(kn_arrays *a, const char *name, ptrdiff_t rows, ptrdiff_t cols,
                         kn_mat *mat);
    kn_status (*indices)(kn_arrays *a, const char *name, ptrdiff_t *n, ptrdiff_t **index);
    /* Visit an array that follows from the others and is not stored. NULL in a reader. */
    kn_status (*derived)(kn_arrays *a, const char *name, ptrdiff_t n, double **data);
    /* Is the array in the file? Call it only if `reading`. */
    bool (*has)(kn_arrays *a, const char *name);
    /* Returns the error status for invalid values in the array. Call it only if `reading`. */
    kn_status (*bad)(kn_arrays *a, const char *name);
};

#endif
