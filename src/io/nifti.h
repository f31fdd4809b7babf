/* Images: NIfTI as .nii, .nii.gz, pairs .hdr/.img (each perhaps .gz), and what nifti_header reads;
 * FreeSurfer's .mgh and .mgz; GIFTI's .gii and .gii.gz with one value a vertex.
 *
 * Opening reads the header and makes sure that the data it promises are there, before anything
 * large is allocated. Voxels come as float32 in file order, x fastest, scaled. */
#ifndef KN_IO_NIFTI_H
#define KN_IO_NIFTI_H

#include "io/nifti_header.h"
#include "io/source.h"

typedef struct kn_nifti {
    char *path;      /* as given, for messages */
    char *data_path; /* where the voxels are; NULL: in memory */
    const unsigned char *memory;
    ptrdiff_t memory_size;
    bool gzip;  /* the data file is compressed, whatever its name */
    bool gifti; /* the values are in XML, compressed or not */
    kn_nifti_header header;
    kn_geometry geometry;
} kn_nifti;

kn_status kn_nifti_open(kn_ctx *ctx, const char *path, kn_nifti *out);
/* The bytes of a file, which must outlive the image: by its name .mgh, .mgz or .gii, else a NIfTI
 * file that is not half of a pair. */
kn_status kn_nifti_open_memory(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                               kn_nifti *out);
void kn_nifti_clear(kn_nifti *image); /* {0} is fine */

bool kn_nifti_is_name(const char *path); /* .nii .hdr .img .mgh .gii, each perhaps .gz; .mgz */

/* ---- voxels ------------------------------------------------------------------------------- */

/* Buffers for reading, kept from image to image; one for each thread. `memory` bytes at most are
 * used to decompress a 4D file whole; a larger one streams, volume by volume. */
typedef struct kn_nifti_reader kn_nifti_reader;

enum { KN_NIFTI_MEMORY = 1 << 28 };

kn_status kn_nifti_reader_new(kn_ctx *ctx, ptrdiff_t memory, kn_nifti_reader **out);
void kn_nifti_reader_free(kn_nifti_reader *reader);

/* out[i] = voxel index[i] of one volume; index NULL: voxels 0 .. n-1. Volumes of a 4D .nii.gz are
 * best read in ascending order. The image must live until the reader reads another or is freed. */
kn_status kn_nifti_read(kn_ctx *ctx, kn_nifti_reader *reader, const kn_nifti *image,
                        ptrdiff_t volume, const ptrdiff_t *index, ptrdiff_t n, float *out);

#endif
