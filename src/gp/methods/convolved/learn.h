/* Search for the parameters of convolved processes, by the gradient of the likelihood or of its
 * bound [METHOD 1i]. */
#ifndef KN_GP_METHODS_CONVOLVED_LEARN_H
#define KN_GP_METHODS_CONVOLVED_LEARN_H

#include "base/options/options.h"
#include "gp/methods/convolved/posterior.h"
#include "gp/optimise/optimise.h"

typedef struct kn_conv_plan { /* options of a fit, the same for folds */
    kn_inducing how;
    kn_widths widths;
    ptrdiff_t Q, M;      /* M: at most; fewer if participants have fewer distinct values */
    int evals, restarts; /* most evaluations of each search, 0: only at the start; further starts */
} kn_conv_plan;

/* Returns the implementation: variational bound, PITC or dense. */
const kn_conv_form *kn_conv_form_of(kn_inducing how);

/* Chooses the inducing inputs: quantiles of one covariate, pivots of an SE covariance of several.
 * *Z (at most M x F) is owned by the caller. */
kn_status kn_conv_places(kn_ctx *ctx, kn_mat X, ptrdiff_t M, kn_mat *Z);

/* Computes the distances of participants X (N x F) and inducing inputs Z (M x F) that `form` needs.
 */
kn_status kn_conv_data_new(kn_ctx *ctx, const kn_conv_form *form, kn_mat X, kn_mat Z,
                           kn_conv_data *out); /* out->Y is borrowed: the caller sets it */
void kn_conv_data_clear(kn_conv_data *d);

typedef struct kn_conv_search {
    double deadline;   /* kn_clock time; 0: none */
    const char *stage; /* name for progress reports; NULL: none */
    /* Results: */
    double value, projected; /* log-likelihood or bound; largest entry of the projected gradient */
    int evals;
    kn_stop stop;
} kn_conv_search;

/* Maximises over all starts. X N x F, *d the data of the same participants. *c is allocated and set
 * to the best point. */
kn_status kn_conv_learn(kn_ctx *ctx, const kn_conv_plan *plan, kn_mat X, const kn_conv_data *d,
                        kn_conv_search *search, kn_conv *c);

void kn_conv_places_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t F, ptrdiff_t M); /* temporary */
void kn_conv_data_need(kn_mem_plan *r, bool pairs, ptrdiff_t N, ptrdiff_t M);    /* keeps *out */
/* Memory plan for N participants and T tasks; keeps *c. */
void kn_conv_learn_need(kn_mem_plan *r, const kn_conv_plan *plan, ptrdiff_t N, ptrdiff_t T);

#endif
