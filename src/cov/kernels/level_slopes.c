/* Kernel slopes: exp(2a) [same level] x x', a separate slope for each level [METHOD 1a]. The
 * design makes its columns for {interaction}. */
#include "cov/kernel.h"

const kn_kernel kn_kernel_slopes = {
    .name = "slopes",
    .amplitude = "slopes",
    .stat = KN_STAT_DOT,
    .proportional = true,
    .by_design = true,
    .course = KN_OF_LEVELS,
    .add = kn_proportional_add,
    .gradient = kn_proportional_gradient,
};
