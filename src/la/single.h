/* Products in single precision: twice the speed, for sums whose digits beyond the sixth are noise.
 */
#ifndef KN_LA_SINGLE_H
#define KN_LA_SINGLE_H

#include "la/la.h"

typedef struct kn_matf { /* column-major, as kn_mat */
    float *data;
    ptrdiff_t rows, cols, ld;
} kn_matf;

kn_status kn_matf_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, kn_matf *out); /* zeroed */
void kn_matf_clear(kn_matf *m);

static inline float *kn_colf(kn_matf m, ptrdiff_t j)
{
    return m.data + j * m.ld;
}

static inline kn_matf kn_subf(kn_matf m, ptrdiff_t i, ptrdiff_t j, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_matf s = {m.data ? m.data + i + j * m.ld : NULL, rows, cols, m.ld};
    return s;
}

/* C = alpha op(A) op(B) + beta C, and C = alpha A A' + beta C (KN_N) or A' A (KN_T), lower. Sizes
 * are those of blocks: at most 2^30. */
void kn_gemmf(float alpha, kn_trans ta, kn_matf A, kn_trans tb, kn_matf B, float beta, kn_matf C);
void kn_syrkf(float alpha, kn_trans ta, kn_matf A, float beta, kn_matf C);

#endif
