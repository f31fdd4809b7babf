/* Implements output_folder.h: a list of created entries that kn_folder_close removes on failure. */
#include "cohort/output_folder.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/byte_source.h"
#include "io/file/path.h"

struct kn_folder {
    char *dir;
    kn_write_options options;
    kn_folder_entry *last; /* latest first, so that folders are removed after their files */
    pthread_mutex_t lock;  /* protects the list */
};

static kn_status is_empty(kn_ctx *ctx, const char *dir, bool *empty)
{
    DIR *d = opendir(dir);
    if (!d)
        return kn_fail_errno(ctx, dir, "cannot be read", errno);
    *empty = true;
    for (struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            *empty = false;
    closedir(d);
    return KN_OK;
}

/* Creates the folder of this entry, or uses an existing one. */
static kn_status make(kn_ctx *ctx, kn_folder_entry *entry)
{
    struct stat info;
    entry->directory = true;
    if (mkdir(entry->path, 0777) == 0) {
        entry->made = true;
        return KN_OK;
    }
    if (errno != EEXIST)
        return kn_fail_errno(ctx, entry->path, "cannot be made", errno);
    if (stat(entry->path, &info) != 0 || !S_ISDIR(info.st_mode))
        return kn_fail(ctx, KN_ERR_IO, "%s: is a file, expected a folder", entry->path);
    if (access(entry->path, W_OK | X_OK) != 0)
        return kn_fail_errno(ctx, entry->path, "cannot be written", errno);
    return KN_OK;
}

kn_status kn_folder_add(kn_ctx *ctx, kn_folder *folder, const char *name, kn_folder_entry **out)
{
    kn_folder_entry *entry = NULL;
    size_t size = strlen(folder->dir) + strlen(name) + 2;
    void *p;
    kn_status status;

    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *entry, &p));
    entry = p;
    KN_TRY(kn_alloc(ctx, (ptrdiff_t)size, 1, &p));
    entry->path = p;
    snprintf(entry->path, size, "%s%s%s", folder->dir, *name ? "/" : "", name);
    pthread_mutex_lock(&folder->lock);
    entry->next = folder->last;
    folder->last = entry;
    pthread_mutex_unlock(&folder->lock);
    *out = entry;
    entry = NULL;
out:
    kn_free(entry);
    return status;
}

kn_status kn_folder_sub(kn_ctx *ctx, kn_folder *folder, const char *name)
{
    kn_folder_entry *entry;
    kn_status status = kn_folder_add(ctx, folder, name, &entry);
    return status == KN_OK ? make(ctx, entry) : status;
}

kn_status kn_folder_open(kn_ctx *ctx, const char *dir, bool force, kn_folder **out)
{
    kn_folder *folder = NULL;
    bool empty = true;
    void *p;
    kn_status status;

    *out = NULL;
    if (!dir || !*dir)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "no folder to write to was named");
    KN_TRY(kn_alloc(ctx, 1, sizeof *folder, &p));
    folder = p;
    pthread_mutex_init(&folder->lock, NULL);
    folder->options.force = force;
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    KN_TRY(kn_text_copy(ctx, dir, n, &folder->dir));
    KN_TRY(kn_folder_sub(ctx, folder, ""));
    if (!force)
        KN_TRY(is_empty(ctx, folder->dir, &empty));
    if (!empty)
        status =
            kn_fail(ctx, KN_ERR_IO, "%s: is not empty (use {force} to write there)", folder->dir);
out:
    if (status == KN_OK)
        *out = folder;
    else
        kn_folder_close(folder, false);
    return status;
}

void kn_folder_close(kn_folder *folder, bool keep)
{
    if (!folder)
        return;
    for (kn_folder_entry *e = folder->last, *next; e; e = next) {
        next = e->next;
        if (e->made && !keep && e->directory)
            rmdir(e->path); /* fails, as it should, if it contains other files */
        else if (e->made && !keep)
            unlink(e->path);
        kn_free(e->path);
        kn_free(e);
    }
    pthread_mutex_destroy(&folder->lock);
    kn_free(folder->dir);
    kn_free(folder);
}

const kn_write_options *kn_folder_options(const kn_folder *folder)
{
    return &folder->options;
}

kn_status kn_folder_text(kn_ctx *ctx, kn_folder *folder, const char *name, const char *text,
                         ptrdiff_t n)
{
    kn_folder_entry *entry;
    kn_writer *w = NULL;
    kn_status status;

    KN_TRY(kn_folder_add(ctx, folder, name, &entry));
    KN_TRY(kn_writer_new(ctx, entry->path, &folder->options, &w));
    KN_TRY(kn_writer_write(ctx, w, text, n));
    KN_TRY(kn_writer_commit(ctx, w));
    entry->made = true;
out:
    kn_writer_free(w);
    return status;
}

kn_status kn_folder_json(kn_ctx *ctx, kn_folder *folder, const char *name, json_t *json)
{
    enum { INDENT = 2, DIGITS = 10 };
    char *text = json ? json_dumps(json, JSON_INDENT(INDENT) | JSON_REAL_PRECISION(DIGITS)) : NULL;
    kn_status status = text ? kn_folder_text(ctx, folder, name, text, (ptrdiff_t)strlen(text))
                            : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for %s", name);
    free(text);
    json_decref(json);
    return status;
}
