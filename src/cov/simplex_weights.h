/* Coordinates of R0 for the nested search: weights on the simplex, and shape parameters
 *
 *     R0 = sum_k w_k K_k/scale_k,   w = softmax(0, eta_2 .. eta_K)                [METHOD 1b, 3b]
 *     x  = (eta_2 .. eta_K, ln shapes)
 *
 * The diagonal of every K_k/scale_k averages 1, so the weights are shares of the variance. With
 * two terms of which the second has one length-scale this is
 *     R0 = (1-rho) XX'/F + rho SE(length),   eta_2 = logit rho                       [METHOD 1b]
 * All covariances here are those of R0: every term relates different participants. */
#ifndef KN_COV_SIMPLEX_WEIGHTS_H
#define KN_COV_SIMPLEX_WEIGHTS_H

#include "cov/kernel_sum.h"

typedef struct kn_cov_point {
    double w[KN_COV_TERMS];      /* sum to 1; vertices of the simplex are allowed */
    double shape[KN_COV_SHAPES]; /* the parameters themselves, not their logarithms */
} kn_cov_point;

enum { KN_COV_OUTER = KN_COV_THETA - 1 };
/* Returns the number of coordinates x: n - 1 + n_shapes. */
int kn_cov_n_outer(const kn_cov *cov);

/* Bounds of x: |eta| <= 7; shapes as their kernels say. The vertices of the simplex lie outside. */
typedef struct kn_box {
    double lower[KN_COV_OUTER], upper[KN_COV_OUTER];
    kn_cov_point middle; /* start: equal weights, shapes at the middle of their ranges */
} kn_box;
/* Computes the bounds *out of the coordinates of a search over R0, and its middle: equal
 * weights, lengths at the median distance. Distances are taken from `pairs` if it holds them,
 * else from the rows of X. KN_ERR_DATA if the covariates do not differ between participants. */
kn_status kn_box_new(kn_ctx *ctx, const kn_cov *cov, const kn_pairs *pairs, kn_mat X, kn_box *out);

/* Returns weights and shapes of R0 (covariance between participants) at the coordinates x
 * (n_outer): eta, logarithms of ratios of weights, then ln shapes. */
kn_cov_point kn_cov_point_at(const kn_cov *cov, const double *x);
/* Computes the coordinates x (n_outer) of weights and shapes of R0 (covariance between
 * participants), the inverse of kn_cov_point_at: logarithms of ratios of weights, then ln
 * shapes. Weights below 1e-12, as at a vertex, become 1e-12. */
void kn_cov_coordinates(const kn_cov *cov, const kn_cov_point *point, double *x);

/* Computes theta at a point: a_k = 1/2 ln(w_k/scale_k), and the logarithms of the shapes. */
void kn_cov_theta(const kn_cov *cov, const kn_cov_point *point, double *theta);
/* Computes the point (weights, shapes) of parameters theta, the inverse of kn_cov_theta:
 * R0(theta) = *total times R0 (covariance between participants) at the point. */
void kn_cov_point_of(const kn_cov *cov, const double *theta, kn_cov_point *point, double *total);

/* Computes the gradient g (n_outer) with respect to x from g_theta (n_theta) by the chain rule:
 * with s_k = <G, K_k/scale_k> and g_theta at a_k = 2 w_k s_k,
 *     dLML/deta_k = w_k (s_k - sum_m w_m s_m) = 1/2 sum_m (w_m g_k - w_k g_m) */
void kn_cov_outer_gradient(const kn_cov *cov, const kn_cov_point *point, const double *g_theta,
                           double *g);

/* A family of R0 with two parameters, rho and length, for any terms; a reference point gives all
 * other proportions:
 *     terms of levels keep its weights; W = 1 - their sum remains
 *     straight terms share W (1 - rho), curved ones W rho, each in the point's proportions
 *     the single shape parameter is the length
 * rho is 0 or 1 if only one kind exists, length 1 without a shape. */
typedef struct kn_cov_family {
    const kn_cov *cov;
    double part[KN_COV_TERMS]; /* share of a term in its kind; of levels: its weight */
    double left;               /* W */
    bool has_rho, has_length;
} kn_cov_family;
/* Returns whether R0 (covariance between participants) is a family in (rho, length): it has at
 * most one shape parameter. */
bool kn_family_exists(const kn_cov *cov);
/* Returns whether the family of R0 (covariance between participants) in (rho, length) depends on
 * a reference point, which fixes the ratios of weights within each kind of term. */
bool kn_family_takes(const kn_cov *cov);
/* Returns the family of R0 (covariance between participants) in (rho, length) around a point;
 * borrows cov. */
kn_cov_family kn_family_of(const kn_cov *cov, const kn_cov_point *point);
/* Returns the point (weights, shapes) of the family at (rho, length). */
kn_cov_point kn_family_at(const kn_cov_family *f, double rho, double length);
/* Computes (rho, length) of a point of the family. */
void kn_family_rho_length(const kn_cov_family *f, const kn_cov_point *point, double *rho,
                          double *length);
/* Sets the bounds of (logit rho, ln length) from the box. */
void kn_family_box(const kn_cov_family *f, const kn_box *box, double lower[2], double upper[2]);

/* Returns whether (rho, length) describes R0 (covariance between participants) completely: one
 * term, or two of which the second has a single shape. rho is the weight of the second term; 0
 * or 1 if there is only one. length is 1 without a shape. */
bool kn_cov_is_rho_length(const kn_cov *cov);
/* Returns the point at (rho, length) of a covariance that kn_cov_is_rho_length. */
kn_cov_point kn_cov_at_rho(const kn_cov *cov, double rho, double length);
/* Computes (rho, length) of a point of a covariance that kn_cov_is_rho_length. */
void kn_cov_rho_length(const kn_cov *cov, const kn_cov_point *point, double *rho, double *length);

#endif
