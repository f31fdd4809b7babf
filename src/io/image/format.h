/* What a format of images is: a row of KN_IMAGE_FORMATS, defined in a file of its own. */
#ifndef KN_IO_IMAGE_FORMAT_H
#define KN_IO_IMAGE_FORMAT_H

#include "io/image/image.h"
#include "io/image/write.h"

/* Volume by volume, as kn_image_writer asks for them: as many as were announced, and then _commit.
 */
typedef struct kn_image_writing {
    kn_status (*begin)(kn_ctx *ctx, const char *path, const kn_image_target *target,
                       const kn_write_options *options, void **state);
    kn_status (*volume)(kn_ctx *ctx, void *state, const kn_volume *volume);
    kn_status (*commit)(kn_ctx *ctx, void *state);
    void (*free)(void *state); /* not committed: leaves no file */
    const char *const
        *endings; /* of the files it writes; NULL at the end. The first is the usual */
    bool keeps;   /* the one of them that an image came with; false: the usual */
} kn_image_writing;

ptrdiff_t kn_image_volumes(const kn_image_target *target); /* how many that is */
/* By the name of the file; NULL: no format's. */
const kn_image_writing *kn_image_writing_of(const char *path);

/* All voxels of a volume as floats; swap: against this machine's order. */
void kn_volume_store(const kn_volume *volume, ptrdiff_t voxels, bool swap, unsigned char *out);

struct kn_image_format {
    const char *const *endings; /* of file names; NULL at the end */
    const char *names; /* the usual ones, in sentences: ".mgh, .mgz"; NULL: none of its own */
    /* The header from the file that `source` is; it may turn to another (a pair), which is then
     * image->data_path. */
    kn_status (*open)(kn_ctx *ctx, kn_image *image, kn_byte_source *source);
    /* NULL: voxels lie in the data file from header.data_offset on, perhaps compressed. Else puts
     * those of all volumes into raw, kn_nifti_data_size bytes, data_offset being 0. */
    kn_status (*load)(kn_ctx *ctx, const kn_image *image, const kn_byte_source *source, void *raw);
    const kn_image_writing *writing;
};

/* Every format: kn_format_NAME in NAME.c. The first whose endings a name has is taken. */
#define KN_IMAGE_FORMATS(ROW) ROW(cifti) ROW(nifti) ROW(mgh) ROW(gifti)

#define KN_IMAGE_FORMAT_DECLARED(name) extern const kn_image_format kn_format_##name;
KN_IMAGE_FORMATS(KN_IMAGE_FORMAT_DECLARED)

/* `open` of a format whose file begins with a header of at most KN_NIFTI2_SIZE bytes: plain or
 * gzip, the first bytes parsed. The data are not looked for yet: kn_image_check_size does that. */
typedef kn_status (*kn_header_parse)(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                                     ptrdiff_t n, kn_nifti_header *out);
kn_status kn_image_open_header(kn_ctx *ctx, kn_image *image, const kn_byte_source *source,
                               kn_header_parse parse);
kn_status kn_image_check_size(kn_ctx *ctx, const kn_image *image, const kn_byte_source *source);

kn_status kn_image_changed(kn_ctx *ctx,
                           const kn_image *image); /* since it was opened: a sentence */

#endif
