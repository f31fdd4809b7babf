/* Ranges, scales and ticks of the axes. An empty range, a single point and an excessive range are
 * replaced by ranges that can be drawn. */
#include "report/figures/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/table/number.h"

kn_range kn_range_empty(void)
{
    return (kn_range){INFINITY, -INFINITY};
}

void kn_range_include(kn_range *r, double x)
{
    static const double FAR = 1e150; /* its square is still finite */
    if (!isfinite(x))
        return;
    x = fmin(fmax(x, -FAR), FAR);
    r->low = fmin(r->low, x);
    r->high = fmax(r->high, x);
}

void kn_range_include_all(kn_range *r, const double *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; x && i < n; i++)
        kn_range_include(r, x[i]);
}

kn_range kn_range_widen(kn_range r, double margin)
{
    if (!(r.low <= r.high))
        return (kn_range){0, 1};
    const double size = fmax(fabs(r.low), fabs(r.high));
    if (r.high - r.low <= 1e-9 * size || size == 0) {
        const double more = size > 0 ? 0.1 * size : 0.5;
        return (kn_range){r.low - more, r.high + more};
    }
    margin *= r.high - r.low;
    return (kn_range){r.low - margin, r.high + margin};
}

/* Returns the smallest 1, 2 or 5 times a power of ten that is not below x > 0. */
static double round_up(double x)
{
    const double power = pow(10, floor(log10(x))), mantissa = x / power;
    return power * (mantissa <= 1.0000001   ? 1
                    : mantissa <= 2.0000001 ? 2
                    : mantissa <= 5.0000001 ? 5
                                            : 10);
}

kn_range kn_range_of_counts(double high)
{
    if (!(high > 0) || !isfinite(high))
        return (kn_range){0, 1};
    const double step = round_up(high / 4);
    return (kn_range){0, step * ceil(high / step - 1e-7)};
}

/* Returns the position of x along the axis as a fraction: 0 at the low end of the range, 1 at the
 * high end. */
static double axis_fraction(const kn_axis_scale *s, double x)
{
    const double low = s->log ? log10(s->range.low) : s->range.low;
    const double high = s->log ? log10(s->range.high) : s->range.high;
    return ((s->log ? log10(x) : x) - low) / (high - low);
}

double kn_axis_scale_px(const kn_axis_scale *s, double x)
{
    return s->from + (s->to - s->from) * axis_fraction(s, x);
}

bool kn_axis_scale_contains(const kn_axis_scale *s, double x)
{
    const double a = axis_fraction(s, x);
    return a >= -1e-9 && a <= 1 + 1e-9;
}

/* Appends a tick at x unless there are KN_TICKS. */
static void add_tick(kn_ticks *t, double x)
{
    if (t->n < KN_TICKS)
        t->value[t->n++] = x;
}

/* Returns the number of decimals that distinguish multiples of the step; -1 (as few as possible)
 * above 4. */
static int digits_of(double step)
{
    const int digits = (int)-floor(log10(step) + 1e-9);
    return digits > 4 ? -1 : digits > 0 ? digits : 0;
}

/* Returns at most `limit` ticks within the range: multiples of 1, 2 or 5 times a power of ten. */
static kn_ticks linear_ticks(const kn_range *r, int limit)
{
    kn_ticks t = {0};
    double step = round_up((r->high - r->low) / limit);
    double first = ceil(r->low / step - 1e-7), last = floor(r->high / step + 1e-7);
    while (last - first + 1 > limit) {
        step = round_up(1.5 * step);
        first = ceil(r->low / step - 1e-7);
        last = floor(r->high / step + 1e-7);
    }
    for (double k = first; k <= last; k++)
        add_tick(&t, k * step + 0.0);
    t.digits = digits_of(step);
    return t;
}

/* Returns ticks within the range of a logarithmic axis: 1, 2, 5 per decade, or fewer so that there
 * are at most `limit`. */
static kn_ticks log_ticks(const kn_range *r, int limit)
{
    static const double WITHIN[3][3] = {{1, 2, 5}, {1, 3, 0}, {1, 0, 0}};
    kn_ticks t = {.digits = -1};
    const int from = (int)floor(log10(r->low)), to = (int)ceil(log10(r->high));
    for (int plan = 0; plan < 3; plan++) {
        t.n = 0;
        for (int power = from; power <= to; power++)
            for (int i = 0; i < 3 && WITHIN[plan][i] > 0; i++) {
                const double x = WITHIN[plan][i] * pow(10, power);
                if (x >= r->low * (1 - 1e-9) && x <= r->high * (1 + 1e-9))
                    add_tick(&t, x);
            }
        if (t.n <= limit)
            break;
    }
    return t;
}

kn_ticks kn_ticks_of(const kn_axis_scale *s, int limit)
{
    limit = limit > KN_TICKS ? KN_TICKS : limit < 2 ? 2 : limit;
    return (s->log ? log_ticks : linear_ticks)(&s->range, limit);
}

void kn_tick_text(const kn_ticks *t, double x, char out[KN_TICK_TEXT])
{
    char number[KN_NUMBER_SIZE], *text = number;
    const double shown = t->percent ? 100 * x : x;
    const int digits =
        t->percent && t->digits > 0 ? (t->digits > 2 ? t->digits - 2 : 0) : t->digits;
    if (digits < 0 || fabs(shown) >= 1e7)
        kn_number_short(shown, number);
    else { /* digits from an integer, independent of the locale */
        const double scale = pow(10, digits), whole = round(fabs(shown) * scale);
        const long long w = (long long)whole, fraction = w % llround(scale);
        int n = snprintf(number, sizeof number, "%s%lld", shown < 0 && w > 0 ? "-" : "",
                         w / llround(scale));
        for (int d = 0; d < digits; d++) {
            const int figure = (int)(fraction / llround(pow(10, digits - 1 - d)) % 10);
            n += snprintf(number + n, sizeof number - (size_t)n, d == 0 ? ".%d" : "%d", figure);
        }
    }
    const bool minus = *text == '-';
    snprintf(out, KN_TICK_TEXT, "%s%s%s", minus ? "−" : "", text + minus, t->percent ? "%" : "");
}

double kn_text_width(const char *text)
{
    double width = 0;
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if ((c & 0xc0) != 0x80) /* not a UTF-8 continuation byte */
            width += strchr(".,:;il|' ", c) ? 4 : c == 'm' || (c >= 'A' && c <= 'Z') ? 9.4 : 7.6;
    }
    return width;
}

kn_ticks kn_ticks_across(const kn_axis_scale *s)
{
    static const double GAP = 14;
    kn_ticks t = {0};
    for (int limit = 9; limit >= 2; limit--) {
        double width = 0;
        t = kn_ticks_of(s, limit);
        for (int k = 0; k < t.n; k++) {
            char text[KN_TICK_TEXT];
            kn_tick_text(&t, t.value[k], text);
            width = fmax(width, kn_text_width(text) + GAP);
        }
        bool fits = true;
        for (int k = 1; k < t.n; k++)
            fits = fits && fabs(kn_axis_scale_px(s, t.value[k]) -
                                kn_axis_scale_px(s, t.value[k - 1])) >= width;
        if (fits)
            break;
    }
    return t;
}
