/* Parses and encodes headers of NIfTI-1, NIfTI-2 and SPM's ANALYZE 7.5, and derives the geometry of
 * an image. kn_nifti_header also describes images of all other formats.
 * https://nifti.nimh.nih.gov/nifti-1 and nifti-2; affines agree with nibabel. */
#ifndef KN_IO_FORMATS_NIFTI_HEADER_H
#define KN_IO_FORMATS_NIFTI_HEADER_H

#include "base/memory/alloc.h"
#include "io/image/voxel_types.h"

enum { KN_NIFTI1_SIZE = 348, KN_NIFTI2_SIZE = 540, KN_NIFTI_MAX_DIM1 = 32767 };

typedef struct kn_nifti_header {
    int version;               /* 1, 2; 0: ANALYZE 7.5 with SPM's origin */
    bool swapped;              /* the file's byte order is not this machine's */
    bool pair;                 /* the data are in a separate file, .img */
    bool cifti;                /* CIFTI-2: places x maps, maps vary fastest */
    const kn_voxel_type *type; /* of the stored numbers */
    ptrdiff_t dim[3];          /* voxels along x, y, z (CIFTI: places, 1, 1) */
    ptrdiff_t volumes;         /* along the fourth axis; 1 for a 3D image (CIFTI: maps) */
    int dims;                  /* 3, or 4 if the file has a fourth axis, even of length 1 */
    double pixdim[8];          /* as stored */
    ptrdiff_t data_offset;     /* bytes before the first voxel */
    double slope, inter;       /* value = slope * stored + inter; 1 and -0.0 if not scaled */
    int qform_code, sform_code, xyzt_units, intent_code;
    double quatern[3], qoffset[3], srow[3][4]; /* as stored */
    double origin[3];                          /* ANALYZE: SPM's origin in voxels, from 1 */
} kn_nifti_header;

/* Parses the first n bytes of a file, n >= 348 (540 for NIfTI-2); `name` is for messages.
 * KN_ERR_FORMAT for any invalid field. The caller checks that the file holds the data
 * (kn_image_check_size). */
kn_status kn_nifti_header_parse(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                                ptrdiff_t n, kn_nifti_header *out);

/* Encodes the header of a single-file, little-endian float32 image without scaling. volumes 0: a 3D
 * image. `out` has KN_NIFTI2_SIZE + 4 bytes. Returns the number of bytes before the first voxel. */
ptrdiff_t kn_nifti_header_encode(const kn_nifti_header *header, ptrdiff_t volumes,
                                 const char *description, unsigned char *out);
/* Encodes the header of CIFTI dense scalars, KN_NIFTI2_SIZE + 4 bytes; the data start at byte
 * `offset`. */
void kn_nifti_header_cifti(ptrdiff_t places, ptrdiff_t maps, ptrdiff_t offset,
                           const char *description, unsigned char *out);
/* Changes the voxel type of an encoded header to `code`, one of KN_VOXEL_*. */
void kn_nifti_header_set_type(unsigned char *encoded, int code);

/* Returns the number of voxels per volume. Parsing has excluded an overflow. */
ptrdiff_t kn_nifti_voxels(const kn_nifti_header *header);
/* Returns the bytes of the voxels of all volumes. Parsing has excluded an overflow. */
ptrdiff_t kn_nifti_data_size(const kn_nifti_header *header);

/* ---- geometry ----------------------------------------------------------------------------- */

/* Dimensions and position of an image. Plain data without pointers; `header` can be stored, as in
 * the model file, and restored with kn_geometry_from_header. */
typedef struct kn_geometry {
    ptrdiff_t dim[3];
    double affine[4][4];                  /* voxel (i, j, k, 1), from 0, to mm */
    int header_size;                      /* 348 or 540 */
    unsigned char header[KN_NIFTI2_SIZE]; /* encoded NIfTI header of a 3D image, little-endian */
} kn_geometry;

/* Geometry of a header: sform, else qform, else pixdim. KN_ERR_FORMAT if it is not finite. */
kn_status kn_geometry_of(kn_ctx *ctx, const char *name, const kn_nifti_header *header,
                         kn_geometry *out);
/* Geometry from n bytes of kn_geometry.header. */
kn_status kn_geometry_from_header(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                                  ptrdiff_t n, kn_geometry *out);

/* True if the affine has a meaning: false for n x 1 x 1, n > 1 (vertices of a surface), where
 * formats differ in the affine that they store. */
bool kn_geometry_is_placed(const kn_geometry *geometry);

/* KN_ERR_SHAPE, with the difference in the message, if the dimensions differ, or an entry of the
 * affine by more than 1e-3 mm (only if kn_geometry_is_placed). */
kn_status kn_geometry_compare(kn_ctx *ctx, const char *name, const kn_geometry *geometry,
                              const char *expected_name, const kn_geometry *expected);

#endif
