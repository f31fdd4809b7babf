/* Implements the helpers of posterior.h. */
#include "gp/methods/convolved/posterior.h"

#include <math.h>

#include "la/la.h"

void kn_conv_posterior_clear(kn_conv_posterior *p)
{
    kn_mat_clear(&p->a);
    kn_mat_clear(&p->E);
    kn_mat_clear(&p->alpha);
}

void kn_conv_inverse(kn_ctx *ctx, kn_mat L, kn_mat inverse)
{
    kn_mat_zero(inverse);
    for (ptrdiff_t i = 0; i < inverse.rows; i++)
        kn_col(inverse, i)[i] = 1;
    kn_trsm_left(ctx, KN_N, L, inverse);
    kn_trsm_left(ctx, KN_T, L, inverse);
}

double kn_conv_log_det(kn_mat L)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < L.rows; i++)
        sum += 2 * log(kn_at(L, i, i));
    return sum;
}

void kn_conv_row_dots(kn_mat A, kn_mat B, double scale, double *v)
{
    for (ptrdiff_t j = 0; j < A.cols; j++) {
        const double *a = kn_col(A, j), *b = kn_col(B, j);
        for (ptrdiff_t i = 0; i < A.rows; i++)
            v[i] += scale * a[i] * b[i];
    }
}
