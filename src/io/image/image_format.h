/* The interface that an image format implements, and the list of formats. To add a format, define
 * kn_format_NAME in io/formats/NAME.c and add NAME to KN_IMAGE_FORMATS. */
#ifndef KN_IO_IMAGE_IMAGE_FORMAT_H
#define KN_IO_IMAGE_IMAGE_FORMAT_H

#include "io/image/image.h"

/* Writing half of a format, called by kn_image_writer: begin, volume once for each of
 * kn_image_volumes(target) volumes, commit, free. */
typedef struct kn_image_writing {
    /* Opens the file and writes its header. *state is owned by the caller; NULL on failure.
     * target->names must outlive the state; the other pointers are borrowed during the call. */
    kn_status (*begin)(kn_ctx *ctx, const char *path, const kn_image_target *target,
                       const kn_write_options *options, void **state);
    kn_status (*volume)(kn_ctx *ctx, void *state, const kn_volume *volume);
    kn_status (*commit)(kn_ctx *ctx, void *state);
    void (*free)(void *state);  /* removes an uncommitted file; state may be NULL */
    const char *const *endings; /* extensions that can be written, NULL-terminated; default first */
    bool keeps; /* true: a map keeps the extension of its input image; false: the default one */
} kn_image_writing;

/* Number of volumes to write, at least 1. */
ptrdiff_t kn_image_volumes(const kn_image_target *target);
/* The writer for the extension of `path`; NULL if no format can write it. */
const kn_image_writing *kn_image_writing_of(const char *path);

/* Stores all `voxels` voxels of a volume as float32 in out (4 voxels bytes); swap: byte-swapped. */
void kn_volume_store(const kn_volume *volume, ptrdiff_t voxels, bool swap, unsigned char *out);

/* Reading half of a format. */
struct kn_image_format {
    const char *const *endings; /* extensions that are read, NULL-terminated */
    const char *names;          /* extensions for messages: ".mgh, .mgz"; NULL: not mentioned */
    /* Reads the header into image->header and checks that the data are complete. For a pair
     * .hdr/.img, *source is replaced by the data file and image->data_path is set to it. */
    kn_status (*open)(kn_ctx *ctx, kn_image *image, kn_byte_source *source);
    /* NULL: voxels lie in the data file from header.data_offset on, plain or gzip. Otherwise
     * decodes all volumes into raw (kn_nifti_data_size bytes); header.data_offset is 0. */
    kn_status (*load)(kn_ctx *ctx, const kn_image *image, const kn_byte_source *source, void *raw);
    const kn_image_writing *writing;
};

/* All formats, in order of precedence: the first one with a matching extension is used. */
#define KN_IMAGE_FORMATS(ROW) ROW(cifti) ROW(nifti) ROW(mgh) ROW(gifti)

#define KN_IMAGE_FORMAT_DECLARED(name) extern const kn_image_format kn_format_##name;
KN_IMAGE_FORMATS(KN_IMAGE_FORMAT_DECLARED)

/* Parses a header from the first n bytes of a file; `name` is for messages. */
typedef kn_status (*kn_header_parse)(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                                     ptrdiff_t n, kn_nifti_header *out);
/* Helper for `open` of formats with a binary header of at most KN_NIFTI2_SIZE bytes: sets
 * image->gzip, decompresses the first bytes if needed, and parses them into image->header. */
kn_status kn_image_open_header(kn_ctx *ctx, kn_image *image, const kn_byte_source *source,
                               kn_header_parse parse);
/* Checks that the file holds all the voxels that the header announces and at most `surplus` bytes
 * after them; KN_ERR_FORMAT if not. Usually cheap; a gzip file with an inconclusive length is
 * decompressed once, up to that size, without storing. */
kn_status kn_image_check_size(kn_ctx *ctx, const kn_image *image, const kn_byte_source *source,
                              ptrdiff_t surplus);

/* Fails with KN_ERR_IO and the message that the file changed since it was opened. */
kn_status kn_image_changed(kn_ctx *ctx, const kn_image *image);

/* ---- writer of volumes one after the other --------------------------------------------------- */

/* Writer for formats whose file is a header followed by float32 volumes, plain or gzip (NIfTI,
 * MGH). A format encodes its header and calls kn_volume_file_begin; the other functions serve
 * directly as members of its kn_image_writing (io/image/image_format.h). */

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
kn_status kn_volume_file_write(kn_ctx *ctx, void *state, const kn_volume *volume);
/* Completes the file. */
kn_status kn_volume_file_commit(kn_ctx *ctx, void *state);
/* Frees the state; an uncommitted file is removed. NULL is allowed. */
void kn_volume_file_free(void *state);

#endif
