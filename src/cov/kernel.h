/* Kernels and their sums. A new kernel is one file and one row of the table in kernel.c.
 * Parameters are logarithms of standard deviations and lengths [METHOD 1a]; -infinity switches a
 * term off. Symmetric matrices are lower triangles. */
#ifndef KN_COV_KERNEL_H
#define KN_COV_KERNEL_H

#include "cov/pairs.h"

typedef struct kn_kernel {
    const char *name; /* as on the command line */
    unsigned bit;     /* KN_LINEAR, ... */
    int n_params;
    const char *param[2];
    /* K += k(theta). Not called for cross blocks when `same_sample_only`. */
    void (*add)(const double *theta, const kn_pairs *pairs, kn_mat K);
    /* k_i += k(x_i, x_i), given |x_i|^2 */
    void (*add_self)(const double *theta, const double *sq, ptrdiff_t n, double *k);
    /* g_k = sum G .* dK/dtheta_k; of symmetric pairs over the whole matrix, from lower triangles */
    void (*gradient)(const double *theta, const kn_pairs *pairs, kn_mat G, double *g);
    bool same_sample_only; /* zero between different samples, hence in R* */
} kn_kernel;

extern const kn_kernel kn_kernel_linear, kn_kernel_se, kn_kernel_iso;

enum { KN_N_KERNELS = 3, KN_KERNEL_MAX_PARAMS = 4 };
const kn_kernel *kn_kernel_row(int i); /* in the order of theta: linear, se, iso */

int kn_kernel_n_params(unsigned kernels);
/* "R.lin", "R.se_amp", ... for prefix 'R'; the order of theta */
void kn_kernel_param_name(unsigned kernels, char prefix, int i, char *name, size_t size);

/* K = sum of the kernels; lower triangle when pairs are symmetric. */
void kn_kernel_fill(unsigned kernels, const double *theta, const kn_pairs *pairs, kn_mat K);
/* k_i = sum of the kernels at (x_i, x_i), X n x F */
void kn_kernel_self(unsigned kernels, const double *theta, kn_mat X, double *sq, double *k);
void kn_kernel_gradient(unsigned kernels, const double *theta, const kn_pairs *pairs, kn_mat G,
                        double *g);

#endif
