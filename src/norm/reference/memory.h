/* Memory plan of the reference, step by step as norm/reference/reference.c and
 * norm/reference/loo.c allocate it. The memory plan of a fit adds it. */
#ifndef KN_NORM_REFERENCE_MEMORY_H
#define KN_NORM_REFERENCE_MEMORY_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"
#include "norm/deviance/fit.h"

/* Add to the memory plan r the reference sample and its leave-one-out statistics, on top of the
 * maps that the fit has kept. */
void kn_reference_need(kn_mem_plan *r, const kn_problem_size *s);

/* The first of this rank's responses, whole blocks, for which the z of both deviances fit into the
 * memory budget beside all that is still to be allocated. top: fraction of the extreme-value
 * statistic. May be empty. */
kn_index_range kn_reference_cached_range(kn_ctx *ctx, const kn_responses *Y,
                                         const kn_deviance_sizes *d, double top);

#endif
