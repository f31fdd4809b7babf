/* Kernel same: exp(2a) [same level of a category], as a product of two rows of indicators
 *
 * A row has a single 1 among the columns of the levels and the column for levels that are not in
 * the training sample. So a new level has covariance 0 with all training rows, and 1 with itself;
 * a missing value has the shares of the levels in the training sample instead.
 * [METHOD 1a] */
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
