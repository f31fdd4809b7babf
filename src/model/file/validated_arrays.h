/* Arrays of a model file that are taken only when they are what they should be. */
#ifndef KN_MODEL_FILE_VALIDATED_ARRAYS_H
#define KN_MODEL_FILE_VALIDATED_ARRAYS_H

#include "io/safetensors/safetensors.h"

/* The sentence: `what` is missing or not what it should be. */
kn_status kn_st_bad(kn_ctx *ctx, const kn_st_file *f, const char *what);

/* Ascending indices from 0 to limit - 1. *n: how many are expected, -1 for any; then how many there
 * are. */
kn_status kn_st_read_indices(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t limit,
                             ptrdiff_t **out, ptrdiff_t *n);
kn_status kn_st_read_positive(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t n,
                              bool zero, double **out); /* zero: 0 is allowed too */
kn_status kn_st_read_finite(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t rows,
                            ptrdiff_t cols, kn_mat *out);

#endif
