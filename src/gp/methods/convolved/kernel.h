/* Covariances of convolved processes [METHOD 1i].
 *
 *     g(a, b, x, x') = [2 sqrt(ab)/(a+b)]^(F/2) exp(-|x-x'|^2/(2(a+b)))
 *     cov(f_t(x), f_v(x')) = sum_q S_tq S_vq g(tau_tq, tau_vq)
 *     cov(f_t(x), u_q(z))  = S_tq g(tau_tq, nu_q)        cov(u_q(z), u_q(z')) = g(nu_q, nu_q)
 *
 * Widths are squared, of smoothing kernels of unit norm, so that g(a, a, x, x) = 1 and the variance
 * of task t is k_t = sum_q S_tq^2. All tasks are observed at the same N participants, and all
 * latent processes have the same M inducing inputs; m = QM, with those of q in columns qM .. qM + M
 * - 1. */
#ifndef KN_GP_METHODS_CONVOLVED_KERNEL_H
#define KN_GP_METHODS_CONVOLVED_KERNEL_H

#include "base/matrix.h"

/* Parameters of the processes. */
typedef struct kn_conv {
    ptrdiff_t T, Q, M, F; /* tasks, latent processes, inducing inputs of each, continuous
                           * covariates */
    kn_mat S, tau;        /* T x Q  weights, squared widths */
    double *nu, *s2;      /* Q  squared width of the inducing functions; T  noise variance */
    double jitter;        /* added to the diagonal of K_uu */
} kn_conv;

/* Allocates parameters, all zero. The caller frees *out. */
kn_status kn_conv_new(kn_ctx *ctx, ptrdiff_t T, ptrdiff_t Q, ptrdiff_t M, ptrdiff_t F,
                      kn_conv *out);
void kn_conv_clear(kn_conv *c); /* {0} is allowed */

/* Number of inducing values. */
static inline ptrdiff_t kn_conv_m(const kn_conv *c)
{
    return c->Q * c->M;
}

double kn_conv_variance(const kn_conv *c, ptrdiff_t t); /* k_t */

/* D2 (n x n') = |a_i - b_j|^2 of the rows of A and B. */
void kn_conv_distances(kn_mat A, kn_mat B, kn_mat D2);

/* Observations and squared distances. */
typedef struct kn_conv_data {
    kn_mat Y;  /* N x T */
    kn_mat fu; /* N x M  participants to inducing inputs */
    kn_mat uu; /* M x M  between inducing inputs */
    kn_mat ff; /* N x N  between participants; none if the form does not need it */
} kn_conv_data;

/* Computes K (n x m) between task t and the inducing values, from squared distances n x M. */
void kn_conv_cross(const kn_conv *c, ptrdiff_t t, kn_mat fu, kn_mat K);
/* Computes K_uu (m x m) with the jitter on its diagonal. */
void kn_conv_inducing(const kn_conv *c, kn_mat uu, kn_mat K);
/* Computes K (n x n') between tasks t and v, from squared distances. */
void kn_conv_between(const kn_conv *c, ptrdiff_t t, ptrdiff_t v, kn_mat ff, kn_mat K);

/* Chain rule: adds the gradient of sum dK .* K by S, ln tau, ln nu to g->S, g->tau, g->nu. dK: the
 * derivative of the objective by each entry of K; between tasks it is called for every ordered pair
 * (t, v). */
void kn_conv_cross_gradient(const kn_conv *c, ptrdiff_t t, kn_mat fu, kn_mat dK, kn_conv *g);
void kn_conv_inducing_gradient(const kn_conv *c, kn_mat uu, kn_mat dK, kn_conv *g);
void kn_conv_between_gradient(const kn_conv *c, ptrdiff_t t, ptrdiff_t v, kn_mat ff, kn_mat dK,
                              kn_conv *g);

#endif
