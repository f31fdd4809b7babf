/* Writes float32 NIfTI images, .nii or .nii.gz: NIfTI-2 if the geometry comes from a NIfTI-2 file
 * or a dimension exceeds 32767, else NIfTI-1. */
#ifndef KN_IO_FORMATS_NIFTI_WRITE_H
#define KN_IO_FORMATS_NIFTI_WRITE_H

#include "io/image/format.h"

extern const kn_image_writing kn_nifti_writing;

#endif
