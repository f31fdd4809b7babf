/* Wrapper of expat for the XML readers (GIFTI, CIFTI): a handler can stop the parser with a status,
 * and entity declarations are an error (KN_ERR_FORMAT). */
#ifndef KN_IO_FORMATS_XML_READER_H
#define KN_IO_FORMATS_XML_READER_H

#include <expat.h>

#include "base/context.h"

/* Must be the first member of a format's parser struct: handlers get a pointer to it as user
 * data. */
typedef struct kn_xml {
    kn_ctx *ctx;
    const char *name; /* borrowed; path for messages */
    XML_Parser xml;   /* owned; free with XML_ParserFree */
    kn_status status; /* KN_OK, or the status given to kn_xml_stop */
} kn_xml;

typedef struct kn_xml_handlers {
    XML_StartElementHandler start;
    XML_EndElementHandler end;
    XML_CharacterDataHandler text;
} kn_xml_handlers;

/* Creates the parser. The caller frees it with XML_ParserFree(x->xml). */
kn_status kn_xml_open(kn_ctx *ctx, const char *name, const kn_xml_handlers *h, kn_xml *x);
/* Stops parsing from within a handler, and records why. */
void kn_xml_stop(kn_xml *x, kn_status status);
/* Fails with KN_ERR_MEMORY and a message that names the file. */
kn_status kn_xml_no_memory(const kn_xml *x);

/* The value of an attribute; NULL if absent. `attributes` as expat passes them. */
const char *kn_xml_attribute(const char **attributes, const char *name);
/* A non-negative integer of digits only (no sign, space or locale). -1 if it is anything else, too
 * large, or text is NULL. */
ptrdiff_t kn_xml_whole(const char *text);

#endif
