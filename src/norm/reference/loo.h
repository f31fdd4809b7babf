/* The reference by leave-one-out, beside the one by folds                          [METHOD 5, 8] */
#ifndef KN_NORM_REFERENCE_LOO_H
#define KN_NORM_REFERENCE_LOO_H

#include "norm/reference/reference.h"

/* The statistic by leave-one-out in closed form [METHOD 5], with its own extreme value fit, and how
 * those maps are calibrated. Optimistic: basis and parameters have seen every sample. Collective.
 */
typedef struct kn_loo_job {
    const kn_gp *gp;
    const kn_responses *Y;
    const kn_calibration_transform *layer;
    kn_mat D;            /* of all samples, its columns; none without scale */
    const double *shift; /* of all samples, its terms of sites; NULL: none */
} kn_loo_job;
kn_status kn_reference_loo(kn_ctx *ctx, const kn_loo_job *job, kn_reference *r,
                           kn_cv_summary *summary);

#endif
