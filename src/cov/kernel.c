/* Implements kernel.h: the table of kernels, and the functions of proportional kernels. Everything
 * else asks this table, so that a new kernel is one file and one row. */
#include "cov/kernel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "la/vec.h"

#define ROW(name) &kn_kernel_##name,
static const kn_kernel *const KERNELS[] = {KN_KERNELS(ROW)};
#undef ROW
enum { N_KERNELS = sizeof KERNELS / sizeof *KERNELS };

const kn_kernel *kn_kernel_at(int i)
{
    return i < N_KERNELS ? KERNELS[i] : NULL;
}

const kn_kernel *kn_kernel_named(const char *name, size_t length)
{
    for (int i = 0; i < N_KERNELS; i++)
        if (strlen(KERNELS[i]->name) == length && memcmp(KERNELS[i]->name, name, length) == 0)
            return KERNELS[i];
    return NULL;
}

const char *kn_kernel_list(bool between, const char *other, const char *last, char *out,
                           size_t size)
{
    int listed[N_KERNELS], n = 0;
    size_t used = 0;
    for (int i = 0; i < N_KERNELS; i++)
        if (!KERNELS[i]->by_design && (!between || !KERNELS[i]->same_sample_only))
            listed[n++] = i;
    out[0] = 0;
    for (int k = 0; k < n && used < size; k++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 k == 0       ? ""
                                 : k == n - 1 ? last
                                              : other,
                                 KERNELS[listed[k]]->name);
    return out;
}

void kn_proportional_add(const double *theta, kn_mat stat, bool symmetric, kn_mat K)
{
    double v = exp(2 * theta[0]);
    for (ptrdiff_t j = 0; j < K.cols; j++)
        for (ptrdiff_t i = symmetric ? j : 0; i < K.rows; i++)
            kn_col(K, j)[i] += v * kn_at(stat, i, j);
}

void kn_proportional_gradient(const double *theta, kn_mat stat, bool symmetric, kn_mat G, double *g)
{
    double sum = 0;
    for (ptrdiff_t j = 0; j < G.cols; j++) {
        const double *gj = kn_col(G, j), *x = kn_col(stat, j);
        if (symmetric)
            sum += gj[j] * x[j] + 2 * kn_vec_dot(G.rows - j - 1, gj + j + 1, x + j + 1);
        else
            sum += kn_vec_dot(G.rows, gj, x);
    }
    g[0] = 2 * exp(2 * theta[0]) * sum; /* dK/da = 2 K */
}
