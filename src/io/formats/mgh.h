/* Headers of FreeSurfer's .mgh and .mgz (gzip of .mgh): big-endian, version 1, data at byte 284.
 * They are converted to a kn_nifti_header, so that all formats share one reader.
 * https://surfer.nmr.mgh.harvard.edu/fswiki/FsTutorial/MghFormat; affines agree with nibabel. */
#ifndef KN_IO_FORMATS_MGH_H
#define KN_IO_FORMATS_MGH_H

#include "io/formats/nifti_header.h"

enum { KN_MGH_OFFSET = 284 };

/* Parses the first n bytes of a file; `name` is for messages. KN_ERR_FORMAT if it is no valid
 * header. The caller checks that the file holds the data (kn_image_check_size). */
kn_status kn_mgh_header_parse(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                              ptrdiff_t n, kn_nifti_header *out);

/* Encodes the header of a float32 image with `frames` volumes; `out` has KN_MGH_OFFSET bytes. */
void kn_mgh_header_encode(const kn_geometry *geometry, ptrdiff_t frames, unsigned char *out);

#endif
