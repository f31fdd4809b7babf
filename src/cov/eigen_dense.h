/* Decomposition of the sample covariance R0, the one cubic step of every evaluation.
 * R0 holds the terms that relate different samples; iso only shifts eigenvalues, and is added by
 * callers. With noise that groups share [groups.h] what is decomposed is H^-1/2 R0 H^-1/2:
 *
 *     H^-1/2 R0 H^-1/2 = W diag(r) W'      U = H^-1/2 W        U'H U = I, W = U without groups
 *
 * and everything else is as without them: A = U'Z, R0* U, (c R0 + d H)^-1 = U diag(1/(c r + d)) U'
 */
#ifndef KN_COV_EIGEN_DENSE_H
#define KN_COV_EIGEN_DENSE_H

#include "base/memory/plan.h"
#include "cov/groups.h"
#include "cov/terms.h"

typedef struct kn_decomp {
    ptrdiff_t N, m; /* U is N x m; the N - m directions left have eigenvalue 0 */
    kn_mat U;       /* none for low rank */
    double *r;      /* ascending, none negative */
    kn_cov cov;     /* of R0 */
    double theta[KN_COV_THETA];
    double gamma; /* H = I + gamma G */
    /* low rank [lowrank.h]: R0* U = F_* map, F_* the features of any samples */
    kn_mat map;         /* features x m; none: dense */
    ptrdiff_t n_pivots; /* features come from so many of the samples, */
    ptrdiff_t *pivot;   /* these rows of them, besides exact columns */
    kn_mat base;        /* n_pivots x F  their covariates */
    kn_mat turn;        /* features x m  U = H^-1 F turn, F weighted: while fitting */
    bool steady;        /* dense: the same bits for any number of threads, at one thread's speed */
    double residual;    /* trace of what is left out, over that of what pivots stand for */
} kn_decomp;

static inline bool kn_decomp_is_low(const kn_decomp *d)
{
    return d->map.data != NULL;
}

kn_status kn_decomp_new(kn_ctx *ctx, ptrdiff_t N, const kn_cov *cov, kn_decomp *out);
void kn_decomp_clear(kn_decomp *d);

/* theta of R0's terms; groups NULL: none, gamma is 0. N^3 flops times about ten. */
kn_status kn_decomp_compute(kn_ctx *ctx, kn_decomp *d, const kn_pairs *pairs,
                            const kn_groups *groups, const double *theta);

/* H += G = 1/2 U (M M' - diag(w)) U' [METHOD 3]; M m x P, w m. V (N x at least P) is work space; of
 * some hundred columns it keeps the second product fast. `first`: H holds nothing yet.
 * 3 N^2 P + N^3 flops. */
void kn_decomp_contract(kn_ctx *ctx, const kn_decomp *d, kn_mat M, const double *w, kn_mat V,
                        bool first, kn_mat H);

void kn_decomp_need(kn_mem_plan *r, ptrdiff_t N); /* dense; the eigenproblem passes */

#endif
