/* The output folder of a command that ends with summary.json. Its key `files` lists what the run
 * wrote, so that a later run with {force} in the same folder can remove what it does not write
 * itself. The folder has a summary.json only while its files belong together. */
#ifndef KN_COMMANDS_COMMON_OUTPUT_FOLDER_H
#define KN_COMMANDS_COMMON_OUTPUT_FOLDER_H

#include <jansson.h>

#include "io/file/atomic_writer.h"

/* Sets `files` of a summary: summary.json itself and the files of options->pending from number
 * options->unlisted on that are in `dir` or in a folder of it, by their names there, sorted.
 * KN_ERR_MEMORY. */
kn_status kn_folder_list_files(kn_ctx *ctx, const char *dir, const kn_write_options *options,
                               json_t *summary);

/* Renames all files of options->pending, the last of which is DIR/summary.json if the run writes
 * one. With force: first removes every summary.json that will be replaced, and that of `dir`; then
 * the files that the old one of `dir` lists and that are not pending. Other files stay. Inputs are
 * never removed. KN_ERR_IO if an old summary.json cannot be removed. */
kn_status kn_folder_commit(kn_ctx *ctx, const char *dir, const kn_write_options *options);

/* True if path is a regular file and not an input of this run. */
bool kn_may_delete(const kn_write_options *options, const char *path);

#endif
