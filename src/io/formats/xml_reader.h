/* expat as the readers of XML use it: a handler stops with a status, entities are refused. */
#ifndef KN_IO_FORMATS_XML_READER_H
#define KN_IO_FORMATS_XML_READER_H

#include <expat.h>

#include "base/context.h"

/* The first member of a format's own parser, to which its handlers get a pointer. */
typedef struct kn_xml {
    kn_ctx *ctx;
    const char *name; /* of the file, for messages */
    XML_Parser xml;
    kn_status status; /* why it was stopped */
} kn_xml;

typedef struct kn_xml_handlers {
    XML_StartElementHandler start;
    XML_EndElementHandler end;
    XML_CharacterDataHandler text;
} kn_xml_handlers;

/* XML_ParserFree(x->xml) ends it. */
kn_status kn_xml_open(kn_ctx *ctx, const char *name, const kn_xml_handlers *h, kn_xml *x);
void kn_xml_stop(kn_xml *x, kn_status status);
kn_status kn_xml_no_memory(const kn_xml *x); /* the sentence */

/* The value of an attribute; NULL: there is none. */
const char *kn_xml_attribute(const char **attributes, const char *name);
/* Digits only, so that no sign, space or locale matters; -1: something else, or too large. */
ptrdiff_t kn_xml_whole(const char *text);

#endif
