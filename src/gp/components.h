/* The number of components by held-out log loss                       [METHOD 2, components auto]
 */
#ifndef KN_GP_COMPONENTS_H
#define KN_GP_COMPONENTS_H

#include "gp/cv_heldout.h"
#include "gp/gp.h"

/* METHOD 2, "components auto". The engine-independent part: given where R0 stands it fills the
 * curve and returns the number of components to use. By folds of the Gram matrix, or by `held`. */
kn_status kn_choose_components(kn_ctx *ctx, kn_mat X, const kn_responses *Y, const kn_gram *gram,
                               const kn_heldout *held, const kn_spec *spec, const kn_cov_point *at,
                               const kn_gp_options *o, kn_fit_info *info, ptrdiff_t *P);

#endif
