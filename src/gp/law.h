/* The law of a whole map under the model itself: its joint density, and the deviance that is the
 * square in its exponent                                                             [METHOD 8j]
 *
 *     e   residual of one sample, T standardised responses; v its model variance, d noise
 *     e_w = e ./ scale      z = e_w V      a = z W  (no W: a = z)
 *     dev     = sum_k a_k^2/(v_k + d_k) + (|e_w|^2 - |z|^2)/(v_0 + d_0)
 *     ln det  = 2 sum_j ln scale_j + log_det + sum_k ln(v_k + d_k) + (T - K) ln(v_0 + d_0)
 *     ln p    = -1/2 (T ln 2pi + ln det + dev)
 *
 * V is T x K with orthonormal columns; where K = T it may be any invertible one, whose determinant
 * is in log_det, and there is nothing outside it. A method says the sizes and variances of each
 * part of its maps once (kn_method.law), and the rows of V and scale of a block of responses when
 * it is asked (kn_method.law_block): folds make theirs from the responses. A method without either
 * has independent responses, whose law is that of each. */
#ifndef KN_GP_LAW_H
#define KN_GP_LAW_H

#include "gp/maps.h"

typedef struct kn_law { /* of the n samples of a part */
    ptrdiff_t K;
    kn_mat v;       /* n x K  model variance of each coordinate */
    double *d;      /* K      noise variance of each */
    double *v0, d0; /* n      of a direction outside V; NULL: there is none */
    kn_mat W;       /* K x K  or none */
    double log_det;
} kn_law;

void kn_law_clear(kn_law *l);

#endif
