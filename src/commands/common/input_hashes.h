/* Hashes of input files, for the records of a model and of a scored folder. A user can check with
 * them which data a result was made from. */
#ifndef KN_COMMANDS_COMMON_INPUT_HASHES_H
#define KN_COMMANDS_COMMON_INPUT_HASHES_H

#include <jansson.h>

#include "data/dataset.h"

/* "xxh64:28192758c5b520c3", a new reference; kind: how it was made. */
json_t *kn_hash_json(const char *kind, uint64_t h);
/* Hash of the content of a file, as xxhsum -H64 prints it; JSON null if there is none, or if it was
 * deleted meanwhile: results are not discarded for that. */
json_t *kn_file_hash_json(kn_ctx *ctx, const char *path);

/* True if responses_path is not itself the file, or not the only one: joined tables, folders. */
bool kn_responses_are_several(const kn_data *data);

/* Hash of the responses file, or of the hashes of several: of the complete table or image list; for
 * an array or image of all participants of samples of its bytes, since it may be too large; 0:
 * there is no file. */
kn_status kn_responses_stamp(kn_ctx *ctx, const kn_data *data, uint64_t *out);

#endif
