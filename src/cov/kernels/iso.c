/* Kernel iso: exp(2a) between a row and itself, else 0; present in R**, absent from R* [METHOD
 * 1a]. It is noise of each participant, and takes no part in predicted means. */
#include <math.h>

#include "cov/kernel.h"

/* Implements kn_kernel.add: adds exp(2 theta[0]) to the diagonal of K. */
static void add_iso(const double *theta, kn_mat none, bool symmetric, kn_mat K)
{
    (void)none, (void)symmetric;
    for (ptrdiff_t i = 0; i < K.rows; i++)
        kn_col(K, i)[i] += exp(2 * theta[0]);
}

/* Implements kn_kernel.gradient: g[0] = sum G .* dK/da, dK/da = 2 exp(2a) I, so only the
 * diagonal of G counts. */
static void contract_iso(const double *theta, kn_mat none, bool symmetric, kn_mat G, double *g)
{
    (void)none, (void)symmetric;
    double trace = 0;
    for (ptrdiff_t i = 0; i < G.rows; i++)
        trace += kn_at(G, i, i);
    g[0] = 2 * exp(2 * theta[0]) * trace;
}

const kn_kernel kn_kernel_iso = {
    .name = "iso",
    .amplitude = "diag",
    .same_sample_only = true,
    .start_proportion = 0.05,
    .add = add_iso,
    .gradient = contract_iso,
};
