/* Implements scratch_file.h: unlinked files, posix_fallocate, a shared mapping, pread and pwrite.
 * The files have no name, so that they vanish with the process. */
#include "io/file/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/parallel/parallel_for.h"
#include "io/file/byte_source.h"
#include "io/file/path.h"

/* ---- mapped matrix --------------------------------------------------------------------------- */

#ifdef __linux__
#include <sys/vfs.h>
static const long TMPFS = 0x01021994; /* TMPFS_MAGIC of statfs(2) */
#endif

const char *kn_scratch_folder(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/var/tmp";
}

/* Returns the bytes of one value of this type, 4 or 8. */
static size_t element_size(kn_type type)
{
    return type == KN_F32 ? sizeof(float) : sizeof(double);
}

/* Creates a file in folder `dir`, unlinks it at once and sets *fd, which the caller closes.
 * KN_ERR_IO if the folder cannot be written. */
static kn_status open_nameless(kn_ctx *ctx, const char *dir, int *fd)
{
    char *name;
    kn_status status = kn_path_replace_ending(ctx, dir, 0, "/kronorm-XXXXXX", &name);
    if (status != KN_OK)
        return status;
    *fd = mkstemp(name);
    if (*fd < 0)
        status = kn_fail_errno(ctx, dir, "cannot hold a scratch file", errno);
    else
        unlink(name);
    kn_free(name);
    return status;
}

/* Reserves `bytes` of disk space for the file fd in folder `dir` now, because a write to a mapping
 * can report a full disk only by SIGBUS. KN_ERR_IO, with the free space in the message, if there is
 * too little. */
static kn_status reserve_space(kn_ctx *ctx, const char *dir, int fd, size_t bytes)
{
    struct statvfs fs;
    int error;
    do
        error = posix_fallocate(fd, 0, (off_t)bytes);
    while (error == EINTR && kn_check_cancel(ctx) == KN_OK);
    if (error == EINTR)
        return kn_check_cancel(ctx);
    if (error == ENOSPC && fstatvfs(fd, &fs) == 0)
        return kn_fail(ctx, KN_ERR_IO,
                       "%s: the responses need %s of scratch space, but only %s are free; choose "
                       "another folder with {scratch}",
                       dir, kn_format_size((double)bytes).text,
                       kn_format_size((double)fs.f_bavail * (double)fs.f_frsize).text);
    if (error == EFBIG)
        return kn_fail(ctx, KN_ERR_IO,
                       "%s: the responses need %s of scratch space, more than a file may have "
                       "(ulimit -f); choose another folder with {scratch}",
                       dir, kn_format_size((double)bytes).text);
    return error ? kn_fail_errno(ctx, dir, "cannot hold the scratch file", error) : KN_OK;
}

/* Logs a warning if the file fd in folder `dir` is on a RAM disk, where a scratch file saves no
 * memory. Linux only. */
static void warn_of_memory(kn_ctx *ctx, const char *dir, int fd)
{
#ifdef __linux__
    struct statfs fs;
    if (fstatfs(fd, &fs) == 0 && (long)fs.f_type == TMPFS)
        kn_log(ctx, KN_LOG_WARNING,
               "%s is a file system in memory, so scratch space there saves no memory; choose "
               "another folder with {scratch}",
               dir);
#endif
}

kn_status kn_scratch_new(kn_ctx *ctx, const char *dir, ptrdiff_t rows, ptrdiff_t cols, kn_type type,
                         bool by_rows, kn_scratch *out)
{
    kn_status status;
    int fd = -1;
    size_t size = element_size(type);
    *out = (kn_scratch){0};
    if (rows < 1 || cols < 1 || rows > PTRDIFF_MAX / (ptrdiff_t)size / cols)
        return kn_fail(ctx, KN_ERR_MEMORY, "a %td x %td matrix cannot exist", rows, cols);
    size_t bytes = (size_t)(rows * cols) * size;
    KN_TRY(open_nameless(ctx, dir, &fd));
    KN_TRY(reserve_space(ctx, dir, fd, bytes));
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
        status = errno == ENOMEM
                     ? kn_fail(ctx, KN_ERR_MEMORY,
                               "%s: %s of scratch space cannot be mapped, because no address space "
                               "is left (ulimit -v)",
                               dir, kn_format_size((double)bytes).text)
                     : kn_fail_errno(ctx, dir, "has scratch space that cannot be mapped", errno);
        goto out;
    }
    warn_of_memory(ctx, dir, fd);
    posix_madvise(data, bytes, POSIX_MADV_SEQUENTIAL);
    *out = (kn_scratch){ctx,
                        data,
                        bytes,
                        {data, type, rows, cols, by_rows ? cols : 1, by_rows ? 1 : rows}};
    kn_mmap_hint_set(ctx, data, bytes);
out:
    if (fd >= 0)
        close(fd); /* the mapping keeps the file alive */
    return status;
}

void kn_scratch_clear(kn_scratch *s)
{
    if (s->data) {
        kn_mmap_hint_set(s->ctx, NULL, 0);
        munmap(s->data, s->bytes);
    }
    *s = (kn_scratch){0};
}

typedef struct put_job {
    const kn_ctx *ctx;
    kn_view to;
    ptrdiff_t first, count;
    const void *values;
} put_job;

/* Thread task (self: put_job): copies columns from .. last - 1 of `count` rows (row-major,
 * job->values) to the column-major file, in strips of 16 columns, one cache line of floats. */
static void put_columns(void *self, ptrdiff_t from, ptrdiff_t last)
{
    enum { STRIP = 16 };
    const put_job *job = self;
    ptrdiff_t rows = job->to.rows, cols = job->to.cols;
    void *data = (void *)(uintptr_t)job->to.data; /* a view is const; this is its writer */
    for (ptrdiff_t j0 = from; j0 < last; j0 += STRIP) {
        ptrdiff_t j1 = j0 + STRIP < last ? j0 + STRIP : last;
        for (ptrdiff_t i = 0; i < job->count; i++)
            for (ptrdiff_t j = j0; j < j1; j++) {
                ptrdiff_t to = j * rows + job->first + i, at = i * cols + j;
                if (job->to.type == KN_F32)
                    ((float *)data)[to] = ((const float *)job->values)[at];
                else
                    ((double *)data)[to] = ((const double *)job->values)[at];
            }
    }
    kn_view_done(job->ctx, job->to, from, last - from);
}

void kn_scratch_write_rows(kn_ctx *ctx, kn_scratch *s, ptrdiff_t first, ptrdiff_t count,
                           const void *values)
{
    put_job job = {ctx, s->view, first, count, values};
    ptrdiff_t grain = 1 + (1 << 20) / s->view.rows; /* columns: 2^20 values per task */
    kn_parallel(ctx, s->view.cols, grain < 16 ? 16 : grain, put_columns, &job);
}

/* ---- row spool ------------------------------------------------------------------------------- */

void kn_row_spool_clear(kn_row_spool *s)
{
    kn_free(s->memory);
    if (s->T > 0 && !s->memory && s->fd >= 0)
        close(s->fd);
    *s = (kn_row_spool){0};
}

/* Creates and unlinks a file in `folder`, reserves `bytes` of its disk space, and sets *fd, which
 * the caller closes. KN_ERR_IO if the folder cannot be written or is too full. */
static kn_status open_spool(kn_ctx *ctx, const char *folder, double bytes, int *fd)
{
    char *name;
    kn_status status = kn_path_replace_ending(ctx, folder, 0, "/kronorm-XXXXXX", &name);
    if (status != KN_OK)
        return status;
    *fd = mkstemp(name);
    int error = *fd < 0 ? errno : 0;
    if (*fd >= 0) {
        unlink(name);
        error = posix_fallocate(*fd, 0, (off_t)bytes);
    }
    kn_free(name);
    return error ? kn_fail_errno(ctx, folder, "cannot hold the scratch file", error) : KN_OK;
}

kn_status kn_row_spool_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t T, const char *folder,
                           kn_row_spool *out)
{
    kn_status status;
    *out = (kn_row_spool){.n = n, .T = T, .fd = -1};
    if (T > PTRDIFF_MAX / 16 / n)
        return kn_fail(ctx, KN_ERR_MEMORY, "a %td x %td matrix cannot exist", n, T);
    status = folder ? open_spool(ctx, folder, (double)n * (double)T * sizeof(float), &out->fd)
                    : kn_alloc_f(ctx, n * T, &out->memory);
    if (status != KN_OK)
        kn_row_spool_clear(out);
    return status;
}

/* Returns the byte offset of a row of T floats in the spool file. */
static off_t row_offset(const kn_row_spool *s, ptrdiff_t row)
{
    return (off_t)(row * s->T) * (off_t)sizeof(float);
}

kn_status kn_row_spool_write(kn_ctx *ctx, kn_row_spool *s, ptrdiff_t row, const float *values)
{
    size_t bytes = (size_t)s->T * sizeof *values;
    const char *from = (const char *)values;
    if (s->memory) {
        memcpy(s->memory + row * s->T, values, bytes);
        return KN_OK;
    }
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(s->fd, from + done, bytes - done, row_offset(s, row) + (off_t)done);
        if (n == 0 || (n < 0 && errno != EINTR)) /* 0 would be tried for ever */
            return kn_fail_errno(ctx, "scratch space", "cannot be written", n == 0 ? EIO : errno);
        done += n > 0 ? (size_t)n : 0;
    }
    return KN_OK;
}

kn_status kn_row_spool_read(kn_ctx *ctx, const kn_row_spool *s, ptrdiff_t row, float *values)
{
    size_t bytes = (size_t)s->T * sizeof *values;
    char *to = (char *)values;
    if (s->memory) {
        memcpy(values, s->memory + row * s->T, bytes);
        return KN_OK;
    }
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(s->fd, to + done, bytes - done, row_offset(s, row) + (off_t)done);
        if (n == 0 || (n < 0 && errno != EINTR))
            return kn_fail_errno(ctx, "scratch space", "cannot be read", n == 0 ? EIO : errno);
        done += n > 0 ? (size_t)n : 0;
    }
    return KN_OK;
}
