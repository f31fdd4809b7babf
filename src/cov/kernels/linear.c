/* Kernel linear: exp(2a) x.x' [METHOD 1a]. Over one-hot columns it gives each category an
 * effect. */
#include "cov/kernel.h"

const kn_kernel kn_kernel_linear = {
    .name = "linear",
    .amplitude = "lin",
    .stat = KN_STAT_DOT,
    .per_column = true,
    .proportional = true,
    .add = kn_proportional_add,
    .gradient = kn_proportional_gradient,
};
