/* Decodes the text of a GIFTI data array to numbers. Called by gifti.c at the end of an element
 * DataArray. */
#ifndef KN_IO_FORMATS_GIFTI_VALUES_H
#define KN_IO_FORMATS_GIFTI_VALUES_H

#include "io/formats/gifti.h"

typedef enum kn_gifti_encoding {
    KN_GIFTI_ASCII,
    KN_GIFTI_BASE64,
    KN_GIFTI_ZLIB,
    KN_GIFTI_EXTERNAL
} kn_gifti_encoding;

/* How the numbers of an array are stored. */
typedef struct kn_gifti_form {
    kn_gifti_encoding encoding;
    bool swapped;     /* the byte order is not this machine's */
    bool columns;     /* column-major: the first index varies fastest */
    char *external;   /* name of the external file; NULL: none given */
    ptrdiff_t offset; /* of the data in the external file, bytes */
} kn_gifti_form;

/* Allocates and fills array->data (type and dimensions are set) from text[0..n-1], which is
 * overwritten; text[n] must be 0. file: path of the XML; number: of the array, from 1, for
 * messages; others: as in kn_gifti_read_source. KN_ERR_FORMAT if the text does not hold exactly the
 * numbers of the dimensions. */
kn_status kn_gifti_decode(kn_ctx *ctx, const char *file, ptrdiff_t number, bool others,
                          const kn_gifti_form *form, char *text, ptrdiff_t n,
                          kn_gifti_array *array);

#endif
