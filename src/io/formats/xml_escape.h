/* Text of others within XML. */
#ifndef KN_IO_FORMATS_XML_ESCAPE_H
#define KN_IO_FORMATS_XML_ESCAPE_H

#include "base/memory/alloc.h"

/* *out = the text with & < > as entities; what XML or UTF-8 does not allow becomes '?'. Free with
 * kn_free. */
kn_status kn_xml_text(kn_ctx *ctx, const char *text, char **out);

#endif
