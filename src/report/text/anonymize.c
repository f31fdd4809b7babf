/* Implements anonymize.h: ids are sorted, and matched at each word by bisection. They are replaced
 * by numbered aliases. */
#include "report/text/anonymize.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/text/sentence.h"

/* ---- numbers ---- */

typedef struct entry {
    const char *id, *instead;
    ptrdiff_t i;
} entry;

/* Comparison for qsort: by id, then by position. */
static int by_id(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    int c = strcmp(a->id, b->id);
    return c ? c : (a->i > b->i) - (a->i < b->i);
}

kn_status kn_anonymize_numbers(kn_ctx *ctx, const char *const *name, ptrdiff_t n, ptrdiff_t *number)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof(entry), &memory);
    if (status != KN_OK || n == 0)
        return status;
    entry *all = memory;
    ptrdiff_t last = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        all[i] = (entry){.id = name[i], .i = i};
    qsort(all, (size_t)n, sizeof *all, by_id);
    for (ptrdiff_t k = 0; k < n; k++) /* of equal names the first is the earliest */
        number[all[k].i] =
            k > 0 && strcmp(all[k].id, all[k - 1].id) == 0 ? number[all[k - 1].i] : -1 - all[k].i;
    /* -1-i: first found at i. Numbers are assigned in the order of i. */
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t first = -1 - number[i];
        number[i] = first == i ? ++last : number[first];
    }
    kn_free(memory);
    return KN_OK;
}

ptrdiff_t kn_anonymize_hyphens(const char *const *name, ptrdiff_t n, ptrdiff_t lowest)
{
    static const char word[] = "participant";
    const size_t length = sizeof word - 1;
    for (ptrdiff_t i = 0; name && i < n; i++) {
        if (strncmp(name[i], word, length) != 0)
            continue;
        size_t hyphens = strspn(name[i] + length, "-");
        if (isdigit((unsigned char)name[i][length + hyphens]) && (ptrdiff_t)hyphens > lowest)
            lowest = (ptrdiff_t)hyphens;
    }
    return lowest;
}

/* ---- texts ---- */

struct kn_anonymizer {
    ptrdiff_t n;
    entry *sorted; /* by id, then in the given order */
    const char *own;
};

/* Returns whether an id consists of digits and points only. */
static bool is_number(const char *id)
{
    return strspn(id, "0123456789.") == strlen(id);
}

/* Returns whether an id must be replaced; not if it is empty or a number of one or two digits. */
static bool is_identifying(const char *id)
{
    return *id && !(is_number(id) && strlen(id) < 3);
}

kn_status kn_anonymizer_new(kn_ctx *ctx, const kn_alias *alias, ptrdiff_t n, const char *own,
                            kn_anonymizer **out)
{
    kn_status status;
    void *memory = NULL, *sorted = NULL;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof **out, &memory));
    KN_TRY(kn_alloc(ctx, n, sizeof(entry), &sorted));
    kn_anonymizer *s = memory;
    s->sorted = sorted;
    s->own = own;
    for (ptrdiff_t i = 0; i < n; i++)
        if (is_identifying(alias[i].id))
            s->sorted[s->n++] = (entry){alias[i].id, alias[i].instead, i};
    if (s->n > 0)
        qsort(s->sorted, (size_t)s->n, sizeof *s->sorted, by_id);
    *out = s;
    memory = sorted = NULL;
out:
    kn_free(memory);
    kn_free(sorted);
    return status;
}

void kn_anonymizer_free(kn_anonymizer *s)
{
    if (!s)
        return;
    kn_free(s->sorted);
    kn_free(s);
}

/* Returns whether c continues a word: a letter, a digit or any byte beyond ASCII. */
static bool in_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Returns the index of the first of sorted ids low .. high - 1 whose k-th byte is not below c;
 * `high` if there is none. */
static ptrdiff_t lower_bound(const kn_anonymizer *s, ptrdiff_t low, ptrdiff_t high, ptrdiff_t k,
                             int c)
{
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        if ((unsigned char)s->sorted[middle].id[k] < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the longest id at the start of `text` that ends as a word, by narrowing the range of
 * sorted candidates byte by byte; NULL: none. sentence: numeric ids do not match. */
static const entry *match_id(const kn_anonymizer *s, const char *text, bool sentence)
{
    const entry *longest = NULL;
    ptrdiff_t low = 0, high = s->n;
    for (ptrdiff_t k = 0; low < high; k++) {
        const entry *shortest = &s->sorted[low]; /* an id that ends here sorts first */
        bool ends = k > 0 && (!in_word(text[k]) || !in_word(text[k - 1]));
        if (shortest->id[k] == '\0' && ends && !(sentence && is_number(shortest->id)))
            longest = shortest;
        if (text[k] == '\0')
            break;
        int c = (unsigned char)text[k];
        low = lower_bound(s, low, high, k, c);
        high = lower_bound(s, low, high, k, c + 1);
    }
    return longest;
}

/* Returns the length of an alias such as "participant-12" at the start of `text`; 0: none. */
static size_t alias_at(const kn_anonymizer *s, const char *text)
{
    static const char digits[] = "0123456789";
    size_t n = strlen(s->own), number;
    if (strncmp(text, s->own, n) != 0)
        return 0;
    number = strspn(text + n, digits);
    return number ? n + number : 0;
}

kn_status kn_anonymize(kn_ctx *ctx, const kn_anonymizer *s, const char *text, bool sentence,
                       kn_arena *arena, const char **out)
{
    kn_sentence replaced = {.ctx = ctx, .arena = arena};
    const char *kept = text; /* start of the text not yet written */
    *out = text;
    for (const char *cursor = text; cursor && *cursor;) {
        bool begins = cursor == text || !in_word(cursor[-1]) || !in_word(*cursor);
        size_t ours = begins ? alias_at(s, cursor) : 0;
        const entry *a = begins && !ours ? match_id(s, cursor, sentence) : NULL;
        if (!a) {
            cursor += ours ? ours : 1;
            continue;
        }
        kn_sentence_words(&replaced, "%.*s%s", (int)(cursor - kept), kept, a->instead);
        kept = cursor += strlen(a->id);
    }
    if (kept == text)
        return KN_OK;
    kn_sentence_words(&replaced, "%s", kept);
    return kn_sentence_end(&replaced, out);
}
