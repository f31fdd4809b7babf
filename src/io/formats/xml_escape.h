/* Escapes text from users or files for use in XML. */
#ifndef KN_IO_FORMATS_XML_ESCAPE_H
#define KN_IO_FORMATS_XML_ESCAPE_H

#include "base/memory/alloc.h"

/* *out = text with & < > as entities, and '?' for every byte that is not valid UTF-8 or not allowed
 * in XML. For element content, not attributes (quotes stay). Free with kn_free. */
kn_status kn_xml_text(kn_ctx *ctx, const char *text, char **out);

#endif
