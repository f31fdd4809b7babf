/* Reference statistics by leave-one-out, in addition to those by folds [METHOD 5, 8]. They are
 * optimistic, because the basis is that of all participants. */
#ifndef KN_NORM_REFERENCE_LOO_H
#define KN_NORM_REFERENCE_LOO_H

#include "norm/reference/reference.h"

/* Input of kn_reference_loo(), all borrowed. */
typedef struct kn_loo_job {
    const kn_gp *gp;
    const kn_responses *Y;
    const kn_calibration_transform *calibration;
    kn_mat D;            /* noise-scale columns of all training participants; none without scale */
    const double *shift; /* site terms of all training participants; NULL: none */
} kn_loo_job;

/* Set r->loo_statistic, the extreme-value statistic of each reference participant by closed-form
 * leave-one-out [METHOD 5], and fit a GEV to it if r has one. *summary: how these maps are
 * calibrated. Optimistic, because basis and hyperparameters were fitted to all participants.
 * Collective. */
kn_status kn_reference_loo(kn_ctx *ctx, const kn_loo_job *job, kn_reference *r,
                           kn_cv_summary *summary);

#endif
