/* R0 as products of features, for low rank                                          [METHOD 6a]
 *
 *     features of a sample: the columns of the terms that are proportional to products of columns,
 *     and its covariance with some pivots under the rest of the terms
 *
 * Columns are taken as they are where the covariance says so (cov->exact): only what has no finite
 * features, such as se, is approximated. Else every term is in the rest. */
#ifndef KN_COV_FEATURES_H
#define KN_COV_FEATURES_H

#include "base/memory/plan.h"
#include "cov/terms.h"

typedef struct kn_features {
    kn_cov cov;        /* of R0 */
    ptrdiff_t columns; /* of all exact terms together */
    bool exact[KN_COV_TERMS];
    kn_cov rest;          /* the other terms ... */
    int at[KN_COV_THETA]; /* ... and where in cov's theta each of their parameters is */
} kn_features;

kn_features kn_features_of(const kn_cov *cov);
void kn_features_rest(const kn_features *f, const double *theta, double *rest);

/* The exact columns of X, n x f->columns, as they are; and sqrt(exp(2a)) of each column's term. */
void kn_features_columns(const kn_features *f, kn_mat X, kn_mat out);
void kn_features_roots(const kn_features *f, const double *theta, double *root);

/* K (rows x pivots) = the rest's covariance between rows of X and of base, tile by tile. */
void kn_features_fill(kn_ctx *ctx, const kn_cov *rest, const double *theta, kn_mat X, kn_mat base,
                      kn_mat K);
/* g (rest->n_theta) += twice <G, dK>, G as K; X begins with the row that G begins with */
kn_status kn_features_gradient(kn_ctx *ctx, const kn_cov *rest, const double *theta, kn_mat X,
                               kn_mat base, kn_mat G, double *g);

#endif
