/* Mean and spread of responses at some covariates, in the units of the responses      [METHOD 8f]
 */
#ifndef KN_COMMANDS_CENTILES_CURVES_H
#define KN_COMMANDS_CENTILES_CURVES_H

#include "model/model.h"

typedef struct kn_curve_site { /* where points are [METHOD 8e] */
    bool alone;                /* at no site of training: without the terms of batch categories */
    int adapted; /* but at this one, which the model was adapted to; -1: the mean of sites */
} kn_curve_site;

typedef struct kn_curves {
    const kn_model *model; /* lent */
    kn_curve_site site;
    ptrdiff_t n, S;        /* points, responses */
    const ptrdiff_t *kept; /* S  which of those in use, ascending; lent */
    bool few;              /* extrapolation is not asked for: of the others nothing is made */
    kn_mat mean;           /* n x S */
    kn_mat var, noise;     /* n x S  of the mean; of people about it, at these covariates */
    double
        *extrapolation; /* n  percentile among training [METHOD 8b]; NaN: there is no reference */
} kn_curves;

/* of: model, site, S and kept are set. raw: n points as kn_design_apply takes them, covariates held
 * as those of new people are. Walks over all responses once, whatever S; if few over the blocks
 * that these are in, to the same bits. */
kn_status kn_curves_make(kn_ctx *ctx, kn_view raw, kn_curves *of);
void kn_curves_clear(kn_curves *c); /* all but what is lent; {0} is fine */

/* The mean alone, n x S, at the mean of sites where `alone`; NaN where the model has left a
 * response out. response: S of all, ascending; the model may be another than the one that kept
 * them. */
kn_status kn_curves_mean(kn_ctx *ctx, const kn_model *model, kn_view raw, bool alone,
                         const ptrdiff_t *response, kn_mat mean);

/* What a site that the model was adapted to adds to the variance of the mean of a response in use,
 * in its units; 0 elsewhere. */
double kn_curves_site_var(const kn_model *model, kn_curve_site site, ptrdiff_t kept);

#endif
