/* Implements align_ids.h: both lists are reduced to a common form and sorted by it. */
#include "data/table/align_ids.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/table/text_list.h"
#include "io/table/number.h"

static const char SPACES[] = " \t\r\n";

/* Returns a pointer into `text` behind `prefix` (compared without case, if it is there) and behind
 * the zeros that follow. The last character is kept, so that 000 becomes 0. */
static const char *skip_prefix(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    if (strncasecmp(text, prefix, n) == 0)
        text += n;
    while (text[0] == '0' && isalnum((unsigned char)text[1]))
        text++;
    return text;
}

/* Writes the spelling-independent form of an id to `out` (strlen(id) + 1 bytes): small letters,
 * without surrounding spaces, without the prefixes sub- and ses-, without leading zeros:
 * Sub-007_ses-02 becomes 7_2. */
static void reduce_id(const char *id, char *out)
{
    size_t n = 0;
    id = skip_prefix(id + strspn(id, SPACES), "sub-");
    while (*id) {
        out[n++] = (char)tolower((unsigned char)*id);
        id = *id == '_' ? skip_prefix(id + 1, "ses-") : id + 1;
    }
    while (n > 0 && strchr(SPACES, out[n - 1]))
        n--;
    out[n] = '\0';
}

typedef struct entry {
    const char *form, *id;
    ptrdiff_t row;
} entry;

typedef struct forms {
    ptrdiff_t n;
    entry *sorted; /* by form, then by id */
    char *text;    /* of all forms */
} forms;

/* Comparison for qsort of two entries: by reduced form, then by the id itself. */
static int by_form(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = strcmp(x->form, y->form);
    return order ? order : strcmp(x->id, y->id);
}

/* Frees the normalised forms of the ids. */
static void clear_forms(forms *f)
{
    kn_free(f->sorted);
    kn_free(f->text);
}

/* Computes the spelling-independent form (reduce_id) of every id of the list that is not missing,
 * and sorts the forms into out->sorted (out->n entries). The caller clears *out, also on failure
 * (out of memory). */
static kn_status reduce_all(kn_ctx *ctx, const kn_id_list *list, forms *out)
{
    kn_status status;
    void *memory;
    ptrdiff_t bytes = 0;
    for (ptrdiff_t i = 0; i < list->n; i++)
        bytes += (ptrdiff_t)strlen(list->id[i]) + 1;
    KN_TRY(kn_alloc(ctx, bytes, 1, &memory));
    out->text = memory;
    KN_TRY(kn_alloc(ctx, list->n, sizeof *out->sorted, &memory));
    out->sorted = memory;
    char *at = out->text;
    for (ptrdiff_t i = 0; i < list->n; i++) {
        if (kn_text_is_missing(list->id[i]))
            continue;
        reduce_id(list->id[i], at);
        out->sorted[out->n++] = (entry){at, list->id[i], i};
        at += strlen(list->id[i]) + 1;
    }
    qsort(out->sorted, (size_t)out->n, sizeof *out->sorted, by_form);
out:
    return status;
}

/* Returns the index behind the last of the sorted entries that have the same reduced form as entry
 * i. *one: all of them are the same id. */
static ptrdiff_t end_of_form(const forms *f, ptrdiff_t i, bool *one)
{
    ptrdiff_t end = i + 1;
    *one = true;
    for (; end < f->n && strcmp(f->sorted[end].form, f->sorted[i].form) == 0; end++)
        *one = *one && strcmp(f->sorted[end].id, f->sorted[i].id) == 0;
    return end;
}

typedef struct findings {
    kn_listing list;
    ptrdiff_t n;
} findings;

/* Counts one replaced id and appends "B as A" to the list of a message; a and b are the two
 * spellings. */
static void add_pair(findings *found, const char *a, const char *b)
{
    char pair[2 * sizeof(kn_clip) + 8];
    snprintf(pair, sizeof pair, "%s as %s", kn_clipped(b).text, kn_clipped(a).text);
    kn_listing_add(&found->list, pair);
    found->n++;
}

/* Merges the two lists, sorted by reduced form. Where a form belongs to one id of `a` and to one
 * differently spelled id of `b`, every row of `ids` with the latter gets the former. Counts the ids
 * in *found. */
static void replace_ids(const forms *a, const forms *b, kn_id_list *ids, findings *found)
{
    for (ptrdiff_t i = 0, k = 0; i < a->n && k < b->n;) {
        bool one_a, one_b;
        int order = strcmp(a->sorted[i].form, b->sorted[k].form);
        ptrdiff_t next_a = end_of_form(a, i, &one_a), next_b = end_of_form(b, k, &one_b);
        const char *id = a->sorted[i].id;
        if (order == 0 && one_a && one_b && strcmp(id, b->sorted[k].id) != 0) {
            add_pair(found, id, b->sorted[k].id);
            for (ptrdiff_t row = k; row < next_b; row++)
                ids->id[b->sorted[row].row] = id;
        }
        i = order <= 0 ? next_a : i;
        k = order >= 0 ? next_b : k;
    }
}

kn_status kn_ids_align(kn_ctx *ctx, const kn_id_list *a, kn_id_list *b)
{
    enum { LISTED = 3 };
    forms of_a = {0}, of_b = {0};
    findings found = {.list.limit = LISTED};
    kn_status status;
    KN_TRY(reduce_all(ctx, a, &of_a));
    KN_TRY(reduce_all(ctx, b, &of_b));
    replace_ids(&of_a, &of_b, b, &found);
    if (found.n > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: %td %s those of %s except for leading zeros, prefixes, case or spaces, and %s "
               "matched: %s",
               b->path, found.n, found.n == 1 ? "ID equals" : "IDs equal", a->path,
               found.n == 1 ? "is" : "are", found.list.text);
out:
    clear_forms(&of_a);
    clear_forms(&of_b);
    return status;
}
