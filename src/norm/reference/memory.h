/* Memory that the reference takes, step by step as norm/reference/reference.c and
 * norm/reference/loo.c make it. */
#ifndef KN_NORM_REFERENCE_MEMORY_H
#define KN_NORM_REFERENCE_MEMORY_H

#include "base/memory/plan.h"
#include "data/mpi/partition_responses.h"
#include "norm/deviance/fit.h"

/* Both, and the noise that is made on the way, over the maps that the fit has left. */
void kn_reference_need(kn_mem_plan *r, const kn_problem_size *s);

/* Of a rank's responses, from the first, those whose z of both deviances the allowance has room for
 * beside all that is yet to come when the first walk begins; whole blocks, all or none. */
kn_range kn_reference_room(kn_ctx *ctx, const kn_responses *Y, const kn_deviance_sizes *d,
                           double top);

#endif
