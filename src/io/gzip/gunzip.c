/* Reads gzip (gzip.h): streams with zlib, whole buffers with libdeflate. Files of several members
 * and BGZF are accepted. */
#include <libdeflate.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "io/file/byte_order.h"
#include "io/gzip/gzip.h"

enum { CHUNK = 1 << 16, GZIP_WINDOW = 15 + 16 }; /* zlib: largest window, gzip wrapping */
enum { BGZF_HEAD = 18 };

bool kn_is_gzip(const unsigned char *bytes, ptrdiff_t n)
{
    return n >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* Returns the compressed size of the BGZF member (bgzip) that begins with these bytes, from its
 * extra field 'BC'; 0 if it is not BGZF. */
static ptrdiff_t bgzf_size(const unsigned char head[BGZF_HEAD])
{
    static const unsigned char first[4] = {0x1f, 0x8b, 8, 4}, field[6] = {6, 0, 'B', 'C', 2, 0};
    enum { FIELDS = 10, TRAILER = 8 }; /* offset of the extra fields; size of CRC and length */
    if (memcmp(head, first, sizeof first) != 0 || memcmp(head + FIELDS, field, sizeof field) != 0)
        return 0;
    ptrdiff_t size = (ptrdiff_t)kn_load16(head + FIELDS + 6, KN_BIG_ENDIAN) + 1;
    return size >= BGZF_HEAD + TRAILER ? size : 0;
}

/* Sets *length to the sum of the uncompressed sizes of all BGZF members, modulo 2^32. Returns false
 * if a member is not BGZF. */
static bool bgzf_hint(const kn_byte_source *source, ptrdiff_t *length)
{
    unsigned char head[BGZF_HEAD], tail[4];
    ptrdiff_t size;
    *length = 0;
    for (ptrdiff_t at = 0; at < source->size; at += size) {
        if (!kn_byte_source_try(source, at, BGZF_HEAD, head) || (size = bgzf_size(head)) == 0 ||
            !kn_byte_source_try(source, at + size - 4, 4, tail))
            return false;
        *length = (*length + (ptrdiff_t)kn_load32(tail, KN_BIG_ENDIAN)) & 0xffffffff;
    }
    return true;
}

kn_status kn_gzip_hint(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t *length)
{
    unsigned char tail[4];
    *length = 0;
    if (source->size < KN_GZIP_MIN_SIZE)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: %td bytes are too few for a gzip file",
                       source->name, source->size);
    if (bgzf_hint(source, length))
        return KN_OK;
    kn_status status = kn_byte_source_read(ctx, source, source->size - 4, 4, tail);
    if (status == KN_OK)
        *length = (ptrdiff_t)kn_load32(tail, KN_BIG_ENDIAN);
    return status;
}

/* ---- streams ------------------------------------------------------------------------------ */

struct kn_gunzip {
    z_stream z;
    bool ready;            /* inflateInit2 was called */
    bool ended;            /* the last member has been read */
    kn_byte_source source; /* a copy; its file is borrowed */
    ptrdiff_t offset;      /* of the next bytes to fetch from the source */
    unsigned char *in;     /* CHUNK compressed bytes */
    unsigned char *beyond; /* CHUNK bytes for skipped output; allocated on first use */
};

kn_status kn_gunzip_new(kn_ctx *ctx, kn_gunzip **out)
{
    kn_gunzip *g = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *g, &p));
    g = p;
    KN_TRY(kn_alloc(ctx, CHUNK, 1, &p));
    g->in = p;
    if (inflateInit2(&g->z, GZIP_WINDOW) != Z_OK) {
        status = kn_fail(ctx, KN_ERR_MEMORY, "out of memory for decompression");
        goto out;
    }
    g->ready = true;
out:
    if (status == KN_OK)
        *out = g;
    else
        kn_gunzip_free(g);
    return status;
}

void kn_gunzip_free(kn_gunzip *g)
{
    if (!g)
        return;
    if (g->ready)
        inflateEnd(&g->z);
    kn_free(g->in);
    kn_free(g->beyond);
    kn_free(g);
}

kn_status kn_gunzip_start(kn_ctx *ctx, kn_gunzip *g, const kn_byte_source *source)
{
    g->source = *source;
    g->offset = 0;
    g->ended = false;
    g->z.avail_in = 0;
    if (inflateReset(&g->z) != Z_OK)
        return kn_fail(ctx, KN_ERR_MEMORY, "%s: decompression cannot start", source->name);
    return KN_OK;
}

/* Fills g->in with the next bytes of the source, behind those that are not consumed yet. KN_ERR_IO
 * if reading fails. */
static kn_status refill_input(kn_ctx *ctx, kn_gunzip *g)
{
    ptrdiff_t left = (ptrdiff_t)g->z.avail_in, n = g->source.size - g->offset;
    if (left > 0)
        memmove(g->in, g->z.next_in, (size_t)left);
    if (n > CHUNK - left)
        n = CHUNK - left;
    kn_status status = kn_byte_source_read(ctx, &g->source, g->offset, n, g->in + left);
    if (status == KN_OK) {
        g->offset += n;
        g->z.next_in = g->in;
        g->z.avail_in = (unsigned)(left + n);
    }
    return status;
}

/* At the end of a gzip member: starts the next member if one follows, else sets g->ended; other
 * bytes that follow are ignored. KN_ERR_IO if reading fails. */
static kn_status next_member(kn_ctx *ctx, kn_gunzip *g)
{
    kn_status status = KN_OK;
    if (g->z.avail_in < KN_GZIP_MIN_SIZE)
        status = refill_input(ctx, g);
    if (status != KN_OK)
        return status;
    if (kn_is_gzip(g->z.next_in, (ptrdiff_t)g->z.avail_in))
        inflateReset(&g->z);
    else
        g->ended = true;
    return KN_OK;
}

/* Fails with KN_ERR_MEMORY or KN_ERR_FORMAT for an error code of zlib's inflate; the message says
 * if the file was cut short. */
static kn_status inflate_error(kn_ctx *ctx, const kn_gunzip *g, int code)
{
    if (code == Z_MEM_ERROR)
        return kn_fail(ctx, KN_ERR_MEMORY, "%s: out of memory for decompression", g->source.name);
    if (code == Z_BUF_ERROR)
        return kn_fail(
            ctx, KN_ERR_FORMAT,
            "%s: the compressed data end too early, so the file is incomplete; get it again",
            g->source.name);
    return kn_fail(ctx, KN_ERR_FORMAT, "%s: the compressed data are damaged (%s)", g->source.name,
                   g->z.msg ? g->z.msg : "no gzip data");
}

/* Decompresses at most n bytes into `out` with one call of inflate; *got is how many. KN_ERR_FORMAT
 * if the data are damaged. */
static kn_status inflate_step(kn_ctx *ctx, kn_gunzip *g, ptrdiff_t n, unsigned char *out,
                              ptrdiff_t *got)
{
    kn_status status = KN_OK;
    *got = 0;
    if (g->z.avail_in == 0)
        status = refill_input(ctx, g);
    if (status != KN_OK)
        return status;
    unsigned capacity = n > INT_MAX ? INT_MAX : (unsigned)n;
    g->z.next_out = out;
    g->z.avail_out = capacity;
    int code = g->z.avail_in > 0 ? inflate(&g->z, Z_NO_FLUSH) : Z_BUF_ERROR;
    *got = (ptrdiff_t)(capacity - g->z.avail_out);
    if (code == Z_STREAM_END)
        return next_member(ctx, g);
    return code == Z_OK ? KN_OK : inflate_error(ctx, g, code);
}

kn_status kn_gunzip_read(kn_ctx *ctx, kn_gunzip *g, ptrdiff_t n, void *out, ptrdiff_t *got)
{
    kn_status status = KN_OK;
    *got = 0;
    if (!out && !g->beyond) {
        void *p;
        KN_TRY(kn_alloc(ctx, CHUNK, 1, &p));
        g->beyond = p;
    }
    while (*got < n && !g->ended) {
        ptrdiff_t now, left = n - *got;
        if (out)
            KN_TRY(inflate_step(ctx, g, left, (unsigned char *)out + *got, &now));
        else
            KN_TRY(inflate_step(ctx, g, left < CHUNK ? left : CHUNK, g->beyond, &now));
        *got += now;
    }
out:
    return status;
}

kn_status kn_gzip_length(kn_ctx *ctx, const kn_byte_source *source, ptrdiff_t limit,
                         ptrdiff_t *length)
{
    kn_gunzip *g = NULL;
    kn_status status;
    *length = 0;
    KN_TRY(kn_gunzip_new(ctx, &g));
    KN_TRY(kn_gunzip_start(ctx, g, source));
    KN_TRY(kn_gunzip_read(ctx, g, limit, NULL, length));
out:
    kn_gunzip_free(g);
    return status;
}

/* ---- whole buffers ------------------------------------------------------------------------ */

struct kn_inflater {
    struct libdeflate_decompressor *d;
};

kn_status kn_inflater_new(kn_ctx *ctx, kn_inflater **out)
{
    void *p;
    kn_status status = kn_alloc(ctx, 1, sizeof **out, &p);
    *out = p;
    if (status != KN_OK)
        return status;
    (*out)->d = libdeflate_alloc_decompressor();
    if ((*out)->d)
        return KN_OK;
    kn_free(*out);
    *out = NULL;
    return kn_fail(ctx, KN_ERR_MEMORY, "out of memory for decompression");
}

void kn_inflater_free(kn_inflater *inflater)
{
    if (!inflater)
        return;
    libdeflate_free_decompressor(inflater->d);
    kn_free(inflater);
}

/* Fails with KN_ERR_FORMAT and the cause for damaged gzip data: libdeflate does not report it, so
 * zlib reads the n bytes again. */
static kn_status fail_damaged(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                              ptrdiff_t n)
{
    kn_byte_source source = kn_byte_source_of(name, bytes, n);
    ptrdiff_t length;
    kn_status status = kn_gzip_length(ctx, &source, PTRDIFF_MAX, &length);
    if (status == KN_OK)
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s: the compressed data are damaged", name);
    return status;
}

kn_status kn_inflate(kn_ctx *ctx, kn_inflater *inflater, const char *name,
                     const unsigned char *bytes, ptrdiff_t n, void *out, ptrdiff_t capacity,
                     ptrdiff_t *got, bool *fits)
{
    *got = 0;
    *fits = true;
    for (ptrdiff_t at = 0; at == 0 || kn_is_gzip(bytes + at, n - at);) {
        size_t used = 0, made = 0;
        enum libdeflate_result r =
            libdeflate_gzip_decompress_ex(inflater->d, bytes + at, (size_t)(n - at),
                                          (unsigned char *)out + *got, (size_t)(capacity - *got),
                                          &used, &made);
        if (r == LIBDEFLATE_INSUFFICIENT_SPACE) {
            *fits = false;
            return KN_OK;
        }
        if (r != LIBDEFLATE_SUCCESS)
            return fail_damaged(ctx, name, bytes, n);
        at += (ptrdiff_t)used;
        *got += (ptrdiff_t)made;
    }
    return KN_OK;
}
