#define _GNU_SOURCE /* memmem */
#include "io/gzip_parts.h"

#include <libdeflate.h>
#include <stdatomic.h>
#include <string.h>
#include <zlib.h>

#include "base/parallel.h"
#include "io/bytes.h"
#include "io/grow.h"
#include "io/gzip.h"

enum { HEAD = 10, TRAILER = 8 }; /* of a member: what always is there; checksum and length */
static const unsigned char END[4] = {0, 0, 0xff, 0xff}; /* of an empty block, on a byte */
/* An empty block that is the last: after an END it makes a chunk a stream of its own. */
static const unsigned char LAST[5] = {1, 0, 0, 0xff, 0xff};

void kn_gzip_parts_clear(kn_gzip_parts *parts)
{
    kn_free(parts->part);
    *parts = (kn_gzip_parts){0};
}

static kn_status append(kn_ctx *ctx, kn_gzip_parts *p, ptrdiff_t from, ptrdiff_t n)
{
    void *part = p->part;
    kn_status status = kn_grow(ctx, p->count + 1, sizeof *p->part, &part, &p->room);
    p->part = part;
    if (status == KN_OK)
        p->part[p->count++] = (kn_gzip_part){.from = from, .n = n};
    return status;
}

/* ---- members that say how long they are --------------------------------------------------- */

ptrdiff_t kn_bgzf_size(const unsigned char *b, ptrdiff_t n)
{
    static const unsigned char head[4] = {0x1f, 0x8b, 8, 4}, field[6] = {6, 0, 'B', 'C', 2, 0};
    if (n < KN_BGZF_HEAD || memcmp(b, head, sizeof head) != 0 ||
        memcmp(b + HEAD, field, sizeof field) != 0)
        return 0;
    ptrdiff_t size = (ptrdiff_t)kn_load16(b + HEAD + 6, KN_BIG_ENDIAN) + 1;
    return size >= KN_BGZF_HEAD + TRAILER ? size : 0;
}

static kn_status find_members(kn_ctx *ctx, const unsigned char *bytes, ptrdiff_t n,
                              kn_gzip_parts *out)
{
    kn_status status = KN_OK;
    out->members = true;
    for (ptrdiff_t at = 0, size; at < n; at += size) {
        size = kn_bgzf_size(bytes + at, n - at);
        if (size == 0 || size > n - at) { /* not to the end */
            out->count = 0;
            return KN_OK;
        }
        KN_TRY(append(ctx, out, at, size));
        kn_gzip_part *p = &out->part[out->count - 1];
        p->at = out->contents;
        p->contents = (ptrdiff_t)kn_load32(bytes + at + size - 4, KN_BIG_ENDIAN);
        out->contents += p->contents;
    }
out:
    return status;
}

/* ---- chunks of one member ----------------------------------------------------------------- */

/* Where the compressed data of the first member begin; n: not there. */
static ptrdiff_t data_begins(const unsigned char *b, ptrdiff_t n)
{
    enum { HEADER_CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, UNKNOWN = 0xe0 };
    ptrdiff_t at = HEAD;
    if (n < HEAD + 2 || !kn_is_gzip(b, n) || b[2] != 8 || (b[3] & UNKNOWN))
        return n;
    if (b[3] & EXTRA)
        at += 2 + (ptrdiff_t)kn_load16(b + at, KN_BIG_ENDIAN);
    for (int flag = NAME; flag <= COMMENT; flag *= 2)
        if (b[3] & flag) {
            const unsigned char *end = at < n ? memchr(b + at, 0, (size_t)(n - at)) : NULL;
            at = end ? end - b + 1 : n;
        }
    at += b[3] & HEADER_CRC ? 2 : 0;
    return at < n ? at : n;
}

static kn_status find_ends(kn_ctx *ctx, const unsigned char *bytes, ptrdiff_t from, ptrdiff_t to,
                           kn_gzip_parts *out)
{
    enum { SMALLEST = 1024 }; /* bytes of a chunk, on average: else it is something else */
    ptrdiff_t most = (to - from) / SMALLEST + 2;
    kn_status status = KN_OK;
    while (from < to) {
        const unsigned char *end = memmem(bytes + from, (size_t)(to - from), END, sizeof END);
        ptrdiff_t n = end ? end + (ptrdiff_t)sizeof END - (bytes + from) : to - from;
        if (n == sizeof LAST && end && out->count > 0 && bytes[from] == 0)
            out->part[out->count - 1].n += n; /* another empty block: pigz writes two */
        else
            KN_TRY(append(ctx, out, from, n));
        from += n;
        if (out->count > most) {
            out->count = 0;
            return KN_OK;
        }
    }
out:
    return status;
}

/* The contents of the first chunk, which all others have. */
static ptrdiff_t first_contents(const unsigned char *packed, ptrdiff_t n, ptrdiff_t most)
{
    z_stream z = {.next_in = (unsigned char *)packed, .avail_in = (uInt)n};
    enum { RAW_WINDOW = -15, ROOM = 1 << 15 };
    unsigned char out[ROOM];
    ptrdiff_t made = 0;
    int code = Z_OK;
    if (inflateInit2(&z, RAW_WINDOW) != Z_OK)
        return 0;
    while (code == Z_OK && made <= most) {
        z.next_out = out;
        z.avail_out = ROOM;
        code = inflate(&z, Z_SYNC_FLUSH);
        made += ROOM - (ptrdiff_t)z.avail_out;
        if (z.avail_in == 0 && z.avail_out > 0)
            break;
    }
    bool whole = (code == Z_OK || code == Z_BUF_ERROR) && z.avail_in == 0;
    inflateEnd(&z);
    return whole ? made : 0;
}

static kn_status find_chunks(kn_ctx *ctx, const unsigned char *bytes, ptrdiff_t n,
                             kn_gzip_parts *out)
{
    enum { LARGEST = 1 << 21 }; /* bytes of a chunk: the first is looked for in vain mostly */
    ptrdiff_t from = data_begins(bytes, n), to = n - TRAILER;
    if (from >= to)
        return KN_OK;
    ptrdiff_t contents = (ptrdiff_t)kn_load32(bytes + n - 4, KN_BIG_ENDIAN);
    ptrdiff_t within = to - from < LARGEST ? to - from : LARGEST;
    const unsigned char *end = memmem(bytes + from, (size_t)within, END, sizeof END);
    if (!end)
        return KN_OK;
    ptrdiff_t each = first_contents(bytes + from, end + sizeof END - (bytes + from), contents);
    if (each == 0)
        return KN_OK;
    kn_status status = find_ends(ctx, bytes, from, to, out);
    ptrdiff_t full = (contents + each - 1) / each;
    if (out->count < 2 || out->count < full || out->count > full + 1) /* a last one may be empty */
        out->count = 0;
    for (ptrdiff_t k = 0; k < out->count; k++) {
        ptrdiff_t at = k * each < contents ? k * each : contents;
        out->part[k].at = at;
        out->part[k].contents = contents - at < each ? contents - at : each;
    }
    out->contents = contents;
    return status;
}

kn_status kn_gzip_parts_find(kn_ctx *ctx, const unsigned char *bytes, ptrdiff_t n,
                             kn_gzip_parts *out)
{
    *out = (kn_gzip_parts){0};
    kn_status status = kn_bgzf_size(bytes, n) > 0 ? find_members(ctx, bytes, n, out)
                                                  : find_chunks(ctx, bytes, n, out);
    if (status != KN_OK)
        kn_gzip_parts_clear(out);
    return status;
}

/* ---- decompressing ------------------------------------------------------------------------ */

typedef struct bench { /* of one worker */
    struct libdeflate_decompressor *d;
    unsigned char *chunk; /* with LAST behind it */
} bench;

typedef struct inflation {
    const kn_gzip_parts *parts;
    const unsigned char *bytes;
    unsigned char *out;
    bench *bench;
    uint32_t *crc;   /* of the contents of each chunk */
    atomic_bool odd; /* something is not as it should be */
} inflation;

static bool inflate_member(const inflation *w, const bench *b, const kn_gzip_part *p)
{
    size_t used, made;
    enum libdeflate_result r =
        libdeflate_gzip_decompress_ex(b->d, w->bytes + p->from, (size_t)p->n, w->out + p->at,
                                      (size_t)p->contents, &used, &made);
    return r == LIBDEFLATE_SUCCESS && used == (size_t)p->n && made == (size_t)p->contents;
}

static bool inflate_chunk(const inflation *w, const bench *b, ptrdiff_t k)
{
    const kn_gzip_part *p = &w->parts->part[k];
    const unsigned char *from = w->bytes + p->from;
    size_t n = (size_t)p->n, used, made;
    if (k + 1 < w->parts->count) {
        memcpy(b->chunk, from, n);
        memcpy(b->chunk + n, LAST, sizeof LAST);
        from = b->chunk;
        n += sizeof LAST;
    }
    enum libdeflate_result r = libdeflate_deflate_decompress_ex(b->d, from, n, w->out + p->at,
                                                                (size_t)p->contents, &used, &made);
    if (r != LIBDEFLATE_SUCCESS || used != n || made != (size_t)p->contents)
        return false;
    w->crc[k] = libdeflate_crc32(0, w->out + p->at, made);
    return true;
}

static void inflate_parts(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    inflation *w = self;
    const bench *b = &w->bench[worker];
    for (ptrdiff_t k = first; k < last && !atomic_load(&w->odd); k++)
        if (w->parts->members ? !inflate_member(w, b, &w->parts->part[k]) : !inflate_chunk(w, b, k))
            atomic_store(&w->odd, true);
}

/* The checksum of all from those of the chunks; members have their own, which libdeflate checks. */
static bool checks(const inflation *w)
{
    const kn_gzip_parts *p = w->parts;
    const kn_gzip_part *last = &p->part[p->count - 1];
    uint32_t crc = 0;
    for (ptrdiff_t k = 0; !p->members && k < p->count; k++)
        crc = (uint32_t)crc32_combine(crc, w->crc[k], p->part[k].contents);
    return p->members || crc == kn_load32(w->bytes + last->from + last->n, KN_BIG_ENDIAN);
}

static kn_status prepare(kn_ctx *ctx, inflation *w, int workers)
{
    ptrdiff_t largest = 0;
    void *memory;
    kn_status status;
    for (ptrdiff_t k = 0; k < w->parts->count; k++)
        largest = w->parts->part[k].n > largest ? w->parts->part[k].n : largest;
    KN_TRY(kn_alloc(ctx, workers, sizeof *w->bench, &memory));
    w->bench = memory;
    KN_TRY(kn_alloc(ctx, w->parts->members ? 0 : w->parts->count, sizeof *w->crc, &memory));
    w->crc = memory;
    for (bench *b = w->bench; b < w->bench + workers; b++) {
        b->d = libdeflate_alloc_decompressor();
        if (!b->d)
            return kn_fail(ctx, KN_ERR_MEMORY, "out of memory for decompression");
        if (!w->parts->members)
            KN_TRY(kn_alloc_raw(ctx, largest + (ptrdiff_t)sizeof LAST, 1, &memory));
        b->chunk = w->parts->members ? NULL : memory;
    }
out:
    return status;
}

kn_status kn_gzip_parts_inflate(kn_ctx *ctx, const kn_gzip_parts *parts, const unsigned char *bytes,
                                void *out, bool *done)
{
    int grain = parts->members ? 8 : 1, workers = kn_workers(ctx, parts->count, grain);
    inflation w = {.parts = parts, .bytes = bytes, .out = out};
    kn_status status;
    *done = false;
    KN_TRY(prepare(ctx, &w, workers));
    kn_parallel_workers(ctx, parts->count, grain, inflate_parts, &w);
    *done = !atomic_load(&w.odd) && checks(&w);
out:
    for (int k = 0; w.bench && k < workers; k++) {
        libdeflate_free_decompressor(w.bench[k].d);
        kn_free(w.bench[k].chunk);
    }
    kn_free(w.bench);
    kn_free(w.crc);
    return status;
}
