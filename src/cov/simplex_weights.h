/* R0 by weights on the simplex and shape parameters: what a nested search walks  [METHOD 1b, 3b]
 *
 *     R0 = sum_k w_k K_k/scale_k,   w = softmax(0, eta_2 .. eta_K),   x = (eta_2 .. eta_K, ln
 * shapes)
 *
 * Every K_k/scale_k has a diagonal that averages 1, so the weights are shares of the variance.
 * With two terms, of which the second has one length-scale, this is
 *     R0 = (1-rho) XX'/F + rho SE(length),   eta_2 = logit rho                       [METHOD 1b]
 * All covariances here are R0's: every term relates different samples. */
#ifndef KN_COV_SIMPLEX_WEIGHTS_H
#define KN_COV_SIMPLEX_WEIGHTS_H

#include "cov/terms.h"

typedef struct kn_cov_point {
    double w[KN_COV_TERMS];      /* sum 1; a vertex of the simplex is a point like any other */
    double shape[KN_COV_SHAPES]; /* not logarithms */
} kn_cov_point;

enum { KN_COV_OUTER = KN_COV_THETA - 1 };
int kn_cov_n_outer(const kn_cov *cov); /* coordinates x: n - 1 + n_shapes */

/* Where x may go: |eta| <= 7; shapes as their kernels say. Vertices lie outside. */
typedef struct kn_box {
    double lower[KN_COV_OUTER], upper[KN_COV_OUTER];
    kn_cov_point middle; /* equal weights, shapes at the middle of their ranges */
} kn_box;
/* Distances from the pairs where they hold them, else from the rows of X. */
kn_status kn_box_new(kn_ctx *ctx, const kn_cov *cov, const kn_pairs *pairs, kn_mat X, kn_box *out);

kn_cov_point kn_cov_point_at(const kn_cov *cov, const double *x);
/* Weights of a vertex become 1e-12 on the way. */
void kn_cov_coordinates(const kn_cov *cov, const kn_cov_point *point, double *x);

/* a_k = 1/2 ln(w_k/scale_k) */
void kn_cov_theta(const kn_cov *cov, const kn_cov_point *point, double *theta);
/* The other way: R0(theta) = *total times R0 at the point. */
void kn_cov_point_of(const kn_cov *cov, const double *theta, kn_cov_point *point, double *total);

/* g (n_outer) by x from g_theta (n_theta) by theta, by the chain rule: with s_k = <G, K_k/scale_k>
 * and g_theta at a_k = 2 w_k s_k,
 *     dLML/deta_k = w_k (s_k - sum_m w_m s_m) = 1/2 sum_m (w_m g_k - w_k g_m) */
void kn_cov_outer_gradient(const kn_cov *cov, const kn_cov_point *point, const double *g_theta,
                           double *g);

/* R0 by two numbers, whatever its terms are, beside a point that the others are taken from:
 *     terms of levels keep its weights, W = 1 - their sum is left
 *     straight terms share W (1 - rho), curved ones W rho, each in the point's proportions
 *     the one shape is the length
 * rho is 0 or 1 where there is only one kind, length 1 without a shape. */
typedef struct kn_cov_family {
    const kn_cov *cov;
    double part[KN_COV_TERMS]; /* of a term in its kind; of levels: its weight */
    double left;               /* W */
    bool has_rho, has_length;
} kn_cov_family;
bool kn_family_exists(const kn_cov *cov); /* at most one shape */
bool kn_family_takes(const kn_cov *cov);  /* anything from the point */
kn_cov_family kn_family_of(const kn_cov *cov, const kn_cov_point *point);
kn_cov_point kn_family_at(const kn_cov_family *f, double rho, double length);
void kn_family_rho_length(const kn_cov_family *f, const kn_cov_point *point, double *rho,
                          double *length);
/* (logit rho, ln length) in the box */
void kn_family_box(const kn_cov_family *f, const kn_box *box, double lower[2], double upper[2]);

/* At most one term without shape and then at most one with a single one: (rho, length) says all.
 * rho is the weight of the second; 0 or 1 where there is only one. length is 1 without it. */
bool kn_cov_is_rho_length(const kn_cov *cov);
kn_cov_point kn_cov_at_rho(const kn_cov *cov, double rho, double length);
void kn_cov_rho_length(const kn_cov *cov, const kn_cov_point *point, double *rho, double *length);

#endif
