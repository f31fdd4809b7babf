/* Writes float32 NIfTI images, .nii or .nii.gz. NIfTI-2 where the geometry's own file was, or where
 * a dimension is larger than NIfTI-1 can say. */
#ifndef KN_IO_FORMATS_NIFTI_WRITE_H
#define KN_IO_FORMATS_NIFTI_WRITE_H

#include "io/image/format.h"

extern const kn_image_writing kn_nifti_writing;

#endif
