/* Writes binary data of the page for viewer.js: gzip and base64 inside a <script
 * type="application/octet-stream" id="..."> that the caller has opened. */
#ifndef KN_REPORT_VIEWER_PACK_H
#define KN_REPORT_VIEWER_PACK_H

#include "report/markup/html.h"

/* Writes n bytes and the closing tag. */
void kn_pack_bytes(kn_html *out, const uint8_t *bytes, ptrdiff_t n);
/* Replaces each byte by its difference from the previous one (mod 256), in place. Compressed
 * z-maps become smaller by a tenth to a fifth. */
void kn_pack_differences(uint8_t *bytes, ptrdiff_t n);
/* Writes members of a JSON object: step and missing code of z, zmax, colours from -zmax to zmax. */
void kn_pack_colours(kn_html *out);

#endif
