/* XML: the wrapper of expat, and the escaping of text (internal.h). GIFTI and CIFTI headers are
 * XML; external entities are refused. */
#include "io/formats/internal.h"

#include <stdint.h>
#include <string.h>

/* ---- reader ---------------------------------------------------------------------------------- */

void kn_xml_stop(kn_xml *x, kn_status status)
{
    x->status = status;
    XML_StopParser(x->xml, XML_FALSE);
}

kn_status kn_xml_no_memory(const kn_xml *x)
{
    return kn_fail(x->ctx, KN_ERR_MEMORY, "%s: out of memory for its XML", x->name);
}

/* Handler of expat: stops the parser with KN_ERR_FORMAT at an entity declaration, whose expansion
 * can exhaust memory or read other files. */
static void XMLCALL on_entity(void *self, const char *name, int parameter, const char *value,
                              int length, const char *base, const char *system, const char *public,
                              const char *notation)
{
    kn_xml *x = self;
    (void)name, (void)parameter, (void)value, (void)length;
    (void)base, (void)system, (void)public, (void)notation;
    if (x->status == KN_OK)
        kn_xml_stop(x, kn_fail(x->ctx, KN_ERR_FORMAT,
                               "%s declares entities, which are not supported", x->name));
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

/* ---- text ------------------------------------------------------------------------------------ */

/* Returns the bytes of the UTF-8 character at p; 0 if it is invalid or not allowed in XML. */
static size_t character_length(const unsigned char *p)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
    uint32_t code = n == 1 ? *p : *p & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff, none = code == 0xfffe || code == 0xffff;
    bool control = code < ' ' && code != '\t' && code != '\n' && code != '\r';
    return n == 0 || code < lowest[n] || code > 0x10ffff || surrogate || none || control ? 0 : n;
}

kn_status kn_xml_text(kn_ctx *ctx, const char *text, char **out)
{
    enum { LONGEST = 5 }; /* characters per byte of text: &amp; */
    void *memory;
    kn_status status = kn_alloc(ctx, LONGEST * (ptrdiff_t)strlen(text) + 1, 1, &memory);
    *out = memory;
    if (status != KN_OK)
        return status;
    char *to = *out;
    for (const char *c = text; *c;) {
        size_t n = character_length((const unsigned char *)c);
        const char *as = *c == '&'   ? "&amp;"
                         : *c == '<' ? "&lt;"
                         : *c == '>' ? "&gt;"
                         : n         ? c
                                     : "?";
        size_t length = as == c ? n : strlen(as);
        memcpy(to, as, length);
        to += length;
        c += n ? n : 1;
    }
    *to = '\0';
    return KN_OK;
}
