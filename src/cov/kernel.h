/* Interface of one covariance function. A new kernel is one file in kernels/ and one entry of
 * KN_KERNELS below.
 *
 * Parameters are logarithms: the first one of a standard deviation, the others of shape parameters
 * such as a length [METHOD 1a]. A first parameter of -infinity switches the term off. Of symmetric
 * matrices only the lower triangle is used. */
#ifndef KN_COV_KERNEL_H
#define KN_COV_KERNEL_H

#include "base/matrix.h"

/* The statistic of two rows x and y that a kernel is a function of, over the columns of its term.
 */
typedef enum kn_stat_kind {
    KN_STAT_NONE,
    KN_STAT_DOT, /* x . y */
    KN_STAT_D2,  /* |x - y|^2 */
} kn_stat_kind;

/* Bounds of a shape parameter during the search. */
typedef enum kn_range_kind {
    KN_RANGE_DISTANCE, /* [max(0.1 median, 0.5 nearest), 20 median] of the distances between rows
                          over the term's columns, started at the median [METHOD 3b, 9.12] */
    KN_RANGE_FIXED,    /* [low, high], started at their geometric mean */
} kn_range_kind;

/* The kind of effect that a kernel models. The share rho moves variance between straight and
 * curved terms [simplex_weights.h]. */
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

/* One kernel. In the functions, theta holds the kernel's own 1 + n_shape parameters, and stat (n x
 * m) the statistic that the kernel needs. With `symmetric` both sides are the same rows, and only
 * lower triangles are used. */
typedef struct kn_kernel {
    const char *name;      /* as in --sample-kernel */
    const char *amplitude; /* name of the first parameter */
    int n_shape;
    kn_shape shape[KN_KERNEL_SHAPES];
    kn_stat_kind stat;
    bool per_column; /* k(x, x) averages the number of columns if they are standardised; else 1 */
    bool same_sample_only; /* zero between different rows, so absent from R*; no statistic */
    bool proportional;     /* the kernel is exactly exp(2a) times its statistic */
    bool by_design; /* its columns exist only in an additive design; the user cannot name it */
    kn_effect_kind course;
    double start_proportion; /* share of C's variance at the start; 0: that of the signal */
    /* Adds the kernel to K. Not called between different rows if same_sample_only. */
    void (*add)(const double *theta, kn_mat stat, bool symmetric, kn_mat K);
    /* Sets g_k = sum G .* dK/dtheta_k; of symmetric matrices the sum is over both triangles. */
    void (*gradient)(const double *theta, kn_mat stat, bool symmetric, kn_mat G, double *g);
} kn_kernel;

/* All kernels, in the order of theta: kn_kernel_NAME is defined in kernels/. */
#define KN_KERNELS(ROW) ROW(linear) ROW(se) ROW(iso) ROW(square) ROW(same) ROW(slopes)

#define KN_KERNEL_DECLARED(name) extern const kn_kernel kn_kernel_##name;
KN_KERNELS(KN_KERNEL_DECLARED)

/* Returns kernel i in the order of theta; NULL: i is behind the last. */
const kn_kernel *kn_kernel_at(int i);
/* Returns the kernel with this name (`length` bytes, no NUL needed); NULL: there is none. */
const kn_kernel *kn_kernel_named(const char *name, size_t length);

/* Implements kn_kernel.add for kernels proportional to their statistic: K += exp(2 theta[0])
 * stat (n x m; symmetric: lower triangle). */
void kn_proportional_add(const double *theta, kn_mat stat, bool symmetric, kn_mat K);
/* Implements kn_kernel.gradient for kernels proportional to their statistic: g[0] = sum G .*
 * dK/dtheta = 2 exp(2 theta[0]) sum G .* stat (symmetric: both triangles count, the lower one is
 * read). */
void kn_proportional_gradient(const double *theta, kn_mat stat, bool symmetric, kn_mat G,
                              double *g);

/* Writes the names of the kernels that a user can choose, such as "linear, se and iso", to out and
 * returns it. With `between`, kernels with same_sample_only are left out. `last` joins the last
 * two names, `other` the others. */
const char *kn_kernel_list(bool between, const char *other, const char *last, char *out,
                           size_t size);

#endif
