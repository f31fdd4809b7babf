/* An adapted model on disk, and beside it what its sites are like:
 * MODEL.adapt.tsv: response, level, n, raw_offset, weight, offset, offset_sd, noise_factor. */
#ifndef KN_COMMANDS_ADAPT_WRITE_H
#define KN_COMMANDS_ADAPT_WRITE_H

#include "data/dataset.h"
#include "model/model.h"
#include "norm/sites/adapt.h"

kn_status kn_adapt_write_check(kn_ctx *ctx, const kn_settings *s, const kn_data *controls);

/* made: of the last n sites of the model. */
kn_status kn_adapt_write(kn_ctx *ctx, const kn_settings *s, const kn_model *adapted,
                         const kn_site_adapted *made, ptrdiff_t n);

#endif
