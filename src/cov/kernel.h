/* Kernels: one row each. A new kernel is one file and one row of the table in kernel.c.
 * Its parameters are logarithms: the first of a standard deviation, the others of its shape, such
 * as a length [METHOD 1a]. -infinity as the first switches the term off. Symmetric matrices are
 * lower triangles. */
#ifndef KN_COV_KERNEL_H
#define KN_COV_KERNEL_H

#include "base/matrix.h"

/* What a kernel sees of two samples, over the columns of its term. */
typedef enum kn_stat_kind {
    KN_STAT_NONE,
    KN_STAT_DOT, /* x . y */
    KN_STAT_D2,  /* |x - y|^2 */
} kn_stat_kind;

/* Where a search may take a shape parameter. */
typedef enum kn_range_kind {
    KN_RANGE_DISTANCE, /* [max(0.1 median, 0.5 nearest), 20 median] of the distances between rows
                        * over its term's columns, from the median      [METHOD 3b, 9.12] */
    KN_RANGE_FIXED,    /* [low, high], from their geometric mean */
} kn_range_kind;

/* How a kernel follows covariates: what a share of curvature moves between [weights.h]. */
typedef enum kn_effect_kind {
    KN_STRAIGHT,
    KN_CURVED,
    KN_OF_LEVELS, /* effects of categories */
} kn_effect_kind;

typedef struct kn_shape {
    const char *name; /* of its logarithm, in theta */
    kn_range_kind range;
    double low, high; /* KN_RANGE_FIXED */
} kn_shape;

enum { KN_KERNEL_SHAPES = 2 };

/* theta: the kernel's own 1 + n_shape parameters. stat: n x m, what the kernel asked for; of
 * `symmetric` pairs, both sides of which are the same samples, the lower triangle. */
typedef struct kn_kernel {
    const char *name;      /* as the user writes it */
    const char *amplitude; /* name of its first parameter */
    int n_shape;
    kn_shape shape[KN_KERNEL_SHAPES];
    kn_stat_kind stat;
    bool per_column; /* k(x, x) averages its columns' number, over standardised ones; else 1 */
    bool same_sample_only; /* zero between different samples, hence in R*; needs no statistic */
    bool proportional;     /* exp(2a) times its statistic, neither more nor less */
    bool by_design;        /* its columns are made by the design of covariates, not by its name */
    kn_effect_kind course;
    double start_share; /* of the variance of C, where a search of it begins; 0: the signal's */
    /* K += k(theta). Not called between different samples when same_sample_only. */
    void (*add)(const double *theta, kn_mat stat, bool symmetric, kn_mat K);
    /* g_k = sum G .* dK/dtheta_k, the sum over the whole of symmetric matrices */
    void (*gradient)(const double *theta, kn_mat stat, bool symmetric, kn_mat G, double *g);
} kn_kernel;

/* Every kernel, in the order of theta: kn_kernel_NAME in kernel_NAME.c. The first three are bits 1,
 * 2 and 4 of models of format 1. */
#define KN_KERNELS(ROW) ROW(linear) ROW(se) ROW(iso) ROW(square) ROW(same) ROW(slopes)

#define KN_KERNEL_DECLARED(name) extern const kn_kernel kn_kernel_##name;
KN_KERNELS(KN_KERNEL_DECLARED)

/* The table, in the order of theta; NULL behind its end, and for a name that it does not know. */
const kn_kernel *kn_kernel_at(int i);
const kn_kernel *kn_kernel_named(const char *name, size_t length);

/* add and gradient of a kernel that is proportional. */
void kn_proportional_add(const double *theta, kn_mat stat, bool symmetric, kn_mat K);
void kn_proportional_gradient(const double *theta, kn_mat stat, bool symmetric, kn_mat G,
                              double *g);

/* "linear, se and iso", those that a user names; without those that leave different samples alone
 * where `between`; the last two are joined by `last`, the others by `other`. */
const char *kn_kernel_list(bool between, const char *other, const char *last, char *out,
                           size_t size);

#endif
