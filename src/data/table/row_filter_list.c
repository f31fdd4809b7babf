/* Implements row_filter_list.h: a sorted list with binary search. */
#include "data/table/row_filter_list.h"

#include <stdlib.h>
#include <string.h>

#include "data/table/levels.h"
#include "io/file/byte_source.h"

static const ptrdiff_t MAX_BYTES = (ptrdiff_t)1 << 28;
static const char SPACES[] = " \t\r";

void kn_row_filter_list_clear(kn_row_filter_list *list)
{
    kn_free(list->value);
    kn_free(list->text);
    *list = (kn_row_filter_list){0};
}

static int in_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ptrdiff_t count_lines(const char *text, ptrdiff_t n)
{
    ptrdiff_t lines = 1;
    for (ptrdiff_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

/* Collects the non-blank lines of the text, trimmed in place. */
static void take_lines(kn_row_filter_list *list)
{
    for (char *at = list->text, *next; at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        at += strspn(at, SPACES);
        size_t length = strlen(at);
        while (length > 0 && strchr(SPACES, at[length - 1]))
            at[--length] = '\0';
        if (length > 0)
            list->value[list->n++] = at;
    }
    qsort(list->value, (size_t)list->n, sizeof *list->value, in_order);
}

kn_status kn_row_filter_list_read(kn_ctx *ctx, const char *path, kn_row_filter_list *out)
{
    kn_status status;
    kn_byte_source source = {0};
    void *text = NULL, *value = NULL;
    *out = (kn_row_filter_list){0};
    KN_TRY(kn_byte_source_open(ctx, path, &source));
    if (source.size > MAX_BYTES) {
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s has %td bytes, a list of values at most %td", path,
                         source.size, MAX_BYTES);
        goto out;
    }
    KN_TRY(kn_alloc(ctx, source.size + 1, 1, &text));
    out->text = text;
    KN_TRY(kn_byte_source_read(ctx, &source, 0, source.size, text));
    KN_TRY(kn_alloc(ctx, count_lines(text, source.size), sizeof *out->value, &value));
    out->value = value;
    take_lines(out);
    if (out->n == 0)
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s has no values, expected one on each line", path);
out:
    kn_byte_source_close(&source);
    if (status != KN_OK)
        kn_row_filter_list_clear(out);
    return status;
}

bool kn_row_filter_list_has(const kn_row_filter_list *list, const char *cell)
{
    char trimmed[KN_LEVEL_SIZE];
    const char *key = trimmed;
    return kn_level_of(cell, false, trimmed) &&
           bsearch(&key, list->value, (size_t)list->n, sizeof *list->value, in_order);
}
