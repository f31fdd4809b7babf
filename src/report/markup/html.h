/* Mark-up, to a writer. The one way by which a text from a file gets into the page: kn_html_text,
 * and kn_html_json inside data. The first failure is kept, and later calls do nothing, so that
 * drawing code reads without checks. */
#ifndef KN_REPORT_MARKUP_HTML_H
#define KN_REPORT_MARKUP_HTML_H

#include "io/file/atomic_writer.h"

typedef struct kn_html {
    kn_ctx *ctx;
    kn_writer *file; /* lent */
    kn_status status;
    ptrdiff_t bytes; /* written so far */
} kn_html;

/* Mark-up of our own, as it is; with a format for numbers and words of our own, never for a text
 * from a file. No %f, %g or %e: they follow the locale of the host; kn_html_fixed does not. */
void kn_html_raw(kn_html *h, const char *mark_up);
void kn_html_print(kn_html *h, const char *format, ...) KN_PRINTF(2, 3);

/* A text of anybody's: & < > " ' as entities; control characters, broken UTF-8, what is no
 * character, and what turns the direction of writing (U+202A-202E, U+2066-2069, U+200E, U+200F,
 * U+061C) as U+FFFD; a tab and a new line as a space. Safe between tags and in a quoted attribute,
 * of HTML and of XML. */
void kn_html_text(kn_html *h, const char *text);
/* The same of at most `most` characters, the rest as an ellipsis. */
void kn_html_cut(kn_html *h, const char *text, ptrdiff_t most);
/* Characters that kn_html_text writes: of a broken sequence one. */
ptrdiff_t kn_html_length(const char *text);

/* A number with `digits` after the point, a true minus sign, "n/a" where it is not known. */
void kn_html_fixed(kn_html *h, double x, int digits);
/* p: two significant digits, "< " before a bound; text alone, so that a figure can have it too. */
void kn_html_p(kn_html *h, double p, bool bound);

/* A JSON string with its quotes, ASCII only, < > & as \u003c ...: safe within <script>. */
void kn_html_json(kn_html *h, const char *text);
/* Bytes as base64. */
void kn_html_base64(kn_html *h, const void *bytes, ptrdiff_t n);

#endif
