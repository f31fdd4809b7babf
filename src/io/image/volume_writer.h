/* Writer for formats whose file is a header followed by float32 volumes, plain or gzip (NIfTI,
 * MGH). The format encodes its header and calls kn_volume_file_begin; the other functions serve
 * directly as members of its kn_image_writing (io/image/format.h). */
#ifndef KN_IO_IMAGE_VOLUME_WRITER_H
#define KN_IO_IMAGE_VOLUME_WRITER_H

#include "io/image/format.h"

typedef struct kn_volume_layout {
    const void *header; /* borrowed during kn_volume_file_begin */
    ptrdiff_t header_size;
    ptrdiff_t voxels; /* per volume */
    bool swap;        /* the file's byte order is not this machine's */
} kn_volume_layout;

/* Opens the file and writes the header; gzip if the path ends in .gz or .mgz. */
kn_status kn_volume_file_begin(kn_ctx *ctx, const char *path, const kn_volume_layout *layout,
                               const kn_write_options *options, void **state);
/* Appends one volume, 4 voxels bytes. */
kn_status kn_volume_file_put(kn_ctx *ctx, void *state, const kn_volume *volume);
/* Completes the file. */
kn_status kn_volume_file_commit(kn_ctx *ctx, void *state);
/* Frees the state; an uncommitted file is removed. NULL is allowed. */
void kn_volume_file_free(void *state);

#endif
