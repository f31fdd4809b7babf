/* MT-Kronsum of some samples at an R0 that is held: all of them, a fold's, those that judge the
 * shrinkage                                                                          [METHOD 1g] */
#ifndef KN_GP_METHODS_KRONSUM_FIT_H
#define KN_GP_METHODS_KRONSUM_FIT_H

#include "gp/methods/kronsum/learn.h"
#include "gp/methods/kronsum/sample_side.h"

typedef struct kn_kronsum_fit {
    kn_kronsum_case of;
    kn_kronsum_side side;
    kn_kronsum_data data;
    kn_latent latent; /* its components, once they are set */
    kn_mat cov;       /* T x T  Y'Y/N */
    kn_mat C0, S0;    /* the structured model's */
    kn_mat C, S;      /* as they were learned */
    double floor;
    bool floored; /* S0 is at it somewhere */
    kn_kronsum k;
    kn_kronsum_learned learned;
} kn_kronsum_fit;

kn_status kn_kronsum_fit_new(kn_ctx *ctx, const kn_kronsum_case *of, kn_kronsum_fit *out);
void kn_kronsum_fit_clear(kn_kronsum_fit *f);

/* C and S with shrinkage nu from the start, into C, S, k and latent. INFINITY: the structured
 * model's as they are. */
kn_status kn_kronsum_fit_learn(kn_ctx *ctx, kn_kronsum_fit *f, double nu);

/* tau of maximum likelihood, with steps of EM in turn; 0 where no tau is better. From a fit at
 * tau = 0, which is of no use afterwards. */
kn_status kn_kronsum_fit_tau(kn_ctx *ctx, kn_kronsum_fit *f, double *tau);

/* Mean log density of maps Ys (h x T, about the mean of training) of new samples. */
kn_status kn_kronsum_fit_density(kn_ctx *ctx, const kn_kronsum_fit *f, kn_mat Xs, kn_mat Ys,
                                 double *density);

/* -1/2 [T ln 2pi + ln|S| + sum ln(v + d) + sum a^2/(v + d)], a = e W */
double kn_kronsum_log_density(ptrdiff_t T, const double *a, const double *v, ptrdiff_t stride,
                              double d, double log_det);

void kn_kronsum_fit_need(kn_mem_plan *r, const kn_problem_size *s); /* learning passes */

#endif
