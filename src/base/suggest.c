/* Implements suggest.h: the optimal string alignment distance by dynamic programming over three
 * rows. Messages use it to propose the option, column or command that was probably meant. */
#include "base/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 63 };

/* True if two letters are equal, ignoring case; '?' equals any. */
static bool same_letter(char a, char b)
{
    return a == '?' || tolower((unsigned char)a) == tolower((unsigned char)b);
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

int kn_edit_distance(const char *given, const char *name)
{
    int row[3][LONGEST + 1], n = (int)strnlen(given, LONGEST), m = (int)strnlen(name, LONGEST);
    int *before = row[0], *above = row[1], *now = row[2];
    for (int j = 0; j <= m; j++)
        above[j] = j;
    for (int i = 1; i <= n; i++) {
        const char *a = given + i - 1;
        now[0] = above[0] + (*a != '*');
        for (int j = 1; j <= m; j++) {
            const char *b = name + j - 1;
            now[j] = above[j - 1] + !same_letter(*a, *b);
            now[j] = min_int(now[j], above[j] + (*a != '*'));
            now[j] = min_int(now[j], now[j - 1] + (*a != '*'));
            if (i > 1 && j > 1 && same_letter(*a, b[-1]) && same_letter(a[-1], *b))
                now[j] = min_int(now[j], before[j - 2] + 1);
        }
        int *oldest = before;
        before = above;
        above = now;
        now = oldest;
    }
    return above[m];
}

/* True if the name begins like `given`, has all of its letters in order, and is at most twice as
 * long: "grp" for "group", "cov" for "covariates" is a beginning. */
static bool is_abbreviation(const char *given, const char *name)
{
    size_t n = strlen(given);
    if (strncasecmp(name, given, n) == 0)
        return true;
    if (!same_letter(*given, *name) || strlen(name) > 2 * n)
        return false;
    for (; *given && *name; name++)
        given += same_letter(*given, *name);
    return !*given;
}

enum side { NO_SIDE, LEFT, RIGHT };

/* Returns the hemisphere that a name has at its beginning or, if at_end, at its end: left or right,
 * or lh, rh, l or r apart from other letters by a separator. rest: the name without it. */
static enum side split_side(const char *name, bool at_end, char rest[LONGEST + 1])
{
    static const char *const WORDS[] = {"left", "right", "lh", "rh", "l", "r"};
    enum { N_WORDS = sizeof WORDS / sizeof *WORDS, WITHOUT_SEPARATOR = 2 };
    const size_t n = strlen(name);
    for (size_t k = 0; k < N_WORDS; k++) {
        const size_t m = strlen(WORDS[k]);
        if (n <= m || strncasecmp(at_end ? name + n - m : name, WORDS[k], m) != 0)
            continue;
        if (k >= WITHOUT_SEPARATOR && isalnum((unsigned char)name[at_end ? n - m - 1 : m]))
            continue;
        snprintf(rest, LONGEST + 1, "%.*s", (int)(n - m), at_end ? name : name + m);
        return k % 2 == 0 ? LEFT : RIGHT;
    }
    return NO_SIDE;
}

/* True if two names differ only in the hemisphere at their beginning or end: lh_a and rh_a. */
static bool is_other_hemisphere(const char *given, const char *name)
{
    char a[LONGEST + 1], b[LONGEST + 1];
    for (int at_end = 0; at_end < 2; at_end++) {
        const enum side s = split_side(given, at_end, a), t = split_side(name, at_end, b);
        if (s != NO_SIDE && t != NO_SIDE && s != t && kn_edit_distance(a, b) == 0)
            return true;
    }
    return false;
}

void kn_suggest(kn_suggestions *s, const char *name, size_t n)
{
    enum { SHORTEST = 3, LETTERS_PER_EDIT = 4 };
    char text[sizeof *s->name];
    size_t letters = 0;
    for (const char *c = s->given; *c; c++)
        letters += *c != '*' && *c != '?';
    snprintf(text, sizeof text, "%.*s", (int)n, name);
    bool shortened = letters >= SHORTEST && is_abbreviation(s->given, text);
    int d = shortened ? 1 : kn_edit_distance(s->given, text);
    if (letters == 0 || d > 1 + ((int)letters - 1) / LETTERS_PER_EDIT || d >= (int)letters ||
        (s->n > 0 && d > s->distance) || is_other_hemisphere(s->given, text))
        return;
    if (s->n == 0 || d < s->distance) {
        s->n = 0;
        s->distance = d;
    }
    for (int k = 0; k < s->n; k++)
        if (strcmp(s->name[k], text) == 0)
            return;
    if (s->n < KN_SUGGESTED)
        memcpy(s->name[s->n++], text, sizeof text);
}

void kn_suggest_words(kn_suggestions *s, const char *words)
{
    for (const char *w = words; w && *w;) {
        kn_suggest(s, w, strcspn(w, "=|"));
        w += strcspn(w, "|");
        w += *w == '|';
    }
}

const char *kn_did_you_mean(const kn_suggestions *s, const char *before,
                            char out[KN_SUGGESTION_TEXT])
{
    size_t at = 0;
    out[0] = '\0';
    for (int k = 0; k < s->n; k++)
        at += (size_t)snprintf(out + at, KN_SUGGESTION_TEXT - at, "%s%s%s%s",
                               k == 0 ? "; did you mean " : ", ", before, s->name[k],
                               k == s->n - 1 ? "?" : "");
    return out;
}
