/* Reads GIFTI (.gii, .gii.gz): XML with data arrays for the vertices of a surface.
 * https://www.nitrc.org/projects/gifti. Values are float32, int32 or uint8, stored as text, base64,
 * base64 of zlib, or in an external file in the same folder. Entities are not expanded; no array is
 * allocated that is larger than its text can hold. */
#ifndef KN_IO_FORMATS_GIFTI_H
#define KN_IO_FORMATS_GIFTI_H

#include "io/file/byte_source.h"
#include "io/formats/nifti_header.h"

enum { KN_GIFTI_INTENT_SIZE = 48 };

typedef struct kn_gifti_array {
    char intent[KN_GIFTI_INTENT_SIZE]; /* "NIFTI_INTENT_SHAPE" */
    const kn_voxel_type *type;
    int dims;         /* 1 or 2 */
    ptrdiff_t dim[2]; /* dim[1] is 1 if dims is 1 */
    void *data;       /* owned; dim[0] x dim[1], row-major, in this machine's byte order */
} kn_gifti_array;

typedef struct kn_gifti_label {
    long key;
    char *name;
} kn_gifti_label;

typedef struct kn_gifti {
    ptrdiff_t count, capacity; /* number and capacity of `array` */
    kn_gifti_array *array;
    ptrdiff_t labels, label_capacity; /* number and capacity of `label` */
    kn_gifti_label *label; /* the label table; entries without an integer key are skipped */
    bool has_unknown;      /* the table has a label '???' (no region) ... */
    long unknown;          /* ... with this key */
} kn_gifti;

/* Reads all arrays and the label table. KN_ERR_FORMAT if the file is damaged or uses another type
 * or encoding; KN_ERR_IO. Free with kn_gifti_clear. */
kn_status kn_gifti_read(kn_ctx *ctx, const char *path, kn_gifti *out);
/* Reads a GIFTI file from an open source, plain or gzip. others: arrays in external files are
 * allowed. *out is owned (kn_gifti_clear); KN_ERR_FORMAT for a malformed file. */
kn_status kn_gifti_read_source(kn_ctx *ctx, const kn_byte_source *source, bool others,
                               kn_gifti *out);
/* Frees everything. {0} is allowed. */
void kn_gifti_clear(kn_gifti *gifti);

#endif
