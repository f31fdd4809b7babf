/* Reference distribution of the extreme-value statistic (GEV fit), and the share of healthy
 * participants with a significant response [METHOD 8]. */
#ifndef KN_NORM_REFERENCE_DISTRIBUTION_H
#define KN_NORM_REFERENCE_DISTRIBUTION_H

#include "norm/reference/reference.h"

/* Fit r->gev to r->statistic if there are at least 30 independent units and more than one
 * response; otherwise, or if the fit fails, log a warning: p-values are then ranks. Logs the
 * smallest possible p. */
kn_status kn_reference_distribution(kn_ctx *ctx, kn_reference *r, ptrdiff_t T);

/* Set r->fdr_share: the share of reference participants with any response significant after FDR
 * correction, which estimates the share among healthy participants. From r->z (n x T), O(n T ln
 * T); NaN if z is not kept. */
kn_status kn_reference_findings(kn_ctx *ctx, kn_reference *r, ptrdiff_t T);

#endif
