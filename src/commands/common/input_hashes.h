/* Hashes of input files, for the records of a model and of a scored folder. A user can check with
 * them which data a result was made from. */
#ifndef KN_COMMANDS_COMMON_INPUT_HASHES_H
#define KN_COMMANDS_COMMON_INPUT_HASHES_H

#include <jansson.h>

#include "data/dataset.h"

/* A hash as a new JSON string such as "xxh64:28192758c5b520c3"; kind: how it was made. */
json_t *kn_hash_json(const char *kind, uint64_t h);

/* Hash of the content of a file, as xxhsum -H64 prints it, as a new JSON string. JSON null if there
 * is no such file any more: results are not discarded for that. */
json_t *kn_file_hash_json(kn_ctx *ctx, const char *path);

/* True if responses_path is not itself the only file of the responses: joined tables, folders. */
bool kn_responses_are_several(const kn_data *data);

/* Hash of the responses file, or of the hashes of several. Of a table or image list it is that of
 * its content; of an array or an image of all participants that of samples of its bytes, since it
 * may be very large. 0 if there is no file. */
kn_status kn_responses_stamp(kn_ctx *ctx, const kn_data *data, uint64_t *out);

#endif
