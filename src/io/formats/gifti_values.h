/* From the text of a GIFTI data array to its numbers. */
#ifndef KN_IO_FORMATS_GIFTI_VALUES_H
#define KN_IO_FORMATS_GIFTI_VALUES_H

#include "io/formats/gifti.h"

typedef enum kn_gifti_encoding {
    KN_GIFTI_ASCII,
    KN_GIFTI_BASE64,
    KN_GIFTI_ZLIB,
    KN_GIFTI_EXTERNAL
} kn_gifti_encoding;

typedef struct kn_gifti_form {
    kn_gifti_encoding encoding;
    bool swapped;   /* against this machine */
    bool columns;   /* the first index varies fastest */
    char *external; /* name of the file with the data; NULL: none was given */
    ptrdiff_t offset;
} kn_gifti_form;

/* Fills array->data from text[0..n-1], which is spoiled, and which text[n] = 0 ends. `file`: of
 * the XML; number: of the array, from 1. others: as in kn_gifti_read_source. */
kn_status kn_gifti_decode(kn_ctx *ctx, const char *file, ptrdiff_t number, bool others,
                          const kn_gifti_form *form, char *text, ptrdiff_t n,
                          kn_gifti_array *array);

#endif
