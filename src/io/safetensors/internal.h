/* Layout constants shared by the reader (safetensors.c) and the writer (write.c). Model files and
 * job parts are in this format. */
#ifndef KN_IO_SAFETENSORS_INTERNAL_H
#define KN_IO_SAFETENSORS_INTERNAL_H

#include "io/file/byte_order.h"
#include "io/safetensors/safetensors.h"

_Static_assert(!KN_BIG_ENDIAN, "arrays are read as they are: the host must be little-endian");

#define KN_ST_METADATA_KEY "__metadata__"

/* The header of a sealed file begins with KN_ST_SEALED. The checksum follows: 16 hexadecimal
 * digits, XXH64 of the file with zeros in their place. So its position is known without parsing
 * JSON. */
#define KN_ST_CHECKSUM  "checksum"
#define KN_ST_SEALED    "{\"" KN_ST_METADATA_KEY "\":{\"" KN_ST_CHECKSUM "\":\""
#define KN_ST_NO_DIGITS "0000000000000000"

enum {
    KN_ST_START = 8,                                   /* offset of the JSON header */
    KN_ST_MAX_HEADER = 100000000,                      /* bytes; limit of the format */
    KN_ST_DIGITS = sizeof KN_ST_NO_DIGITS - 1,         /* length of the checksum */
    KN_ST_SEAL = KN_ST_START + sizeof KN_ST_SEALED - 1 /* offset of the checksum */
};

/* Number of elements and bytes of a shape. False if a size is negative or a product overflows. */
bool kn_st_size_of(kn_st_type type, int ndim, const ptrdiff_t *shape, ptrdiff_t *count,
                   ptrdiff_t *bytes);

#endif
