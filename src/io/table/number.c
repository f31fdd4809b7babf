/* Implements number.h: kn_fast_strtod first, strtod in the C locale for the rest. Both give the
 * correctly rounded double. */
#include "io/table/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/table/internal.h"

/* ---- decimal numbers ------------------------------------------------------------------------- */

/* kn_fast_strtod (internal.h). The number is w 10^q = w 5^q 2^q, w < 2^64 and |q| <= 27, so that
 * 5^|q| < 2^63:
 *     q >= 0    w 5^q has 127 bits at most: an exact product
 *     q <  0    w 2^k / 5^-q: a quotient of at least 62 bits and whether a remainder is left
 * In both cases the leading bits, and whether any nonzero bit follows them, are known exactly, and
 * are rounded once to 53 bits. 10^-27 <= w 10^q < 2^64 10^27, if not 0: neither overflow nor
 * denormals. Takes a third of strtod's time for 17 digits. */

__extension__ typedef unsigned __int128 wide;

enum { MAX_POWER = 27, BITS = DBL_MANT_DIG };

static const uint64_t FIVE[MAX_POWER + 1] = {
    UINT64_C(1),
    UINT64_C(5),
    UINT64_C(25),
    UINT64_C(125),
    UINT64_C(625),
    UINT64_C(3125),
    UINT64_C(15625),
    UINT64_C(78125),
    UINT64_C(390625),
    UINT64_C(1953125),
    UINT64_C(9765625),
    UINT64_C(48828125),
    UINT64_C(244140625),
    UINT64_C(1220703125),
    UINT64_C(6103515625),
    UINT64_C(30517578125),
    UINT64_C(152587890625),
    UINT64_C(762939453125),
    UINT64_C(3814697265625),
    UINT64_C(19073486328125),
    UINT64_C(95367431640625),
    UINT64_C(476837158203125),
    UINT64_C(2384185791015625),
    UINT64_C(11920928955078125),
    UINT64_C(59604644775390625),
    UINT64_C(298023223876953125),
    UINT64_C(1490116119384765625),
    UINT64_C(7450580596923828125),
};

/* Returns the number of leading zero bits of x > 0. */
static int leading_zeros(uint64_t x) /* x > 0 */
{
    return __builtin_clzll(x);
}

/* Returns (m + f) 2^e rounded to double (ties to even), m > 0, with 0 < f < 1 if `more`, else f =
 * 0. */
static double round_to_double(uint64_t m, int e, bool more)
{
    int z = leading_zeros(m), drop = 64 - BITS;
    m <<= z;
    uint64_t kept = m >> drop, rest = m & (((uint64_t)1 << drop) - 1),
             half = (uint64_t)1 << (drop - 1);
    /* m is shifted by z zeros; f is still below its last bit, so `more` matters only for a tie. */
    if (rest > half || (rest == half && (more || (kept & 1))))
        kept++;
    /* The leading bit of `kept` adds 1 to the exponent; kept = 2^53 adds 2, which is right too. */
    uint64_t bits = ((uint64_t)(e - z + drop + DBL_MAX_EXP - 1 + BITS - 2) << (BITS - 1)) + kept;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns w 10^q correctly rounded to a double; |q| <= MAX_POWER. */
static double scale_by_ten(uint64_t w, int q)
{
    if (w == 0)
        return 0;
    if (q >= 0) {
        wide p = (wide)w * FIVE[q];
        uint64_t high = (uint64_t)(p >> 64);
        if (high == 0)
            return round_to_double((uint64_t)p, q, false);
        int shift = 64 - leading_zeros(high);
        uint64_t lost = (uint64_t)p & (shift < 64 ? ((uint64_t)1 << shift) - 1 : UINT64_MAX);
        return round_to_double((uint64_t)(p >> shift), q + shift, lost != 0);
    }
    int up = leading_zeros(w), raised = leading_zeros(FIVE[-q]);
    uint64_t divisor = FIVE[-q] << raised;
    wide dividend = (wide)(w << up) << 63; /* upper half < divisor: the quotient has 64 bits */
    uint64_t quotient = (uint64_t)(dividend / divisor);
    bool more = dividend - (wide)quotient * divisor != 0;
    return round_to_double(quotient, q - up - 63 + raised, more);
}

/* Appends the digits at *text to the number *w and moves behind them; stops before a digit that
 * might overflow. Returns how many it read. */
static ptrdiff_t take_digits(const char **text, uint64_t *w)
{
    const char *from = *text;
    for (; **text >= '0' && **text <= '9' && *w <= (UINT64_MAX - 9) / 10; ++*text)
        *w = 10 * *w + (uint64_t)(**text - '0');
    return *text - from;
}

/* Parses an optional exponent, e [sign] digits, at *text and adds it to *q. Returns false if it is
 * malformed or has more than four digits. */
static bool take_exponent(const char **text, ptrdiff_t *q)
{
    enum { ROOM = 4 }; /* digits; longer exponents are left to strtod */
    if (**text != 'e' && **text != 'E')
        return true;
    ++*text;
    bool down = **text == '-';
    if (**text == '-' || **text == '+')
        ++*text;
    uint64_t e = 0;
    ptrdiff_t n = take_digits(text, &e);
    if (n <= ROOM)
        *q += down ? -(ptrdiff_t)e : (ptrdiff_t)e;
    return n > 0 && n <= ROOM;
}

bool kn_fast_strtod(const char *text, double *out)
{
    uint64_t w = 0;
    ptrdiff_t q = 0, n;
    while (kn_is_space(*text))
        text++;
    bool negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    n = take_digits(&text, &w);
    if (*text == '.') {
        text++;
        q = -take_digits(&text, &w);
        n -= q;
    }
    if (n == 0 || !take_exponent(&text, &q) || q < -MAX_POWER || q > MAX_POWER)
        return false;
    while (kn_is_space(*text))
        text++;
    if (*text != '\0')
        return false;
    double x = scale_by_ten(w, (int)q);
    *out = negative ? -x : x;
    return true;
}

/* ---- cells of a table ------------------------------------------------------------------------ */

/* Switches this thread to the C locale around strtod and printf, because a host program may have
 * set a locale with a decimal comma. With glibc, newlocale("C") returns a static object: it costs
 * nanoseconds. */
typedef struct plain_locale {
    locale_t c, before;
} plain_locale;

/* Switches this thread to the C locale and returns what leave_c_locale() needs to switch back. */
static plain_locale enter_c_locale(void)
{
    plain_locale l = {newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0};
    if (l.c)
        l.before = uselocale(l.c);
    return l;
}

/* Restores the locale of the thread that enter_c_locale() replaced. */
static void leave_c_locale(plain_locale l)
{
    if (l.c) {
        uselocale(l.before);
        freelocale(l.c);
    }
}

/* Returns the start of the text without leading spaces; *n is its length without trailing ones. */
static const char *trim_spaces(const char *text, size_t *n)
{
    while (kn_is_space(*text))
        text++;
    *n = strlen(text);
    while (*n > 0 && kn_is_space(text[*n - 1]))
        (*n)--;
    return text;
}

/* Returns whether text (n characters) is a word for a missing cell: empty, n/a, nan, a dot, ... */
static bool is_missing_word(const char *text, size_t n)
{
    static const char *const words[] = {"", "n/a", "na", "nan", "#n/a", ".", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == n && strncasecmp(text, words[i], n) == 0)
            return true;
    return false;
}

bool kn_text_is_missing(const char *text)
{
    size_t n;
    text = trim_spaces(text, &n);
    return is_missing_word(text, n);
}

/* Returns the number of decimal digits at the start of text (n characters). */
static size_t count_digits(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && text[i] >= '0' && text[i] <= '9')
        i++;
    return i;
}

/* Returns whether text (n characters) is [sign] digits [. digits] [e [sign] digits] with a digit
 * before the e. strtod alone would also accept inf, nan, hexadecimal and forms of the locale. */
static bool is_decimal(const char *text, size_t n)
{
    const char *end = text + n;
    if (text < end && (*text == '+' || *text == '-'))
        text++;
    size_t whole = count_digits(text, (size_t)(end - text)), part = 0;
    text += whole;
    if (text < end && *text == '.') {
        text++;
        part = count_digits(text, (size_t)(end - text));
        text += part;
    }
    if (whole + part == 0)
        return false;
    if (text < end && (*text == 'e' || *text == 'E')) {
        text++;
        if (text < end && (*text == '+' || *text == '-'))
            text++;
        size_t exponent = count_digits(text, (size_t)(end - text));
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
    text = trim_spaces(text, &n);
    if (is_missing_word(text, n))
        return KN_CELL_MISSING;
    if (!is_decimal(text, n))
        return KN_CELL_TEXT;
    plain_locale l = enter_c_locale();
    double x = strtod(text, NULL);
    leave_c_locale(l);
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
    plain_locale l = enter_c_locale();
    snprintf(out, KN_NUMBER_SIZE, "%.*g", DIGITS, x);
    leave_c_locale(l);
}

void kn_number_text(double x, char out[KN_NUMBER_SIZE])
{
    if (isnan(x)) {
        snprintf(out, KN_NUMBER_SIZE, "n/a");
        return;
    }
    plain_locale l = enter_c_locale();
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(out, KN_NUMBER_SIZE, "%.*g", precision, x);
        if (strtod(out, NULL) == x)
            break;
    }
    leave_c_locale(l);
}
