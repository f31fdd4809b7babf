#include "report/say.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 64 };

static bool make_room(kn_say *s, ptrdiff_t n)
{
    if (s->status != KN_OK)
        return false;
    if (s->used + n + 1 <= s->room)
        return true;
    void *larger;
    ptrdiff_t room = 2 * (s->used + n + 1);
    s->status = kn_alloc(s->ctx, room, 1, &larger);
    if (s->status != KN_OK)
        return false;
    if (s->used > 0)
        memcpy(larger, s->text, (size_t)s->used);
    kn_free(s->text);
    s->text = larger;
    s->room = room;
    return true;
}

static void append(kn_say *s, const char *text)
{
    ptrdiff_t n = (ptrdiff_t)strlen(text);
    if (!make_room(s, n))
        return;
    memcpy(s->text + s->used, text, (size_t)n + 1);
    s->used += n;
}

void kn_say_words(kn_say *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !make_room(s, n))
        return;
    va_start(args, format);
    vsnprintf(s->text + s->used, (size_t)n + 1, format, args);
    va_end(args);
    s->used += n;
}

/* A locale's decimal mark, of however many bytes, becomes a point. */
static void with_point(char *text)
{
    size_t n = strcspn(text, ".0123456789-") == 0 ? strspn(text, "-0123456789") : 0;
    if (text[n] == '\0' || text[n] == '.' || text[n] == 'e')
        return;
    size_t mark = strcspn(text + n, "0123456789");
    text[n] = '.';
    memmove(text + n + 1, text + n + mark, strlen(text + n + mark) + 1);
}

void kn_say_fixed(kn_say *s, double x, int digits)
{
    char text[PIECE * 6];
    if (!isfinite(x)) {
        append(s, isnan(x) ? "n/a" : x > 0 ? "infinity" : "-infinity");
        return;
    }
    snprintf(text, sizeof text, "%.*f", digits, x);
    with_point(text);
    append(s, text[0] == '-' && strspn(text, "-0.") == strlen(text) ? text + 1 : text);
}

void kn_say_figures(kn_say *s, double x, int digits)
{
    char text[PIECE];
    if (!isfinite(x) || x == 0) {
        kn_say_fixed(s, x, 0);
        return;
    }
    int after = digits - 1 - (int)floor(log10(fabs(x)));
    if (after >= 0 && after <= 9 + digits) {
        kn_say_fixed(s, x, after);
    } else if (after < 0 && fabs(x) < 1e15) {
        kn_say_fixed(s, x, 0);
    } else {
        snprintf(text, sizeof text, "%.*e", digits - 1, x);
        with_point(text);
        append(s, text);
    }
}

void kn_say_percent(kn_say *s, double share)
{
    double percent = 100 * share, far = fmin(fabs(percent), fabs(100 - percent));
    kn_say_fixed(s, percent, far >= 0.1 || far == 0 ? 1 : far >= 0.01 ? 2 : 3);
    append(s, " %");
}

void kn_say_p(kn_say *s, double p, bool bound)
{
    kn_say piece = {.ctx = s->ctx};
    if (p <= 0) { /* nothing is impossible: less than any number here */
        append(s, "p < 0.000001");
        return;
    }
    kn_say_figures(&piece, p, 2);
    append(s, bound ? "p < " : "p = ");
    if (piece.status != KN_OK && s->status == KN_OK)
        s->status = piece.status;
    if (piece.text)
        append(s, piece.text);
    kn_free(piece.text);
}

void kn_say_and(kn_say *s, ptrdiff_t k, ptrdiff_t n)
{
    if (k > 0)
        append(s, k == n - 1 ? " and " : ", ");
}

kn_status kn_say_end(kn_say *s, const char **out)
{
    *out = NULL;
    append(s, "");
    kn_status status = s->status;
    if (status == KN_OK)
        status = kn_arena_text(s->ctx, s->arena, s->text, out);
    kn_free(s->text);
    *s = (kn_say){.ctx = s->ctx, .arena = s->arena};
    return status;
}
