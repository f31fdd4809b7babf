/* Collapsed variational bound of convolved processes with inducing functions, the default form
 * [METHOD 1i].
 *
 *     Phi = sum_t K_t'K_t/s2_t   Bm = L_u^-1 Phi L_u^-T   I + Bm = L_a L_a'
 *     b = L_u^-1 sum_t K_t'y_t/s2_t   w = (I+Bm)^-1 b   a = L_u^-T w
 *     E = L_u^-T (I - (I+Bm)^-1) L_u^-1
 *     bound = -1/2 [NT ln 2pi + N sum ln s2_t + ln|I+Bm| + sum |y_t|^2/s2_t - b'w]
 *             -1/2 [N sum_t k_t/s2_t - tr Bm]
 *     mean = K*_t a        var = k_t - sum (K*_t E) .* K*_t
 *
 * K_t N x m, K_uu = L_u L_u'. Sums over tasks, one at a time: 4 N T m^2 flops with the gradient,
 * and N m + 5 m^2 numbers. */
#ifndef KN_GP_METHODS_CONVOLVED_VARIATIONAL_BOUND_H
#define KN_GP_METHODS_CONVOLVED_VARIATIONAL_BOUND_H

#include "gp/methods/convolved/posterior.h"

extern const kn_conv_form kn_conv_bound;

#endif
