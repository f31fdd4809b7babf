/* Cholesky factor of a symmetric positive definite band matrix, dpbtrf, and solves with it, dpbtrs.
 *
 * Lower band: entry (i, j), 0 <= i - j <= width, stands at data[i - j + j (width + 1)]. The factor
 * costs n width^2 flops, a right side 4 n width. One thread each: the same bits for any number. */
#ifndef KN_LA_BANDED_H
#define KN_LA_BANDED_H

#include "base/matrix.h"

typedef struct kn_band {
    ptrdiff_t n, width; /* width: diagonals below the main one */
    double *data;       /* (width + 1) x n */
} kn_band;

double kn_band_bytes(ptrdiff_t n, ptrdiff_t width);
kn_status kn_band_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t width, kn_band *out); /* zeroed */
void kn_band_clear(kn_band *band);                                              /* {0} is fine */

static inline double *kn_band_at(const kn_band *b, ptrdiff_t i, ptrdiff_t j)
{
    return b->data + (i - j) + j * (b->width + 1);
}

/* The band becomes L of L L'. `what` names the matrix in the message. */
kn_status kn_band_chol(kn_ctx *ctx, kn_band *band, const char *what);
/* B <- (L L')^-1 B, n x k; columns are dealt out to the context's threads. */
void kn_band_solve(kn_ctx *ctx, const kn_band *factor, kn_mat B);

#endif
