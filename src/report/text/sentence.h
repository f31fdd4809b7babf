/* Numbers in words, and sentences put together piece by piece in an arena. Numbers have a point
 * under every locale. The first failure is kept, and later pieces do nothing, so that a paragraph
 * reads as one. */
#ifndef KN_REPORT_TEXT_SENTENCE_H
#define KN_REPORT_TEXT_SENTENCE_H

#include <stdbool.h>

#include "base/memory/arena.h"

/* ---- a number ---------------------------------------------------------------------------------
 */

typedef struct kn_said {
    char text[40];
} kn_said;

kn_said kn_said_fixed(double x, int digits);   /* 1.02, "n/a" for NaN; "-0.00" has no sign */
kn_said kn_said_signed(double x, int digits);  /* +0.06 */
kn_said kn_said_figures(double x, int digits); /* so many significant digits: 8.62, 0.0052 */
kn_said kn_said_percent(double share);         /* "12.3", more digits near 0 and 100 */
/* "at least so much": never more than the share, 98.9 of .98979 */
kn_said kn_said_percent_least(double share);
/* p as people read it: two digits, ".0039", never 0 */
kn_said kn_said_p(double p);
/* "p < 0.011" of 0.0102: a bound is never said to be smaller than it is */
kn_said kn_said_p_bound(double p);

/* ---- a sentence -------------------------------------------------------------------------------
 */

typedef struct kn_say {
    kn_ctx *ctx;
    kn_arena *arena;
    char *text; /* kn_free; grows */
    ptrdiff_t used, room;
    kn_status status;
} kn_say;

/* {.ctx = .., .arena = ..} begins. No floating-point conversion in a format: kn_say_fixed and its
 * like. */
void kn_say_words(kn_say *s, const char *format, ...) KN_PRINTF(2, 3);
void kn_say_fixed(kn_say *s, double x, int digits);
void kn_say_figures(kn_say *s, double x, int digits);
void kn_say_percent(kn_say *s, double share);   /* "12.3 %" */
void kn_say_p(kn_say *s, double p, bool bound); /* "p = 0.013", "p < 0.0053", never 0 */
/* "a", "a and b", "a, b and c": piece k of n before its item. */
void kn_say_and(kn_say *s, ptrdiff_t k, ptrdiff_t n);

/* The text to the arena; begins anew. */
kn_status kn_say_end(kn_say *s, const char **out);

#endif
