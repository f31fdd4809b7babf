/* Interface of the three forms of the posterior of convolved processes: collapsed variational bound
 * with inducing functions, PITC, dense [METHOD 1i]. */
#ifndef KN_GP_METHODS_CONVOLVED_POSTERIOR_H
#define KN_GP_METHODS_CONVOLVED_POSTERIOR_H

#include "base/memory/plan.h"
#include "gp/methods/convolved/kernel.h"

typedef struct kn_conv_posterior {
    kn_mat a;     /* m x 1  weights of the inducing values; none if dense */
    kn_mat E;     /* m x m  for the variance: see the form */
    kn_mat alpha; /* N x T  weights of the observations; none if variational */
} kn_conv_posterior;

/* Frees all arrays. */
void kn_conv_posterior_clear(kn_conv_posterior *p);

typedef struct kn_conv_query { /* n new points: distances in, prediction out */
    kn_mat fu;                 /* n x M  to the inducing inputs */
    kn_mat ff;                 /* n x N  to the participants; none if the form does not need it */
    kn_mat mean, var;          /* n x T  of f_t, without noise */
} kn_conv_query;

typedef struct kn_conv_form {
    bool pairs; /* needs distances between participants */
    /* Evaluates the log-likelihood or its bound. If not NULL, adds its gradient by S, ln tau, ln nu
     * and ln s2 to *g (allocated, zeroed), and sets the posterior *p (owned by the caller). */
    kn_status (*value)(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, double *value,
                       kn_conv *g, kn_conv_posterior *p);
    /* Predicts the points of *who; d->Y is not used. */
    kn_status (*predict)(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                         const kn_conv_posterior *p, const kn_conv_query *who);
    /* Computes residual (N x T) of each participant when all its T values are held out at fixed
     * parameters, and the variance (N x T) of its f_t. */
    kn_status (*leave)(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                       const kn_conv_posterior *p, kn_mat residual, kn_mat var);
    /* Memory plans for N participants, n new ones, T tasks and m inducing values; temporary. */
    void (*need_value)(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m);
    void (*need_predict)(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m, ptrdiff_t n);
    void (*need_leave)(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m);
} kn_conv_form;

/* inverse (n x n) = A^-1 from the Cholesky factor L, A = LL'. */
void kn_conv_inverse(kn_ctx *ctx, kn_mat L, kn_mat inverse);
/* ln|A| = sum_i 2 ln L_ii */
double kn_conv_log_det(kn_mat L);
/* v_i += scale sum_j A_ij B_ij */
void kn_conv_row_dots(kn_mat A, kn_mat B, double scale, double *v);

#endif
