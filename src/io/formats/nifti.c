/* The image format NIfTI (io/image/image_format.h): NIfTI-1, NIfTI-2 and ANALYZE 7.5, as one file
 * or as a pair .hdr and .img. Volumes are read in place unless they are compressed
 * (io/image/read_voxels.c). */
#include "io/formats/internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/file/byte_order.h"
#include "io/file/path.h"
#include "io/formats/cifti.h"
#include "io/gzip/gzip.h"
#include "io/image/image_format.h"

/* ---- writer ---------------------------------------------------------------------------------- */

/* Opens a NIfTI file for writing, with the header of the target's geometry, its number of volumes
 * and its description. *state is owned by the caller; NULL on failure. */
static kn_status begin_nifti(kn_ctx *ctx, const char *path, const kn_image_target *target,
                             const kn_write_options *options, void **state)
{
    unsigned char header[KN_NIFTI2_SIZE + 4];
    const kn_geometry *geometry = target->geometry;
    kn_nifti_header h;
    *state = NULL;
    kn_status status =
        kn_nifti_header_parse(ctx, path, geometry->header, geometry->header_size, &h);
    if (status != KN_OK)
        return status;
    ptrdiff_t n = kn_nifti_header_encode(&h, target->volumes, target->description, header);
    kn_volume_layout layout = {header, n, kn_nifti_voxels(&h), KN_BIG_ENDIAN};
    return kn_volume_file_begin(ctx, path, &layout, options, state);
}

static const char *const WRITTEN_ENDINGS[] = {".nii.gz", ".nii", NULL};

const kn_image_writing kn_nifti_writing = {.begin = begin_nifti,
                                           .volume = kn_volume_file_write,
                                           .commit = kn_volume_file_commit,
                                           .free = kn_volume_file_free,
                                           .endings = WRITTEN_ENDINGS,
                                           .keeps = false};

/* ---- reader ---------------------------------------------------------------------------------- */

/* For a file of a pair with this extension: the extensions of header and data file; NULL: the given
 * file itself. */
static const struct {
    const char *ending, *header, *data;
} PAIRS[] = {
    {".hdr.gz", NULL, ".img"},
    {".hdr", NULL, ".img"},
    {".img.gz", ".hdr", NULL},
    {".img", ".hdr", NULL},
};
enum { N_PAIRS = sizeof PAIRS / sizeof *PAIRS };

/* Returns the index into PAIRS for the extension of `path`; N_PAIRS if it is not part of a
 * .hdr/.img pair. */
static int pair_of(const char *path)
{
    int i = 0;
    while (i < N_PAIRS && !kn_path_ends(path, PAIRS[i].ending))
        i++;
    return i;
}

/* Sets *out (freed with kn_free) to `path` with its extension `ending` replaced by `wanted` or
 * `wanted`.gz, whichever exists; a copy of the path if wanted is NULL. KN_ERR_IO if neither exists.
 */
static kn_status find_partner(kn_ctx *ctx, const char *path, const char *ending, const char *wanted,
                              char **out)
{
    char compressed[16];
    char *plain = NULL;
    kn_status status;

    *out = NULL;
    if (!wanted)
        return kn_text_copy(ctx, path, strlen(path), out);
    KN_TRY(kn_path_replace_ending(ctx, path, strlen(ending), wanted, &plain));
    if (access(plain, F_OK) == 0) {
        *out = plain;
        return KN_OK;
    }
    snprintf(compressed, sizeof compressed, "%s.gz", wanted);
    KN_TRY(kn_path_replace_ending(ctx, path, strlen(ending), compressed, out));
    if (access(*out, F_OK) != 0) {
        status =
            kn_fail(ctx, KN_ERR_IO, "%s: the other file of the pair, %s, is missing", path, plain);
        kn_free(*out);
        *out = NULL;
    }
out:
    kn_free(plain);
    return status;
}

/* Closes *source and opens instead the file of the .hdr/.img pair with extension `wanted` (NULL:
 * the given file); sets image->data_path to it. */
static kn_status open_file_of_pair(kn_ctx *ctx, kn_image *image, const char *ending,
                                   const char *wanted, kn_byte_source *source)
{
    kn_status status;
    kn_byte_source_close(source);
    kn_free(image->data_path);
    image->data_path = NULL;
    KN_TRY(find_partner(ctx, image->path, ending, wanted, &image->data_path));
    KN_TRY(kn_byte_source_open(ctx, image->data_path, source));
out:
    return status;
}

/* Switches *source and image->data_path to the data file of a .hdr/.img pair, after its header was
 * read, and sets image->gzip. KN_ERR_FORMAT if there is no data file. */
static kn_status open_voxels(kn_ctx *ctx, kn_image *image, int pair, kn_byte_source *source)
{
    unsigned char head[2];
    kn_status status;
    if (!image->data_path)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: its data are in another file", image->path);
    if (pair == N_PAIRS)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s is the header of a .hdr/.img pair without data",
                       image->path);
    KN_TRY(open_file_of_pair(ctx, image, PAIRS[pair].ending, PAIRS[pair].data, source));
    ptrdiff_t n = source->size < 2 ? source->size : 2;
    KN_TRY(kn_byte_source_read(ctx, source, 0, n, head));
    /* The extension is needed too: raw voxels may begin with the two bytes of gzip. */
    image->gzip = kn_path_ends(image->data_path, ".gz") && kn_is_gzip(head, n);
out:
    return status;
}

/* Reads the header of a NIfTI or ANALYZE image into image->header, switches *source to the data
 * file of a pair, checks its size, and reads CIFTI's brain models if there are any. */
static kn_status open_nifti(kn_ctx *ctx, kn_image *image, kn_byte_source *source)
{
    enum { PADDING = 1 << 16 }; /* bytes that may follow the voxels */
    kn_status status;
    int pair = pair_of(image->path);
    if (image->data_path && pair < N_PAIRS && PAIRS[pair].header)
        KN_TRY(open_file_of_pair(ctx, image, PAIRS[pair].ending, PAIRS[pair].header, source));
    KN_TRY(kn_image_open_header(ctx, image, source, kn_nifti_header_parse));
    if (image->header.pair)
        KN_TRY(open_voxels(ctx, image, pair, source));
    KN_TRY(kn_image_check_size(ctx, image, source, PADDING));
    if (kn_cifti_may_be_dense(&image->header))
        KN_TRY(kn_cifti_open(ctx, image, source));
out:
    return status;
}

static const char *const READ_ENDINGS[] = {".nii.gz", ".nii", ".hdr.gz", ".hdr",
                                           ".img.gz", ".img", NULL};

const kn_image_format kn_format_nifti = {.endings = READ_ENDINGS,
                                         .names = ".nii, .nii.gz, .hdr, .img",
                                         .open = open_nifti,
                                         .writing = &kn_nifti_writing};
