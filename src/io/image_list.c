#include "io/image_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "io/grow.h"
#include "io/image.h"
#include "io/path.h"

static const ptrdiff_t MAX_BYTES = (ptrdiff_t)1 << 28;

/* The one label sub-XXX in a path, however often it stands there; 0: none, or different ones.
 * Letters and digits make a label, and it does not start within a word (as in "group-sub-1" it
 * may, in "absub-1" not). */
static size_t subject_label(const char *path, const char **start)
{
    size_t length = 0;
    for (const char *at = path; (at = strstr(at, "sub-")); at++) {
        if (at > path && isalnum((unsigned char)at[-1]))
            continue;
        size_t n = 4;
        while (isalnum((unsigned char)at[n]))
            n++;
        if (n == 4)
            continue;
        if (length > 0 && (n != length || memcmp(*start, at, n) != 0))
            return 0;
        *start = at;
        length = n;
    }
    return length;
}

/* Ids from the paths as the list has them, when every one has exactly one label. */
static kn_status labels_as_ids(kn_ctx *ctx, kn_image_list *list, char **written)
{
    const char *start = NULL;
    kn_status status = KN_OK;
    void *id;
    for (ptrdiff_t i = 0; i < list->count; i++)
        if (subject_label(written[i], &start) == 0)
            return KN_OK;
    KN_TRY(kn_alloc(ctx, list->count, sizeof *list->id, &id));
    list->id = id;
    for (ptrdiff_t i = 0; i < list->count; i++) {
        size_t n = subject_label(written[i], &start);
        KN_TRY(kn_text_copy(ctx, start, n, &list->id[i]));
    }
out:
    return status;
}

typedef struct id_ref {
    const char *id;
    ptrdiff_t line;
} id_ref;

static int by_id(const void *a, const void *b)
{
    const id_ref *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static kn_status check_distinct(kn_ctx *ctx, const char *name, const kn_image_list *list)
{
    void *refs;
    if (!list->id)
        return KN_OK;
    kn_status status = kn_alloc(ctx, list->count, sizeof(id_ref), &refs);
    if (status != KN_OK)
        return status;
    id_ref *r = refs;
    for (ptrdiff_t i = 0; i < list->count; i++)
        r[i] = (id_ref){list->id[i], list->line[i]};
    qsort(r, (size_t)list->count, sizeof *r, by_id);
    for (ptrdiff_t i = 1; i < list->count && status == KN_OK; i++)
        if (strcmp(r[i - 1].id, r[i].id) == 0)
            status = kn_fail(ctx, KN_ERR_DATA, "%s line %td: %s was on line %td already", name,
                             r[i].line, r[i].id, r[i - 1].line);
    kn_free(refs);
    return status;
}

enum { MAX_PARTS = 2, MAX_FIELDS = MAX_PARTS + 1 };

/* What a line has: an id or none, and paths. */
typedef struct fields {
    char *id, *path[MAX_PARTS];
    int parts;
} fields;

/* Cuts the line at its tabs. Two fields are an id and a path, or where the first is the name of an
 * image, two paths. False: neither. */
static bool cut(char *text, fields *out)
{
    char *field[MAX_FIELDS];
    int n = 0;
    *out = (fields){0};
    for (char *next; text; text = next) {
        next = strchr(text, '\t');
        if (next)
            *next++ = '\0';
        if (n == MAX_FIELDS || *text == '\0')
            return false;
        field[n++] = text;
    }
    bool id = n == MAX_FIELDS || (n == 2 && !kn_image_is_name(field[0]));
    out->id = id ? field[0] : NULL;
    out->parts = n - id;
    for (int k = 0; k < out->parts; k++)
        out->path[k] = field[k + id];
    return true;
}

/* One line, without its end: appended to the list. *written keeps the path as it stands there. */
static kn_status take_line(kn_ctx *ctx, const char *name, char *text, ptrdiff_t line,
                           kn_image_list *list, char **written)
{
    void *paths = list->path, *ids = list->id, *lines = list->line;
    fields f;
    kn_status status;

    if (!cut(text, &f))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s line %td: expected an id, one tab and a path", name,
                       line);
    if (list->count > 0 && (f.id != NULL) != (list->id != NULL))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s line %td: %s, unlike the lines before", name, line,
                       f.id ? "an id and a path" : "a path without an id");
    if (list->count > 0 && f.parts != list->parts)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s line %td: %s, unlike the lines before", name, line,
                       f.parts > 1 ? "two paths" : "one path");
    list->parts = f.parts;
    status =
        kn_grow(ctx, (list->count + 1) * f.parts, sizeof *list->path, &paths, &list->path_room);
    list->path = paths;
    KN_TRY(status);
    status = kn_grow(ctx, list->count + 1, sizeof *list->line, &lines, &list->line_room);
    list->line = lines;
    KN_TRY(status);
    if (f.id) {
        status = kn_grow(ctx, list->count + 1, sizeof *list->id, &ids, &list->id_room);
        list->id = ids;
        KN_TRY(status);
    }
    *written = f.path[0];
    ptrdiff_t i = list->count++;
    list->line[i] = line;
    for (int k = 0; k < f.parts; k++)
        KN_TRY(kn_path_beside(ctx, name, f.path[k], &list->path[i * f.parts + k]));
    if (f.id)
        KN_TRY(kn_text_copy(ctx, f.id, strlen(f.id), &list->id[i]));
out:
    return status;
}

kn_status kn_image_list_parse(kn_ctx *ctx, const char *name, const char *text, ptrdiff_t n,
                              kn_image_list *out)
{
    char *copy = NULL;
    void *written = NULL;
    ptrdiff_t written_room = 0, line = 0;
    kn_status status;

    *out = (kn_image_list){0};
    KN_TRY(kn_text_copy(ctx, text, (size_t)n, &copy));
    if ((ptrdiff_t)strlen(copy) != n) {
        status =
            kn_fail(ctx, KN_ERR_FORMAT, "%s: holds a NUL byte, expected a list of images", name);
        goto out;
    }
    char *at = strncmp(copy, "\xef\xbb\xbf", 3) == 0 ? copy + 3 : copy;
    for (char *next; at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        line++;
        size_t length = strlen(at);
        while (length > 0 && strchr("\r \t", at[length - 1]))
            at[--length] = '\0';
        if (length == 0)
            continue;
        KN_TRY(kn_grow(ctx, out->count + 1, sizeof(char *), &written, &written_room));
        KN_TRY(take_line(ctx, name, at, line, out, (char **)written + out->count));
    }
    if (out->count == 0) {
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s: names no images", name);
        goto out;
    }
    if (!out->id)
        KN_TRY(labels_as_ids(ctx, out, written));
    KN_TRY(check_distinct(ctx, name, out));
out:
    kn_free(written);
    kn_free(copy);
    if (status != KN_OK)
        kn_image_list_clear(out);
    return status;
}

kn_status kn_image_list_read(kn_ctx *ctx, const char *path, kn_image_list *out)
{
    kn_source source = {.fd = -1};
    void *text = NULL;
    kn_status status;

    *out = (kn_image_list){0};
    KN_TRY(kn_source_open(ctx, path, &source));
    if (source.size > MAX_BYTES) {
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s: %s is too large for a list of images", path,
                         kn_size_in_words((double)source.size).text);
        goto out;
    }
    KN_TRY(kn_alloc(ctx, source.size + 1, 1, &text));
    KN_TRY(kn_source_read(ctx, &source, 0, source.size, text));
    KN_TRY(kn_image_list_parse(ctx, path, text, source.size, out));
out:
    kn_free(text);
    kn_source_close(&source);
    return status;
}

void kn_image_list_clear(kn_image_list *list)
{
    for (ptrdiff_t i = 0; i < list->count; i++) {
        for (int k = 0; k < list->parts; k++)
            kn_free(list->path[i * list->parts + k]);
        if (list->id)
            kn_free(list->id[i]);
    }
    kn_free(list->path);
    kn_free(list->id);
    kn_free(list->line);
    *list = (kn_image_list){0};
}
