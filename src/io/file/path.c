/* Implements path.h. No function here touches a file. */
#include "io/file/path.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool kn_path_ends(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n > m && strcasecmp(path + n - m, ending) == 0;
}

/* Sets *out to the first n characters of `head` followed by `tail`; freed with kn_free. */
static kn_status join_text(kn_ctx *ctx, const char *head, size_t n, const char *tail, char **out)
{
    size_t m = strlen(tail);
    void *p;
    kn_status status = kn_alloc(ctx, (ptrdiff_t)(n + m + 1), 1, &p);
    *out = p;
    if (status == KN_OK) {
        memcpy(*out, head, n);
        memcpy(*out + n, tail, m);
    }
    return status;
}

kn_status kn_path_replace_ending(kn_ctx *ctx, const char *path, size_t cut, const char *ending,
                                 char **out)
{
    return join_text(ctx, path, strlen(path) - cut, ending, out);
}

kn_status kn_path_relative_to(kn_ctx *ctx, const char *from, const char *path, char **out)
{
    const char *slash = strrchr(from, '/');
    size_t folder = slash && path[0] != '/' ? (size_t)(slash - from) + 1 : 0;
    return join_text(ctx, from, folder, path, out);
}

kn_status kn_path_in_folder(kn_ctx *ctx, const char *folder, const char *name, char *path,
                            size_t size)
{
    return (size_t)snprintf(path, size, "%s/%s", folder, name) < size
               ? KN_OK
               : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", folder);
}

bool kn_path_escape(const char *path, char *out, size_t size)
{
    size_t n = 0;
    for (; *path && n + 2 < size; path++) {
        if (strchr("*?[\\", *path))
            out[n++] = '\\';
        out[n++] = *path;
    }
    out[n] = '\0';
    return !*path;
}

kn_status kn_path_check_cell(kn_ctx *ctx, const char *name)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127 || *c == '"')
            return kn_fail(ctx, KN_ERR_DATA,
                           "the name '%.200s' has a control character or a double quote; rename it",
                           name);
    return KN_OK;
}

kn_status kn_text_copy(kn_ctx *ctx, const char *text, size_t n, char **out)
{
    return join_text(ctx, text, n, "", out);
}

kn_size_text kn_format_size(double bytes)
{
    static const char *const unit[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    kn_size_text t;
    if (bytes < 1000) {
        snprintf(t.text, sizeof t.text, "%.0f bytes", bytes);
        return t;
    }
    size_t u = 0;
    for (bytes /= 1000; bytes >= 999.95 && u + 1 < sizeof unit / sizeof unit[0]; bytes /= 1000)
        u++;
    snprintf(t.text, sizeof t.text, "%.1f %s", bytes, unit[u]);
    return t;
}
