/* Standardising covariates, and remembering how. */
#ifndef KN_DATA_SCALE_H
#define KN_DATA_SCALE_H

#include "base/mat.h"

typedef struct kn_xscale {
    ptrdiff_t F;
    double *mean, *sd; /* removed and divided by; sd 1 for a covariate without variation */
    ptrdiff_t n_constant;
} kn_xscale;

/* Population standard deviations. Refuses values that are not finite, naming row and column, and
 * covariates that are all constant. */
kn_status kn_xscale_new(kn_ctx *ctx, kn_view X, bool standardise, kn_xscale *out);
void kn_xscale_clear(kn_xscale *s);

/* out (rows x F) = standardised covariates; refuses values that are not finite. */
kn_status kn_xscale_apply(kn_ctx *ctx, const kn_xscale *s, kn_view X, kn_mat out);

#endif
