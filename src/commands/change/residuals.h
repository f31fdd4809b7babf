/* Standardised residuals of visits from the prediction at their own covariates [METHOD 8g]. */
#ifndef KN_COMMANDS_CHANGE_RESIDUALS_H
#define KN_COMMANDS_CHANGE_RESIDUALS_H

#include "commands/score/site_lookup.h"

/* R (people->n x model->gp.T floats, row-major) = y - mean, NaN where y is missing. At sites that
 * training did not have the mean is the prediction without site effect plus the offset of the
 * adapted site or of the site prior. Participants are processed in minibatches; pages of responses
 * in a scratch file are released after each. */
kn_status kn_residuals(kn_ctx *ctx, const kn_model *model, const kn_sample *people,
                       const kn_site_lookup *from, float *R);

#endif
