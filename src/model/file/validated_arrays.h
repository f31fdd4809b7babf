/* Reads arrays of a model file and validates their values. */
#ifndef KN_MODEL_FILE_VALIDATED_ARRAYS_H
#define KN_MODEL_FILE_VALIDATED_ARRAYS_H

#include "io/safetensors/safetensors.h"

/* KN_ERR_FORMAT with the message that `what` is missing or not what it should be. */
kn_status kn_st_bad(kn_ctx *ctx, const kn_st_file *f, const char *what);

/* Strictly ascending indices from 0 to limit - 1. *n: expected number, -1: any; on return their
 * number. */
kn_status kn_st_read_indices(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t limit,
                             ptrdiff_t **out, ptrdiff_t *n);
/* n positive, finite values; zero: 0 is allowed too. */
kn_status kn_st_read_positive(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t n,
                              bool zero, double **out);
/* A rows x cols matrix of finite values. */
kn_status kn_st_read_finite(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t rows,
                            ptrdiff_t cols, kn_mat *out);

#endif
