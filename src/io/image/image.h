/* Reads 3D and 4D images of any supported format: kn_image_open, then kn_image_read per volume.
 *
 * Formats are listed in io/image/image_format.h. Opening reads the header and checks that the file
 * holds all its data, before anything large is allocated. Voxels are float32 in file order (x
 * fastest), with the file's scaling applied. Every header is converted to a kn_nifti_header. */
#ifndef KN_IO_IMAGE_IMAGE_H
#define KN_IO_IMAGE_IMAGE_H

#include <stdint.h>

#include "io/file/atomic_writer.h"
#include "io/file/byte_source.h"
#include "io/formats/nifti_header.h"

typedef struct kn_image_format kn_image_format;

/* CIFTI brain models: which vertex or voxel each value of a CIFTI file belongs to. */
typedef struct kn_brain {
    char *xml;     /* owned; element MatrixIndicesMap of the models; NULL: not kept, or no CIFTI */
    uint64_t hash; /* of the content of that element, independent of its layout; 0: no CIFTI */
} kn_brain;

/* Frees the XML. {0} is allowed. */
void kn_brain_clear(kn_brain *brain);
/* Deep copy. Free with kn_brain_clear. */
kn_status kn_brain_copy(kn_ctx *ctx, const kn_brain *from, kn_brain *out);
/* KN_ERR_SHAPE if `expected` (of the file expected_name) has brain models and `brain` (of the file
 * name) has none or different ones. */
kn_status kn_brain_compare(kn_ctx *ctx, const char *name, const kn_brain *brain,
                           const char *expected_name, const kn_brain *expected);

typedef struct kn_image {
    char *path;                  /* owned; as given, for messages */
    char *data_path;             /* owned; file with the voxels; NULL: in memory */
    const unsigned char *memory; /* borrowed; bytes of the file; NULL: on disk */
    ptrdiff_t memory_size;
    const kn_image_format *format;
    kn_file_stamp stamp; /* of data_path when the header was read */
    bool gzip;           /* the data file is compressed, with any extension */
    kn_nifti_header header;
    kn_geometry geometry;
    kn_brain brain; /* only of dense CIFTI */
} kn_image;

/* Opens the image `path`; its extension selects the format. KN_ERR_FORMAT if the extension is
 * unknown, or the file damaged or incomplete; KN_ERR_IO. Free with kn_image_clear. */
kn_status kn_image_open(kn_ctx *ctx, const char *path, kn_image *out);
/* Opens an image from the n bytes of its file, which are borrowed. The extension of `name` selects
 * the format; NIfTI if it is unknown. */
kn_status kn_image_open_memory(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                               kn_image *out);
/* Frees the image. {0} is allowed. */
void kn_image_clear(kn_image *image);

/* True if the extension of `path` is that of an image format. */
bool kn_image_is_name(const char *path);

typedef struct kn_image_names {
    char text[128]; /* ".nii, .nii.gz, ..." */
} kn_image_names;
/* Returns the file extensions of all image formats as one text, separated by commas, for messages.
 */
kn_image_names kn_image_known_names(void);

/* Extension for output maps in the format of this image, such as ".mgh": that of the image if the
 * format's writer keeps extensions, else the writer's default. Returns a static string. */
const char *kn_image_ending(const kn_image *image);
/* The static string equal to `ending`, for an extension that was read from a file; NULL if no
 * format writes it. */
const char *kn_image_ending_known(const char *ending);

/* ---- voxels ------------------------------------------------------------------------------- */

/* Buffers for reading, reused from image to image. One per thread. */
typedef struct kn_image_reader kn_image_reader;

enum { KN_IMAGE_MEMORY = 1 << 28 }; /* default of `memory`, bytes */

/* Creates a reader. A compressed 4D file of at most `memory` bytes is decompressed as a whole; a
 * larger one is streamed volume by volume. */
kn_status kn_image_reader_new(kn_ctx *ctx, ptrdiff_t memory, kn_image_reader **out);
/* Frees the reader. NULL is allowed. */
void kn_image_reader_free(kn_image_reader *reader);

/* out[i] = voxel index[i] of volume `volume` (from 0); index NULL: voxels 0 .. n-1. Read the
 * volumes of a compressed 4D file in ascending order: going back restarts the stream. The image is
 * borrowed until the reader reads another one or is freed. */
kn_status kn_image_read(kn_ctx *ctx, kn_image_reader *reader, const kn_image *image,
                        ptrdiff_t volume, const ptrdiff_t *index, ptrdiff_t n, float *out);

/* True if the reader holds all volumes of the image in memory. Then, until it reads another image,
 * any thread may read any volume through it, each with its own context. */
bool kn_image_reader_holds(const kn_image_reader *reader, const kn_image *image);

/* True if a reader with `memory` bytes will hold the whole 4D image after its first read, provided
 * that the file holds no more than its header announces. */
bool kn_image_fits(const kn_image *image, ptrdiff_t memory);

/* True if volumes cannot be read independently, so that the file needs a single reader: gzip, GIFTI
 * (XML), and CIFTI with several maps. */
bool kn_image_in_one_stream(const kn_image *image);

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes float32 images in a given geometry, volume by volume; the file's extension selects the
 * format. Use: _new, _volume for each volume, _commit, _free. */

/* What to write. `names` is borrowed until the writer is freed, the other pointers only during
 * kn_image_writer_new. */
typedef struct kn_image_target {
    const kn_geometry *geometry;
    ptrdiff_t volumes;        /* 0: a 3D image; n > 0: a 4D image of n volumes */
    const char *description;  /* for the header */
    const char *const *names; /* of the volumes, for GIFTI and CIFTI; NULL: none */
    const char *brain;        /* kn_brain.xml, needed for CIFTI */
    ptrdiff_t memory;         /* bytes for CIFTI's transposition buffer; 0: default (64 MB) */
    const char *side;         /* "lh" or "rh"; any other or NULL: unknown */
} kn_image_target;

/* Values of one volume: voxel index[i] = values[i * stride], i < n; all other voxels = outside.
 * index NULL: voxel i. */
typedef struct kn_volume {
    const float *values;
    ptrdiff_t stride;
    const ptrdiff_t *index;
    ptrdiff_t n;
    float outside;
} kn_volume;

typedef struct kn_image_writer kn_image_writer;

/* Opens the file. KN_ERR_ARGUMENT if no format writes this extension; options as in
 * kn_writer_new. */
kn_status kn_image_writer_new(kn_ctx *ctx, const char *path, const kn_image_target *target,
                              const kn_write_options *options, kn_image_writer **out);
/* Writes the next volume. KN_ERR_ARGUMENT after the last one. */
kn_status kn_image_writer_volume(kn_ctx *ctx, kn_image_writer *writer, const kn_volume *volume);
/* Completes the file. KN_ERR_ARGUMENT if volumes are missing. */
kn_status kn_image_writer_commit(kn_ctx *ctx, kn_image_writer *writer);
/* Frees the writer; an uncommitted file is removed. NULL is allowed. */
void kn_image_writer_free(kn_image_writer *writer);

#endif
