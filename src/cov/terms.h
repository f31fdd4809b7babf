/* A covariance between samples as a sum of terms                               [METHOD 1a]
 *
 *     R = sum_k exp(2 a_k) K_k(columns_k; shape_k)
 *
 * A term has its kernel, its columns of X, its place in theta and the scale by which its matrix's
 * diagonal averages 1. theta holds for each term in turn a_k, ln of its standard deviation, and
 * the logarithms of its shape parameters. Terms that relate a sample with itself alone (iso) stand
 * last, so that theta of the others, R0's, comes first. */
#ifndef KN_COV_TERMS_H
#define KN_COV_TERMS_H

#include "cov/pairs.h"

enum {
    KN_COV_TERMS = KN_MAX_STATS,
    KN_COV_SHAPES = 8, /* of all terms together */
    KN_COV_THETA = KN_COV_TERMS + KN_COV_SHAPES
};

typedef struct kn_term {
    const kn_kernel *kernel;
    ptrdiff_t first, count; /* columns of X; KN_ALL_COLUMNS of tasks, whose features are samples */
    double scale;           /* K/scale has a diagonal that averages 1: F for linear, else 1 */
    int stat;               /* which of the pairs' statistics; -1: none */
    int at;                 /* its first parameter in theta; the shapes follow */
    int shape;              /* its first shape parameter among those of all terms */
} kn_term;

typedef struct kn_cov {
    int n, n_between; /* terms; those that relate different samples */
    kn_term term[KN_COV_TERMS];
    int n_theta, n_shapes;
    kn_stats stats;
    bool exact;   /* low rank takes the columns of proportional terms as they are [features.h] */
    double least; /* of the median distance: lengths are at least that */
} kn_cov;

/* "linear+se+iso" over the first F columns, or KN_ALL_COLUMNS: terms in the order of the table of
 * kernels; a word said twice counts once. */
kn_status kn_cov_parse(kn_ctx *ctx, const char *text, ptrdiff_t F, kn_cov *out);
/* One term more. Refused where it is there already, or where there are too many. */
kn_status kn_cov_add(kn_ctx *ctx, kn_cov *cov, const kn_kernel *kernel, ptrdiff_t first,
                     ptrdiff_t count);
const char *kn_cov_text(const kn_cov *cov, char *out, size_t size); /* "linear+se+iso" */

/* Everything that follows from kernels and columns, once the terms are changed. */
void kn_cov_lay_out(kn_cov *cov);

/* exp(2a) I */
kn_cov kn_cov_identity(void);
/* R0: the terms that relate different samples; what is left adds to the diagonal. */
kn_cov kn_cov_between(const kn_cov *cov);

/* "R.lin", "R.se_amp", ... for prefix 'R', in the order of theta; of further terms with the same
 * kernel "R.lin2", ... */
void kn_cov_param_name(const kn_cov *cov, char prefix, int i, char *name, size_t size);

/* K = sum of the terms; lower triangle when pairs are symmetric. */
void kn_cov_fill(const kn_cov *cov, const double *theta, const kn_pairs *pairs, kn_mat K);
/* k_i = sum of the terms at (x_i, x_i), X n x F; work n */
void kn_cov_self(const kn_cov *cov, const double *theta, kn_mat X, double *work, double *k);
/* g (n_theta) = sum G .* dK/dtheta */
void kn_cov_gradient(const kn_cov *cov, const double *theta, const kn_pairs *pairs, kn_mat G,
                     double *g);

#endif
