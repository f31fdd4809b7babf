/* A model as one file: safetensors arrays and one JSON record in the metadata. It suffices to
 * predict and score on another machine [METHOD 4]. Its bytes depend on the model alone: timings are
 * not in it. Layout in docs/formats.md. */
#ifndef KN_MODEL_FILE_FILE_H
#define KN_MODEL_FILE_FILE_H

#include "io/file/atomic_writer.h"
#include "model/model.h"

enum { KN_MODEL_FORMAT = 1 };

kn_status kn_model_write(kn_ctx *ctx, const kn_model *model, const char *path,
                         const kn_write_options *options);
/* The same bytes in memory. Free with kn_free. */
kn_status kn_model_write_bytes(kn_ctx *ctx, const kn_model *model, void **bytes, ptrdiff_t *n);

/* XXH64 of the file that it came from, or would be written as. */
kn_status kn_model_hash(kn_ctx *ctx, const kn_model *model, uint64_t *out);

/* Every size is checked against the others before use. KN_ERR_FORMAT: not a model, another format
 * version, or a checksum that is absent or wrong. */
kn_status kn_model_read(kn_ctx *ctx, const char *path, kn_model **out);
kn_status kn_model_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                         kn_model **out);

kn_status kn_model_copy(kn_ctx *ctx, const kn_model *model, kn_model **out); /* by its bytes */

void kn_model_clear(kn_model *model);

#endif
