/* P independent Gaussian processes over the same samples: column p of Z ~ N(0, c_p R0 + d_p I).
 *
 * Every model here takes this form once fitted. structured noise has it by definition
 * [METHOD 1b]. iso noise has it after rotating the components by U_C, with
 * d_p = c_p iso + s2 [METHOD 2: L_np = (r_n + iso) c_p + s2 = c_p r_n + d_p]; its R** keeps
 * the iso term, which adds c_p iso to the model variance. One code path then predicts for all. */
#ifndef KN_GP_LATENT_H
#define KN_GP_LATENT_H

#include "base/rehearse.h"
#include "cov/dense.h"

typedef struct kn_latent {
    kn_mat X;      /* N x F training covariates, standardised */
    kn_decomp R0;  /* U, r */
    kn_mat A;      /* m x P   U'Z */
    double *c, *d; /* P       signal and noise variance of each component */
    double iso;    /* R's iso term; 0 for structured noise */
} kn_latent;

typedef struct kn_latent_parts {
    kn_mat *X;
    kn_decomp *R0;
    kn_mat *A;
    const double *c, *d;
    double iso;
} kn_latent_parts;

/* Takes over X, R0 and A (cleared in the caller's hands on success); copies c and d. */
kn_status kn_latent_new(kn_ctx *ctx, const kn_latent_parts *from, kn_latent *out);
void kn_latent_clear(kn_latent *l);

/* A variance below zero is rounding: it becomes 0, and the step relative to the scale is noted. */
double kn_at_least_zero(double v, double scale, double *clamped);

/* inverse (m x P) = 1/(c_p r_i + d_p); weights (m x P) = A c/(c r + d) where wanted */
void kn_latent_inverse(const kn_latent *l, kn_mat inverse, kn_mat weights);
void kn_latent_square(kn_mat M); /* M = M.^2 */

void kn_latent_need(kn_rehearsal *r, const kn_need_shape *s);

#endif
