/* GIFTI: arrays of numbers for the vertices of a surface, in XML; .gii, .gii.gz.
 * https://www.nitrc.org/projects/gifti. float32, int32 and uint8; as text, base64, base64 of zlib,
 * or in a file beside it. Entities are not expanded, and nothing is allocated for numbers that the
 * text is too short to hold. */
#ifndef KN_IO_FORMATS_GIFTI_H
#define KN_IO_FORMATS_GIFTI_H

#include "io/file/byte_source.h"
#include "io/formats/nifti_header.h"

enum { KN_GIFTI_INTENT_SIZE = 48 };

typedef struct kn_gifti_array {
    char intent[KN_GIFTI_INTENT_SIZE]; /* "NIFTI_INTENT_SHAPE" */
    const kn_voxel_type *type;
    int dims;         /* 1 or 2 */
    ptrdiff_t dim[2]; /* dim[1] is 1 with one dimension */
    void *data;       /* in this machine's byte order, row after row */
} kn_gifti_array;

typedef struct kn_gifti_label {
    long key;
    char *name;
} kn_gifti_label;

typedef struct kn_gifti {
    ptrdiff_t count, room;
    kn_gifti_array *array;
    ptrdiff_t labels, label_room; /* of its table; those whose key is a number */
    kn_gifti_label *label;
    bool has_unknown; /* the table of labels has one that is '???', whose key is this */
    long unknown;
} kn_gifti;

kn_status kn_gifti_read(kn_ctx *ctx, const char *path, kn_gifti *out);
/* The same from an open source, plain or gzip; others: it may name files beside it. */
kn_status kn_gifti_read_source(kn_ctx *ctx, const kn_byte_source *source, bool others,
                               kn_gifti *out);
void kn_gifti_clear(kn_gifti *gifti); /* {0} is fine */

/* The arrays as volumes of n x 1 x 1 without orientation, one after the other from byte 0 on; they
 * must have one value a vertex, and be alike. */
kn_status kn_gifti_header(kn_ctx *ctx, const char *name, const kn_gifti *gifti,
                          kn_nifti_header *out);

#endif
