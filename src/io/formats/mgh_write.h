/* Writes float32 MGH images: .mgh, or .mgz (gzip). */
#ifndef KN_IO_FORMATS_MGH_WRITE_H
#define KN_IO_FORMATS_MGH_WRITE_H

#include "io/image/format.h"

extern const kn_image_writing kn_mgh_writing;

#endif
