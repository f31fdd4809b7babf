/* Covariances of a model as JSON: `kernel` in the record of a model file, and the terms that
 * `info --json` prints. */
#ifndef KN_MODEL_FILE_KERNEL_JSON_H
#define KN_MODEL_FILE_KERNEL_JSON_H

#include <jansson.h>

#include "gp/gp.h"

/* The `kernel` record; NULL: out of memory. */
json_t *kn_kernel_to_json(const kn_gp *gp);
/* Fill the covariances of gp->spec, terms and theta of R0, inside, iso, s2, pca and
 * complement_component; gp->F, N and noise must be set. file: for the message. KN_ERR_FORMAT if
 * a field is absent or invalid, or a kernel is unknown. */
kn_status kn_kernel_from_json(kn_ctx *ctx, const char *file, json_t *kernel, kn_gp *gp);

/* Terms of R, and the weights of those in R0; weights are null, and terms without parameters, if
 * each response has its own R0. */
json_t *kn_terms_json(const kn_gp *gp);
json_t *kn_weights_json(const kn_gp *gp);

#endif
