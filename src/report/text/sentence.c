/* Formats numbers and builds sentences. Every number is formatted here, with a decimal point in
 * every locale. */
#include "report/text/sentence.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Makes room for n more bytes. Returns false after a failure, which s->status keeps. */
static bool reserve_bytes(kn_sentence *s, ptrdiff_t n)
{
    if (s->status != KN_OK)
        return false;
    if (s->used + n + 1 <= s->capacity)
        return true;
    void *larger;
    ptrdiff_t capacity = 2 * (s->used + n + 1);
    s->status = kn_alloc(s->ctx, capacity, 1, &larger);
    if (s->status != KN_OK)
        return false;
    if (s->used > 0)
        memcpy(larger, s->text, (size_t)s->used);
    kn_free(s->text);
    s->text = larger;
    s->capacity = capacity;
    return true;
}

/* Appends a text to the sentence; does nothing after a failure. */
static void append_text(kn_sentence *s, const char *text)
{
    ptrdiff_t n = (ptrdiff_t)strlen(text);
    if (!reserve_bytes(s, n))
        return;
    memcpy(s->text + s->used, text, (size_t)n + 1);
    s->used += n;
}

void kn_sentence_words(kn_sentence *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !reserve_bytes(s, n))
        return;
    va_start(args, format);
    vsnprintf(s->text + s->used, (size_t)n + 1, format, args);
    va_end(args);
    s->used += n;
}

/* ---- numbers ---- */

/* Replaces the decimal mark of the locale, of any number of bytes, by a point, in place. */
static void set_decimal_point(char *text)
{
    size_t n = strspn(text, "+-0123456789");
    if (text[n] == '\0' || text[n] == '.' || text[n] == 'e')
        return;
    size_t mark = strcspn(text + n, "0123456789");
    text[n] = '.';
    memmove(text + n + 1, text + n + mark, strlen(text + n + mark) + 1);
}

/* Formats x with `digits` decimals, with a plus sign if `sign`; an exponent from 1e15 on, "n/a" for
 * NaN. */
static kn_formatted format_fixed(double x, int digits, bool sign)
{
    static const double LARGE = 1e15;
    kn_formatted s;
    if (!isfinite(x)) {
        snprintf(s.text, sizeof s.text, "%s", isnan(x) ? "n/a" : x > 0 ? "infinity" : "-infinity");
        return s;
    }
    if (fabs(x) >= LARGE)
        snprintf(s.text, sizeof s.text, sign ? "%+.*e" : "%.*e", digits < 12 ? digits : 12, x);
    else
        snprintf(s.text, sizeof s.text, sign ? "%+.*f" : "%.*f", digits < 16 ? digits : 16, x);
    set_decimal_point(s.text);
    if (strspn(s.text, "+-0.") == strlen(s.text)) /* 0 has no sign */
        memmove(s.text, s.text + strspn(s.text, "+-"), strlen(s.text + strspn(s.text, "+-")) + 1);
    return s;
}

kn_formatted kn_format_fixed(double x, int digits)
{
    return format_fixed(x, digits, false);
}

kn_formatted kn_format_signed(double x, int digits)
{
    return format_fixed(x, digits, true);
}

/* Returns the number of decimals that gives x this many significant digits; negative for large x.
 */
static int digits_after(double x, int digits)
{
    return digits - 1 - (int)floor(log10(fabs(x)));
}

kn_formatted kn_format_figures(double x, int digits)
{
    kn_formatted s;
    if (!isfinite(x) || x == 0)
        return format_fixed(x, 0, false);
    int after = digits_after(x, digits);
    if (after <= 9 + digits)
        return format_fixed(x, after > 0 ? after : 0, false);
    snprintf(s.text, sizeof s.text, "%.*e", digits - 1, x);
    set_decimal_point(s.text);
    return s;
}

/* Returns how many decimals a percentage needs so that it does not round to 0 or 100: 1 to 3. */
static int percent_digits(double percent)
{
    double far = fmin(fabs(percent), fabs(100 - percent));
    return far >= 0.1 || far == 0 ? 1 : far >= 0.01 ? 2 : 3;
}

kn_formatted kn_format_percent(double proportion)
{
    return format_fixed(100 * proportion, percent_digits(100 * proportion), false);
}

/* Tolerance for shares that rounding alone has moved off a digit. */
static const double ROUNDING = 1e-9;

kn_formatted kn_format_percent_min(double proportion)
{
    int digits = percent_digits(100 * proportion);
    double unit = pow(10, digits);
    return format_fixed(floor(100 * proportion * unit + ROUNDING) / unit, digits, false);
}

kn_formatted kn_format_p(double p)
{
    return p <= 0 ? (kn_formatted){"0.000001"} : kn_format_figures(p, 2);
}

kn_formatted kn_format_p_bound(double p)
{
    int after = p > 0 ? digits_after(p, 2) : 0;
    double unit = pow(10, after);
    if (p > 0 && isfinite(unit))
        p = ceil(p * unit * (1 - ROUNDING)) / unit;
    return kn_format_p(p);
}

bool kn_p_is_smallest(double p, double smallest)
{
    static const double SAME = 1e-6; /* tolerance for the digits in files */
    return p <= smallest * (1 + SAME);
}

/* ---- pieces ---- */

void kn_sentence_fixed(kn_sentence *s, double x, int digits)
{
    append_text(s, kn_format_fixed(x, digits).text);
}

void kn_sentence_figures(kn_sentence *s, double x, int digits)
{
    append_text(s, kn_format_figures(x, digits).text);
}

void kn_sentence_percent(kn_sentence *s, double proportion)
{
    append_text(s, kn_format_percent(proportion).text);
    append_text(s, "%");
}

void kn_sentence_p(kn_sentence *s, double p, bool bound)
{
    bound = bound || p <= 0; /* p = 0 is printed as a bound */
    append_text(s, bound ? "p < " : "p = ");
    append_text(s, bound ? kn_format_p_bound(p).text : kn_format_p(p).text);
}

void kn_sentence_rank_p(kn_sentence *s, double p, double smallest)
{
    append_text(s, kn_p_is_smallest(p, smallest) ? "p ≤ " : "p = ");
    append_text(s, kn_format_p(p).text);
}

void kn_sentence_and(kn_sentence *s, ptrdiff_t k, ptrdiff_t n)
{
    if (k > 0)
        append_text(s, k == n - 1 ? " and " : ", ");
}

kn_status kn_sentence_end(kn_sentence *s, const char **out)
{
    *out = NULL;
    append_text(s, "");
    kn_status status = s->status;
    if (status == KN_OK)
        status = kn_arena_text(s->ctx, s->arena, s->text, out);
    kn_free(s->text);
    *s = (kn_sentence){.ctx = s->ctx, .arena = s->arena};
    return status;
}
