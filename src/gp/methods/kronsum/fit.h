/* MT-Kronsum fitted to some participants at a fixed R0: to all of them, to a fold, or to the folds
 * that choose the shrinkage [METHOD 1g]. */
#ifndef KN_GP_METHODS_KRONSUM_FIT_H
#define KN_GP_METHODS_KRONSUM_FIT_H

#include "gp/methods/kronsum/learn.h"
#include "gp/methods/kronsum/sample_side.h"

typedef struct kn_kronsum_fit {
    kn_kronsum_case of; /* its X, Y and groups are borrowed */
    kn_kronsum_side side;
    kn_kronsum_data data;
    kn_latent latent; /* components, set by kn_kronsum_fit_learn */
    kn_mat cov;       /* T x T  Y'Y/N */
    kn_mat C0, S0;    /* T x T  of the structured model */
    kn_mat C, S;      /* T x T  learned */
    double floor;     /* least eigenvalue of S */
    bool floored;     /* S0 has eigenvalues at the floor */
    kn_kronsum k;
    kn_kronsum_learned learned;
} kn_kronsum_fit;

/* Prepares a fit: sample side, Y'Y/N, C0 and S0. The caller frees *out. */
kn_status kn_kronsum_fit_new(kn_ctx *ctx, const kn_kronsum_case *of, kn_kronsum_fit *out);
/* Frees everything that the fit owns. */
void kn_kronsum_fit_clear(kn_kronsum_fit *f);

/* Learns C and S with shrinkage nu from the standard start; sets C, S, k and latent. nu = INFINITY:
 * C0 and S0 themselves. */
kn_status kn_kronsum_fit_learn(kn_ctx *ctx, kn_kronsum_fit *f, double nu);

/* Finds tau by maximum likelihood, alternating with EM steps; 0 if no tau is better. Requires a fit
 * at tau = 0, which is unusable afterwards. */
kn_status kn_kronsum_fit_tau(kn_ctx *ctx, kn_kronsum_fit *f, double *tau);

/* Mean log density of the maps Ys (h x T, less the mean of training) of new participants Xs (h x
 * F). */
kn_status kn_kronsum_fit_density(kn_ctx *ctx, const kn_kronsum_fit *f, kn_mat Xs, kn_mat Ys,
                                 double *density);

/* Returns -1/2 [T ln 2pi + ln|S| + sum ln(v + d) + sum a^2/(v + d)], a = e W; a and v have T
 * elements, `stride` apart. */
double kn_kronsum_log_density(ptrdiff_t T, const double *a, const double *v, ptrdiff_t stride,
                              double d, double log_det);

/* Memory plan of a fit to s->N participants; learning is temporary. */
void kn_kronsum_fit_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
