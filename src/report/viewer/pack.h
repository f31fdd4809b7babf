/* Writes bytes into the page for its viewer: the rest of a <script type="application/octet-stream"
 * id="..."> that the caller has begun (gzip, base64) and its end. */
#ifndef KN_REPORT_VIEWER_PACK_H
#define KN_REPORT_VIEWER_PACK_H

#include "report/markup/html.h"

void kn_pack_bytes(kn_html *out, const uint8_t *bytes, ptrdiff_t n);
/* Each byte less the one before it (mod 256), in place: the smaller by a tenth to a fifth on maps
 * of z. */
void kn_pack_differences(uint8_t *bytes, ptrdiff_t n);
/* Members of a JSON object: step and missing of z, zmax, colours from -zmax to zmax. */
void kn_pack_colours(kn_html *out);

#endif
