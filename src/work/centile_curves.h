/* Mean and spread of responses at some covariates, in the units of the responses      [METHOD 8f] */
#ifndef KN_WORK_CENTILE_CURVES_H
#define KN_WORK_CENTILE_CURVES_H

#include "model/model.h"

typedef struct kn_curves {
    const kn_model *model; /* lent */
    ptrdiff_t n, S;        /* points, responses */
    const ptrdiff_t *kept; /* S  which of those in use, ascending; lent */
    kn_mat mean;           /* n x S */
    kn_mat var, noise;     /* n x S  of the mean; of people about it, at these covariates */
    double *extrapolation; /* n  percentile among training [METHOD 8b]; NaN: there is no reference */
} kn_curves;

/* raw: n points as kn_design_apply takes them, covariates held as those of new people are. Walks
 * over all responses once, whatever S. */
kn_status kn_curves_new(kn_ctx *ctx, const kn_model *model, kn_view raw, const ptrdiff_t *kept,
                        ptrdiff_t S, kn_curves *out);
void kn_curves_clear(kn_curves *c); /* {0} is fine */

/* The mean alone, n x S; NaN where the model has left a response out. response: S of all, ascending;
 * the model may be another than the one that kept them. */
kn_status kn_curves_mean(kn_ctx *ctx, const kn_model *model, kn_view raw, const ptrdiff_t *response,
                         kn_mat mean);

#endif
