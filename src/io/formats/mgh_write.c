/* Implements mgh_write.h on top of io/image/volume_writer.h. */
#include "io/formats/mgh_write.h"

#include "io/file/byte_order.h"
#include "io/formats/mgh.h"
#include "io/image/volume_writer.h"

/* Encodes the header; KN_ERR_SHAPE if a dimension exceeds 32 bits. */
static kn_status begin(kn_ctx *ctx, const char *path, const kn_image_target *target,
                       const kn_write_options *options, void **state)
{
    unsigned char header[KN_MGH_OFFSET];
    const ptrdiff_t *dim = target->geometry->dim, frames = kn_image_volumes(target);
    *state = NULL;
    for (int i = 0; i < 4; i++)
        if ((i < 3 ? dim[i] : frames) > INT32_MAX)
            return kn_fail(ctx, KN_ERR_SHAPE, "%s: %td is more than MGH can count", path,
                           i < 3 ? dim[i] : frames);
    kn_mgh_header_encode(target->geometry, frames, header);
    kn_volume_layout layout = {header, sizeof header, dim[0] * dim[1] * dim[2], !KN_BIG_ENDIAN};
    return kn_volume_file_begin(ctx, path, &layout, options, state);
}

static const char *const ENDINGS[] = {".mgz", ".mgh", NULL};

const kn_image_writing kn_mgh_writing = {.begin = begin,
                                         .volume = kn_volume_file_put,
                                         .commit = kn_volume_file_commit,
                                         .free = kn_volume_file_free,
                                         .endings = ENDINGS,
                                         .keeps = true};
