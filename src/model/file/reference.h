/* What is normal, in a model file: "reference" of the record, and arrays of each of its samples,
 * statistic, extrapolation, z_cv, ..., and of both deviances. Layout in docs/formats.md. */
#ifndef KN_MODEL_FILE_REFERENCE_H
#define KN_MODEL_FILE_REFERENCE_H

#include <jansson.h>

#include "io/safetensors/safetensors.h"
#include "norm/reference/reference.h"

json_t *kn_reference_to_json(const kn_reference *r); /* NULL: out of memory */
/* Over T responses. known: people have ids, so that one scored again gets the z that is kept. */
kn_status kn_reference_add(kn_ctx *ctx, const kn_reference *r, ptrdiff_t T, bool known,
                           kn_st_writer *w);

/* Of N training samples and T responses. Believes nothing. */
typedef struct kn_reference_for {
    ptrdiff_t N, T;
    bool shared;       /* of a model to give away: quantiles */
    bool own_deviance; /* its method judges whole maps by its own law */
} kn_reference_for;
kn_status kn_reference_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_reference_for of,
                            kn_reference *r);

#endif
