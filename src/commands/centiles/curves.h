/* Mean, model variance and noise variance of responses at given covariates, in original units
 * [METHOD 8f] */
#ifndef KN_COMMANDS_CENTILES_CURVES_H
#define KN_COMMANDS_CENTILES_CURVES_H

#include "model/model.h"

typedef struct kn_curve_site { /* site of the points [METHOD 8e] */
    bool alone;                /* no training site: predict without site terms */
    int adapted;               /* adapted site; -1: mean of sites */
} kn_curve_site;

/* Curves of S responses at n points. */
typedef struct kn_curves {
    const kn_model *model; /* borrowed */
    kn_curve_site site;
    ptrdiff_t n, S;        /* number of points, number of responses */
    const ptrdiff_t *kept; /* S: index among the responses in use, ascending; borrowed */
    bool few;              /* skip extrapolation and blocks without these responses */
    kn_mat mean;           /* n x S: predictive mean */
    kn_mat var, noise;     /* n x S: model variance; noise variance at these covariates */
    double *extrapolation; /* n: percentile [METHOD 8b]; NaN: no reference */
} kn_curves;

/* Computes the curves at the n points `raw` (as input of kn_design_apply; covariates are clamped).
 * The caller sets model, site, S, kept and few of *of. Cost: one pass over all responses whatever
 * S; with few only over the blocks of these, with the same bits. */
kn_status kn_curves_make(kn_ctx *ctx, kn_view raw, kn_curves *of);
void kn_curves_clear(kn_curves *c); /* frees all but what is borrowed; accepts {0} */

/* Computes only the mean, n x S, original units; alone: at the mean of sites. NaN for responses
 * that this model does not have. response: S indices among all responses, ascending. The model may
 * be another than the one of the curves. */
kn_status kn_curves_mean(kn_ctx *ctx, const kn_model *model, kn_view raw, bool alone,
                         const ptrdiff_t *response, kn_mat mean);

/* Variance that an adapted site adds to the mean of a response in use, original units; 0
 * elsewhere. */
double kn_curves_site_var(const kn_model *model, kn_curve_site site, ptrdiff_t kept);

#endif
