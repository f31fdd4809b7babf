/* The number of components by held-out log loss                       [METHOD 2, components auto]
 */
#ifndef KN_GP_COMPONENTS_H
#define KN_GP_COMPONENTS_H

#include "gp/method.h"

/* METHOD 2, "components auto". The engine-independent part: given where R0 stands it fills the
 * curve and returns the number of components to use. By folds of the Gram matrix, or by the one set
 * held out, whichever the problem has. */
kn_status kn_choose_components(kn_ctx *ctx, const kn_fit_problem *problem, const kn_cov_point *at,
                               kn_fit_info *info, ptrdiff_t *P);

#endif
