/* Bytes and numbers into the page for its viewers: the rest of a <script type=
 * "application/octet-stream" id="..."> that the caller has begun, gzip, base64, and its end. */
#ifndef KN_REPORT_VIEWER_PACK_H
#define KN_REPORT_VIEWER_PACK_H

#include "report/html.h"

void kn_pack_bytes(kn_html *out, const uint8_t *bytes, ptrdiff_t n);
/* Each byte less the one before it (mod 256), in place: the smaller by a tenth to a fifth on maps
 * of z. */
void kn_pack_differences(uint8_t *bytes, ptrdiff_t n);
/* Whole numbers, each less the one before it, the sign in the lowest bit (0, -1, 1, -2 .. are
 * 0, 1, 2, 3 ..), lowest bytes of all first, then the next: what is small packs to nothing.
 * Overwrites them. */
void kn_pack_numbers(kn_html *out, int32_t *number, ptrdiff_t n);
/* Members of a JSON object: step and missing of z, zmax, colours from -zmax to zmax. */
void kn_pack_colours(kn_html *out);

#endif
