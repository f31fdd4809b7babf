/* A covariance as a weighted sum of kernels                                    [METHOD 1a]
 *
 *     R = sum_k exp(2 a_k) K_k(columns_k; shape_k)
 *
 * A term has a kernel, columns of X, a place in theta and the scale that makes the diagonal of its
 * matrix average 1. theta holds for each term in turn a_k, the logarithm of its standard
 * deviation, and the logarithms of its shape parameters. Terms that are zero between different
 * rows (iso) come last, so that the parameters of R0 come first. */
#ifndef KN_COV_KERNEL_SUM_H
#define KN_COV_KERNEL_SUM_H

#include "cov/pairs.h"

enum {
    KN_COV_TERMS = KN_MAX_STATS,
    KN_COV_SHAPES = 8, /* shape parameters of all terms together */
    KN_COV_THETA = KN_COV_TERMS + KN_COV_SHAPES
};

typedef struct kn_term {
    const kn_kernel *kernel;
    ptrdiff_t first,
        count;    /* columns of X; KN_ALL_COLUMNS for C, whose features are participants */
    double scale; /* K/scale has a diagonal that averages 1: number of columns for linear and
                     square, else 1 */
    int stat;     /* index of its statistic in kn_pairs; -1: none */
    int at;       /* index of its first parameter in theta; the shapes follow */
    int shape;    /* index of its first shape parameter among those of all terms */
} kn_term;

typedef struct kn_cov {
    int n, n_between; /* all terms; those that relate different rows, which come first */
    kn_term term[KN_COV_TERMS];
    int n_theta, n_shapes;
    kn_stats stats;
    bool exact; /* low rank uses the columns of proportional terms as features [features.h] */
    double
        lowest; /* lower bound of lengths, as a multiple of the median distance; 0: default 0.1 */
} kn_cov;

/* Parses a sum such as "linear+se+iso" over the first F columns (or KN_ALL_COLUMNS). Terms are in
 * the order of KN_KERNELS; repeated names count once. KN_ERR_ARGUMENT for a name that is no
 * kernel. */
kn_status kn_cov_parse(kn_ctx *ctx, const char *text, ptrdiff_t F, kn_cov *out);
/* Adds a term, a kernel over `count` columns from `first` on, to the covariance. KN_ERR_ARGUMENT
 * if it is there already, or if there are too many terms or shapes. */
kn_status kn_cov_add(kn_ctx *ctx, kn_cov *cov, const kn_kernel *kernel, ptrdiff_t first,
                     ptrdiff_t count);
/* Writes the sum as text, "linear+se+iso", to out and returns it. */
const char *kn_cov_text(const kn_cov *cov, char *out, size_t size);

/* Recomputes all derived fields (scale, stat, at, shape, counts) after a change of the terms. */
void kn_cov_lay_out(kn_cov *cov);

/* Returns the covariance exp(2a) I: one iso term. */
kn_cov kn_cov_identity(void);
/* Returns R0 (covariance between participants), the terms that relate different rows; the others
 * only add to the diagonal. */
kn_cov kn_cov_between(const kn_cov *cov);

/* Writes the name of parameter i of theta: "R.lin", "R.se_amp", ... for prefix 'R'; "R.lin2", ...
 * for further terms with the same kernel. */
void kn_cov_param_name(const kn_cov *cov, char prefix, int i, char *name, size_t size);

/* Computes the covariance K (n x m) at parameters theta from pair statistics: all terms, lower
 * triangle, if pairs are symmetric; else only terms that relate different rows. */
void kn_cov_fill(const kn_cov *cov, const double *theta, const kn_pairs *pairs, kn_mat K);
/* Computes the diagonal k_i = sum of the terms at (x_i, x_i) for X (n x F); work has n entries. */
void kn_cov_self(const kn_cov *cov, const double *theta, kn_mat X, double *work, double *k);
/* Computes g (n_theta) = sum G .* dK/dtheta: the derivatives of a function of K by the
 * parameters, from its derivatives G (n x m) by the entries of K. */
void kn_cov_gradient(const kn_cov *cov, const double *theta, const kn_pairs *pairs, kn_mat G,
                     double *g);

#endif
