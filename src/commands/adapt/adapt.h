/* Adapts a model to new sites by healthy controls of them [METHOD 8e] */
#ifndef KN_COMMANDS_ADAPT_ADAPT_H
#define KN_COMMANDS_ADAPT_ADAPT_H

#include "data/dataset.h"
#include "model/model.h"

/* kn_adapt with parsed settings. controls: participants of new sites only, else KN_ERR_DATA.
 * *adapted is owned by the caller. Each rank computes the residuals of its own responses, and root
 * writes. Collective. */
kn_status kn_adapt_with_settings(kn_ctx *ctx, const kn_model *model, kn_data *controls,
                                 const kn_settings *s, kn_model **adapted);

#endif
