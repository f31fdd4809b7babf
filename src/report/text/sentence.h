/* Formats numbers, and builds sentences piece by piece in an arena, with a decimal point in
 * every locale. The first failure is kept and later calls do nothing, so the code of a paragraph
 * needs no checks. */
#ifndef KN_REPORT_TEXT_SENTENCE_H
#define KN_REPORT_TEXT_SENTENCE_H

#include <stdbool.h>

#include "base/memory/alloc.h"

/* ---- a number ---- */

typedef struct kn_formatted {
    char text[40];
} kn_formatted;

/* Formats x with `digits` decimals: "1.02", "n/a" for NaN; "-0.00" loses its sign. */
kn_formatted kn_format_fixed(double x, int digits);
/* Formats x with `digits` decimals and its sign: "+0.06". */
kn_formatted kn_format_signed(double x, int digits);
/* Formats x with `digits` significant digits: "8.62", "0.0052". */
kn_formatted kn_format_figures(double x, int digits);
/* Formats a proportion (0 .. 1) in per cent, without the sign: "12.3", with more decimals near 0
 * and 100. */
kn_formatted kn_format_percent(double proportion);
/* Formats a proportion as kn_format_percent does, but rounded down, for "at least": 98.9 for
 * .98979. */
kn_formatted kn_format_percent_min(double proportion);
/* Formats p with two significant digits, ".0039", never 0. */
kn_formatted kn_format_p(double p);
/* Formats an upper bound of a p-value, rounded up to two significant digits: 0.011 for 0.0102, for
 * "p < 0.011". */
kn_formatted kn_format_p_bound(double p);

/* True if p is the smallest p-value that the reference sample allows; false if that is NaN. */
bool kn_p_is_smallest(double p, double smallest);

/* ---- a sentence ---- */

typedef struct kn_sentence {
    kn_ctx *ctx;
    kn_arena *arena;
    char *text; /* owned, kn_free; grows */
    ptrdiff_t used, capacity;
    kn_status status;
} kn_sentence;

/* Appends formatted words to the sentence, which starts as {.ctx = .., .arena = ..}. Do not use
 * floating-point conversions, which depend on the locale; use kn_sentence_fixed and the like. */
void kn_sentence_words(kn_sentence *s, const char *format, ...) KN_PRINTF(2, 3);
/* Appends x with `digits` decimals. */
void kn_sentence_fixed(kn_sentence *s, double x, int digits);
/* Appends x with `digits` significant digits. */
void kn_sentence_figures(kn_sentence *s, double x, int digits);
/* Appends a proportion (0 .. 1) as "12.3%". */
void kn_sentence_percent(kn_sentence *s, double proportion);
/* Appends a p-value, "p = 0.013"; an upper bound as "p < 0.0053". Never 0. */
void kn_sentence_p(kn_sentence *s, double p, bool bound);
/* Appends a p-value that is a rank: "p = 0.31", or "p ≤ 0.010" for the smallest possible one;
 * smallest NaN: not known. */
void kn_sentence_rank_p(kn_sentence *s, double p, double smallest);
/* Writes the separator before item k of n: "a", "a and b", "a, b and c". */
void kn_sentence_and(kn_sentence *s, ptrdiff_t k, ptrdiff_t n);

/* Sets *out to a copy of the sentence in its arena, and resets it for the next one. Returns the
 * first failure of the calls before. */
kn_status kn_sentence_end(kn_sentence *s, const char **out);

#endif
