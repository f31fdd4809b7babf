/* Implements xml_escape.h. */
#include "io/formats/xml_escape.h"

#include <stdint.h>
#include <string.h>

/* Length in bytes of the UTF-8 character at p; 0 if it is invalid or not allowed in XML. */
static size_t character(const unsigned char *p)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
    uint32_t code = n == 1 ? *p : *p & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff, none = code == 0xfffe || code == 0xffff;
    bool control = code < ' ' && code != '\t' && code != '\n' && code != '\r';
    return n == 0 || code < least[n] || code > 0x10ffff || surrogate || none || control ? 0 : n;
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
        size_t n = character((const unsigned char *)c);
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
