/* Writes GIFTI (.gii, or .gii.gz): one float32 data array per volume, zlib-compressed in base64.
 * The metadata hold the name of each volume, and the hemisphere if it is known. */
#ifndef KN_IO_FORMATS_GIFTI_WRITE_H
#define KN_IO_FORMATS_GIFTI_WRITE_H

#include "io/image/format.h"

extern const kn_image_writing kn_gifti_writing;

#endif
