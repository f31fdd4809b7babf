/* Writes an adapted model, and beside it a table of its new sites, MODEL.adapt.tsv: response,
 * level, n, raw_offset, weight, offset, offset_sd, noise_factor. Offsets are in original units. */
#ifndef KN_COMMANDS_ADAPT_WRITE_H
#define KN_COMMANDS_ADAPT_WRITE_H

#include "data/dataset.h"
#include "model/model.h"
#include "norm/sites/adapt.h"

/* Checks before the computation that {output} and its table can be written and are not inputs. */
kn_status kn_adapt_write_check(kn_ctx *ctx, const kn_settings *s, const kn_data *controls);

/* Writes table and model. made: estimates of the last n sites of the model. Above 100 000 rows the
 * table is left out. */
kn_status kn_adapt_write(kn_ctx *ctx, const kn_settings *s, const kn_model *adapted,
                         const kn_site_adapted *made, ptrdiff_t n);

#endif
