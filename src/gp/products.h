/* Products over blocks of responses, and their sums over blocks.
 *
 * A product is cut into tiles by a rule that knows nothing of threads, each tile is one call of the
 * BLAS on one thread, and sums over blocks are exact (base/exact.h): the same bits for any number
 * of threads and any order of blocks. */
#ifndef KN_GP_PRODUCTS_H
#define KN_GP_PRODUCTS_H

#include "gp/walk.h"
#include "la/la.h"

/* A matrix summed over blocks: two limbs for products in double, one for those in float32, whose
 * own rounding is far above what one limb cuts off. */
typedef struct kn_sum {
    kn_mat hi, lo;
    double C1, C2; /* of the limbs' grids */
    bool lower;    /* symmetric, lower triangle */
    ptrdiff_t tile;
    int workers;
    struct kn_sum_part { /* one worker's: a tile of a product */
        kn_mat d;
        kn_fmat f;
    } * part;
} kn_sum;

typedef struct kn_sum_shape {
    ptrdiff_t rows, cols;
    bool lower;     /* a Gram matrix */
    bool single;    /* products in float32 */
    int limbs;      /* 1 or 2 */
    double bound;   /* of |sum|, and of every sum of some of the addends */
    ptrdiff_t adds; /* at most so many */
} kn_sum_shape;

kn_status kn_sum_new(kn_ctx *ctx, const kn_sum_shape *shape, kn_sum *out);
void kn_sum_clear(kn_sum *s);
void kn_sum_zero(kn_sum *s);
/* += op(A) B */
void kn_sum_product(kn_ctx *ctx, kn_sum *s, kn_trans ta, kn_mat A, kn_mat B);
void kn_sum_product_f32(kn_ctx *ctx, kn_sum *s, kn_trans ta, kn_fmat A, kn_fmat B);
/* += A A' (KN_N) or A'A (KN_T) */
void kn_sum_gram(kn_ctx *ctx, kn_sum *s, kn_trans ta, kn_mat A);
void kn_sum_gram_f32(kn_ctx *ctx, kn_sum *s, kn_trans ta, kn_fmat A);
void kn_sum_result(const kn_sum *s, kn_mat out);
void kn_sum_take(kn_sum *s, kn_mat *out); /* the sum's own memory; both limbs joined */

/* At least |Y|_F^2, from the moments of all samples: what bounds every product of responses by
 * Cauchy and Schwarz. */
double kn_energy_bound(const kn_responses *Y);

/* |M|_F^2, columns dealt out and added in order */
kn_status kn_energy(kn_ctx *ctx, kn_mat M, double *out);

#endif
