/* Headers of FreeSurfer's .mgh and .mgz (the same, gzipped): big-endian, version 1, data at byte
 * 284. What they say is told in the fields of a NIfTI header, so that every image is read alike.
 * https://surfer.nmr.mgh.harvard.edu/fswiki/FsTutorial/MghFormat; affines as nibabel finds them. */
#ifndef KN_IO_FORMATS_MGH_H
#define KN_IO_FORMATS_MGH_H

#include "io/formats/nifti_header.h"

enum { KN_MGH_OFFSET = 284 };

/* Reads n bytes from the start of a file. That the data are there is for the caller to check. */
kn_status kn_mgh_header_parse(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                              ptrdiff_t n, kn_nifti_header *out);

/* KN_MGH_OFFSET bytes that say float32 frames of this geometry. */
void kn_mgh_header_encode(const kn_geometry *geometry, ptrdiff_t frames, unsigned char *out);

#endif
