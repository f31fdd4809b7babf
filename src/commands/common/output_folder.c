/* Implements output_folder.h. The key is read back before a run with {force} removes anything. */
#include "commands/common/output_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/table/text_list.h"
#include "io/file/byte_source.h"
#include "io/file/path.h"

enum { PATH = 4096 };
static const char SUMMARY[] = "summary.json", LIST[] = "files";

/* ---- the list in the summary ----------------------------------------------------------------- */

/* The part of a path below folder `dir`, borrowed; NULL if the path is elsewhere. */
static const char *name_in(const char *dir, const char *path)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

kn_status kn_folder_list_files(kn_ctx *ctx, const char *dir, const kn_write_options *options,
                               json_t *summary)
{
    const kn_uncommitted_files *pending = options ? options->pending : NULL;
    ptrdiff_t all = kn_uncommitted_files_count(pending), n = 0;
    void *memory;
    json_t *list = json_array();
    kn_status status = kn_alloc(ctx, all + 1, sizeof(char *), &memory);
    const char **name = memory;
    for (ptrdiff_t i = options ? options->unlisted : 0; status == KN_OK && i < all; i++)
        if (name_in(dir, kn_uncommitted_files_path(pending, i)))
            name[n++] = name_in(dir, kn_uncommitted_files_path(pending, i));
    if (status == KN_OK) {
        name[n++] = SUMMARY;
        qsort(name, (size_t)n, sizeof *name, kn_by_text);
    }
    for (ptrdiff_t i = 0; status == KN_OK && i < n; i++)
        json_array_append_new(list,
                              json_string(name[i])); /* a name that is not UTF-8 is left out */
    kn_free(memory);
    if (json_object_set_new(summary, LIST, list) != 0 && status == KN_OK)
        status = kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the summary");
    return status;
}

/* ---- an earlier run in the same folder ------------------------------------------------------- */

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

/* True for a relative file name that does not lead out of the folder. */
static bool is_inside(const char *name)
{
    return name && *name && *name != '/' && strcmp(name, "..") != 0 &&
           strncmp(name, "../", 3) != 0 && !strstr(name, "/../");
}

/* True if path is among the files that this run has written but not yet renamed. */
static bool is_pending(const kn_uncommitted_files *pending, const char *path)
{
    for (ptrdiff_t i = 0; i < kn_uncommitted_files_count(pending); i++)
        if (strcmp(kn_uncommitted_files_path(pending, i), path) == 0)
            return true;
    return false;
}

/* Remove the files in `dir` that its old summary (JSON object, may be NULL) lists and this run does
 * not write; logs how many. */
static void remove_stale(kn_ctx *ctx, const char *dir, const json_t *old,
                         const kn_write_options *options)
{
    const json_t *list = json_object_get(old, LIST);
    ptrdiff_t stayed = 0, gone = 0;
    char path[PATH];
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!is_inside(name) || snprintf(path, PATH, "%s/%s", dir, name) >= PATH ||
            is_pending(options->pending, path) || !kn_may_delete(options, path))
            continue;
        bool removed = unlink(path) == 0;
        gone += removed;
        stayed += !removed;
    }
    if (gone > 0)
        kn_log(ctx, KN_LOG_INFO, "%s: %td files of an earlier run were removed", dir, gone);
    if (stayed > 0)
        kn_log(ctx, KN_LOG_WARNING, "%s: %td files of an earlier run could not be removed", dir,
               stayed);
}

/* Remove a summary.json, so that the folder counts as incomplete until the new one is there.
 * KN_ERR_IO if it cannot be removed. */
static kn_status remove_summary(kn_ctx *ctx, const char *path, const kn_write_options *options)
{
    if (!kn_may_delete(options, path) || unlink(path) == 0 || errno == ENOENT)
        return KN_OK;
    return kn_fail_errno(ctx, path, "cannot be replaced", errno);
}

/* True if the file name of path is summary.json. */
static bool is_summary(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, SUMMARY) == 0;
}

kn_status kn_folder_commit(kn_ctx *ctx, const char *dir, const kn_write_options *options)
{
    kn_status status;
    char path[PATH];
    json_t *old = NULL;
    KN_TRY(kn_path_in_folder(ctx, dir, SUMMARY, path, PATH));
    if (options->force) {
        old = json_load_file(path, 0, NULL);
        KN_TRY(remove_summary(ctx, path, options));
        for (ptrdiff_t i = 0; i < kn_uncommitted_files_count(options->pending); i++)
            if (is_summary(kn_uncommitted_files_path(options->pending, i)))
                KN_TRY(
                    remove_summary(ctx, kn_uncommitted_files_path(options->pending, i), options));
        remove_stale(ctx, dir, old, options);
    }
    KN_TRY(kn_uncommitted_files_commit(ctx, options->pending, options->made));
out:
    json_decref(old);
    return status;
}
