/* Reads CIFTI-2 files: NIfTI-2 whose header extension 32 is XML that maps each place (row of the
 * matrix, "grayordinate") to a vertex of a surface or to a voxel.
 * https://www.nitrc.org/projects/cifti. Dense scalars and dense series are read; cifti_write.c
 * writes dense scalars with the same brain models. Sizes in the XML are checked against the
 * matrix; entities are not expanded. */
#ifndef KN_IO_FORMATS_CIFTI_H
#define KN_IO_FORMATS_CIFTI_H

#include "io/image/image.h"

enum {
    KN_CIFTI_CODE = 32,         /* code of the header extension */
    KN_CIFTI_UNKNOWN = 3000,    /* NIFTI_INTENT_CONNECTIVITY_UNKNOWN: the XML states the kind */
    KN_CIFTI_SERIES = 3002,     /* NIFTI_INTENT_CONNECTIVITY_DENSE_SERIES */
    KN_CIFTI_SCALARS = 3006,    /* NIFTI_INTENT_CONNECTIVITY_DENSE_SCALARS */
    KN_CIFTI_MAX_XML = 1 << 26, /* bytes; the usual 91282 places take 1 MB */
    KN_EXTENDER_SIZE = 4        /* bytes after a NIfTI header: flag that extensions follow */
};

/* True if the intent code allows dense scalars or a dense series (places x maps). */
bool kn_cifti_may_be_dense(const kn_nifti_header *header);

/* Extracts the brain models from n bytes of XML: a whole CIFTI document, or a stored element
 * MatrixIndicesMap. places: rows of the matrix. For another kind of matrix *out is {0} and the
 * status KN_OK. KN_ERR_FORMAT if the XML is invalid, or the models do not have `places` places in
 * all. Free with kn_brain_clear. */
kn_status kn_cifti_parse(kn_ctx *ctx, const char *name, const char *xml, ptrdiff_t n,
                         ptrdiff_t places, kn_brain *out);

/* Reads the extension of a CIFTI file whose header is already in image->header, into image->brain.
 * KN_ERR_FORMAT if there is no CIFTI extension. */
kn_status kn_cifti_open(kn_ctx *ctx, kn_image *image, const kn_byte_source *source);

/* ---- vertices of a cortex -------------------------------------------------------------------- */

/* Maps the vertices of a cortical surface to places (rows) of a CIFTI file, from its stored brain
 * models. */

typedef struct kn_cifti_cortex {
    int side;           /* 0 left, 1 right */
    ptrdiff_t places;   /* of the CIFTI file */
    ptrdiff_t vertices; /* of the surface */
} kn_cifti_cortex;

/* place[v] = place of vertex v (array of cortex->vertices), -1 if the file has no value there (such
 * as the medial wall). *found: the file contains this hemisphere. brain->xml must not be NULL;
 * `name` is for messages. KN_ERR_SHAPE if the file's surface has another number of vertices. */
kn_status kn_cifti_vertices(kn_ctx *ctx, const char *name, const kn_brain *brain,
                            const kn_cifti_cortex *cortex, ptrdiff_t *place, bool *found);

#endif
