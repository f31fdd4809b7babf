/* Steps that the fits of all methods share: search, record, cross-validation. */
#ifndef KN_GP_METHODS_COMMON_H
#define KN_GP_METHODS_COMMON_H

#include "gp/cv/cv.h"

/* The parameters for the basis at hand; the engine is left at the point found. Collective. */
kn_status kn_fit_search(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis, kn_engine *e,
                        kn_search_result *found);

/* The same at R0 as it was found: one evaluation, its own counters from here on. Collective. */
kn_status kn_fit_at(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis, kn_engine *e,
                    kn_search_result *found);

/* The fitted components from the engine where it stands; takes over X and parts of the engine. */
kn_status kn_fit_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out);

/* What was found, into the parts of info that belong to it. */
void kn_fit_record(const kn_gp *gp, const kn_search_result *found, const kn_engine *e,
                   const kn_basis *basis, kn_fit_info *info);

/* The cross-validated maps into options->cv where they are asked for, by p->gram or p->held, whose
 * basis is taken over. A fit that was cancelled, or is now, has none and says so. */
kn_status kn_fit_cv(kn_ctx *ctx, const kn_gp *gp, kn_fit_problem *p, kn_fit_info *info);

#endif
