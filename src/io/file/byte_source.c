/* Implements byte_source.h with pread(2), which is safe from several threads. A source is a file,
 * a part of one, or bytes in memory. */
#include "io/file/byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parallel/parallel_for.h"

kn_status kn_fail_errno(kn_ctx *ctx, const char *path, const char *what, int error)
{
    char reason[128] = "unknown reason";
    if (strerror_r(error, reason, sizeof reason) == 0 && reason[0] >= 'A' && reason[0] <= 'Z')
        reason[0] = (char)(reason[0] + ('a' - 'A'));
    return kn_fail(ctx, error == ENOMEM ? KN_ERR_MEMORY : KN_ERR_IO, "%s %s: %s", path, what,
                   reason);
}

/* Returns the stamp (device, inode, size, time of change) of a file from its stat(2) data. */
static kn_file_stamp stamp_of(const struct stat *s)
{
    return (kn_file_stamp){.exists = true,
                           .device = (uint64_t)s->st_dev,
                           .inode = (uint64_t)s->st_ino,
                           .size = (int64_t)s->st_size,
                           .seconds = (int64_t)s->st_mtim.tv_sec,
                           .nanoseconds = (int64_t)s->st_mtim.tv_nsec};
}

/* Returns whether two stamps are of one unchanged file. */
static bool is_same(const kn_file_stamp *a, const kn_file_stamp *b)
{
    return a->exists == b->exists && a->device == b->device && a->inode == b->inode &&
           a->size == b->size && a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

/* Fails with KN_ERR_IO because the file changed while it was read. */
static kn_status fail_changed(kn_ctx *ctx, const char *path)
{
    return kn_fail(ctx, KN_ERR_IO, "%s changed while it was read; run again when it is complete",
                   path);
}

kn_status kn_file_stamp_compare(kn_ctx *ctx, const char *path, const kn_file_stamp *a,
                                const kn_file_stamp *b)
{
    return is_same(a, b) ? KN_OK : fail_changed(ctx, path);
}

kn_status kn_byte_source_check(kn_ctx *ctx, const kn_byte_source *source)
{
    struct stat info;
    if (!source->stamp.exists)
        return KN_OK;
    if (fstat(source->fd, &info) != 0)
        return kn_fail_errno(ctx, source->name, "cannot be examined", errno);
    kn_file_stamp now = stamp_of(&info);
    return is_same(&source->stamp, &now) ? KN_OK : fail_changed(ctx, source->name);
}

kn_status kn_byte_source_open(kn_ctx *ctx, const char *path, kn_byte_source *out)
{
    kn_status status = KN_OK;
    struct stat info;
    *out = (kn_byte_source){.name = path, .fd = -1};
    /* Without O_NONBLOCK, opening a pipe that has no writer would block forever. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return kn_fail_errno(ctx, path, "cannot be opened", errno);
    if (fstat(fd, &info) != 0)
        status = kn_fail_errno(ctx, path, "cannot be examined", errno);
    else if (S_ISDIR(info.st_mode))
        status = kn_fail(ctx, KN_ERR_IO, "%s is a folder; give the name of a file", path);
    else if (!S_ISREG(info.st_mode))
        status = kn_fail(ctx, KN_ERR_IO, "%s is a pipe or a device, but must be a file", path);
    if (status != KN_OK) {
        close(fd);
        return status;
    }
    out->fd = fd;
    out->size = (ptrdiff_t)info.st_size;
    out->stamp = stamp_of(&info);
    return KN_OK;
}

kn_byte_source kn_byte_source_of(const char *name, const void *bytes, ptrdiff_t n)
{
    static const unsigned char none[1];
    return (kn_byte_source){.name = name, .memory = bytes ? bytes : none, .fd = -1, .size = n};
}

void kn_byte_source_close(kn_byte_source *source)
{
    if (!source->memory && source->name && source->fd >= 0)
        close(source->fd);
    *source = (kn_byte_source){.fd = -1};
}

/* Returns whether the n bytes at `offset` lie within the source; safe against overflow. */
static bool is_in_source(const kn_byte_source *source, ptrdiff_t offset, ptrdiff_t n)
{
    return offset >= 0 && n >= 0 && offset <= source->size && n <= source->size - offset;
}

enum { ENDED = -1 }; /* end of file; errno values are positive */

/* Reads n bytes at `offset`, which lie within the source. Returns 0, a positive errno value, or
 * ENDED if the file became shorter. Sets no message. */
static int read_range(const kn_byte_source *source, ptrdiff_t offset, ptrdiff_t n, void *out)
{
    if (source->memory) {
        if (n > 0) /* with n 0, `out` may be NULL, which is undefined for memcpy */
            memcpy(out, source->memory + offset, (size_t)n);
        return 0;
    }
    for (unsigned char *to = out; n > 0;) {
        ssize_t got = pread(source->fd, to, (size_t)n, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : ENDED;
        to += got;
        offset += got;
        n -= got;
    }
    return 0;
}

kn_status kn_byte_source_read(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t offset,
                              ptrdiff_t n, void *out)
{
    if (!is_in_source(source, offset, n))
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s ends after %td bytes, so the file is incomplete; get it again",
                       source->name, source->size);
    int error = read_range(source, offset, n, out);
    if (error == ENDED)
        return kn_fail(ctx, KN_ERR_IO,
                       "%s became shorter while it was read; run again when it is complete",
                       source->name);
    return error ? kn_fail_errno(ctx, source->name, "cannot be read", error) : KN_OK;
}

bool kn_byte_source_try(const kn_byte_source *source, ptrdiff_t offset, ptrdiff_t n, void *out)
{
    return is_in_source(source, offset, n) && read_range(source, offset, n, out) == 0;
}

enum { BLOCK = 1 << 20 }; /* bytes per read of a thread */

typedef struct wide_read {
    const kn_byte_source *source;
    ptrdiff_t offset, n;
    unsigned char *out;
    atomic_bool failed;
} wide_read;

/* Thread task (self: wide_read): reads blocks first to last - 1 of a large read. A failure sets
 * w->failed, and the caller repeats the read to get the message. */
static void read_blocks(void *self, ptrdiff_t first, ptrdiff_t last)
{
    wide_read *w = self;
    for (ptrdiff_t at = first * BLOCK; at < last * BLOCK && at < w->n; at += BLOCK)
        if (!kn_byte_source_try(w->source, w->offset + at, w->n - at < BLOCK ? w->n - at : BLOCK,
                                w->out + at))
            atomic_store(&w->failed, true);
}

kn_status kn_byte_source_read_wide(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t offset,
                                   ptrdiff_t n, void *out)
{
    wide_read w = {source, offset, n, out, false};
    if (n > BLOCK && is_in_source(source, offset, n)) {
        kn_parallel(ctx, (n - 1) / BLOCK + 1, 1, read_blocks, &w);
        if (!atomic_load(&w.failed))
            return KN_OK;
    }
    return kn_byte_source_read(ctx, source, offset, n, out); /* small, or for the message */
}
