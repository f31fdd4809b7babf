/* P independent Gaussian processes over the same samples: column p of Z ~ N(0, c_p R0 + d_p I).
 *
 * Every model here takes this form once fitted. structured noise has it by definition
 * [METHOD 1b]. iso noise has it after rotating the components by U_C, with
 * d_p = c_p iso + s2 [METHOD 2: L_np = (r_n + iso) c_p + s2 = c_p r_n + d_p]; its R** keeps
 * the iso term, which adds c_p iso to the model variance. One code path then predicts for all. */
#ifndef KN_GP_LATENT_H
#define KN_GP_LATENT_H

#include "gp/decomp.h"

typedef struct kn_latent {
    kn_mat X;      /* N x F training covariates, standardised */
    kn_decomp R0;  /* U, r */
    kn_mat A;      /* m x P   U'Z */
    double *c, *d; /* P       signal and noise variance of each component */
    double iso;    /* R's iso term; 0 for structured noise */
} kn_latent;

/* Takes over X, R0 and A (cleared in the caller's hands on success); copies c and d. */
kn_status kn_latent_new(kn_ctx *ctx, kn_mat *X, kn_decomp *R0, kn_mat *A, const double *c,
                        const double *d, double iso, kn_latent *out);
void kn_latent_clear(kn_latent *l);

/* For new samples Xs (N* x F), N* x P each:                                    [METHOD 1b, 4]
 *     mean = (R0* U)(A c/(c r + d))     variance = c (R0** + iso) - c^2 (R0* U).^2 (1/(c r + d))
 * 2 N* N (N + 2P) flops. A variance below zero is rounding: it becomes 0 and the largest such
 * step, relative to the prior variance, is left in *clamped. */
kn_status kn_latent_predict(kn_ctx *ctx, const kn_latent *l, kn_mat Xs, kn_mat mean,
                            kn_mat variance, double *clamped);

/* A variance below zero is rounding: it becomes 0, and the step relative to the scale is noted. */
double kn_at_least_zero(double v, double scale, double *clamped);

/* Each training sample from the others, in closed form [METHOD 5]: k_ip = sum_n U_in^2/k_np,
 * q = U (A./k), residual q/k, variance 1/k - d + c iso. mean = z - q/k, N x P each. */
kn_status kn_latent_loo(kn_ctx *ctx, const kn_latent *l, kn_mat Z, kn_mat mean, kn_mat variance,
                        double *clamped);

#endif
