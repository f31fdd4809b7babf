/* What the statistics of the reference say of somebody new: their extreme value law, and how often
 * healthy people have a finding                                                      [METHOD 8] */
#ifndef KN_NORM_REFERENCE_DISTRIBUTION_H
#define KN_NORM_REFERENCE_DISTRIBUTION_H

#include "norm/reference/reference.h"

/* r->gev from r->statistic, where people are enough for a law; else, with a warning, none, and
 * probabilities are ranks. What the least p can be is told. */
kn_status kn_reference_distribution(kn_ctx *ctx, kn_reference *r, ptrdiff_t T);

/* r->fdr_share: how many have a finding after FDR, as many of healthy people will. From r->z, n x
 * T, O(n T ln T); NaN where they are not kept. */
kn_status kn_reference_findings(kn_ctx *ctx, kn_reference *r, ptrdiff_t T);

#endif
