/* Implements atomic_writer.h: temporary file, fsync, then link(2) or rename(2). Readers never see
 * a partly written file, and a failed run leaves none. */
#include "io/file/atomic_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/memory/alloc.h"
#include "io/file/byte_source.h"
#include "io/file/path.h"

enum { BUFFER = KN_WRITER_BUFFER };

struct kn_writer {
    char *path, *temporary;
    unsigned char *buffer;
    ptrdiff_t buffered;
    ptrdiff_t end; /* of the bytes in the file, without those in the buffer */
    int fd;
    bool force;
    kn_created_files *made;
    kn_uncommitted_files *pending;
    bool in_memory; /* no file; bytes go to `memory` */
    void *memory;
    ptrdiff_t capacity; /* capacity of `memory` */
};

typedef struct kn_pending_file {
    char *path, *temporary; /* owned; temporary NULL: already renamed */
    bool force;
} pending_file;

/* Appends a copy of `path` to the list, which owns it. Fails only without memory; the list is then
 * as before. */
static kn_status append_created_path(kn_ctx *ctx, kn_created_files *made, const char *path)
{
    void *array = made->path;
    kn_status status = kn_grow(ctx, made->n + 1, sizeof *made->path, &array, &made->capacity);
    made->path = array;
    if (status == KN_OK)
        status = kn_text_copy(ctx, path, strlen(path), &made->path[made->n]);
    made->n += status == KN_OK;
    return status;
}

kn_status kn_created_files_folder(kn_ctx *ctx, kn_created_files *made, const char *path)
{
    if (mkdir(path, 0777) != 0)
        return errno == EEXIST ? KN_OK : kn_fail_errno(ctx, path, "cannot be created", errno);
    kn_status status = append_created_path(ctx, made, path);
    if (status != KN_OK)
        rmdir(path);
    return status;
}

void kn_created_files_remove(const kn_created_files *made)
{
    for (ptrdiff_t i = made->n; i-- > 0;)
        remove(made->path[i]);
}

void kn_created_files_clear(kn_created_files *made)
{
    for (ptrdiff_t i = 0; i < made->n; i++)
        kn_free(made->path[i]);
    kn_free(made->path);
    *made = (kn_created_files){0};
}

const char *kn_writer_path(const kn_writer *w)
{
    return w->path;
}

kn_status kn_writer_check(kn_ctx *ctx, const char *path, const kn_write_options *options)
{
    struct stat target, input;
    bool exists = stat(path, &target) == 0, link = false;
    if (!exists && errno != ENOENT)
        return kn_fail_errno(ctx, path, "cannot be written", errno);
    if (!exists) /* stat follows a symbolic link; link(2) and rename(2) do not */
        link = lstat(path, &target) == 0;
    if (exists && S_ISDIR(target.st_mode))
        return kn_fail(ctx, KN_ERR_IO, "%s is a folder; give the name of a file", path);
    if (exists && !S_ISREG(target.st_mode))
        return kn_fail(ctx, KN_ERR_IO, "%s is a pipe or a device; give the name of a file", path);
    for (ptrdiff_t i = 0; exists && options && i < options->n_inputs; i++)
        if (stat(options->inputs[i], &input) == 0 && input.st_dev == target.st_dev &&
            input.st_ino == target.st_ino)
            return kn_fail(
                ctx, KN_ERR_IO,
                "%s is an input of this run, so it is not replaced; choose another output", path);
    if ((exists || link) && !(options && options->force))
        return kn_fail(ctx, KN_ERR_IO, "%s already exists; use {force} to replace it", path);
    char *folder;
    kn_status status = kn_path_relative_to(ctx, path, ".", &folder);
    if (status == KN_OK && access(folder, W_OK | X_OK) != 0)
        status = kn_fail_errno(ctx, path, "cannot be written", errno);
    kn_free(folder);
    return status;
}

/* Creates and opens w->temporary, a hidden file with an unused name in the folder of w->path;
 * permissions follow the umask. KN_ERR_IO if the folder cannot be written. */
static kn_status make_temporary(kn_ctx *ctx, kn_writer *w)
{
    enum { TRIES = 100 };
    const char *slash = strrchr(w->path, '/');
    size_t folder = slash ? (size_t)(slash - w->path) + 1 : 0;
    size_t size = strlen(w->path) + 64;
    void *p;
    kn_status status = kn_alloc(ctx, (ptrdiff_t)size, 1, &p);
    if (status != KN_OK)
        return status;
    w->temporary = p;
    for (int i = 0; i < TRIES; i++) {
        unsigned ticks = (unsigned)(long long)(kn_clock() * 1e6) + (unsigned)i;
        snprintf(w->temporary, size, "%.*s.%.100s.%ld-%08x", (int)folder, w->path, w->path + folder,
                 (long)getpid(), ticks);
        w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (w->fd >= 0)
            return KN_OK;
        if (errno != EEXIST)
            break;
    }
    status = kn_fail_errno(ctx, w->path, "cannot be written", errno);
    kn_free(w->temporary);
    w->temporary = NULL; /* not created here: kn_writer_free must not remove it */
    return status;
}

kn_status kn_writer_new(kn_ctx *ctx, const char *path, const kn_write_options *options,
                        kn_writer **out)
{
    kn_writer *w = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    KN_TRY(kn_writer_check(ctx, path, options));
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->fd = -1;
    w->force = options && options->force;
    w->made = options ? options->made : NULL;
    w->pending = options ? options->pending : NULL;
    KN_TRY(kn_text_copy(ctx, path, strlen(path), &w->path));
    KN_TRY(kn_alloc(ctx, BUFFER, 1, &p));
    w->buffer = p;
    KN_TRY(make_temporary(ctx, w));
out:
    if (status == KN_OK)
        *out = w;
    else
        kn_writer_free(w);
    return status;
}

kn_status kn_writer_new_memory(kn_ctx *ctx, const char *name, kn_writer **out)
{
    kn_writer *w = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->fd = -1;
    w->in_memory = true;
    KN_TRY(kn_text_copy(ctx, name, strlen(name), &w->path));
    KN_TRY(kn_alloc(ctx, BUFFER, 1, &p));
    w->buffer = p;
out:
    if (status == KN_OK)
        *out = w;
    else
        kn_writer_free(w);
    return status;
}

/* Writes n bytes at byte `offset` of the file, or of the memory of a memory writer, bypassing the
 * buffer. KN_ERR_IO, for example if the disk is full. */
static kn_status write_at(kn_ctx *ctx, kn_writer *w, ptrdiff_t offset, const unsigned char *bytes,
                          ptrdiff_t n)
{
    if (w->in_memory) {
        kn_status status = kn_grow(ctx, offset + n, 1, &w->memory, &w->capacity);
        if (status == KN_OK && n > 0)
            memcpy((char *)w->memory + offset, bytes, (size_t)n);
        return status;
    }
    while (n > 0) {
        ssize_t done = pwrite(w->fd, bytes, (size_t)n, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return kn_fail_errno(ctx, w->path, "cannot be written", errno);
        bytes += done;
        offset += done;
        n -= done;
    }
    return KN_OK;
}

/* Writes the buffered bytes at the end of the file and empties the buffer. */
static kn_status flush_buffer(kn_ctx *ctx, kn_writer *w)
{
    kn_status status = write_at(ctx, w, w->end, w->buffer, w->buffered);
    if (status == KN_OK) {
        w->end += w->buffered;
        w->buffered = 0;
    }
    return status;
}

kn_status kn_writer_write(kn_ctx *ctx, kn_writer *w, const void *bytes, ptrdiff_t n)
{
    kn_status status = KN_OK;
    if (n > BUFFER - w->buffered)
        KN_TRY(flush_buffer(ctx, w));
    if (n >= BUFFER) {
        KN_TRY(write_at(ctx, w, w->end, bytes, n));
        w->end += n;
    } else if (n > 0) {
        memcpy(w->buffer + w->buffered, bytes, (size_t)n);
        w->buffered += n;
    }
out:
    return status;
}

kn_status kn_writer_patch(kn_ctx *ctx, kn_writer *w, ptrdiff_t offset, const void *bytes,
                          ptrdiff_t n)
{
    kn_status status;
    KN_TRY(flush_buffer(ctx, w));
    KN_TRY(write_at(ctx, w, offset, bytes, n));
    if (offset + n > w->end)
        w->end = offset + n;
out:
    return status;
}

kn_status kn_writer_take(kn_ctx *ctx, kn_writer *w, void **bytes, ptrdiff_t *n)
{
    kn_status status = flush_buffer(ctx, w);
    if (status != KN_OK)
        return status;
    *bytes = w->memory;
    *n = w->end;
    w->memory = NULL;
    return KN_OK;
}

/* Renames the temporary file to its path. Without force by link(2), which fails if the path was
 * created meanwhile (KN_ERR_IO); on a file system without hard links, by a check and rename(2). */
static kn_status take_name(kn_ctx *ctx, const pending_file *f)
{
    if (!f->force) {
        if (link(f->temporary, f->path) == 0) {
            unlink(f->temporary);
            return KN_OK;
        }
        if (errno == EEXIST || access(f->path, F_OK) == 0)
            return kn_fail(ctx, KN_ERR_IO, "%s already exists; use {force} to replace it", f->path);
    }
    if (rename(f->temporary, f->path) != 0)
        return kn_fail_errno(ctx, f->path, "cannot be written", errno);
    return KN_OK;
}

/* Renames one complete temporary file to its path and appends the path to `made` (may be NULL). The
 * path is recorded first, because that can fail for lack of memory and a rename cannot be undone.
 */
static kn_status rename_pending(kn_ctx *ctx, pending_file *f, kn_created_files *made)
{
    kn_status status = KN_OK;
    if (made)
        KN_TRY(append_created_path(ctx, made, f->path));
    status = take_name(ctx, f);
    if (status == KN_OK) {
        kn_free(f->temporary);
        f->temporary = NULL;
    } else if (made) {
        kn_free(made->path[--made->n]);
    }
out:
    return status;
}

/* Makes renames in a folder durable by fsync(2). A failure is ignored: the file itself is complete
 * and synced. */
static void sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

kn_status kn_uncommitted_files_commit(kn_ctx *ctx, kn_uncommitted_files *pending,
                                      kn_created_files *made)
{
    char *folder = NULL, *next = NULL;
    kn_status status = KN_OK;
    for (ptrdiff_t i = 0; i < pending->n; i++) {
        KN_TRY(kn_path_relative_to(ctx, pending->file[i].path, ".", &next));
        if (folder && strcmp(folder, next) != 0)
            sync_folder(folder);
        kn_free(folder);
        folder = next;
        next = NULL;
        KN_TRY(rename_pending(ctx, &pending->file[i], made));
    }
    if (folder)
        sync_folder(folder);
out:
    kn_free(folder);
    return status;
}

/* Frees the entry, and removes its temporary file if there still is one. */
static void pending_file_clear(pending_file *f)
{
    if (f->temporary)
        unlink(f->temporary);
    kn_free(f->temporary);
    kn_free(f->path);
    *f = (pending_file){0};
}

ptrdiff_t kn_uncommitted_files_count(const kn_uncommitted_files *pending)
{
    return pending ? pending->n : 0;
}

const char *kn_uncommitted_files_path(const kn_uncommitted_files *pending, ptrdiff_t i)
{
    return pending->file[i].path;
}

void kn_uncommitted_files_clear(kn_uncommitted_files *pending)
{
    for (ptrdiff_t i = 0; i < pending->n; i++)
        pending_file_clear(&pending->file[i]);
    kn_free(pending->file);
    *pending = (kn_uncommitted_files){0};
}

/* Writes the buffer, syncs and closes the temporary file of w, so that it can be renamed. KN_ERR_IO
 * if the disk fails. */
static kn_status make_safe(kn_ctx *ctx, kn_writer *w)
{
    kn_status status = flush_buffer(ctx, w);
    if (status != KN_OK)
        return status;
    if (fsync(w->fd) != 0 && errno != EINVAL) /* EINVAL: no fsync on this file system */
        return kn_fail_errno(ctx, w->path, "cannot be written", errno);
    int closed = close(w->fd);
    w->fd = -1;
    return closed == 0 ? KN_OK : kn_fail_errno(ctx, w->path, "cannot be written", errno);
}

kn_status kn_writer_commit(kn_ctx *ctx, kn_writer *w)
{
    kn_uncommitted_files one = {0}, *to = w->pending ? w->pending : &one;
    void *array = to->file;
    kn_status status;

    KN_TRY(make_safe(ctx, w));
    status = kn_grow(ctx, to->n + 1, sizeof *to->file, &array, &to->capacity);
    to->file = array;
    if (status != KN_OK)
        goto out;
    to->file[to->n++] = (pending_file){w->path, w->temporary, w->force};
    w->path = w->temporary = NULL;
    if (!w->pending)
        KN_TRY(kn_uncommitted_files_commit(ctx, to, w->made));
out:
    kn_uncommitted_files_clear(&one);
    return status;
}

void kn_writer_free(kn_writer *w)
{
    if (!w)
        return;
    if (w->fd >= 0)
        close(w->fd);
    if (w->temporary)
        unlink(w->temporary);
    kn_free(w->temporary);
    kn_free(w->path);
    kn_free(w->buffer);
    kn_free(w->memory);
    kn_free(w);
}

kn_status kn_write_text(kn_ctx *ctx, const char *path, const char *text,
                        const kn_write_options *options)
{
    kn_status status;
    kn_writer *w = NULL;
    KN_TRY(kn_writer_new(ctx, path, options, &w));
    KN_TRY(kn_writer_write(ctx, w, text, (ptrdiff_t)strlen(text)));
    KN_TRY(kn_writer_write(ctx, w, "\n", 1));
    KN_TRY(kn_writer_commit(ctx, w));
out:
    kn_writer_free(w);
    return status;
}
