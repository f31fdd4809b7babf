/* Writes CIFTI-2 dense scalars (.dscalar.nii): one named map per volume, with the brain models
 * kn_image_target.brain, which must not be NULL. */
#ifndef KN_IO_FORMATS_CIFTI_WRITE_H
#define KN_IO_FORMATS_CIFTI_WRITE_H

#include "io/image/format.h"

extern const kn_image_writing kn_cifti_writing;

#endif
