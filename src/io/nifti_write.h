/* Writes float32 NIfTI images, .nii or .nii.gz, in the geometry of another, volume by volume.
 * NIfTI-2 where the other is, or where a dimension is larger than NIfTI-1 can say. */
#ifndef KN_IO_NIFTI_WRITE_H
#define KN_IO_NIFTI_WRITE_H

#include "io/nifti_header.h"
#include "io/writer.h"

typedef struct kn_nifti_writer kn_nifti_writer;

/* volumes 0: one volume, as a 3D image; else so many, as a 4D image. */
kn_status kn_nifti_writer_new(kn_ctx *ctx, const char *path, const kn_geometry *geometry,
                              ptrdiff_t volumes, const char *description,
                              const kn_write_options *options, kn_nifti_writer **out);

/* The next volume: voxel index[i] = values[i * stride], the others `outside`. index NULL: voxels
 * in order. */
kn_status kn_nifti_writer_volume(kn_ctx *ctx, kn_nifti_writer *writer, const float *values,
                                 ptrdiff_t stride, const ptrdiff_t *index, ptrdiff_t n,
                                 float outside);
kn_status kn_nifti_writer_commit(kn_ctx *ctx, kn_nifti_writer *writer); /* after the last volume */
void kn_nifti_writer_free(kn_nifti_writer *writer); /* not committed: leaves no file */

#endif
