/* Reads the list of images (internal.h). A list names one image, or one per hemisphere, in each
 * line, optionally with an id. */
#include "io/image/internal.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory/alloc.h"
#include "io/file/path.h"
#include "io/image/image.h"
#include "io/image/pattern_hint.h"

static const ptrdiff_t MAX_BYTES = (ptrdiff_t)1 << 28; /* of a list file */

size_t kn_path_label(const char *path, const char *prefix, const char **start)
{
    size_t length = 0, before = strlen(prefix);
    for (const char *at = path; (at = strstr(at, prefix)); at++) {
        if (at > path && isalnum((unsigned char)at[-1]))
            continue;
        size_t n = before;
        while (isalnum((unsigned char)at[n]))
            n++;
        if (n == before)
            continue;
        if (length > 0 && (n != length || memcmp(*start, at, n) != 0))
            return 0;
        *start = at;
        length = n;
    }
    return length;
}

/* Sets *out (count texts) to the labels with this prefix if each of the paths, as written in the
 * list, has exactly one; else leaves it. */
static kn_status take_labels(kn_ctx *ctx, const char *prefix, ptrdiff_t count, char **written,
                             char ***out)
{
    const char *start = NULL;
    kn_status status = KN_OK;
    void *memory;
    for (ptrdiff_t i = 0; i < count; i++)
        if (kn_path_label(written[i], prefix, &start) == 0)
            return KN_OK;
    KN_TRY(kn_alloc(ctx, count, sizeof **out, &memory));
    *out = memory;
    for (ptrdiff_t i = 0; i < count; i++) {
        size_t n = kn_path_label(written[i], prefix, &start);
        KN_TRY(kn_text_copy(ctx, start, n, &(*out)[i]));
    }
out:
    return status;
}

/* Uses the sub- labels of the paths as ids if the list has none, and their ses- labels as sessions.
 */
static kn_status labels_as_ids(kn_ctx *ctx, kn_image_list *list, char **written)
{
    kn_status status = KN_OK;
    if (!list->id)
        KN_TRY(take_labels(ctx, "sub-", list->count, written, &list->id));
    if (list->id)
        KN_TRY(take_labels(ctx, "ses-", list->count, written, &list->session));
out:
    return status;
}

/* Returns whether text (n characters) is one of the words in any case; the list ends with NULL. */
static bool is_word(const char *text, size_t n, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == n && strncasecmp(text, *words, n) == 0)
            return true;
    return false;
}

/* Returns whether a line is a header: column names such as `path` or `participant_id path`. */
static bool is_header(const char *text)
{
    static const char *const ids[] = {"id",     "participant_id", "sub_id",      "subject_id",
                                      "subjid", "subject",        "participant", NULL};
    static const char *const paths[] = {"path",  "paths",  "file",      "files",    "filename",
                                        "image", "images", "file_name", "filepath", NULL};
    size_t n = strcspn(text, " \t");
    const char *rest = text + n + strspn(text + n, " \t");
    if (!*rest)
        return is_word(text, n, paths);
    return is_word(text, n, ids) && is_word(rest, strlen(rest), paths);
}

/* Returns whether a file exists; `path` is relative to the folder of the list. */
static bool is_there(kn_ctx *ctx, const char *list, const char *path)
{
    char *full = NULL;
    bool there = kn_path_relative_to(ctx, list, path, &full) == KN_OK && access(full, F_OK) == 0;
    kn_free(full);
    return there;
}

/* Replaces the spaces between an id and a path in a line by a tab, if no file has the whole line as
 * its name and the rest after the first spaces is an existing file. */
static void part_by_spaces(kn_ctx *ctx, const char *list, char *text)
{
    size_t n = strcspn(text, " ");
    char *rest = text + n + strspn(text + n, " ");
    if (strchr(text, '\t') || !*rest || is_there(ctx, list, text) || !is_there(ctx, list, rest))
        return;
    text[n] = '\t';
    memmove(text + n + 1, rest, strlen(rest) + 1);
}

enum { MAX_PARTS = 2, MAX_FIELDS = MAX_PARTS + 1 };

/* Fields of a line. */
typedef struct fields {
    char *id, *path[MAX_PARTS]; /* borrowed from the line; id NULL: none */
    int parts;
} fields;

/* Splits a line at its tabs, in place, into id and paths. Two fields are two paths if the first has
 * an image extension, else an id and a path. Returns false for an empty field or more than three.
 */
static bool split_line(char *text, fields *out)
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

/* Appends one line (without its newline) to the list. *written points to its first path within
 * `text`. KN_ERR_FORMAT if it has other fields than the lines before. */
static kn_status take_line(kn_ctx *ctx, const char *name, char *text, ptrdiff_t line,
                           kn_image_list *list, char **written)
{
    void *paths = list->path, *ids = list->id, *lines = list->line;
    fields f;
    kn_status status;

    if (!split_line(text, &f))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s line %td must have an ID, one tab and a path", name,
                       line);
    if (list->count > 0 && (f.id != NULL) != (list->id != NULL))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s line %td has %s, unlike the previous lines", name,
                       line, f.id ? "an ID and a path" : "a path without an ID");
    if (list->count > 0 && f.parts != list->parts)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s line %td has %s, unlike the previous lines", name,
                       line, f.parts > 1 ? "two paths" : "one path");
    list->parts = f.parts;
    status =
        kn_grow(ctx, (list->count + 1) * f.parts, sizeof *list->path, &paths, &list->path_capacity);
    list->path = paths;
    KN_TRY(status);
    status = kn_grow(ctx, list->count + 1, sizeof *list->line, &lines, &list->line_capacity);
    list->line = lines;
    KN_TRY(status);
    if (f.id) {
        status = kn_grow(ctx, list->count + 1, sizeof *list->id, &ids, &list->id_capacity);
        list->id = ids;
        KN_TRY(status);
    }
    *written = f.path[0];
    ptrdiff_t i = list->count++;
    list->line[i] = line;
    for (int k = 0; k < f.parts; k++)
        KN_TRY(kn_path_relative_to(ctx, name, f.path[k], &list->path[i * f.parts + k]));
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
    bool headed = false;
    kn_status status;

    *out = (kn_image_list){0};
    KN_TRY(kn_text_copy(ctx, text, (size_t)n, &copy));
    if ((ptrdiff_t)strlen(copy) != n) {
        status = kn_fail(ctx, KN_ERR_FORMAT,
                         "%s contains a NUL byte, so it is not a list of images", name);
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
        at += strspn(at, " ");
        if (length == 0 || (out->count == 0 && !headed && is_header(at))) {
            headed = headed || length > 0;
            continue;
        }
        part_by_spaces(ctx, name, at);
        KN_TRY(kn_grow(ctx, out->count + 1, sizeof(char *), &written, &written_room));
        KN_TRY(take_line(ctx, name, at, line, out, (char **)written + out->count));
    }
    if (out->count == 0) {
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s lists no images", name);
        goto out;
    }
    KN_TRY(labels_as_ids(ctx, out, written));
out:
    kn_free(written);
    kn_free(copy);
    if (status != KN_OK)
        kn_image_list_clear(out);
    return status;
}

kn_status kn_image_list_read(kn_ctx *ctx, const char *path, kn_image_list *out)
{
    kn_byte_source source = {.fd = -1};
    void *text = NULL;
    kn_status status;

    *out = (kn_image_list){0};
    KN_TRY(kn_byte_source_open(ctx, path, &source));
    if (source.size > MAX_BYTES) {
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s: %s is too large for a list of images", path,
                         kn_format_size((double)source.size).text);
        goto out;
    }
    KN_TRY(kn_alloc(ctx, source.size + 1, 1, &text));
    KN_TRY(kn_byte_source_read(ctx, &source, 0, source.size, text));
    KN_TRY(kn_byte_source_check(ctx, &source));
    KN_TRY(kn_image_list_parse(ctx, path, text, source.size, out));
out:
    kn_free(text);
    kn_byte_source_close(&source);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the files of one pattern, sorted; globfree(found) afterwards. */
static kn_status find_matches(kn_ctx *ctx, const char *pattern, glob_t *found)
{
    char hint[KN_PATTERN_HINT];
    int failed = glob(pattern, GLOB_NOSORT, NULL, found);
    if (failed)
        return failed == GLOB_NOSPACE
                   ? kn_fail(ctx, KN_ERR_MEMORY, "out of memory")
                   : kn_fail(ctx, KN_ERR_IO, "%s: no file matches this pattern%s", pattern,
                             kn_pattern_hint(pattern, hint));
    qsort(found->gl_pathv, found->gl_pathc, sizeof *found->gl_pathv,
          by_name); /* bytewise, not by locale */
    return KN_OK;
}

/* Returns whether two paths are equal but for one part of the file name each, which is a
 * hemisphere: the text between the common beginning and the common end lies in the file name and
 * has no label sub- or ses-. */
static bool is_other_side(const char *a, const char *b)
{
    const char *left = kn_image_side(a), *right = kn_image_side(b);
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
    x = x ? x + 1 : a;
    y = y ? y + 1 : b;
    if (!*left || !*right || strcmp(left, right) == 0)
        return false;
    size_t n = 0, m = strlen(x), k = strlen(y);
    while (x[n] && x[n] == y[n])
        n++;
    while (m > n && k > n && x[m - 1] == y[k - 1]) {
        m--;
        k--;
    }
    return m - n <= 2 && k - n <= 2;
}

/* Takes ids and sessions from the labels of the first paths. */
static kn_status glob_labels(kn_ctx *ctx, kn_image_list *out)
{
    void *memory;
    kn_status status;
    KN_TRY(kn_alloc(ctx, out->count, sizeof(char *), &memory));
    char **first = memory;
    for (ptrdiff_t i = 0; i < out->count; i++)
        first[i] = out->path[i * out->parts];
    status = labels_as_ids(ctx, out, first);
    kn_free(first);
out:
    return status;
}

/* Fills the list with the files of both patterns, a pair in each row. Files are paired in the order
 * of their names, which must be equal but for the hemisphere. */
static kn_status pair_matches(kn_ctx *ctx, const glob_t found[2], const char *pattern,
                              kn_image_list *out)
{
    for (size_t i = 0; i < found[0].gl_pathc || i < found[1].gl_pathc; i++) {
        const char *a = i < found[0].gl_pathc ? found[0].gl_pathv[i] : NULL;
        const char *b = i < found[1].gl_pathc ? found[1].gl_pathv[i] : NULL;
        if (!a || !b || !is_other_side(a, b))
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: %s has no other hemisphere in the same place, expected names that "
                           "differ in lh and rh, hemi-L and hemi-R, or L and R",
                           pattern, a ? a : b);
        for (int k = 0; k < 2; k++) {
            const char *path = k ? b : a;
            kn_status status = kn_text_copy(ctx, path, strlen(path), &out->path[2 * i + (size_t)k]);
            if (status != KN_OK)
                return status;
        }
        out->count++;
    }
    return KN_OK;
}

kn_status kn_image_list_glob(kn_ctx *ctx, const char *pattern, kn_image_list *out)
{
    glob_t found[2] = {{0}};
    char *first = NULL;
    void *memory;
    kn_status status;
    const char *comma = strchr(pattern, ',');

    *out = (kn_image_list){0};
    if (comma && !strpbrk(comma, "*?["))
        comma = NULL;
    KN_TRY(kn_text_copy(ctx, pattern, comma ? (size_t)(comma - pattern) : strlen(pattern), &first));
    KN_TRY(find_matches(ctx, first, &found[0]));
    if (comma)
        KN_TRY(find_matches(ctx, comma + 1, &found[1]));
    ptrdiff_t n = (ptrdiff_t)found[0].gl_pathc;
    out->parts = comma ? 2 : 1;
    KN_TRY(kn_alloc(ctx, n * out->parts, sizeof *out->path, &memory));
    out->path = memory;
    KN_TRY(kn_alloc_i(ctx, n, &out->line));
    for (ptrdiff_t i = 0; i < n; i++)
        out->line[i] = i + 1;
    if (comma)
        KN_TRY(pair_matches(ctx, found, pattern, out));
    for (; !comma && out->count < n; out->count++) {
        const char *path = found[0].gl_pathv[out->count];
        KN_TRY(kn_text_copy(ctx, path, strlen(path), &out->path[out->count]));
    }
    KN_TRY(glob_labels(ctx, out));
out:
    kn_free(first);
    globfree(&found[0]);
    globfree(&found[1]);
    if (status != KN_OK)
        kn_image_list_clear(out);
    return status;
}

void kn_image_list_clear(kn_image_list *list)
{
    for (ptrdiff_t i = 0; i < list->count; i++) {
        for (int k = 0; k < list->parts; k++)
            kn_free(list->path[i * list->parts + k]);
        if (list->id)
            kn_free(list->id[i]);
        if (list->session)
            kn_free(list->session[i]);
    }
    kn_free(list->path);
    kn_free(list->id);
    kn_free(list->session);
    kn_free(list->line);
    *list = (kn_image_list){0};
}
