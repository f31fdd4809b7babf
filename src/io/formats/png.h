/* Encodes small pictures as PNG (RFC 2083) in memory, with a palette or in grey. The same pixels
 * give the same bytes. */
#ifndef KN_IO_FORMATS_PNG_H
#define KN_IO_FORMATS_PNG_H

#include <stdint.h>

#include "base/memory/alloc.h"

typedef struct kn_png_colour {
    uint8_t red, green, blue, alpha; /* alpha 0: transparent, 255: opaque */
} kn_png_colour;

enum { KN_PNG_COLOURS = 256 };

/* Encodes height x width pixels, row-major from the top; each is an index into `colour`, which has
 * at most KN_PNG_COLOURS. Only used colours are written, with 1, 2, 4 or 8 bits per pixel. width
 * and height are positive. Free *bytes (*n of them) with kn_free. */
kn_status kn_png_indexed(kn_ctx *ctx, ptrdiff_t width, ptrdiff_t height, const uint8_t *pixel,
                         const kn_png_colour *colour, void **bytes, ptrdiff_t *n);

#endif
