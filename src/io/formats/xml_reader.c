/* Implements xml_reader.h. */
#include "io/formats/xml_reader.h"

#include <stdint.h>
#include <string.h>

void kn_xml_stop(kn_xml *x, kn_status status)
{
    x->status = status;
    XML_StopParser(x->xml, XML_FALSE);
}

kn_status kn_xml_no_memory(const kn_xml *x)
{
    return kn_fail(x->ctx, KN_ERR_MEMORY, "%s: out of memory for its XML", x->name);
}

/* Rejects entity declarations, whose expansion can exhaust memory or read other files. */
static void XMLCALL on_entity(void *self, const char *name, int parameter, const char *value,
                              int length, const char *base, const char *system, const char *public,
                              const char *notation)
{
    kn_xml *x = self;
    (void)name, (void)parameter, (void)value, (void)length;
    (void)base, (void)system, (void)public, (void)notation;
    if (x->status == KN_OK)
        kn_xml_stop(x, kn_fail(x->ctx, KN_ERR_FORMAT, "%s: declares entities, which are not read",
                               x->name));
}

kn_status kn_xml_open(kn_ctx *ctx, const char *name, const kn_xml_handlers *h, kn_xml *x)
{
    *x = (kn_xml){.ctx = ctx, .name = name, .xml = XML_ParserCreate(NULL), .status = KN_OK};
    if (!x->xml)
        return kn_xml_no_memory(x);
    XML_SetUserData(x->xml, x);
    XML_SetElementHandler(x->xml, h->start, h->end);
    XML_SetCharacterDataHandler(x->xml, h->text);
    XML_SetEntityDeclHandler(x->xml, on_entity);
    return KN_OK;
}

const char *kn_xml_attribute(const char **attributes, const char *name)
{
    for (int i = 0; attributes[i]; i += 2)
        if (strcmp(attributes[i], name) == 0)
            return attributes[i + 1];
    return NULL;
}

ptrdiff_t kn_xml_whole(const char *text)
{
    ptrdiff_t value = 0;
    if (!text || !*text)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > PTRDIFF_MAX / 1024)
            return -1;
        value = value * 10 + (*text - '0');
    }
    return value;
}
