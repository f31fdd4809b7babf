/* Writes R0 as inner products of finite features, for the low-rank approximation     [METHOD 6a]
 *
 * Features of a participant are the design columns of the exact terms, those proportional to a
 * product of columns, and the covariances with some pivots under the other terms, called the rest.
 * Terms are exact only if cov->exact is set; otherwise every term belongs to the rest. So with
 * cov->exact only kernels without finite features, such as se, are approximated. */
#ifndef KN_COV_FEATURES_H
#define KN_COV_FEATURES_H

#include "base/memory/plan.h"
#include "cov/kernel_sum.h"

typedef struct kn_features {
    kn_cov cov;        /* the terms of R0 */
    ptrdiff_t columns; /* number of columns of all exact terms together */
    bool exact[KN_COV_TERMS];
    kn_cov rest;          /* the other terms, */
    int at[KN_COV_THETA]; /* and the index in cov's theta of each of their parameters */
} kn_features;

/* Returns how a low-rank R0 (covariance between participants) splits into terms whose features
 * are exact (columns of the design) and the rest, which pivots approximate. */
kn_features kn_features_of(const kn_cov *cov);
/* Copies the parameters of the rest from theta to rest (f->rest.n_theta). */
void kn_features_rest(const kn_features *f, const double *theta, double *rest);

/* Copies the exact columns of X (n x F) to out (n x f->columns), without weights. */
void kn_features_columns(const kn_features *f, kn_mat X, kn_mat out);
/* Sets root (f->columns) to the square root of the weight, exp(a), of each exact column's term. */
void kn_features_roots(const kn_features *f, const double *theta, double *root);

/* Computes K (rows of X x pivots), the covariance under the terms `rest` at parameters theta
 * between the rows of X and of base. Threads take tiles of rows. */
void kn_features_fill(kn_ctx *ctx, const kn_cov *rest, const double *theta, kn_mat X, kn_mat base,
                      kn_mat K);
/* Adds 2 <G, dK/dtheta> to g (rest->n_theta). G has the shape of K, and its rows belong to those
 * of X. The sum over tiles has a fixed order, so the result does not depend on the number of
 * threads. */
kn_status kn_features_gradient(kn_ctx *ctx, const kn_cov *rest, const double *theta, kn_mat X,
                               kn_mat base, kn_mat G, double *g);

#endif
