/* Places the regions of a table on a surface: a response matches a label of the same side and
 * name. A table of regions can then be drawn like a map. */
#include <stdlib.h>
#include <string.h>

#include "report/atlas/regions.h"

typedef struct response { /* a response of a table, by its region */
    int side;
    bool asked; /* has the measure that is drawn */
    char key[KN_REGION_TEXT];
    ptrdiff_t t;
} response;

/* Comparison for qsort of responses: by key of the region, then side, then the drawn measure first,
 * then order of the table. */
static int by_region(const void *a, const void *b)
{
    const response *x = a, *y = b;
    const int key = strcmp(x->key, y->key);
    if (key != 0)
        return key;
    if (x->side != y->side)
        return x->side < y->side ? -1 : 1;
    if (x->asked != y->asked)
        return x->asked ? -1 : 1;
    return (x->t > y->t) - (x->t < y->t);
}

/* Parses the names of the table's responses into out (capacity T): those that name a region, sorted
 * by by_region(). Returns how many. */
static ptrdiff_t list_responses(const kn_region_table *table, response *out)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t t = 0; t < table->T; t++) {
        kn_region_name parsed;
        if (!kn_region_parse(table->name[t], &parsed))
            continue;
        response *r = &out[n++];
        *r = (response){.side = parsed.side, .t = t};
        r->asked = table->measure && parsed.measure && strcmp(table->measure, parsed.measure) == 0;
        memcpy(r->key, parsed.key, sizeof r->key);
    }
    if (n > 1)
        qsort(out, (size_t)n, sizeof *out, by_region);
    return n;
}

/* Returns the index of the first of n sorted responses with this key and side or a later one; n if
 * there is none. */
static ptrdiff_t search_region(const response *list, ptrdiff_t n, const char *key, int side)
{
    ptrdiff_t low = 0, high = n;
    while (low < high) {
        const ptrdiff_t middle = low + (high - low) / 2;
        const int order = strcmp(list[middle].key, key);
        if (order < 0 || (order == 0 && list[middle].side < side))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the column of the table for an atlas label on this side (0 left, 1 right), otherwise the
 * column for both sides; -1 if there is none. Sets matched[t] for every response of this region,
 * also of other measures. list: n responses sorted by by_region(). */
static ptrdiff_t find_response(const response *list, ptrdiff_t n, const char *label, int side,
                               bool *matched)
{
    kn_region_name parsed;
    ptrdiff_t found = -1;
    if (!kn_region_parse(label, &parsed) || (parsed.side >= 0 && parsed.side != side))
        return -1;
    for (int k = 0; k < 2 && found < 0; k++) { /* of the side, else of both sides */
        const int response_of = k == 0 ? side : -1;
        ptrdiff_t i = search_region(list, n, parsed.key, response_of);
        if (i < n && list[i].side == response_of && strcmp(list[i].key, parsed.key) == 0)
            found = list[i].t;
        for (; i < n && list[i].side == response_of && strcmp(list[i].key, parsed.key) == 0; i++)
            matched[list[i].t] = true; /* also for other measures: their region exists */
    }
    return found;
}

kn_status kn_regions_match(kn_ctx *ctx, const kn_region_table *table,
                           const kn_vertex_labels *labels, kn_report_mesh *mesh)
{
    kn_status status;
    void *memory = NULL;
    ptrdiff_t *response_of = NULL;
    KN_TRY(kn_alloc(ctx, table->T, sizeof(response), &memory));
    KN_TRY(kn_alloc_i(ctx, labels->count, &response_of));
    const ptrdiff_t n = list_responses(table, memory);
    for (ptrdiff_t k = 0; k < labels->count; k++)
        response_of[k] = find_response(memory, n, labels->name[k], mesh->side, table->matched);
    for (ptrdiff_t v = 0; v < mesh->surface.vertices; v++)
        mesh->response[v] = labels->region[v] >= 0 ? response_of[labels->region[v]] : -1;
out:
    kn_free(memory);
    kn_free(response_of);
    return status;
}

/* Returns whether a label of an annotation is no region, such as the medial wall. */
static bool is_nothing(const char *label)
{
    static const char *const NOTHING[] = {"unknown",
                                          "medialwall",
                                          "background",
                                          "freesurferdefinedmedialwall",
                                          "backgroundfreesurferdefinedmedialwall",
                                          NULL};
    kn_region_name parsed;
    if (!kn_region_parse(label, &parsed))
        return true;
    for (const char *const *w = NOTHING; *w; w++)
        if (strcmp(parsed.key, *w) == 0)
            return true;
    return false;
}

kn_status kn_regions_label(kn_ctx *ctx, kn_arena *arena, const kn_vertex_labels *labels,
                           kn_report_mesh *mesh)
{
    kn_status status;
    void *memory = NULL, *words = NULL;
    KN_TRY(kn_arena_alloc(ctx, arena, mesh->surface.vertices, sizeof(char *), &memory));
    KN_TRY(kn_alloc(ctx, labels->count, sizeof(char *), &words));
    const char **word = words;
    mesh->region = memory;
    for (ptrdiff_t k = 0; k < labels->count; k++)
        if (!is_nothing(labels->name[k]))
            KN_TRY(kn_region_describe(ctx, arena, labels->name[k], mesh->side, &word[k]));
    for (ptrdiff_t v = 0; v < mesh->surface.vertices; v++)
        mesh->region[v] = labels->region[v] >= 0 ? word[labels->region[v]] : NULL;
out:
    kn_free(words);
    return status;
}
