/* The prior over sites in a model file: "sites" of the record, arrays site_mu, site_tau2, site_w
 * and site_w_scale. */
#ifndef KN_MODEL_FILE_SITES_H
#define KN_MODEL_FILE_SITES_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "norm/sites/prior.h"

json_t *kn_sites_to_json(const kn_sites *s); /* null without sites; NULL: out of memory */
kn_status kn_sites_add(kn_ctx *ctx, const kn_sites *s, kn_st_writer *w);

/* Of T responses. Believes nothing; no "sites": none. */
kn_status kn_sites_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                        kn_sites *out);

#endif
