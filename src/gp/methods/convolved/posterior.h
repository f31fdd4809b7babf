/* What every way to the posterior of convolved processes has: with inducing functions and the
 * collapsed variational bound, with PITC, or dense                                  [METHOD 1i] */
#ifndef KN_GP_METHODS_CONVOLVED_POSTERIOR_H
#define KN_GP_METHODS_CONVOLVED_POSTERIOR_H

#include "base/memory/plan.h"
#include "gp/methods/convolved/kernel.h"

typedef struct kn_conv_posterior {
    kn_mat a;     /* m x 1  weights of the inducing values; none: dense */
    kn_mat E;     /* m x m  what they leave of the variance: see the form */
    kn_mat alpha; /* N x T  weights of what was seen; none: variational */
} kn_conv_posterior;

void kn_conv_posterior_clear(kn_conv_posterior *p);

typedef struct kn_conv_query { /* n new points: their distances in, what is said of them out */
    kn_mat fu;                 /* n x M  from the inducing inputs */
    kn_mat ff;                 /* n x N  from the samples; none where the form does not ask */
    kn_mat mean, var;          /* n x T  of f_t, without noise */
} kn_conv_query;

typedef struct kn_conv_form {
    bool pairs; /* needs distances of samples from one another */
    /* ln of the likelihood, or its bound; g, where not NULL: its gradient by S, ln tau, ln nu and
     * ln s2; p, where not NULL: the posterior. */
    kn_status (*value)(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, double *value,
                       kn_conv *g, kn_conv_posterior *p);
    kn_status (*predict)(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                         const kn_conv_posterior *p, const kn_conv_query *who);
    /* residual (N x T) of each sample when all its T values are left out, everything else held, and
     * var of its f_t */
    kn_status (*leave)(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                       const kn_conv_posterior *p, kn_mat residual, kn_mat var);
    /* Pass: N samples, n new ones, T tasks, m inducing values. */
    void (*need_value)(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m);
    void (*need_predict)(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m, ptrdiff_t n);
    void (*need_leave)(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m);
} kn_conv_form;

/* A, n x n, becomes A^-1 by its Cholesky factor L, A = LL'. */
void kn_conv_inverse(kn_ctx *ctx, kn_mat L, kn_mat inverse);
/* sum_i 2 ln L_ii */
double kn_conv_log_det(kn_mat L);
/* v_i = sum_j A_ij B_ij */
void kn_conv_row_dots(kn_mat A, kn_mat B, double scale, double *v);

#endif
