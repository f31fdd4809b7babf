/* Images of any format, read alike: open, voxels of a volume, and where they are.
 *
 * A format is a file of its own and a row of KN_IMAGE_FORMATS [image_format.h]. Opening reads the
 * header and makes sure that the data it promises are there, before anything large is allocated.
 * Voxels come as float32 in file order, x fastest, scaled. Whatever the format, the header is told
 * in the fields of a NIfTI header. */
#ifndef KN_IO_IMAGE_IMAGE_H
#define KN_IO_IMAGE_IMAGE_H

#include <stdint.h>

#include "io/file/byte_source.h"
#include "io/formats/nifti_header.h"

typedef struct kn_image_format kn_image_format;

/* What the places of a CIFTI file are. */
typedef struct kn_brain {
    char *xml;     /* its element MatrixIndicesMap of brain models; NULL: not kept, or no CIFTI */
    uint64_t hash; /* of what it says, however it is laid out; 0: no CIFTI */
} kn_brain;

void kn_brain_clear(kn_brain *brain); /* {0} is fine */
kn_status kn_brain_copy(kn_ctx *ctx, const kn_brain *from, kn_brain *out);
/* KN_ERR_SHAPE where `expected`, of the file expected_name, has brain models and these are others.
 */
kn_status kn_brain_compare(kn_ctx *ctx, const char *name, const kn_brain *brain,
                           const char *expected_name, const kn_brain *expected);

typedef struct kn_image {
    char *path;      /* as given, for messages */
    char *data_path; /* where the voxels are; NULL: in memory */
    const unsigned char *memory;
    ptrdiff_t memory_size;
    const kn_image_format *format;
    bool gzip; /* the data file is compressed, whatever its name */
    kn_nifti_header header;
    kn_geometry geometry;
    kn_brain brain; /* of dense CIFTI */
} kn_image;

kn_status kn_image_open(kn_ctx *ctx, const char *path, kn_image *out);
/* The bytes of a file, which must outlive the image; the format by its name, NIfTI for any other.
 */
kn_status kn_image_open_memory(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                               kn_image *out);
void kn_image_clear(kn_image *image); /* {0} is fine */

bool kn_image_is_name(const char *path); /* ends as a format's files do */

typedef struct kn_image_names {
    char text[128]; /* ".nii, .nii.gz, ...": what the formats' files are called */
} kn_image_names;
kn_image_names kn_image_known_names(void);

/* How maps of images such as this one are named, ".mgh": as it was where that can be written. Lives
 * for ever. */
const char *kn_image_ending(const kn_image *image);
/* The same text for a copy of it; NULL: nothing is written under such a name. */
const char *kn_image_ending_known(const char *ending);

/* ---- voxels ------------------------------------------------------------------------------- */

/* Buffers for reading, kept from image to image; one for each thread. `memory` bytes at most are
 * used to decompress a 4D file whole; a larger one streams, volume by volume. */
typedef struct kn_image_reader kn_image_reader;

enum { KN_IMAGE_MEMORY = 1 << 28 };

kn_status kn_image_reader_new(kn_ctx *ctx, ptrdiff_t memory, kn_image_reader **out);
void kn_image_reader_free(kn_image_reader *reader);

/* out[i] = voxel index[i] of one volume; index NULL: voxels 0 .. n-1. Volumes of a compressed 4D
 * file are best read in ascending order. The image must live until the reader reads another or is
 * freed. */
kn_status kn_image_read(kn_ctx *ctx, kn_image_reader *reader, const kn_image *image,
                        ptrdiff_t volume, const ptrdiff_t *index, ptrdiff_t n, float *out);

/* All volumes of it, decompressed: until another image is read any thread may read any of them,
 * each with a context of its own. */
bool kn_image_reader_holds(const kn_image_reader *reader, const kn_image *image);

/* It is one that a reader with so much memory holds whole once it has read a volume, if its
 * contents are no larger than the header says. */
bool kn_image_fits(const kn_image *image, ptrdiff_t memory);

/* One stream has one order in which it can be read, and XML is read whole: one reader. */
bool kn_image_in_one_stream(const kn_image *image);

#endif
