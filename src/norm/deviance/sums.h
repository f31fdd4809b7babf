/* The sums that pass 2 of a deviance fit gathers over responses, exact and therefore the same for
 * any order of blocks and whoever saw which: see deviance_pass.h for what they are. */
#ifndef KN_NORM_DEVIANCE_SUMS_H
#define KN_NORM_DEVIANCE_SUMS_H

#include "norm/deviance/passes.h"

/* After pass 1 and the eigenproblems, which say how large they can be. */
kn_status kn_gathered_new(kn_ctx *ctx, kn_deviance_fitter *f);
void kn_gathered_clear(kn_deviance_fitter *f);
void kn_gathered_need(kn_mem_plan *r, const kn_deviance_fitter *f);

/* Where among the sums `what` of fold p and stage l begins: a column of these is pt->count long in
 * A and q, K in H, Kmax in own. */
ptrdiff_t kn_gathered_at(const kn_deviance_fitter *f, kn_gathered what, int p, int l);

/* Sums over all ranks into the matrices of the parts, and C of all responses, once; then they are
 * gone. Collective. */
kn_status kn_gathered_take(kn_ctx *ctx, kn_deviance_fitter *f);

#endif
