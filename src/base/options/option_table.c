/* Implements options.h. The table is built by including options.def with different macros. */
#include "base/options/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

/* ---- the table ---------------------------------------------------------------------------------
 */

enum { /* AT_FIT, ...: the index of each command */
#define KN_COMMAND(id, name) AT_##id,
#include "options.def"
};
enum { /* FIT, ...: its bit */
#define KN_COMMAND(id, name) id = 1 << AT_##id,
#include "options.def"
       EVERY = (1 << KN_N_COMMANDS) - 1
};
const char *const kn_option_commands[KN_N_COMMANDS] = {
#define KN_COMMAND(id, name) name,
#include "options.def"
};

enum { MODEL = KN_KEPT_MODEL };

/* One function per row that checks its range. */
#define KN_ROW(field, key, type, text, range, ...)                                                 \
    static bool range_##field(const kn_settings *s)                                                \
    {                                                                                              \
        KN_FIELD_##type x = s->field;                                                              \
        (void)x;                                                                                   \
        return range;                                                                              \
    }
#include "options.def"

/* clang-format off */
const kn_option_row kn_option_rows[KN_OPTION_ROWS] = {
#define KN_ROW(field, key, type, text, range, expected, words, letter, value, commands, heading, kept, help) \
    {#key, KN_ROW_##type, text, range_##field, expected, words, letter, value, commands, heading, kept, help, \
     offsetof(kn_settings, field)},
#include "options.def"
};
/* clang-format on */

static const struct {
    size_t at;
    unsigned command;
    kn_option_help help;
} HELPS[] = {
#define KN_HELP(command, field, value, words, help)                                                \
    {offsetof(kn_settings, field), command, {value, words, help}},
#include "options.def"
};

kn_option_help kn_option_help_of(const kn_option_row *r, unsigned command)
{
    for (size_t k = 0; k < sizeof HELPS / sizeof *HELPS; k++)
        if (HELPS[k].at == r->at && HELPS[k].command == command)
            return HELPS[k].help;
    return (kn_option_help){r->value ? r->value : r->words, r->words, r->help};
}

/* ---- words -------------------------------------------------------------------------------------
 */

/* Returns the index of the first n bytes of text among words separated by `bar`, or -1. */
static int find_word(const char *words, char bar, const char *text, size_t n)
{
    const char ends[] = {bar, '\0'};
    int k = 0;
    for (const char *w = words; *w; k++) {
        size_t m = strcspn(w, ends);
        if (m == n && memcmp(w, text, n) == 0)
            return k;
        w += m + (w[m] == bar);
    }
    return -1;
}

/* Finds the value *out of a word such as "auto" in "auto=0|full=-1"; false if the word is not
 * there. */
static bool find_special_value(const char *words, const char *text, int *out)
{
    size_t n = strlen(text);
    for (const char *w = words; w && *w;) {
        size_t m = strcspn(w, "|");
        if (m > n && memcmp(w, text, n) == 0 && w[n] == '=') {
            *out = (int)strtol(w + n + 1, NULL, 10);
            return true;
        }
        w += m + (w[m] == '|');
    }
    return false;
}

bool kn_list_bits(const char *text, const char *words, unsigned *bits)
{
    *bits = 0;
    for (const char *w = text;; w++) {
        size_t n = strcspn(w, ",");
        int k = find_word(words, '|', w, n);
        if (k < 0)
            return false;
        *bits |= 1u << k;
        w += n;
        if (!*w)
            return true;
    }
}

int kn_list_numbers(const char *text, double *out)
{
    for (int n = 0; n < KN_NUMBERS_MAX;) {
        char *end;
        out[n++] = strtod(text, &end);
        if (end == text || (*end && *end != ','))
            return -1;
        if (!*end)
            return n;
        text = end + 1;
    }
    return -1;
}

/* Returns whether the text is a list of whole numbers from 1 to 1e6. */
static bool is_count_list(const char *text)
{
    double x[KN_NUMBERS_MAX];
    int n = kn_list_numbers(text, x);
    for (int i = 0; i < n; i++)
        if (!(x[i] >= 1 && x[i] <= 1e6 && x[i] == floor(x[i])))
            return false;
    return n > 0;
}

/* Returns whether the text is a sum "a+b" of the words "a|b|...". */
static bool is_sum_of(const char *words, const char *text)
{
    for (const char *w = text; *w;) {
        size_t n = strcspn(w, "+");
        if (find_word(words, '|', w, n) < 0)
            return false;
        w += n + (w[n] == '+');
        if (!*w)
            return true;
    }
    return false;
}

/* Parses a size in bytes: "1.5G" is 1.5e9 bytes, as sizes are printed; "1.5GiB" is 1.5 * 2^30
 * bytes. False if it is none. */
static bool parse_size(const char *text, double *bytes)
{
    static const char units[] = "kMGT";
    char *end;
    double x = strtod(text, &end), unit = 1;
    const char *at = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
    if (end == text || !(x > 0 && x < 1e18))
        return false;
    if (at) {
        bool two = strncmp(++end, "iB", 2) == 0;
        for (const char *u = units; u <= at; u++)
            unit *= two ? 1024 : 1000;
        end += two ? 2 : *end == 'B';
    }
    *bytes = x * unit;
    return *end == '\0';
}

/* Parses the whole text as a decimal number of 32 bits; false: it is none, or out of range. */
static bool parse_int(const char *text, int *out)
{
    char *end;
    errno = 0;
    long x = strtol(text, &end, 10);
    *out = (int)x;
    return !*end && end != text && !errno && x >= INT32_MIN && x <= INT32_MAX;
}

/* ---- texts to values ----------------------------------------------------------------------------
 */

static const char FLAG_WORDS[] = "no|yes|false|true|0|1";

bool kn_option_parse(const kn_option_row *r, const char *text, kn_settings *s)
{
    void *to = (char *)s + r->at;
    char *end;
    int k;
    switch (r->type) {
    case KN_ROW_FLAG:
        k = find_word(FLAG_WORDS, '|', text, strlen(text));
        *(bool *)to = k % 2 == 1;
        return k >= 0;
    case KN_ROW_CHOICE:
        *(int *)to = find_word(r->words, '|', text, strlen(text));
        return *(int *)to >= 0;
    case KN_ROW_INT: return parse_int(text, to);
    case KN_ROW_COUNT:
        if (find_special_value(r->words, text, to))
            return true;
        return parse_int(text, to) && (!r->words || *(int *)to > 0) && r->in_range(s);
    case KN_ROW_UINT64:
        errno = 0;
        *(uint64_t *)to = strtoull(text, &end, 10);
        return !*end && end != text && !errno && *text != '-';
    case KN_ROW_NUMBER: /* not NaN, which stands for a number that is not given */
        *(double *)to = strtod(text, &end);
        return !*end && end != text && !isnan(*(double *)to);
    case KN_ROW_SIZE: return parse_size(text, to) && r->in_range(s);
    default: break;
    }
    double numbers[KN_NUMBERS_MAX];
    unsigned bits;
    *(const char **)to = text;
    switch (r->type) {
    case KN_ROW_WORD: return find_word(r->words, '|', text, strlen(text)) >= 0;
    case KN_ROW_LIST: return !r->words || kn_list_bits(text, r->words, &bits);
    case KN_ROW_SUM: return is_sum_of(r->words, text);
    case KN_ROW_NUMBERS: return kn_list_numbers(text, numbers) > 0;
    case KN_ROW_COUNTS: return is_count_list(text);
    default: return true;
    }
}

/* Writes "a, b or c" to out (size bytes) for words "a|b|c". */
static void format_alternatives(const char *words, char *out, size_t size)
{
    size_t at = 0;
    for (const char *w = words; *w && at < size;) {
        size_t n = strcspn(w, "|");
        bool last = w[n] == '\0', first = w == words;
        at += (size_t)snprintf(out + at, size - at, "%s%.*s",
                               first  ? ""
                               : last ? " or "
                                      : ", ",
                               (int)n, w);
        w += n + !last;
    }
}

kn_status kn_option_refuse(kn_ctx *ctx, const kn_option_row *r, const char *text)
{
    static const char *const usual[] = {[KN_ROW_FLAG] = "yes or no",
                                        [KN_ROW_INT] = "a whole number",
                                        [KN_ROW_UINT64] = "a whole number",
                                        [KN_ROW_NUMBER] = "a number",
                                        [KN_ROW_SIZE] = "a size such as 8G, 1.5G or 512M",
                                        [KN_ROW_COUNTS] = NULL};
    const char *expected = usual[r->type] ? usual[r->type] : r->expected;
    char wrong[64], suggestion[KN_SUGGESTION_TEXT];
    kn_suggestions near = {.given = wrong};
    int x;
    double bytes;
    if (r->type == KN_ROW_SIZE && r->expected && parse_size(text, &bytes))
        expected = r->expected; /* a valid size, but out of range */
    if (r->type == KN_ROW_LIST && !expected) {
        char list[128];
        const char *w = text;
        while (w[strcspn(w, ",")] && find_word(r->words, '|', w, strcspn(w, ",")) >= 0)
            w += strcspn(w, ",") + 1;
        format_alternatives(r->words, list, sizeof list);
        snprintf(wrong, sizeof wrong, "%.*s", (int)strcspn(w, ","), w);
        kn_suggest_words(&near, r->words);
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} contains '%.*s', but its parts must be %s%s",
                       r->key, (int)strcspn(w, ","), w, list,
                       kn_did_you_mean(&near, "", suggestion));
    }
    if (r->type == KN_ROW_COUNT && !r->words && parse_int(text, &x))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} is %d; it must be %s", r->key, x, expected);
    snprintf(wrong, sizeof wrong, "%s", text);
    if (r->type != KN_ROW_SUM)
        kn_suggest_words(&near, r->words);
    return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} is '%s', but must be %s%s", r->key, text,
                   r->type == KN_ROW_CHOICE || r->type == KN_ROW_WORD || !expected ? r->words
                                                                                   : expected,
                   kn_did_you_mean(&near, "", suggestion));
}
