#include "io/gzip.h"

#include <libdeflate.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

/* libdeflate's 6 gives zlib's 6 at about three times its speed. Streams are for files larger than
 * memory should hold, where zlib's 6 would take minutes per gigabyte. */
enum { LEVEL = 6, STREAM_LEVEL = 3, CHUNK = 1 << 16, GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

struct kn_gzip_writer {
    kn_writer *to; /* borrowed */
    unsigned char *whole;
    ptrdiff_t used, room; /* of `whole`; room 0: the stream is in use */
    z_stream z;
    bool ready; /* deflateInit2 was done */
    unsigned char *out;
};

kn_status kn_gzip_writer_new(kn_ctx *ctx, kn_writer *to, ptrdiff_t total, ptrdiff_t buffer,
                             kn_gzip_writer **out)
{
    kn_gzip_writer *w = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->to = to;
    if (total <= buffer) {
        KN_TRY(kn_alloc(ctx, total > 0 ? total : 1, 1, &p));
        w->whole = p;
        w->room = total > 0 ? total : 1;
    } else {
        KN_TRY(kn_alloc(ctx, CHUNK, 1, &p));
        w->out = p;
        if (deflateInit2(&w->z, STREAM_LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                         Z_DEFAULT_STRATEGY) != Z_OK) {
            status = kn_fail(ctx, KN_ERR_MEMORY, "out of memory for compression");
            goto out;
        }
        w->ready = true;
    }
out:
    if (status == KN_OK)
        *out = w;
    else
        kn_gzip_writer_free(w);
    return status;
}

void kn_gzip_writer_free(kn_gzip_writer *w)
{
    if (!w)
        return;
    if (w->ready)
        deflateEnd(&w->z);
    kn_free(w->whole);
    kn_free(w->out);
    kn_free(w);
}

/* Runs the stream until zlib has taken all input (or, to finish, given all output). */
static kn_status pump(kn_ctx *ctx, kn_gzip_writer *w, int flush)
{
    int code;
    do {
        w->z.next_out = w->out;
        w->z.avail_out = CHUNK;
        code = deflate(&w->z, flush);
        kn_status status = kn_writer_write(ctx, w->to, w->out, CHUNK - (ptrdiff_t)w->z.avail_out);
        if (status != KN_OK)
            return status;
    } while (flush == Z_FINISH ? code == Z_OK : w->z.avail_in > 0);
    return KN_OK;
}

kn_status kn_gzip_writer_write(kn_ctx *ctx, kn_gzip_writer *w, const void *bytes, ptrdiff_t n)
{
    if (w->room > 0) {
        if (n > w->room - w->used)
            return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: more data than were announced",
                           kn_writer_path(w->to));
        if (n > 0)
            memcpy(w->whole + w->used, bytes, (size_t)n);
        w->used += n;
        return KN_OK;
    }
    for (const unsigned char *from = bytes; n > 0;) {
        unsigned now = n > INT_MAX ? INT_MAX : (unsigned)n;
        w->z.next_in = (unsigned char *)from; /* zlib's header lacks the const it keeps to */
        w->z.avail_in = now;
        kn_status status = pump(ctx, w, Z_NO_FLUSH);
        if (status != KN_OK)
            return status;
        from += now;
        n -= now;
    }
    return KN_OK;
}

static kn_status finish_whole(kn_ctx *ctx, kn_gzip_writer *w)
{
    void *packed = NULL;
    kn_status status = KN_OK;
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
    if (!c)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory for compression");
    size_t room = libdeflate_gzip_compress_bound(c, (size_t)w->used);
    KN_TRY(kn_alloc(ctx, (ptrdiff_t)room, 1, &packed));
    size_t n = libdeflate_gzip_compress(c, w->whole, (size_t)w->used, packed, room);
    KN_TRY(kn_writer_write(ctx, w->to, packed, (ptrdiff_t)n));
out:
    libdeflate_free_compressor(c);
    kn_free(packed);
    return status;
}

kn_status kn_gzip_writer_finish(kn_ctx *ctx, kn_gzip_writer *w)
{
    return w->room > 0 ? finish_whole(ctx, w) : pump(ctx, w, Z_FINISH);
}
