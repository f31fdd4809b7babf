/* Convolved processes without inducing values: the full covariance of all tasks and participants
 * [Boyle & Frean] [METHOD 1i].
 *
 *     K = [cov(f_t(x_i), f_v(x_j))] + diag(s2_t)   NT x NT     al = K^-1 y
 *     LML = -1/2 [NT ln 2pi + ln|K| + y'al]        dK = 1/2 [al al' - K^-1]
 *     mean = K* al     var = k_t - sum (K* L^-T).^2     K = LL'
 *
 * 7/3 (NT)^3 flops with the gradient and 2 (NT)^2 numbers: for small problems, and as a reference
 * for the other forms. */
#ifndef KN_GP_METHODS_CONVOLVED_DENSE_H
#define KN_GP_METHODS_CONVOLVED_DENSE_H

#include "gp/methods/convolved/posterior.h"

extern const kn_conv_form kn_conv_dense;

#endif
