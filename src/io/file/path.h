/* Path and text helpers: file extensions, paths relative to another file, sizes for messages. They
 * are used for names of output files and for messages. */
#ifndef KN_IO_FILE_PATH_H
#define KN_IO_FILE_PATH_H

#include "base/memory/alloc.h"

/* True if `path` ends with `ending`, such as ".nii.gz" (case ignored), and is longer than it. */
bool kn_path_ends(const char *path, const char *ending);

/* *out = path with its last `cut` characters replaced by `ending`. Free with kn_free. */
kn_status kn_path_replace_ending(kn_ctx *ctx, const char *path, size_t cut, const char *ending,
                                 char **out);

/* *out = `path`, resolved relative to the folder of the file `from`; an absolute path is copied.
 * Free with kn_free. */
kn_status kn_path_relative_to(kn_ctx *ctx, const char *from, const char *path, char **out);

/* Writes FOLDER/NAME to path (size bytes). KN_ERR_IO if it does not fit. */
kn_status kn_path_in_folder(kn_ctx *ctx, const char *folder, const char *name, char *path,
                            size_t size);

/* Copies a path to out (size bytes) with a backslash before each character that glob() interprets;
 * returns whether it fits. */
bool kn_path_escape(const char *path, char *out, size_t size);

/* KN_ERR_DATA if a name or path has a control character or a double quote, which would change the
 * cells or rows of a table that it is written to. */
kn_status kn_path_check_cell(kn_ctx *ctx, const char *name);

/* *out = copy of the first n characters of `text`, NUL-terminated. Free with kn_free. */
kn_status kn_text_copy(kn_ctx *ctx, const char *text, size_t n, char **out);

typedef struct kn_size_text {
    char text[32];
} kn_size_text;

/* Formats a number of bytes for messages: "377 bytes", "18.0 GB" (decimal units). */
kn_size_text kn_format_size(double bytes);

#endif
