/* A model for sites that it has never seen, by healthy people of them              [METHOD 8e] */
#ifndef KN_COMMANDS_ADAPT_ADAPT_H
#define KN_COMMANDS_ADAPT_ADAPT_H

#include "data/dataset.h"
#include "model/model.h"

/* kn_adapt of settings that are known. Ranks take the residuals of the responses dealt to them, and
 * the first writes. Collective. */
kn_status kn_adapt_with_settings(kn_ctx *ctx, const kn_model *model, kn_data *controls,
                                 const kn_settings *s, kn_model **adapted);

#endif
