/* Writes mark-up to a file. Texts from input files must pass through kn_html_text, or through
 * kn_html_json inside data, which escape them. The first failure is kept in status and later
 * calls do nothing, so drawing code needs no checks. */
#ifndef KN_REPORT_MARKUP_HTML_H
#define KN_REPORT_MARKUP_HTML_H

#include "io/file/atomic_writer.h"

typedef struct kn_html {
    kn_ctx *ctx;
    kn_writer *file; /* borrowed */
    kn_status status;
    ptrdiff_t bytes; /* written so far */
} kn_html;

/* Writes mark-up of kronorm itself, unescaped; never a text from a file. */
void kn_html_raw(kn_html *h, const char *mark_up);
/* Formats integers and literals as printf does, and writes them unescaped: at most 2047 bytes,
 * never a text from a file. Do not use %f, %g or %e, which depend on the locale: use kn_html_fixed.
 */
void kn_html_print(kn_html *h, const char *format, ...) KN_PRINTF(2, 3);

/* Writes any text, escaped: & < > " ' as entities; control characters, invalid UTF-8,
 * noncharacters and bidirectional controls (U+202A-202E, U+2066-2069, U+200E, U+200F, U+061C) as
 * U+FFFD; tab and newline as a space. Safe between tags and in a quoted attribute, in HTML and
 * XML. */
void kn_html_text(kn_html *h, const char *text);
/* Writes at most `limit` characters of a text, escaped as by kn_html_text, with an ellipsis as the
 * last one if it was cut. */
void kn_html_cut(kn_html *h, const char *text, ptrdiff_t limit);
/* Returns the number of characters that kn_html_text writes; an invalid sequence counts as one. */
ptrdiff_t kn_html_length(const char *text);

/* Writes x with `digits` decimals and a true minus sign; "n/a" for NaN, ∞ for infinity. */
void kn_html_fixed(kn_html *h, double x, int digits);
/* Writes a p-value with two significant digits, "< " before it if it is a bound. Plain text, so
 * that figures can use it too. */
void kn_html_p(kn_html *h, double p, bool bound);

/* Writes a p-value that is a rank: "≤ " before it if it is the smallest possible one; smallest
 * NaN: not known. */
void kn_html_rank_p(kn_html *h, double p, double smallest);

/* Writes a JSON string with quotes, ASCII only, < > & as \u003c ...: safe within <script>. */
void kn_html_json(kn_html *h, const char *text);
/* Writes n bytes as base64. */
void kn_html_base64(kn_html *h, const void *bytes, ptrdiff_t n);

#endif
