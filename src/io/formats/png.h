/* PNG (RFC 2083), written from memory to memory: small pictures of few colours, and grey ones. The
 * same pixels give the same bytes. */
#ifndef KN_IO_FORMATS_PNG_H
#define KN_IO_FORMATS_PNG_H

#include <stdint.h>

#include "base/memory/alloc.h"

typedef struct kn_png_colour {
    uint8_t red, green, blue, alpha; /* alpha 0: nothing is seen */
} kn_png_colour;

enum { KN_PNG_COLOURS = 256 };

/* height x width pixels, the top row first; each is the number of a colour, of which there are at
 * most KN_PNG_COLOURS. Only colours that are used are written, at 1, 2, 4 or 8 bits a pixel.
 * *bytes: kn_free. */
kn_status kn_png_indexed(kn_ctx *ctx, ptrdiff_t width, ptrdiff_t height, const uint8_t *pixel,
                         const kn_png_colour *colour, void **bytes, ptrdiff_t *n);

/* The same of one grey a pixel, 0 black, 255 white. */
kn_status kn_png_grey(kn_ctx *ctx, ptrdiff_t width, ptrdiff_t height, const uint8_t *grey,
                      void **bytes, ptrdiff_t *n);

#endif
