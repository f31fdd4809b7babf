/* Convolved processes as one dense Gaussian over all tasks and samples, entry by entry. */
#ifndef KN_REF_CONVOLVED_H
#define KN_REF_CONVOLVED_H

#include "base/matrix.h"

typedef struct ref_conv {
    kn_mat S, tau;         /* T x Q */
    const double *nu, *s2; /* Q, T */
    kn_mat Z;              /* M x F inducing inputs */
    double jitter;
} ref_conv;

/* What stands for the covariance between two values of f: all of it; what goes by way of the
 * inducing values; or that, and all of it within a task. */
typedef enum ref_conv_kind { REF_EXACT, REF_INDUCED, REF_PITC } ref_conv_kind;

/* cov(f_t(A_i), f_v(B_j)), rows i of A within t, columns j of B within v: nA T x nB T */
kn_mat ref_conv_cov(const ref_conv *c, ref_conv_kind kind, kn_mat A, kn_mat B);
/* ln N(vec Y; 0, cov + noise), and mean and variance (n x T) of f at Xs, its own variance whole.
 * Xs may have no rows. */
double ref_conv_gp(const ref_conv *c, ref_conv_kind kind, kn_mat X, kn_mat Y, kn_mat Xs,
                   kn_mat mean, kn_mat var);

#endif
