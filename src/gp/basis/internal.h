/* What only the files of gp/basis use: the eigenproblem that root solves for all ranks, and the
 * passes of the range finder over the responses. Other folders use basis.h, gram.h and
 * range_finder.h. */
#ifndef KN_GP_BASIS_INTERNAL_H
#define KN_GP_BASIS_INTERNAL_H

#include "base/matrix.h"
#include "base/memory/plan.h"
#include "gp/basis/range_finder.h"

/* ---- eig broadcast ----
 *
 * Symmetric eigenproblem with identical results on all MPI ranks: root solves it and broadcasts.
 *
 * Eigenvectors are defined up to sign, and those of close eigenvalues up to rotation. If every
 * rank solved the problem, rounding on different processors could give different vectors, but the
 * ranks must combine the same vectors with their own responses.
 *
 *     cost: that of kn_eig, and a broadcast of 8 n^2 bytes */

/* Eigenvectors (into S, n x n) and ascending eigenvalues w (n) of the symmetric S of MPI rank 0
 * by kn_eig, broadcast to all ranks, whose S is overwritten. KN_ERR_NUMERIC as kn_eig.
 * Collective. */
kn_status kn_eig_on_root(kn_ctx *ctx, kn_mat S, double *w);
/* Like kn_eig_on_root, but with kn_eig_reproducible, whose bits do not depend on the number of
 * threads; slower. Collective. */
kn_status kn_eig_reproducible_on_root(kn_ctx *ctx, kn_mat S, double *w);

/* ---- range finder passes ----
 *
 * The readings of the range finder (range_finder.h): products with all responses, strip by
 * strip. */

/* State of a range finder. A (n x T) is Y, minus its column means if centre is set. */
typedef struct kn_readings {
    kn_responses Y;
    bool centre;
    ptrdiff_t n, T, k;
    ptrdiff_t P;    /* requested components: k without the oversampling */
    ptrdiff_t cut;  /* block size: strips of at most 128 MB */
    double energy;  /* upper bound of |A|^2 */
    int limbs;      /* limbs of the exact sums of float32 products */
    bool single;    /* the last reading is in float32 */
    kn_mat Q, M;    /* n x k */
    kn_fmat Q32;    /* n x k */
    kn_fmat W;      /* width x k */
    ptrdiff_t done; /* responses read so far, over all readings */
    /* responses of all readings, for progress */
    ptrdiff_t total;
    kn_range_info info;
} kn_readings;

/* Allocates the work space of a range finder; the caller has set Y, centre, n, T, k and total.
 * Sets cut, energy and limbs. The caller clears w, also after an error. */
kn_status kn_readings_new(kn_ctx *ctx, kn_readings *w);
/* Frees the work space. */
void kn_readings_clear(kn_readings *w);

/* First reading: sets w->M (n x k) = [sketch, A random], the given start columns filled up with
 * A times random normal directions; products in float32, 2 n T k flops. Collective. */
kn_status kn_reading_sketch(kn_ctx *ctx, const kn_range_options *o, kn_readings *w);
/* Power pass: reads Y once and sets w->M (n x k) = A (A'Q) for w->Q, products in float32, 4 n T
 * k flops. Collective. */
kn_status kn_reading_power(kn_ctx *ctx, kn_readings *w);
/* Last reading in double: b->B = W = A'Q (T x k), w->M = A W (n x k), b->total = |A|^2, and the
 * means of the responses in mean (T) if centred. 4 n T k flops. Collective. */
kn_status kn_reading_last(kn_ctx *ctx, kn_readings *w, kn_basis *b, double *mean);

/* Last reading in float32, sums in double: b->B = W = A'Q (T x k), w->M = A W (n x k), b->total
 * = |A|^2, and the means of the responses in mean (T) if centred. 4 n T k flops. Collective. */
kn_status kn_reading_last_single(kn_ctx *ctx, kn_readings *w, kn_basis *b, double *mean);

/* Predicts in plan r the memory of all readings for n participants, T responses and k columns:
 * Q, M, W and B stay in the plan, the work space of a reading only raises the peak. */
void kn_readings_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T, ptrdiff_t k);

#endif
