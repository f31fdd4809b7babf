/* Lists the input files that a page must not overwrite: option values and the files of the scored
 * folder. A page is refused before anything is written if it would overwrite one of them. */
#include "report/internal.h"

#include <dirent.h>
#include <string.h>

#include "io/file/path.h"
#include "io/image/image.h"

/* Appends a copy of the first `length` bytes of a path to the list of inputs that no output may
 * overwrite. Fails only without memory. */
static kn_status add_path(kn_ctx *ctx, kn_arena *arena, const char *path, size_t length,
                          kn_protected *out)
{
    kn_status status;
    void *more;
    if (out->n == out->capacity) {
        KN_TRY(kn_arena_alloc(ctx, arena, 2 * out->capacity + 16, sizeof *out->path, &more));
        if (out->n > 0)
            memcpy(more, out->path, (size_t)out->n * sizeof *out->path);
        out->path = more;
        out->capacity = 2 * out->capacity + 16;
    }
    KN_TRY(kn_arena_print(ctx, arena, &out->path[out->n], "%.*s", (int)length, path));
    out->n++;
out:
    return status;
}

/* Appends the paths of an option "LEFT,RIGHT", or of one file; list NULL: none. */
static kn_status add_files(kn_ctx *ctx, kn_arena *arena, const char *list, kn_protected *out)
{
    kn_status status = KN_OK;
    while (list && *list) {
        size_t length = strcspn(list, ",");
        KN_TRY(add_path(ctx, arena, list, length, out));
        list += length + (list[length] == ',');
    }
out:
    return status;
}

/* Returns whether a file has a name that score, cv or change write; figures are .svg, and .csv with
 * other names. */
static bool is_result_file(const char *name)
{
    bool maps = strncmp(name, "z.", 2) == 0 || kn_path_ends(name, "_z.csv");
    return kn_path_ends(name, ".tsv") || kn_path_ends(name, ".json") ||
           kn_path_ends(name, ".npy") || kn_image_is_name(name) ||
           (maps && kn_path_ends(name, ".csv"));
}

/* Appends the result files of a scored folder to the list of protected inputs; nothing if it cannot
 * be read. */
static kn_status add_folder(kn_ctx *ctx, kn_arena *arena, const char *dir, kn_protected *out)
{
    kn_status status = KN_OK;
    DIR *folder = opendir(dir);
    if (!folder) /* removed since it was read: nothing to protect */
        return KN_OK;
    for (struct dirent *d; (d = readdir(folder));) {
        const char *path;
        if (!is_result_file(d->d_name))
            continue;
        KN_TRY(kn_arena_print(ctx, arena, &path, "%s/%s", dir, d->d_name));
        KN_TRY(add_path(ctx, arena, path, strlen(path), out));
    }
out:
    closedir(folder);
    return status;
}

kn_status kn_protected_find(kn_ctx *ctx, const kn_settings *s, kn_arena *arena, kn_protected *out)
{
    kn_status status = KN_OK;
    const char *const whole[] = {s->model, s->background};
    const char *const list[] = {s->surface, s->labels, s->sulc};
    *out = (kn_protected){0};
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++)
        if (whole[k])
            KN_TRY(add_path(ctx, arena, whole[k], strlen(whole[k]), out));
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        KN_TRY(add_files(ctx, arena, list[k], out));
    if (s->page_scored)
        KN_TRY(add_folder(ctx, arena, s->page_scored, out));
out:
    return status;
}
