/* Numbers in words, and sentences put together piece by piece in an arena. Numbers have a point
 * under every locale. The first failure is kept, and later pieces do nothing, so that a paragraph
 * reads as one. */
#ifndef KN_REPORT_TEXT_SENTENCE_H
#define KN_REPORT_TEXT_SENTENCE_H

#include <stdbool.h>

#include "base/memory/arena.h"

/* ---- a number ---------------------------------------------------------------------------------
 */

typedef struct kn_formatted {
    char text[40];
} kn_formatted;

kn_formatted kn_format_fixed(double x, int digits);   /* 1.02, "n/a" for NaN; "-0.00" has no sign */
kn_formatted kn_format_signed(double x, int digits);  /* +0.06 */
kn_formatted kn_format_figures(double x, int digits); /* so many significant digits: 8.62, 0.0052 */
kn_formatted kn_format_percent(double share);         /* "12.3", more digits near 0 and 100 */
/* "at least so much": never more than the share, 98.9 of .98979 */
kn_formatted kn_format_percent_least(double share);
/* p as people read it: two digits, ".0039", never 0 */
kn_formatted kn_format_p(double p);
/* "p < 0.011" of 0.0102: a bound is never said to be smaller than it is */
kn_formatted kn_format_p_bound(double p);

/* ---- a sentence -------------------------------------------------------------------------------
 */

typedef struct kn_sentence {
    kn_ctx *ctx;
    kn_arena *arena;
    char *text; /* kn_free; grows */
    ptrdiff_t used, room;
    kn_status status;
} kn_sentence;

/* {.ctx = .., .arena = ..} begins. No floating-point conversion in a format: kn_sentence_fixed and
 * its like. */
void kn_sentence_words(kn_sentence *s, const char *format, ...) KN_PRINTF(2, 3);
void kn_sentence_fixed(kn_sentence *s, double x, int digits);
void kn_sentence_figures(kn_sentence *s, double x, int digits);
void kn_sentence_percent(kn_sentence *s, double share);   /* "12.3 %" */
void kn_sentence_p(kn_sentence *s, double p, bool bound); /* "p = 0.013", "p < 0.0053", never 0 */
/* "a", "a and b", "a, b and c": piece k of n before its item. */
void kn_sentence_and(kn_sentence *s, ptrdiff_t k, ptrdiff_t n);

/* The text to the arena; begins anew. */
kn_status kn_sentence_end(kn_sentence *s, const char **out);

#endif
