/* Dense scalars: one map a volume, named, over the brain models of the target. */
#ifndef KN_IO_FORMATS_CIFTI_WRITE_H
#define KN_IO_FORMATS_CIFTI_WRITE_H

#include "io/image/format.h"

extern const kn_image_writing kn_cifti_writing;

#endif
