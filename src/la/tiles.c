/* Implements tiles.h. */
#include "la/tiles.h"

enum { LEAST_SIDE = 96 };      /* of a tile: the BLAS packs each, which costs about 10/side */
enum { LEAST_DEPTH = 256 };    /* of a chunk of the inner dimension */
enum { LONG = 4 };             /* k is long if it is at least this many times m and n */
enum { MOST_PARTS = 1 << 21 }; /* elements of partial products: 16 MB of doubles */
enum { UNIT = 16 };            /* parts are multiples of it, as the BLAS kernels prefer */

/* Number of pieces for a product of `flops` flops. Starting a thread takes 20-60 us, the time of
 * 1e6 flops: small products get few pieces, large ones enough for many threads. */
static ptrdiff_t pieces(double flops)
{
    return flops < 1e7 ? 1 : flops < 2e8 ? 4 : flops < 1e9 ? 8 : flops < 1e10 ? 16 : 64;
}

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

/* Number of chunks of k, 1 if C is too large or k too short to split. */
static ptrdiff_t chunks(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, ptrdiff_t wanted)
{
    if (wanted == 1 || k / LONG < m || k / LONG < n)
        return 1;
    ptrdiff_t fit = least(k / LEAST_DEPTH, MOST_PARTS / n / m);
    return fit >= 4 ? least(wanted, fit) : 1;
}

/* Halves the longer side of the tiles until there are enough. The width counts twice, because tiles
 * of whole columns write contiguous memory. */
kn_tiles kn_tiles_gemm(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t wanted = pieces(2.0 * (double)m * (double)n * (double)k);
    kn_tiles t = {1, 1, chunks(m, n, k, wanted)};
    while (t.depth == 1 && t.rows * t.cols < wanted) {
        ptrdiff_t high = m / t.rows, wide = n / t.cols;
        if (wide >= 2 * LEAST_SIDE && (2 * wide >= high || high < 2 * LEAST_SIDE))
            t.cols *= 2;
        else if (high >= 2 * LEAST_SIDE)
            t.rows *= 2;
        else
            break;
    }
    return t;
}

kn_tiles kn_tiles_syrk(ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t wanted = pieces((double)n * (double)n * (double)k), q = 1;
    kn_tiles t = {1, 1, chunks(n, n, k, wanted)};
    while (t.depth == 1 && 4 * q * q <= wanted && n / q >= 2 * LEAST_SIDE)
        q *= 2;
    t.rows = t.cols = q;
    return t;
}

ptrdiff_t kn_tiles_trsm(ptrdiff_t length, ptrdiff_t n)
{
    ptrdiff_t wanted = pieces((double)length * (double)n * (double)n), parts = 1;
    while (parts < wanted && length / parts >= 2 * LEAST_SIDE)
        parts *= 2;
    return parts;
}

ptrdiff_t kn_tiles_at(ptrdiff_t length, ptrdiff_t parts, ptrdiff_t p)
{
    ptrdiff_t units = length / UNIT + (length % UNIT > 0);
    return least(units * p / parts * UNIT, length);
}
