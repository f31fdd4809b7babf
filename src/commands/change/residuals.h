/* Residuals of visits: how far each response is from what the model expects by that row's own
 * covariates, in the units of the fit [METHOD 8g]. */
#ifndef KN_COMMANDS_CHANGE_RESIDUALS_H
#define KN_COMMANDS_CHANGE_RESIDUALS_H

#include "commands/score/site_lookup.h"

/* R (people->n x model->gp.T floats, row by row) = y - mean, NaN where y is missing; of who is at a
 * site that training did not have, from what is said without it and what sites are like, or this
 * one where the model was adapted to it. People pass in batches; responses that sit in a file can
 * go from memory after them. */
kn_status kn_residuals(kn_ctx *ctx, const kn_model *model, const kn_sample *people,
                       const kn_site_lookup *from, float *R);

#endif
