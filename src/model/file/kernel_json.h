/* The covariances of a model as JSON: `kernel` in the record of a model file, and what
 * `info --json` tells of the terms. */
#ifndef KN_MODEL_FILE_KERNEL_JSON_H
#define KN_MODEL_FILE_KERNEL_JSON_H

#include <jansson.h>

#include "gp/gp.h"

json_t *kn_kernel_to_json(const kn_gp *gp); /* NULL: out of memory */
/* Fills spec's covariances, R0's terms and theta, inside, iso, s2, pca and complement_component.
 * gp->F and noise are known. `file` is for the message. */
kn_status kn_kernel_from_json(kn_ctx *ctx, const char *file, json_t *kernel, kn_gp *gp);

/* The terms of R, and the weights of R0's among them; null where responses have their own. */
json_t *kn_terms_json(const kn_gp *gp);
json_t *kn_weights_json(const kn_gp *gp);

#endif
