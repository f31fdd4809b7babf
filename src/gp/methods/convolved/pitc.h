/* Convolved processes with tasks that are independent given the inducing values: PITC [METHOD 1i].
 *
 *     Q_tt = K_t K_uu^-1 K_t'   D_t = K_tt - Q_tt + s2_t I   Phi = sum K_t' D_t^-1 K_t
 *     A = K_uu + Phi   a = A^-1 sum K_t' D_t^-1 y_t   al_t = D_t^-1 (y_t - K_t a)
 *     LML = -1/2 [NT ln 2pi + ln|A| - ln|K_uu| + sum ln|D_t| + sum y_t'al_t]
 *     G_t = 1/2 [al_t al_t' - D_t^-1 + D_t^-1 K_t A^-1 K_t' D_t^-1]           dK_tt
 *     dK_t = al_t a' - D_t^-1 K_t A^-1 - 2 G_t K_t K_uu^-1             ds2_t = tr G_t
 *     dK_uu = 1/2 [K_uu^-1 - A^-1 - aa'] + sum K_uu^-1 K_t' G_t K_t K_uu^-1
 *     mean = K*_t a + E al_t     E = K*_tt - K*_t K_uu^-1 K_t'     J = K*_t - E D_t^-1 K_t
 *     var = k_t - K*_t K_uu^-1 K*_t' - E D_t^-1 E' + J A^-1 J'
 *
 * A is factored by I + L_u^-1 Phi L_u^-T = L_a L_a', as in the variational bound. One task at a
 * time, and D_t is factored again when needed: 3 N^3 T flops with the gradient, and 2 N^2 numbers.
 */
#ifndef KN_GP_METHODS_CONVOLVED_PITC_H
#define KN_GP_METHODS_CONVOLVED_PITC_H

#include "gp/methods/convolved/posterior.h"

extern const kn_conv_form kn_conv_pitc; /* E of its posterior is A^-1 */

#endif
