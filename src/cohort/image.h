/* Writes compressed NIfTI images of a chosen number type, volume by volume, into an output
 * folder. */
#ifndef KN_COHORT_IMAGE_H
#define KN_COHORT_IMAGE_H

#include "cohort/output_folder.h"
#include "io/formats/nifti_header.h"

typedef struct kn_sim_image kn_sim_image;

/* Starts an image. name ends in .nii.gz; code is KN_VOXEL_FLOAT32, _FLOAT64 or _INT64; volumes
 * 0: a 3D image. */
kn_status kn_sim_image_new(kn_ctx *ctx, kn_folder *folder, const char *name,
                           const kn_nifti_header *header, int code, ptrdiff_t volumes,
                           kn_sim_image **out);
/* Appends a volume: voxel index[i] = values[i] for n voxels, the others 0. */
kn_status kn_sim_image_volume(kn_ctx *ctx, kn_sim_image *image, const double *values,
                              const ptrdiff_t *index, ptrdiff_t n);
/* Completes the file; without it kn_sim_image_free leaves no file. */
kn_status kn_sim_image_commit(kn_ctx *ctx, kn_sim_image *image);
void kn_sim_image_free(kn_sim_image *image);

/* Writes a 3D image by the calls above. values NULL: all 1. */
kn_status kn_sim_image_write(kn_ctx *ctx, kn_folder *folder, const char *name,
                             const kn_nifti_header *header, int code, const double *values,
                             const ptrdiff_t *index, ptrdiff_t n);

#endif
