/* Site section of a model file (the site prior): "sites" in the record, arrays site_mu,
 * site_tau2, site_w and site_w_scale. */
#ifndef KN_MODEL_FILE_SITES_H
#define KN_MODEL_FILE_SITES_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "norm/sites/prior.h"

/* The record; JSON null without a site prior, NULL: out of memory. */
json_t *kn_sites_to_json(const kn_sites *s);
/* Add the arrays; nothing without a site prior. */
kn_status kn_sites_add(kn_ctx *ctx, const kn_sites *s, kn_st_writer *w);

/* Read and validate the section for T responses; without it out stays as it is. KN_ERR_FORMAT if
 * it is inconsistent. */
kn_status kn_sites_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                        kn_sites *out);

#endif
