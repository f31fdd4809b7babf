/* Implements html.h. Every byte of a text passes decode_character(), which decodes UTF-8 strictly:
 * RFC 3629, with the well-formed prefix of a broken sequence replaced by one U+FFFD (Unicode
 * 15, 3.9, "maximal subpart"). */
#include "report/markup/html.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "report/text/sentence.h"

enum { REPLACEMENT = 0xfffd };

typedef struct piece { /* buffer of bytes for the writer */
    kn_html *h;
    ptrdiff_t n;
    char bytes[1024];
} piece;

/* Appends n bytes to the page and counts them; does nothing after a failure, which h->status keeps.
 * The only function that writes to the file. */
static void write_bytes(kn_html *h, const char *bytes, ptrdiff_t n)
{
    if (h->status == KN_OK && n > 0)
        h->status = kn_writer_write(h->ctx, h->file, bytes, n);
    if (h->status == KN_OK)
        h->bytes += n;
}

/* Writes the buffered bytes and empties the buffer. */
static void flush_piece(piece *p)
{
    write_bytes(p->h, p->bytes, p->n);
    p->n = 0;
}

/* Appends n bytes (at most 1024) to the buffer, which is written when it is full. */
static void put_bytes(piece *p, const char *bytes, size_t n)
{
    if ((size_t)p->n + n > sizeof p->bytes)
        flush_piece(p);
    memcpy(p->bytes + p->n, bytes, n);
    p->n += (ptrdiff_t)n;
}

/* Decodes the next character of a text and advances by at least one byte; anything but
 * well-formed UTF-8 is REPLACEMENT. The bounds of the second byte exclude overlong forms,
 * surrogates and values above U+10FFFF. */
static uint32_t decode_character(const unsigned char **text)
{
    const unsigned char *s = *text;
    const unsigned lead = *s++;
    unsigned low = 0x80, high = 0xbf, more = 0;
    uint32_t code = lead;
    if (lead >= 0xc2 && lead <= 0xdf)
        more = 1, code = lead & 0x1f;
    else if (lead >= 0xe0 && lead <= 0xef)
        more = 2, code = lead & 0x0f, low = lead == 0xe0 ? 0xa0 : low,
        high = lead == 0xed ? 0x9f : high;
    else if (lead >= 0xf0 && lead <= 0xf4)
        more = 3, code = lead & 0x07, low = lead == 0xf0 ? 0x90 : low,
        high = lead == 0xf4 ? 0x8f : high;
    else if (lead >= 0x80)
        code = REPLACEMENT;
    for (; more > 0; more--, low = 0x80, high = 0xbf) {
        if (*s < low || *s > high) { /* also the terminating NUL */
            code = REPLACEMENT;
            break;
        }
        code = code << 6 | (*s++ & 0x3fu);
    }
    *text = s;
    return code;
}

/* Returns a code point as it may stand in a page: a space for newline and tab, U+FFFD for other
 * controls, bidirectional controls and noncharacters, else the code point. */
static uint32_t sanitize_character(uint32_t c)
{
    if (c == '\n' || c == '\t')
        return ' ';
    const bool control = c < 0x20 || (c >= 0x7f && c <= 0x9f);
    const bool changes_direction = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
                                   c == 0x200e || c == 0x200f || c == 0x061c;
    const bool none = (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef) || c == 0xfeff;
    return control || changes_direction || none ? REPLACEMENT : c;
}

/* Appends one code point, at most U+10FFFF, in UTF-8. */
static void put_utf8(piece *p, uint32_t c)
{
    char b[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6)
        b[i] = (char)(0x80 | (c & 0x3f));
    b[0] = (char)(lead[n] | c);
    put_bytes(p, b, n);
}

/* Appends one code point, the five special characters of HTML as entities. */
static void put_escaped(piece *p, uint32_t c)
{
    static const struct {
        char c;
        const char *entity;
    } special[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (c == (uint32_t)special[i].c) {
            put_bytes(p, special[i].entity, strlen(special[i].entity));
            return;
        }
    put_utf8(p, c);
}

void kn_html_raw(kn_html *h, const char *mark_up)
{
    write_bytes(h, mark_up, (ptrdiff_t)strlen(mark_up));
}

void kn_html_print(kn_html *h, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert(n >= 0 && (size_t)n < sizeof text);
    kn_html_raw(h, text);
}

ptrdiff_t kn_html_length(const char *text)
{
    ptrdiff_t length = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s; length++)
        decode_character(&s);
    return length;
}

void kn_html_cut(kn_html *h, const char *text, ptrdiff_t limit)
{
    const ptrdiff_t length = kn_html_length(text);
    piece p = {.h = h};
    const unsigned char *s = (const unsigned char *)text;
    for (ptrdiff_t i = 0; *s && i < (length > limit ? limit - 1 : limit); i++)
        put_escaped(&p, sanitize_character(decode_character(&s)));
    if (length > limit)
        put_bytes(&p, "…", strlen("…"));
    flush_piece(&p);
}

void kn_html_text(kn_html *h, const char *text)
{
    kn_html_cut(h, text, PTRDIFF_MAX);
}

/* Writes x with `digits` decimals, a true minus sign and a decimal point in every locale. printf
 * uses the locale's character, which is recognised because it is not a digit. */
static void put_decimal(piece *p, double x, int digits)
{
    char text[400]; /* 309 digits of the largest double */
    snprintf(text, sizeof text, "%.*f", digits, fabs(x));
    if (x < 0 && strpbrk(text, "123456789"))
        put_bytes(p, "−", strlen("−"));
    bool point = false;
    for (const char *s = text; *s; s++) {
        const bool digit = *s >= '0' && *s <= '9';
        if (digit || !point)
            put_bytes(p, digit ? s : ".", 1);
        point = point || !digit;
    }
}

void kn_html_fixed(kn_html *h, double x, int digits)
{
    piece p = {.h = h};
    assert(digits >= 0 && digits <= 17);
    if (isnan(x))
        put_bytes(&p, "n/a", 3);
    else if (isinf(x)) {
        const char *text = x < 0 ? "−∞" : "∞";
        put_bytes(&p, text, strlen(text));
    } else
        put_decimal(&p, x, digits);
    flush_piece(&p);
}

/* Decimals from 10^-4 on, below as 3.2×10⁻⁵. */
void kn_html_rank_p(kn_html *h, double p, double smallest)
{
    if (kn_p_is_smallest(p, smallest))
        kn_html_raw(h, "≤ ");
    kn_html_p(h, p, false);
}

void kn_html_p(kn_html *h, double p, bool bound)
{
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    static const double smallest = 1e-300;
    piece out = {.h = h};
    if (isnan(p)) {
        kn_html_raw(h, "n/a");
        return;
    }
    if (bound || !(p >= smallest))
        put_bytes(&out, "&lt; ", 5);
    p = fmin(fmax(p, smallest), 1);
    if (bound) { /* rounded up, so that a bound is never understated; tolerates rounding errors */
        const double unit = pow(10, 1 - floor(log10(p)));
        p = fmin(ceil(p * unit * (1 - 1e-9)) / unit, 1);
    }
    int exponent = (int)floor(log10(p));
    if (p * pow(10, -exponent) >= 9.95) /* two digits of it round to 10 */
        exponent++;
    if (exponent >= -4)
        put_decimal(&out, p, exponent >= 0 ? 2 : 1 - exponent);
    else {
        put_decimal(&out, p * pow(10, -exponent), 1);
        put_bytes(&out, "×10⁻", strlen("×10⁻"));
        for (int ten = exponent <= -100 ? 100 : exponent <= -10 ? 10 : 1; ten > 0; ten /= 10) {
            const char *digit = raised[-exponent / ten % 10];
            put_bytes(&out, digit, strlen(digit));
        }
    }
    flush_piece(&out);
}

void kn_html_json(kn_html *h, const char *text)
{
    piece p = {.h = h};
    put_bytes(&p, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        uint32_t c = sanitize_character(decode_character(&s));
        char code[16];
        if (c >= 0x20 && c < 0x7f && !strchr("\"\\<>&'", (int)c))
            snprintf(code, sizeof code, "%c", (int)c);
        else if (c < 0x10000)
            snprintf(code, sizeof code, "\\u%04x", (unsigned)c);
        else
            snprintf(code, sizeof code, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c >> 10)),
                     (unsigned)(0xdc00 | (c & 0x3ff)));
        put_bytes(&p, code, strlen(code));
    }
    put_bytes(&p, "\"", 1);
    flush_piece(&p);
}

void kn_html_base64(kn_html *h, const void *bytes, ptrdiff_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *s = bytes;
    piece p = {.h = h};
    for (; n > 0 && h->status == KN_OK; s += 3, n -= 3) {
        const unsigned b1 = n > 1 ? s[1] : 0, b2 = n > 2 ? s[2] : 0;
        const char four[4] = {digit[s[0] >> 2], digit[(s[0] & 3u) << 4 | b1 >> 4],
                              n > 1 ? digit[(b1 & 15) << 2 | b2 >> 6] : '=',
                              n > 2 ? digit[b2 & 63] : '='};
        put_bytes(&p, four, 4);
    }
    flush_piece(&p);
}
