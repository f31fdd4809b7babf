/* Exact sums over responses that pass 2 of a deviance fit gathers (see passes.h). They do not
 * depend on the order of blocks or on which rank saw which block. */
#ifndef KN_NORM_DEVIANCE_SUMS_H
#define KN_NORM_DEVIANCE_SUMS_H

#include "norm/deviance/passes.h"

/* Allocate the sums, after pass 1 and the eigenproblems, which bound them. */
kn_status kn_gathered_new(kn_ctx *ctx, kn_deviance_fitter *f);
void kn_gathered_clear(kn_deviance_fitter *f);
/* Memory plan of the sums. */
void kn_gathered_need(kn_mem_plan *r, const kn_deviance_fitter *f);

/* Index at which `what` of fold p and stage l begins; a column is pt->count long in A and q, K
 * in H, Kmax in own. */
ptrdiff_t kn_gathered_at(const kn_deviance_fitter *f, kn_gathered what, int p, int l);

/* Reduce the sums over all ranks into the matrices of the parts, all-gather the rows of C, and
 * free the sums. Collective. */
kn_status kn_gathered_take(kn_ctx *ctx, kn_deviance_fitter *f);

#endif
