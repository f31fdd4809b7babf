/* Implements scratch_file.h: an unlinked file, posix_fallocate and a shared mapping. */
#include "io/file/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/parallel/parallel_for.h"
#include "io/file/byte_source.h"
#include "io/file/path.h"

#ifdef __linux__
#include <sys/vfs.h>
static const long TMPFS = 0x01021994; /* TMPFS_MAGIC of statfs(2) */
#endif

const char *kn_scratch_folder(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/var/tmp";
}

static size_t element(kn_type type)
{
    return type == KN_F32 ? sizeof(float) : sizeof(double);
}

/* Creates a file in `dir` and unlinks it at once. */
static kn_status open_nameless(kn_ctx *ctx, const char *dir, int *fd)
{
    char *name;
    kn_status status = kn_path_swap(ctx, dir, 0, "/kronorm-XXXXXX", &name);
    if (status != KN_OK)
        return status;
    *fd = mkstemp(name);
    if (*fd < 0)
        status = kn_fail_errno(ctx, dir, "no scratch file can be made there", errno);
    else
        unlink(name);
    kn_free(name);
    return status;
}

/* Reserves all disk space now: a write to a mapping can report a full disk only by SIGBUS. */
static kn_status reserve(kn_ctx *ctx, const char *dir, int fd, size_t bytes)
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
                       "%s: the responses need %s of scratch space, %s are free on that file "
                       "system (choose another with {scratch})",
                       dir, kn_size_in_words((double)bytes).text,
                       kn_size_in_words((double)fs.f_bavail * (double)fs.f_frsize).text);
    if (error == EFBIG)
        return kn_fail(ctx, KN_ERR_IO,
                       "%s: the responses need %s of scratch space, more than a file may have "
                       "there (ulimit -f, or choose another with {scratch})",
                       dir, kn_size_in_words((double)bytes).text);
    return error ? kn_fail_errno(ctx, dir, "no scratch space can be reserved there", error) : KN_OK;
}

/* Warns if the folder is a RAM disk, where a scratch file saves no memory. */
static void warn_of_memory(kn_ctx *ctx, const char *dir, int fd)
{
#ifdef __linux__
    struct statfs fs;
    if (fstatfs(fd, &fs) == 0 && (long)fs.f_type == TMPFS)
        kn_log(ctx, KN_LOG_WARNING,
               "%s is a file system in memory: scratch space there saves none (use {scratch})",
               dir);
#endif
}

kn_status kn_scratch_new(kn_ctx *ctx, const char *dir, ptrdiff_t rows, ptrdiff_t cols, kn_type type,
                         bool by_rows, kn_scratch *out)
{
    kn_status status;
    int fd = -1;
    size_t size = element(type);
    *out = (kn_scratch){0};
    if (rows < 1 || cols < 1 || rows > PTRDIFF_MAX / (ptrdiff_t)size / cols)
        return kn_fail(ctx, KN_ERR_MEMORY, "a %td x %td matrix cannot exist", rows, cols);
    size_t bytes = (size_t)(rows * cols) * size;
    KN_TRY(open_nameless(ctx, dir, &fd));
    KN_TRY(reserve(ctx, dir, fd, bytes));
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
        status = errno == ENOMEM
                     ? kn_fail(ctx, KN_ERR_MEMORY,
                               "%s: %s of scratch space cannot be mapped: no address space is "
                               "left (ulimit -v)",
                               dir, kn_size_in_words((double)bytes).text)
                     : kn_fail_errno(ctx, dir, "scratch space cannot be mapped", errno);
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

/* Transposes in strips of 16 columns (one cache line of floats). */
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

void kn_scratch_put_rows(kn_ctx *ctx, kn_scratch *s, ptrdiff_t first, ptrdiff_t count,
                         const void *values)
{
    put_job job = {ctx, s->view, first, count, values};
    ptrdiff_t grain = 1 + (1 << 20) / s->view.rows; /* columns: 2^20 values per task */
    kn_parallel(ctx, s->view.cols, grain < 16 ? 16 : grain, put_columns, &job);
}
