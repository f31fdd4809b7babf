/* Decides which responses are modelled, and how each is standardised: from the moments of the
 * training sample, which each MPI rank computes for its own responses. Every later number of the
 * fit is in these units unless standardisation is off. */
#ifndef KN_DATA_SCALING_H
#define KN_DATA_SCALING_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"

/* Sets *out (kn_scaling_clear) to means and population standard deviations of the responses
 * [METHOD, shapes]; constant responses and those with non-finite values are left out. Each rank
 * reads its own columns of Y once. Collective. */
kn_status kn_scaling_new(kn_ctx *ctx, kn_view Y, bool standardise, kn_scaling *out);
/* Like kn_scaling_new, but from the observed cells: left out are responses with missing cells and
 * fewer than KN_MIN_VALUES values, and constant ones. Without missing cells the result is the same,
 * bit by bit. Collective. */
kn_status kn_scaling_observed(kn_ctx *ctx, kn_view Y, bool standardise, kn_scaling *out);

/* Adds a kn_scaling of T responses to the memory plan. */
void kn_scaling_need(kn_mem_plan *r, ptrdiff_t T);

#endif
