/* Reads and writes a model as one file: safetensors arrays and a JSON record in the metadata.
 * The file suffices to predict and score on another machine [METHOD 4]. Its bytes depend on the
 * model alone, so it holds no timings. Layout in docs/developers/model_file.md; the sections have
 * files of their own. */
#ifndef KN_MODEL_FILE_FILE_H
#define KN_MODEL_FILE_FILE_H

#include "io/file/atomic_writer.h"
#include "model/model.h"

enum { KN_MODEL_FORMAT = 1 };

/* Write the model to a file at path, with the options of kn_st_write() (whether an existing file is
 * replaced). */
kn_status kn_model_write(kn_ctx *ctx, const kn_model *model, const char *path,
                         const kn_write_options *options);

/* Write the model to memory, as the same bytes that the file would have. *bytes is owned by the
 * caller (kn_free), NULL on failure. */
kn_status kn_model_write_bytes(kn_ctx *ctx, const kn_model *model, void **bytes, ptrdiff_t *n);

/* XXH64 of the file that the model was read from, or else of the file that would be written. */
kn_status kn_model_hash(kn_ctx *ctx, const kn_model *model, uint64_t *out);

/* Read a model from a file; *out is owned by the caller (kn_model_free), NULL on failure. Every
 * size is checked before use. KN_ERR_FORMAT: not a model, another format version, an absent or
 * wrong checksum, or an inconsistent section. */
kn_status kn_model_read(kn_ctx *ctx, const char *path, kn_model **out);

/* Read a model from the n bytes of its file in memory, as kn_model_read() does. name stands for the
 * file in messages; bytes are borrowed during the call. */
kn_status kn_model_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                         kn_model **out);

/* Deep copy by way of the bytes of the file; owned by the caller. Its hash is 0, since the caller
 * may change the copy. */
kn_status kn_model_copy(kn_ctx *ctx, const kn_model *model, kn_model **out);

/* Free everything that the model owns, but not the struct. */
void kn_model_clear(kn_model *model);

/* Give the model of root to all MPI ranks whose *model is NULL, as the bytes of its file; no
 * transfer if every rank has one. Collective. The copies are owned by their ranks. */
kn_status kn_model_broadcast(kn_ctx *ctx, kn_model **model);

#endif
