/* Implements stale_maps.h. Only regular files directly in the folder are candidates. */
#include "commands/score/stale_maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/growable_array.h"
#include "io/file/path.h"
#include "io/table/table.h"

enum { PATH = 4096 };

void kn_stale_files_clear(kn_stale_files *l)
{
    for (ptrdiff_t i = 0; i < l->n; i++)
        kn_free(l->path[i]);
    kn_free(l->path);
    *l = (kn_stale_files){0};
}

bool kn_may_delete(const kn_write_options *options, const char *path)
{
    struct stat it, input;
    if (lstat(path, &it) != 0 || !S_ISREG(it.st_mode))
        return false;
    for (ptrdiff_t i = 0; i < options->n_inputs; i++)
        if (stat(options->inputs[i], &input) == 0 && input.st_dev == it.st_dev &&
            input.st_ino == it.st_ino)
            return false;
    return true;
}

/* Adds the files ID_NAME of a list such as "z.nii.gz,yhat.nii.gz". */
static kn_status add_maps(kn_ctx *ctx, const kn_maplayout *layout, const char *id, const char *maps,
                          kn_stale_files *out)
{
    kn_status status = KN_OK;
    char path[PATH];
    for (const char *m = maps; *m;) {
        size_t length = strcspn(m, ",");
        int n = snprintf(path, PATH, "%s/%s_%.*s", layout->dir, id, (int)length, m);
        m += length + (m[length] == ',');
        if (n >= PATH || strchr(path + strlen(layout->dir) + 1, '/') ||
            !kn_may_delete(layout->options, path))
            continue;
        void *memory = out->path;
        KN_TRY(kn_grow(ctx, out->n + 1, sizeof *out->path, &memory, &out->capacity));
        out->path = memory;
        KN_TRY(kn_text_copy(ctx, path, strlen(path), &out->path[out->n]));
        out->n++;
    }
out:
    return status;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Compares the ids of the earlier table with those of the layout. */
static kn_status find_stale_files(kn_ctx *ctx, const kn_maplayout *layout, const kn_table *t,
                                  ptrdiff_t n, kn_stale_files *out)
{
    kn_status status;
    void *memory = NULL;
    ptrdiff_t id = kn_table_find(t, "participant_id"), maps = kn_table_find(t, "maps");
    if (id < 0 || maps < 0 || kn_table_find(t, "status") < 0)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, n, sizeof *layout->id, &memory));
    memcpy(memory, layout->id, (size_t)n * sizeof *layout->id);
    qsort(memory, (size_t)n, sizeof *layout->id, by_text);
    for (ptrdiff_t i = 0; i < kn_table_rows(t); i++) {
        const char *name = kn_table_cell(t, i, id), *list = kn_table_cell(t, i, maps);
        if (!kn_text_is_missing(list) &&
            !bsearch(&name, memory, (size_t)n, sizeof *layout->id, by_text))
            KN_TRY(add_maps(ctx, layout, name, list, out));
    }
out:
    kn_free(memory);
    return status;
}

kn_status kn_stale_files_find(kn_ctx *ctx, const kn_maplayout *layout, ptrdiff_t n,
                              kn_stale_files *out)
{
    char path[PATH];
    kn_table *before = NULL;
    *out = (kn_stale_files){0};
    if (snprintf(path, PATH, "%s/people.tsv", layout->dir) >= PATH || access(path, R_OK) != 0)
        return KN_OK;
    kn_status status = kn_table_read(ctx, path, &before);
    if (status != KN_OK) /* not a table of ours; {force} replaces it */
        return status == KN_ERR_MEMORY ? status : KN_OK;
    status = find_stale_files(ctx, layout, before, n, out);
    kn_table_free(before);
    if (status != KN_OK)
        kn_stale_files_clear(out);
    return status;
}

void kn_stale_files_remove(kn_ctx *ctx, const kn_stale_files *l)
{
    ptrdiff_t stayed = 0, last = 0;
    for (ptrdiff_t i = 0; i < l->n; i++)
        if (unlink(l->path[i]) != 0 && errno != ENOENT) {
            last = i;
            stayed++;
        }
    if (l->n > stayed)
        kn_log(ctx, KN_LOG_INFO, "%td maps of people who are no longer there were removed",
               l->n - stayed);
    if (stayed > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td maps of people who are no longer there could not be removed, such as %s",
               stayed, l->path[last]);
}
