/* CIFTI-2: a NIfTI-2 file whose extension 32 is XML that says which vertex of which surface, or
 * voxel, each of its places is. https://www.nitrc.org/projects/cifti. Dense scalars and series are
 * read, and dense scalars written with the same brain models. Believed is nothing: sizes are
 * checked against the matrix, entities are not expanded. */
#ifndef KN_IO_FORMATS_CIFTI_H
#define KN_IO_FORMATS_CIFTI_H

#include "io/image/image.h"

enum {
    KN_CIFTI_CODE = 32,
    KN_CIFTI_UNKNOWN = 3000,    /* NIFTI_INTENT_CONNECTIVITY_UNKNOWN: the XML knows */
    KN_CIFTI_SERIES = 3002,     /* NIFTI_INTENT_CONNECTIVITY_DENSE_SERIES */
    KN_CIFTI_SCALARS = 3006,    /* NIFTI_INTENT_CONNECTIVITY_DENSE_SCALARS */
    KN_CIFTI_MAX_XML = 1 << 26, /* bytes; the usual 91282 places take 1 MB */
    KN_EXTENDER_SIZE = 4        /* bytes after a NIfTI header: do extensions follow? */
};

bool kn_cifti_may_be_dense(const kn_nifti_header *header); /* scalars or a series over a brain */

/* The brain models of so many places out of a file's XML, or the element alone as it is kept.
 * XML of another kind of matrix gives {0} and KN_OK. Free with kn_brain_clear. */
kn_status kn_cifti_parse(kn_ctx *ctx, const char *name, const char *xml, ptrdiff_t n,
                         ptrdiff_t places, kn_brain *out);

/* The header of a dense file has been read: its extension becomes image->brain. */
kn_status kn_cifti_open(kn_ctx *ctx, kn_image *image, const kn_byte_source *source);

#endif
