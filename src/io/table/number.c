/* Implements number.h: kn_fast_strtod first, strtod in the C locale for the rest. */
#include "io/table/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/table/fast_strtod.h"

/* Switches this thread to the C locale around strtod and printf, because a host program may have
 * set a locale with a decimal comma. With glibc, newlocale("C") returns a static object: it costs
 * nanoseconds. */
typedef struct plain_locale {
    locale_t c, before;
} plain_locale;

static plain_locale enter(void)
{
    plain_locale l = {newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0};
    if (l.c)
        l.before = uselocale(l.c);
    return l;
}

static void leave(plain_locale l)
{
    if (l.c) {
        uselocale(l.before);
        freelocale(l.c);
    }
}

/* Start and length n of the text without surrounding spaces. */
static const char *trim(const char *text, size_t *n)
{
    while (kn_is_space(*text))
        text++;
    *n = strlen(text);
    while (*n > 0 && kn_is_space(text[*n - 1]))
        (*n)--;
    return text;
}

/* True for the words that stand for a missing cell. */
static bool missing(const char *text, size_t n)
{
    static const char *const words[] = {"", "n/a", "na", "nan"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == n && strncasecmp(text, words[i], n) == 0)
            return true;
    return false;
}

bool kn_text_is_missing(const char *text)
{
    size_t n;
    text = trim(text, &n);
    return missing(text, n);
}

/* Number of leading decimal digits. */
static size_t digits(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && text[i] >= '0' && text[i] <= '9')
        i++;
    return i;
}

/* True for [sign] digits [. digits] [e [sign] digits] with a digit before the e. strtod alone would
 * also accept inf, nan, hexadecimal and forms of the locale. */
static bool is_decimal(const char *text, size_t n)
{
    const char *end = text + n;
    if (text < end && (*text == '+' || *text == '-'))
        text++;
    size_t whole = digits(text, (size_t)(end - text)), part = 0;
    text += whole;
    if (text < end && *text == '.') {
        text++;
        part = digits(text, (size_t)(end - text));
        text += part;
    }
    if (whole + part == 0)
        return false;
    if (text < end && (*text == 'e' || *text == 'E')) {
        text++;
        if (text < end && (*text == '+' || *text == '-'))
            text++;
        size_t exponent = digits(text, (size_t)(end - text));
        if (exponent == 0)
            return false;
        text += exponent;
    }
    return text == end;
}

kn_cell kn_number_parse(const char *text, double *out)
{
    size_t n;
    if (kn_fast_strtod(text, out))
        return KN_CELL_NUMBER;
    *out = NAN;
    text = trim(text, &n);
    if (missing(text, n))
        return KN_CELL_MISSING;
    if (!is_decimal(text, n))
        return KN_CELL_TEXT;
    plain_locale l = enter();
    double x = strtod(text, NULL);
    leave(l);
    if (!isfinite(x))
        return KN_CELL_TEXT;
    *out = x;
    return KN_CELL_NUMBER;
}

void kn_number_short(double x, char out[KN_NUMBER_SIZE])
{
    enum { DIGITS = 10 };
    if (isnan(x)) {
        snprintf(out, KN_NUMBER_SIZE, "n/a");
        return;
    }
    plain_locale l = enter();
    snprintf(out, KN_NUMBER_SIZE, "%.*g", DIGITS, x);
    leave(l);
}

void kn_number_text(double x, char out[KN_NUMBER_SIZE])
{
    if (isnan(x)) {
        snprintf(out, KN_NUMBER_SIZE, "n/a");
        return;
    }
    plain_locale l = enter();
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(out, KN_NUMBER_SIZE, "%.*g", precision, x);
        if (strtod(out, NULL) == x)
            break;
    }
    leave(l);
}
