/* Headers of NIfTI-1, NIfTI-2 and ANALYZE 7.5 as SPM wrote it: bytes <-> fields, and the geometry
 * they describe. https://nifti.nimh.nih.gov/nifti-1 and nifti-2; affines as nibabel finds them. */
#ifndef KN_IO_FORMATS_NIFTI_HEADER_H
#define KN_IO_FORMATS_NIFTI_HEADER_H

#include "base/memory/alloc.h"
#include "io/image/voxel_types.h"

enum { KN_NIFTI1_SIZE = 348, KN_NIFTI2_SIZE = 540, KN_NIFTI_MAX_DIM1 = 32767 };

typedef struct kn_nifti_header {
    int version;               /* 1, 2; 0: ANALYZE 7.5 with SPM's origin */
    bool swapped;              /* against this machine */
    bool pair;                 /* data in a file of their own, .img */
    bool cifti;                /* CIFTI-2: one value per place, maps vary fastest */
    const kn_voxel_type *type; /* of the stored numbers */
    ptrdiff_t dim[3];          /* voxels along x, y, z (CIFTI: places, 1, 1) */
    ptrdiff_t volumes;         /* along the fourth axis; 1 for a 3D image */
    int dims;                  /* 3, or 4 when the file has a fourth axis, if only of length 1 */
    double pixdim[8];          /* as stored */
    ptrdiff_t data_offset;     /* bytes before the first voxel */
    double slope, inter;       /* value = slope * stored + inter; 1 and -0.0 when not scaled */
    int qform_code, sform_code, xyzt_units, intent_code;
    double quatern[3], qoffset[3], srow[3][4]; /* as stored */
    double origin[3];                          /* ANALYZE: SPM's origin, voxels from 1 */
} kn_nifti_header;

/* Reads n >= 348 bytes (540 for NIfTI-2) from the start of a file. Everything that the fields can
 * say wrongly is refused here; that the data are there is for the caller to check. */
kn_status kn_nifti_header_parse(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                                ptrdiff_t n, kn_nifti_header *out);

/* Little-endian float32 without scaling, in one file. `out` has room for KN_NIFTI2_SIZE + 4; the
 * bytes to write, up to the first voxel, are returned. volumes 0: a 3D image. */
ptrdiff_t kn_nifti_header_encode(const kn_nifti_header *header, ptrdiff_t volumes,
                                 const char *description, unsigned char *out);
/* The header of CIFTI dense scalars, KN_NIFTI2_SIZE + 4 bytes; data from byte `offset` on. */
void kn_nifti_header_cifti(ptrdiff_t places, ptrdiff_t maps, ptrdiff_t offset,
                           const char *description, unsigned char *out);
/* Makes encoded bytes say that voxels are stored as `code`, one of KN_VOXEL_*. */
void kn_nifti_header_set_type(unsigned char *encoded, int code);

ptrdiff_t kn_nifti_voxels(const kn_nifti_header *header);    /* of one volume; no overflow */
ptrdiff_t kn_nifti_data_size(const kn_nifti_header *header); /* bytes of all volumes; neither */

/* ---- geometry ----------------------------------------------------------------------------- */

/* Where voxels are. Plain data: may be copied, and `header` put into a file of another kind. */
typedef struct kn_geometry {
    ptrdiff_t dim[3];
    double affine[4][4];                  /* (i, j, k, 1) of a voxel, from 0, to mm */
    int header_size;                      /* 348 or 540 */
    unsigned char header[KN_NIFTI2_SIZE]; /* little-endian, of a 3D image with this geometry */
} kn_geometry;

kn_status kn_geometry_of(kn_ctx *ctx, const char *name, const kn_nifti_header *header,
                         kn_geometry *out);
kn_status kn_geometry_from_header(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                                  ptrdiff_t n, kn_geometry *out); /* from geometry.header */

/* Not of n x 1 x 1, vertices of a surface: formats put them in different places, or in none. */
bool kn_geometry_is_placed(const kn_geometry *geometry);

/* KN_ERR_SHAPE with what differs: dimensions, or an entry of the affine by more than 1e-3 mm where
 * it means something. */
kn_status kn_geometry_compare(kn_ctx *ctx, const char *name, const kn_geometry *geometry,
                              const char *expected_name, const kn_geometry *expected);

#endif
