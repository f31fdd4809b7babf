/* Cholesky factor of a symmetric positive definite band matrix (dpbtrf), and solves with it
 * (dpbtrs).
 *
 * Lower band: entry (i, j), 0 <= i - j <= width, is data[i - j + j (width + 1)]. The factor costs
 * n width^2 flops, a right side 4 n width. Each runs on one thread, so that the bits do not depend
 * on the number of threads. */
#ifndef KN_LA_BANDED_H
#define KN_LA_BANDED_H

#include "base/matrix.h"

typedef struct kn_band {
    ptrdiff_t n, width; /* width: diagonals below the main one */
    double *data;       /* (width + 1) x n */
} kn_band;

/* Bytes that kn_band_new allocates. */
double kn_band_bytes(ptrdiff_t n, ptrdiff_t width);
/* Allocates a band matrix of zeros. KN_ERR_SHAPE if width >= n or the size is too large. */
kn_status kn_band_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t width, kn_band *out);
void kn_band_clear(kn_band *band); /* {0} is allowed */

/* Address of entry (i, j), 0 <= i - j <= width. */
static inline double *kn_band_at(const kn_band *b, ptrdiff_t i, ptrdiff_t j)
{
    return b->data + (i - j) + j * (b->width + 1);
}

/* Replaces the band by its Cholesky factor L. `what` names the matrix in the message.
 * KN_ERR_NUMERIC if it is not positive definite. */
kn_status kn_band_chol(kn_ctx *ctx, kn_band *band, const char *what);
/* B <- (L L')^-1 B, n x k, columns in parallel on the context's threads. */
void kn_band_solve(kn_ctx *ctx, const kn_band *factor, kn_mat B);

#endif
