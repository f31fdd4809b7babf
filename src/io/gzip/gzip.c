/* Writes gzip (gzip.h): parallel compression of fixed chunks into one member. The bytes are the
 * same for any number of threads. */
#include "io/gzip/gzip.h"

#include <assert.h>
#include <libdeflate.h>
#include <string.h>
#include <zlib.h>

#include "base/parallel/parallel_for.h"
#include "io/file/byte_order.h"
#include "io/file/path.h"

/* Strategy Z_RLE: maps of floats are noise plus runs of one value (outside the mask), so matches
 * further back than the previous byte hardly exist. On z-maps with their background, Z_RLE is
 * smaller than zlib's level 6 (0.237 of the contents against 0.238) in a third of the time. */
enum { LEVEL = 1, RAW_WINDOW = -15, MEMORY_LEVEL = 8 };
enum { CHUNK = 1 << 19, MAX_SLOTS = 32, MARKER = 16 }; /* MARKER: space for Z_SYNC_FLUSH's block */

typedef struct slot { /* one chunk that is being compressed */
    const unsigned char *in;
    ptrdiff_t n, packed; /* bytes before and after compression */
    uint32_t crc;        /* of the n bytes */
    z_stream z;
    bool ready; /* deflateInit2 was called */
    unsigned char *out;
} slot;

struct kn_gzip_writer {
    kn_writer *to; /* borrowed */
    unsigned char *in;
    ptrdiff_t used, capacity; /* bytes in `in`, and its size, n_slots * CHUNK */
    int n_slots;              /* two per thread, at most MAX_SLOTS */
    slot slot[MAX_SLOTS];
    uint32_t crc, total; /* CRC-32 and length modulo 2^32 of all content so far */
};

kn_status kn_gzip_writer_new(kn_ctx *ctx, kn_writer *to, kn_gzip_writer **out)
{
    static const unsigned char header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    kn_gzip_writer *w = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->to = to;
    w->n_slots = 2 * kn_threads(ctx) < MAX_SLOTS ? 2 * kn_threads(ctx) : MAX_SLOTS;
    w->capacity = (ptrdiff_t)w->n_slots * CHUNK;
    KN_TRY(kn_alloc(ctx, w->capacity, 1, &p));
    w->in = p;
    KN_TRY(kn_writer_write(ctx, to, header, sizeof header));
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
    for (int k = 0; k < MAX_SLOTS; k++) {
        if (w->slot[k].ready)
            deflateEnd(&w->slot[k].z);
        kn_free(w->slot[k].out);
    }
    kn_free(w->in);
    kn_free(w);
}

/* Allocates the compressor and the output buffer of a slot on its first use. KN_ERR_MEMORY. */
static kn_status prepare_slot(kn_ctx *ctx, slot *s)
{
    void *p;
    if (s->ready)
        return KN_OK;
    if (deflateInit2(&s->z, LEVEL, Z_DEFLATED, RAW_WINDOW, MEMORY_LEVEL, Z_RLE) != Z_OK)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory for compression");
    s->ready = true;
    kn_status status = kn_alloc(ctx, (ptrdiff_t)deflateBound(&s->z, CHUNK) + MARKER, 1, &p);
    s->out = p;
    return status;
}

/* Thread task (self: array of slots): compresses slots first .. last - 1. Z_SYNC_FLUSH ends a chunk
 * with a non-final block at a byte boundary, so that chunks can be concatenated. */
static void compress_slots(void *self, ptrdiff_t first, ptrdiff_t last)
{
    for (slot *s = (slot *)self + first; s < (slot *)self + last; s++) {
        uInt capacity = (uInt)deflateBound(&s->z, CHUNK) + MARKER;
        s->crc = libdeflate_crc32(0, s->in, (size_t)s->n);
        deflateReset(&s->z);
        s->z.next_in = (unsigned char *)s->in; /* zlib does not modify it */
        s->z.avail_in = (uInt)s->n;
        s->z.next_out = s->out;
        s->z.avail_out = capacity;
        deflate(&s->z, Z_SYNC_FLUSH);
        assert(s->z.avail_in == 0 && s->z.avail_out > 0);
        s->packed = (ptrdiff_t)(capacity - s->z.avail_out);
    }
}

/* Compresses the buffered bytes in chunks, in parallel, writes them in order, and empties the
 * buffer. KN_ERR_MEMORY or KN_ERR_IO. */
static kn_status flush_slots(kn_ctx *ctx, kn_gzip_writer *w)
{
    kn_status status = KN_OK;
    ptrdiff_t n = 0;
    for (ptrdiff_t at = 0; at < w->used; at += CHUNK) {
        slot *s = &w->slot[n++];
        KN_TRY(prepare_slot(ctx, s));
        s->in = w->in + at;
        s->n = w->used - at < CHUNK ? w->used - at : CHUNK;
    }
    kn_parallel(ctx, n, 1, compress_slots, w->slot);
    for (slot *s = w->slot; s < w->slot + n; s++) {
        w->crc = (uint32_t)crc32_combine(w->crc, s->crc, s->n);
        w->total += (uint32_t)s->n;
        KN_TRY(kn_writer_write(ctx, w->to, s->out, s->packed));
    }
    w->used = 0;
out:
    return status;
}

kn_status kn_gzip_writer_write(kn_ctx *ctx, kn_gzip_writer *w, const void *bytes, ptrdiff_t n)
{
    kn_status status = KN_OK;
    for (const unsigned char *from = bytes; n > 0;) {
        ptrdiff_t now = n < w->capacity - w->used ? n : w->capacity - w->used;
        memcpy(w->in + w->used, from, (size_t)now);
        w->used += now;
        from += now;
        n -= now;
        if (w->used == w->capacity)
            KN_TRY(flush_slots(ctx, w));
    }
out:
    return status;
}

kn_status kn_gzip_writer_finish(kn_ctx *ctx, kn_gzip_writer *w)
{
    unsigned char end[10] = {3, 0}; /* an empty final block, CRC-32, length */
    kn_status status;
    KN_TRY(flush_slots(ctx, w));
    kn_store32(end + 2, w->crc, KN_BIG_ENDIAN);
    kn_store32(end + 6, w->total, KN_BIG_ENDIAN);
    KN_TRY(kn_writer_write(ctx, w->to, end, sizeof end));
out:
    return status;
}

/* ---- file that may be compressed ------------------------------------------------------------- */

kn_status kn_maybe_gzip_open(kn_ctx *ctx, const char *path, const kn_write_options *options,
                             kn_maybe_gzip_file *out)
{
    kn_status status;
    *out = (kn_maybe_gzip_file){0};
    KN_TRY(kn_writer_new(ctx, path, options, &out->file));
    if (kn_path_ends(path, ".gz") || kn_path_ends(path, ".mgz"))
        KN_TRY(kn_gzip_writer_new(ctx, out->file, &out->gzip));
out:
    if (status != KN_OK)
        kn_maybe_gzip_clear(out);
    return status;
}

kn_status kn_maybe_gzip_write(kn_ctx *ctx, kn_maybe_gzip_file *f, const void *bytes, ptrdiff_t n)
{
    return f->gzip ? kn_gzip_writer_write(ctx, f->gzip, bytes, n)
                   : kn_writer_write(ctx, f->file, bytes, n);
}

kn_status kn_maybe_gzip_commit(kn_ctx *ctx, kn_maybe_gzip_file *f)
{
    kn_status status = f->gzip ? kn_gzip_writer_finish(ctx, f->gzip) : KN_OK;
    return status == KN_OK ? kn_writer_commit(ctx, f->file) : status;
}

void kn_maybe_gzip_clear(kn_maybe_gzip_file *f)
{
    kn_gzip_writer_free(f->gzip);
    kn_writer_free(f->file);
    *f = (kn_maybe_gzip_file){0};
}
