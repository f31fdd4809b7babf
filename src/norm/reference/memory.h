/* Memory plan of the reference, step by step as norm/reference/reference.c and
 * norm/reference/loo.c allocate it. The memory plan of a fit adds it. */
#ifndef KN_NORM_REFERENCE_MEMORY_H
#define KN_NORM_REFERENCE_MEMORY_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"
#include "norm/deviance/fit.h"

/* Plan both references and the noise estimate, on top of the maps that the fit has kept. */
void kn_reference_need(kn_mem_plan *r, const kn_problem_size *s);

/* The leading part of this rank's responses whose z of both deviances fit the memory budget
 * beside everything that is still to be allocated when the first loop begins; whole blocks. top:
 * fraction of the extreme-value statistic. */
kn_index_range kn_reference_cached_range(kn_ctx *ctx, const kn_responses *Y,
                                         const kn_deviance_sizes *d, double top);

#endif
