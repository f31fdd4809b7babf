/* Writes GIFTI: a float32 data array of each volume, compressed and in base64, .gii or gzipped.
 * A volume has its name in the meta data, the file the side of the brain where that is known. */
#ifndef KN_IO_FORMATS_GIFTI_WRITE_H
#define KN_IO_FORMATS_GIFTI_WRITE_H

#include "io/image/format.h"

extern const kn_image_writing kn_gifti_writing;

#endif
