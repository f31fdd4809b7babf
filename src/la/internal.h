/* What only the files of la use: how product.c splits a product. Callers include la.h. */
#ifndef KN_LA_INTERNAL_H
#define KN_LA_INTERNAL_H

#include <stddef.h>

/* ---- product.c: tiles ------------------------------------------------------------------------ */

/* How product.c splits a product into pieces: by its sizes alone, not by the number of threads, so
 * that the bits do not depend on it. Each piece is one BLAS call on one thread. */

/* C (m x n) with inner dimension k is split into rows x cols tiles, each with the whole of k; or,
 * if C is small and k long, k is split into `depth` chunks whose products are added in order. */
typedef struct kn_tiles {
    ptrdiff_t rows, cols, depth;
} kn_tiles;

/* Returns how an m x n product with inner dimension k is split: tiles of C, or chunks of k.
 * Depends on the sizes alone. */
kn_tiles kn_tiles_gemm(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k);

/* Tiles of the lower triangle of C (n x n): rows = cols = q, and q^2 pieces of equal work, since
 * each block below the diagonal is halved. */
kn_tiles kn_tiles_syrk(ptrdiff_t n, ptrdiff_t k);

/* Returns the number of parallel parts into which to cut `length` independent right-hand sides
 * of a solve with a triangular matrix of size n. */
ptrdiff_t kn_tiles_trsm(ptrdiff_t length, ptrdiff_t n);

/* Returns the first index of part p (0 .. parts) of the range 0 .. length - 1 cut into `parts`
 * parts of about equal size, a multiple of 16; `length` for p = parts. */
ptrdiff_t kn_tiles_at(ptrdiff_t length, ptrdiff_t parts, ptrdiff_t p);

#endif
