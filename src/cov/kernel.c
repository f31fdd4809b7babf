#include "cov/kernel.h"

#include <stdio.h>

const kn_kernel *kn_kernel_row(int i)
{
    static const kn_kernel *const rows[KN_N_KERNELS] = {&kn_kernel_linear, &kn_kernel_se,
                                                        &kn_kernel_iso};
    return rows[i];
}

int kn_kernel_n_params(unsigned kernels)
{
    int n = 0;
    for (int i = 0; i < KN_N_KERNELS; i++)
        if (kernels & kn_kernel_row(i)->bit)
            n += kn_kernel_row(i)->n_params;
    return n;
}

void kn_kernel_param_name(unsigned kernels, char prefix, int i, char *name, size_t size)
{
    for (int k = 0; k < KN_N_KERNELS; k++) {
        const kn_kernel *row = kn_kernel_row(k);
        if (!(kernels & row->bit))
            continue;
        if (i < row->n_params) {
            snprintf(name, size, "%c.%s", prefix, row->param[i]);
            return;
        }
        i -= row->n_params;
    }
}

void kn_kernel_fill(unsigned kernels, const double *theta, const kn_pairs *pairs, kn_mat K)
{
    kn_mat_zero(K);
    for (int i = 0; i < KN_N_KERNELS; i++) {
        const kn_kernel *row = kn_kernel_row(i);
        if (!(kernels & row->bit))
            continue;
        if (pairs->symmetric || !row->same_sample_only)
            row->add(theta, pairs, K);
        theta += row->n_params;
    }
}

void kn_kernel_self(unsigned kernels, const double *theta, kn_mat X, double *sq, double *k)
{
    for (ptrdiff_t i = 0; i < X.rows; i++)
        sq[i] = k[i] = 0;
    for (ptrdiff_t f = 0; f < X.cols; f++)
        for (ptrdiff_t i = 0; i < X.rows; i++)
            sq[i] += kn_at(X, i, f) * kn_at(X, i, f);
    for (int i = 0; i < KN_N_KERNELS; i++) {
        const kn_kernel *row = kn_kernel_row(i);
        if (kernels & row->bit) {
            row->add_self(theta, sq, X.rows, k);
            theta += row->n_params;
        }
    }
}

void kn_kernel_gradient(unsigned kernels, const double *theta, const kn_pairs *pairs, kn_mat G,
                        double *g)
{
    for (int i = 0; i < KN_N_KERNELS; i++) {
        const kn_kernel *row = kn_kernel_row(i);
        if (!(kernels & row->bit))
            continue;
        row->gradient(theta, pairs, G, g);
        theta += row->n_params;
        g += row->n_params;
    }
}
