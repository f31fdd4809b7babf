/* File names: endings, neighbours, and sizes in words. */
#ifndef KN_IO_FILE_PATH_H
#define KN_IO_FILE_PATH_H

#include "base/memory/alloc.h"

bool kn_path_ends(const char *path, const char *ending); /* ".nii.gz", in any case */

/* *out = path with its last `cut` characters replaced by `ending`. Free with kn_free. */
kn_status kn_path_swap(kn_ctx *ctx, const char *path, size_t cut, const char *ending, char **out);

/* *out = `path` as seen from the file `from`: absolute ones stay, others start in its folder. */
kn_status kn_path_beside(kn_ctx *ctx, const char *from, const char *path, char **out);

kn_status kn_text_copy(kn_ctx *ctx, const char *text, size_t n, char **out);

typedef struct kn_size_text {
    char text[32];
} kn_size_text;

kn_size_text kn_size_in_words(double bytes); /* "377 bytes", "18.0 GB" */

#endif
