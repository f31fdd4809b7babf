/* Kernel square: exp(2a) u.u', u the standardised squares of covariates [METHOD 1a]. The design
 * makes its columns for covariates with enough different values. */
#include "cov/kernel.h"

const kn_kernel kn_kernel_square = {
    .name = "square",
    .amplitude = "square",
    .stat = KN_STAT_DOT,
    .per_column = true,
    .proportional = true,
    .by_design = true,
    .course = KN_CURVED,
    .add = kn_proportional_add,
    .gradient = kn_proportional_gradient,
};
