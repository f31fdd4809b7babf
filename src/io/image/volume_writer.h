/* An image file that is a header and then volumes of float32, as NIfTI's and MGH's are, plain or
 * gzipped. A format encodes its header; the rest of its kn_image_writing is here. */
#ifndef KN_IO_IMAGE_VOLUME_WRITER_H
#define KN_IO_IMAGE_VOLUME_WRITER_H

#include "io/image/format.h"

typedef struct kn_volume_layout {
    const void *header; /* copied to the file at once */
    ptrdiff_t header_size;
    ptrdiff_t voxels; /* of a volume */
    bool swap;        /* against this machine's byte order */
} kn_volume_layout;

kn_status kn_volume_file_begin(kn_ctx *ctx, const char *path, const kn_volume_layout *layout,
                               const kn_write_options *options, void **state);
kn_status kn_volume_file_put(kn_ctx *ctx, void *state, const kn_volume *volume);
kn_status kn_volume_file_commit(kn_ctx *ctx, void *state);
void kn_volume_file_free(void *state);

#endif
