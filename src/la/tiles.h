/* How a product is cut among threads: by its sizes alone, never by the number of threads, so that
 * it has the same bits for any. Each piece is one call of the BLAS on one thread. */
#ifndef KN_LA_TILES_H
#define KN_LA_TILES_H

#include <stddef.h>

/* C (m x n) with inner dimension k in rows x cols tiles, each with the whole of k; or, where C is
 * small and k long, k in `depth` chunks whose products are added up in their order. */
typedef struct kn_tiles {
    ptrdiff_t rows, cols, depth;
} kn_tiles;

kn_tiles kn_tiles_gemm(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k);

/* The lower triangle of C (n x n): rows = cols = q, and q^2 pieces of equal work, for the blocks
 * below the diagonal are cut in two. */
kn_tiles kn_tiles_syrk(ptrdiff_t n, ptrdiff_t k);

/* Into how many parts to cut `length` independent solves with a triangle of size n. */
ptrdiff_t kn_tiles_trsm(ptrdiff_t length, ptrdiff_t n);

/* Where part p of `parts` begins; part `parts` begins at the end. */
ptrdiff_t kn_tiles_at(ptrdiff_t length, ptrdiff_t parts, ptrdiff_t p);

#endif
