#include "io/records.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "io/bytes.h"
#include "io/grow.h"
#include "io/path.h"
#include "io/source.h"

enum { HEAD = 16, LONGEST_LINE = 1 << 16 };
static const double SYNC_SECONDS = 1;

struct kn_records {
    char *path, *line;
    kn_source file;
    ptrdiff_t at;    /* where the next record begins */
    ptrdiff_t count; /* whole records from there on */
    ptrdiff_t next;  /* bytes of the one in the buffer, head and all; 0: none is */
    void *buffer;
    ptrdiff_t room;
    double synced;
};

void kn_records_free(kn_records *r)
{
    if (!r)
        return;
    kn_source_close(&r->file); /* and the lock is gone */
    kn_free(r->path);
    kn_free(r->line);
    kn_free(r->buffer);
    kn_free(r);
}

const char *kn_records_line(const kn_records *r)
{
    return r->line;
}

ptrdiff_t kn_records_count(const kn_records *r)
{
    return r->count;
}

const char *kn_records_path(const kn_records *r)
{
    return r->path;
}

static kn_status read_line(kn_ctx *ctx, kn_records *r)
{
    ptrdiff_t n = r->file.size < LONGEST_LINE ? r->file.size : LONGEST_LINE;
    kn_status status = kn_reserve(ctx, n + 1, &r->buffer, &r->room);
    if (status == KN_OK)
        status = kn_source_read(ctx, &r->file, 0, n, r->buffer);
    if (status != KN_OK)
        return status;
    const char *end = memchr(r->buffer, '\n', (size_t)n);
    r->at = end ? end - (const char *)r->buffer + 1 : 0;
    return kn_text_copy(ctx, r->buffer, end ? (size_t)r->at - 1 : 0, &r->line);
}

/* The record at an offset into the buffer; *size 0 when there is no whole one. */
static kn_status read_record(kn_ctx *ctx, kn_records *r, ptrdiff_t at, ptrdiff_t *size)
{
    unsigned char head[HEAD];
    kn_status status = KN_OK;
    *size = 0;
    if (r->file.size - at < HEAD)
        return KN_OK;
    KN_TRY(kn_source_read(ctx, &r->file, at, HEAD, head));
    uint64_t n = kn_load64(head, KN_BIG_ENDIAN);
    if (n > (uint64_t)(r->file.size - at - HEAD))
        return KN_OK;
    KN_TRY(kn_reserve(ctx, (ptrdiff_t)n, &r->buffer, &r->room));
    KN_TRY(kn_source_read(ctx, &r->file, at + HEAD, (ptrdiff_t)n, r->buffer));
    if (kn_hash(r->buffer, (size_t)n, (uint64_t)at) == kn_load64(head + 8, KN_BIG_ENDIAN))
        *size = HEAD + (ptrdiff_t)n;
out:
    return status;
}

/* Counts, and takes the whole records for the whole file. */
static kn_status scan(kn_ctx *ctx, kn_records *r)
{
    kn_status status = KN_OK;
    ptrdiff_t size = 0, at = r->at;
    do {
        KN_TRY(read_record(ctx, r, at, &size));
        at += size;
        r->count += size > 0;
    } while (size > 0);
    r->file.size = at;
out:
    return status;
}

kn_status kn_records_open(kn_ctx *ctx, const char *path, kn_records **out)
{
    kn_status status;
    kn_records *r = NULL;
    void *p;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *r, &p));
    r = p;
    r->file.fd = -1;
    KN_TRY(kn_text_copy(ctx, path, strlen(path), &r->path));
    struct stat info;
    r->file = (kn_source){.name = r->path, .fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)};
    if (r->file.fd < 0 || fstat(r->file.fd, &info) != 0) {
        status = kn_fail_errno(ctx, path, "cannot be opened", errno);
        goto out;
    }
    r->file.size = (ptrdiff_t)info.st_size;
    if (!S_ISREG(info.st_mode)) {
        status = kn_fail(ctx, KN_ERR_IO, "%s: is a pipe or a device, expected a file", path);
        goto out;
    }
    if (flock(r->file.fd, LOCK_EX | LOCK_NB) != 0 &&
        errno == EWOULDBLOCK) { /* else: no locks here */
        status = kn_fail(ctx, KN_ERR_IO, "%s: another run is writing it", path);
        goto out;
    }
    KN_TRY(read_line(ctx, r));
    if (r->at > 0)
        KN_TRY(scan(ctx, r));
    r->synced = kn_clock();
out:
    if (status == KN_OK)
        *out = r;
    else
        kn_records_free(r);
    return status;
}

kn_status kn_records_peek(kn_ctx *ctx, kn_records *r, const void **bytes, ptrdiff_t *n)
{
    kn_status status = KN_OK;
    *bytes = NULL;
    *n = 0;
    if (r->count == 0)
        return KN_OK;
    if (r->next == 0)
        status = read_record(ctx, r, r->at, &r->next);
    if (status == KN_OK && r->next == 0)
        status = kn_fail(ctx, KN_ERR_IO, "%s: changed while it was read", r->path);
    if (status == KN_OK) {
        *bytes = r->buffer;
        *n = r->next - HEAD;
    }
    return status;
}

void kn_records_take(kn_records *r)
{
    r->at += r->next;
    r->count--;
    r->next = 0;
}

kn_status kn_records_drop(kn_ctx *ctx, kn_records *r)
{
    r->count = 0;
    r->next = 0;
    r->file.size = r->at;
    if (ftruncate(r->file.fd, (off_t)r->at) != 0)
        return kn_fail_errno(ctx, r->path, "cannot be written", errno);
    return KN_OK;
}

static kn_status put(kn_ctx *ctx, const kn_records *r, const void *bytes, ptrdiff_t n, ptrdiff_t at)
{
    for (const unsigned char *p = bytes; n > 0;) {
        ssize_t done = pwrite(r->file.fd, p, (size_t)n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return kn_fail_errno(ctx, r->path, "cannot be written", errno);
        p += done;
        at += done;
        n -= done;
    }
    return KN_OK;
}

kn_status kn_records_append(kn_ctx *ctx, kn_records *r, const void *bytes, ptrdiff_t n)
{
    unsigned char head[HEAD];
    kn_status status;
    KN_TRY(kn_records_drop(ctx, r)); /* a torn one too */
    kn_store64(head, (uint64_t)n, KN_BIG_ENDIAN);
    kn_store64(head + 8, kn_hash(bytes, (size_t)n, (uint64_t)r->at), KN_BIG_ENDIAN);
    KN_TRY(put(ctx, r, head, HEAD, r->at));
    KN_TRY(put(ctx, r, bytes, n, r->at + HEAD));
    r->at += HEAD + n;
    r->file.size = r->at;
    if (kn_clock() - r->synced > SYNC_SECONDS) {
        if (fdatasync(r->file.fd) != 0 && errno != EINVAL) {
            status = kn_fail_errno(ctx, r->path, "cannot be written", errno);
            goto out;
        }
        r->synced = kn_clock();
    }
out:
    return status;
}
