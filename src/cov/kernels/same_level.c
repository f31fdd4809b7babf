/* same: exp(2a) [same level of a category], the product of two rows of indicators  [METHOD 1a]
 *
 * A row has one 1 among the levels and the column for a level that training did not have. So a new
 * level is like nobody, and like itself; a missing one has the shares of training instead. */
#include "cov/kernel.h"

const kn_kernel kn_kernel_same = {
    .name = "same",
    .amplitude = "same",
    .stat = KN_STAT_DOT,
    .proportional = true,
    .by_design = true,
    .course = KN_OF_LEVELS,
    .add = kn_proportional_add,
    .gradient = kn_proportional_gradient,
};
