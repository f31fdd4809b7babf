/* Reference section of a model file: "reference" in the record, and one array per statistic
 * (statistic, extrapolation, z_cv, ...) and for both deviances. Layout in docs/formats.md. */
#ifndef KN_MODEL_FILE_REFERENCE_H
#define KN_MODEL_FILE_REFERENCE_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "norm/reference/reference.h"

/* The record; NULL: out of memory. */
json_t *kn_reference_to_json(const kn_reference *r);
/* Add the arrays for T responses. known: participants have ids, so z is written too: a training
 * participant that is scored again gets it. */
kn_status kn_reference_add(kn_ctx *ctx, const kn_reference *r, ptrdiff_t T, bool known,
                           kn_st_writer *w);

/* What the section must agree with: N training participants and T responses. */
typedef struct kn_reference_for {
    ptrdiff_t N, T;
    bool shared;       /* de-identified: quantiles */
    bool own_deviance; /* the method has its own whole-map deviance */
} kn_reference_for;
/* Read and validate the section into r ({0}); KN_ERR_FORMAT if it is inconsistent. */
kn_status kn_reference_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_reference_for of,
                            kn_reference *r);

#endif
