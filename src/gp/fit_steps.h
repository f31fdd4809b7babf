/* Steps that the fits of all methods share: search, record, reference. */
#ifndef KN_GP_FIT_STEPS_H
#define KN_GP_FIT_STEPS_H

#include "gp/cv.h"

/* The parameters for the basis at hand; the engine is left at the point found. */
kn_status kn_fit_search(kn_ctx *ctx, kn_mat X, const kn_basis *basis, const kn_spec *spec,
                        const kn_search_options *o, ptrdiff_t T, kn_engine *e, kn_found *found);

/* The fitted components from the engine where it stands; takes over X and parts of the engine. */
kn_status kn_fit_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out);

/* What was found, into the parts of info that belong to it. */
void kn_fit_record(const kn_gp *gp, const kn_found *found, const kn_engine *e,
                   const kn_basis *basis, kn_fit_info *info);

/* Cross-validated reference and noise; gram may be NULL; held: what the reference is made of, its
 * basis taken over, or NULL. A fit that was cancelled, or is now, keeps
 * the in-sample noise and says so. */
kn_status kn_fit_reference(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gram *gram,
                           kn_heldout *held, const kn_gp_options *o, kn_fit_info *info);

#endif
