/* What the reader and the writer of safetensors files agree on. */
#ifndef KN_IO_SAFETENSORS_INTERNAL_H
#define KN_IO_SAFETENSORS_INTERNAL_H

#include "io/file/byte_order.h"
#include "io/safetensors/safetensors.h"

_Static_assert(!KN_BIG_ENDIAN, "mapped arrays are used in place: the host must be little-endian");

#define KN_ST_METADATA_KEY "__metadata__"

/* How the header of a sealed file begins. The digits, XXH64 of the file in which they are zeros,
 * follow: their place is known before anything in the file is believed. */
#define KN_ST_CHECKSUM  "checksum"
#define KN_ST_SEALED    "{\"" KN_ST_METADATA_KEY "\":{\"" KN_ST_CHECKSUM "\":\""
#define KN_ST_NO_DIGITS "0000000000000000"

enum {
    KN_ST_START = 8,
    KN_ST_MAX_HEADER = 100000000,                      /* bytes; the format's own limit */
    KN_ST_DIGITS = sizeof KN_ST_NO_DIGITS - 1,         /* of the checksum */
    KN_ST_SEAL = KN_ST_START + sizeof KN_ST_SEALED - 1 /* where they are */
};

/* Elements and bytes of a shape; false when a size is negative or the product has no ptrdiff_t. */
bool kn_st_size_of(kn_st_type type, int ndim, const ptrdiff_t *shape, ptrdiff_t *count,
                   ptrdiff_t *bytes);

#endif
