/* Parameters of convolved processes by the gradient of their likelihood, or its bound [METHOD 1i]
 */
#ifndef KN_GP_METHODS_CONVOLVED_LEARN_H
#define KN_GP_METHODS_CONVOLVED_LEARN_H

#include "base/options/options.h"
#include "gp/methods/convolved/posterior.h"
#include "gp/optimise/optimise.h"

typedef struct kn_conv_plan { /* what is asked for: the same for folds */
    kn_inducing how;
    kn_widths widths;
    ptrdiff_t Q, M;      /* M: at most, fewer where samples have fewer different places */
    int evals, restarts; /* at most in each search, 0: at the start only; further starts */
} kn_conv_plan;

const kn_conv_form *kn_conv_form_of(kn_inducing how);

/* Where the inducing inputs are: quantiles of one coordinate, pivots of an SE covariance of
 * several. *Z is M x F with as many rows as there are. */
kn_status kn_conv_places(kn_ctx *ctx, kn_mat X, ptrdiff_t M, kn_mat *Z);

/* Distances of samples X, inducing inputs Z and new points from one another. */
kn_status kn_conv_data_new(kn_ctx *ctx, const kn_conv_form *form, kn_mat X, kn_mat Z,
                           kn_conv_data *out); /* its Y is the caller's */
void kn_conv_data_clear(kn_conv_data *d);

typedef struct kn_conv_search {
    double deadline;   /* kn_clock time; 0: none */
    const char *stage; /* progress is told under this name; NULL: none */
    /* out */
    double value, projected;
    int evals;
    kn_stop stop;
} kn_conv_search;

/* X the samples, d what belongs to them; c is made, and stands at the best point met. */
kn_status kn_conv_learn(kn_ctx *ctx, const kn_conv_plan *plan, kn_mat X, const kn_conv_data *d,
                        kn_conv_search *search, kn_conv *c);

void kn_conv_places_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t F, ptrdiff_t M); /* passes */
void kn_conv_data_need(kn_mem_plan *r, bool pairs, ptrdiff_t N, ptrdiff_t M);    /* leaves it */
/* Leaves c; T tasks of N samples. */
void kn_conv_learn_need(kn_mem_plan *r, const kn_conv_plan *plan, ptrdiff_t N, ptrdiff_t T);

#endif
