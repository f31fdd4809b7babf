/* Implements row_spool.h with pread(2) and pwrite(2) on an unlinked file. */
#include "io/file/row_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/byte_source.h"
#include "io/file/path.h"

void kn_row_spool_clear(kn_row_spool *s)
{
    kn_free(s->memory);
    if (s->T > 0 && !s->memory && s->fd >= 0)
        close(s->fd);
    *s = (kn_row_spool){0};
}

/* Creates and unlinks a file in `folder`, and reserves its disk space. */
static kn_status open_file(kn_ctx *ctx, const char *folder, double bytes, int *fd)
{
    char *name;
    kn_status status = kn_path_swap(ctx, folder, 0, "/kronorm-XXXXXX", &name);
    if (status != KN_OK)
        return status;
    *fd = mkstemp(name);
    int error = *fd < 0 ? errno : 0;
    if (*fd >= 0) {
        unlink(name);
        error = posix_fallocate(*fd, 0, (off_t)bytes);
    }
    kn_free(name);
    return error ? kn_fail_errno(ctx, folder, "no scratch space can be had there", error) : KN_OK;
}

kn_status kn_row_spool_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t T, const char *folder,
                           kn_row_spool *out)
{
    kn_status status;
    *out = (kn_row_spool){.n = n, .T = T, .fd = -1};
    if (T > PTRDIFF_MAX / 16 / n)
        return kn_fail(ctx, KN_ERR_MEMORY, "a %td x %td matrix cannot exist", n, T);
    status = folder ? open_file(ctx, folder, (double)n * (double)T * sizeof(float), &out->fd)
                    : kn_alloc_f(ctx, n * T, &out->memory);
    if (status != KN_OK)
        kn_row_spool_clear(out);
    return status;
}

static off_t offset(const kn_row_spool *s, ptrdiff_t row)
{
    return (off_t)(row * s->T) * (off_t)sizeof(float);
}

kn_status kn_row_spool_put(kn_ctx *ctx, kn_row_spool *s, ptrdiff_t row, const float *values)
{
    size_t bytes = (size_t)s->T * sizeof *values;
    const char *from = (const char *)values;
    if (s->memory) {
        memcpy(s->memory + row * s->T, values, bytes);
        return KN_OK;
    }
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(s->fd, from + done, bytes - done, offset(s, row) + (off_t)done);
        if (n <= 0 && errno != EINTR)
            return kn_fail_errno(ctx, "scratch space", "cannot be written", errno);
        done += n > 0 ? (size_t)n : 0;
    }
    return KN_OK;
}

kn_status kn_row_spool_get(kn_ctx *ctx, const kn_row_spool *s, ptrdiff_t row, float *values)
{
    size_t bytes = (size_t)s->T * sizeof *values;
    char *to = (char *)values;
    if (s->memory) {
        memcpy(values, s->memory + row * s->T, bytes);
        return KN_OK;
    }
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(s->fd, to + done, bytes - done, offset(s, row) + (off_t)done);
        if (n == 0 || (n < 0 && errno != EINTR))
            return kn_fail_errno(ctx, "scratch space", "cannot be read", n == 0 ? EIO : errno);
        done += n > 0 ? (size_t)n : 0;
    }
    return KN_OK;
}
