/* Reads and writes a model as one file: safetensors arrays and a JSON record in the metadata.
 * The file suffices to predict and score on another machine [METHOD 4]. Its bytes depend on the
 * model alone, so it holds no timings. Layout in docs/developers/model_file.md; the sections have
 * files of their own. */
#ifndef KN_MODEL_FILE_FILE_H
#define KN_MODEL_FILE_FILE_H

#include "io/file/atomic_writer.h"
#include "model/model.h"

enum { KN_MODEL_FORMAT = 1 };

/* Write the model to path. */
kn_status kn_model_write(kn_ctx *ctx, const kn_model *model, const char *path,
                         const kn_write_options *options);
/* The same bytes in memory, owned by the caller; free with kn_free(). */
kn_status kn_model_write_bytes(kn_ctx *ctx, const kn_model *model, void **bytes, ptrdiff_t *n);

/* XXH64 of the file that the model came from, or would be written as. */
kn_status kn_model_hash(kn_ctx *ctx, const kn_model *model, uint64_t *out);

/* Read a model from a file, or from n bytes (name: for messages); out is owned by the caller.
 * Every size is checked against the others before use. KN_ERR_FORMAT: not a model, another
 * format version, a checksum that is absent or wrong, or an inconsistent section. */
kn_status kn_model_read(kn_ctx *ctx, const char *path, kn_model **out);
kn_status kn_model_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                         kn_model **out);

/* Deep copy by way of the bytes of the file; its hash is 0, since the caller may change the
 * copy. */
kn_status kn_model_copy(kn_ctx *ctx, const kn_model *model, kn_model **out);

/* Free everything that the model owns, but not the struct. */
void kn_model_clear(kn_model *model);

/* Gives *model of root to the ranks that have none (NULL), as the bytes of its file; no transfer
 * if all have one. Collective. */
kn_status kn_model_broadcast(kn_ctx *ctx, kn_model **model);

#endif
