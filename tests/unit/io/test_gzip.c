#include "support/scratch.h"

#include <libdeflate.h>
#include <zlib.h>

#include "io/file/byte_order.h"
#include "io/gzip/gzip.h"

enum { N = 5000000 }; /* several chunks, on two threads more than once round */
static unsigned char contents[N], packed[2 * N], back[2 * N];

static size_t compress_ours(kn_ctx *ctx, ptrdiff_t cut)
{
    kn_writer *file;
    kn_gzip_writer *w;
    const kn_write_options force = {.force = true};
    assert_ok(ctx, kn_writer_new(ctx, "x.gz", &force, &file));
    assert_ok(ctx, kn_gzip_writer_new(ctx, file, &w));
    for (ptrdiff_t at = 0, n = 1; at < N; at += n, n = n * 5 % cut) {
        n = n < N - at ? n : N - at;
        assert_ok(ctx, kn_gzip_writer_write(ctx, w, contents + at, n));
    }
    assert_ok(ctx, kn_gzip_writer_finish(ctx, w));
    assert_ok(ctx, kn_writer_commit(ctx, file));
    kn_gzip_writer_free(w);
    kn_writer_free(file);
    return scratch_read("x.gz", packed, sizeof packed);
}

/* The first half compresses, the second hardly. */
static void fill(void)
{
    for (unsigned i = 0; i < N; i++)
        contents[i] = (unsigned char)(i < N / 2 ? i / 1000 : (i * 2654435761u) >> 13);
}

static void the_contents_come_back(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_inflater *inflater;
    kn_gunzip *g;
    fill();
    assert_ok(ctx, kn_inflater_new(ctx, &inflater));
    assert_ok(ctx, kn_gunzip_new(ctx, &g));
    for (int k = 0; k < 2; k++) {
        kn_set_threads(ctx, k ? 2 : 1);
        ptrdiff_t n = (ptrdiff_t)compress_ours(ctx, 70001), got, length;
        kn_byte_source source = kn_byte_source_of("x.gz", packed, n);
        bool fits;
        assert_ok(ctx, kn_inflate(ctx, inflater, "x.gz", packed, n, back, N, &got, &fits));
        assert_true(fits && got == N && memcmp(back, contents, N) == 0);
        assert_ok(ctx, kn_inflate(ctx, inflater, "x.gz", packed, n, back, N - 1, &got, &fits));
        assert_false(fits);
        memset(back, 0, N);
        assert_ok(ctx, kn_gunzip_start(ctx, g, &source));
        assert_ok(ctx, kn_gunzip_read(ctx, g, 2 * N, back, &got));
        assert_true(got == N && memcmp(back, contents, N) == 0);
        assert_ok(ctx, kn_gzip_length(ctx, &source, PTRDIFF_MAX, &length));
        assert_int_equal(length, N);
        assert_ok(ctx, kn_gzip_hint(ctx, &source, &length)); /* a single member */
        assert_int_equal(length, N);
        packed[n - 8] ^= 1; /* the checksum */
        assert_refused(ctx, kn_gzip_length(ctx, &source, PTRDIFF_MAX, &length), KN_ERR_FORMAT,
                       "x.gz: the compressed data are damaged");
        assert_refused(ctx, kn_inflate(ctx, inflater, "x.gz", packed, n, back, N, &got, &fits),
                       KN_ERR_FORMAT, "x.gz: the compressed data are damaged");
    }
    kn_gunzip_free(g);
    kn_inflater_free(inflater);
    kn_ctx_free(ctx);
}

static void the_bytes_depend_on_nothing_but_the_contents(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    unsigned char *first = malloc(sizeof packed);
    fill();
    kn_set_threads(ctx, 1);
    size_t n = compress_ours(ctx, 70001);
    memcpy(first, packed, n);
    for (int threads = 1; threads <= 5; threads += 2)
        for (ptrdiff_t cut = 1001; cut < N; cut = cut * 13 + 1) { /* odd, no multiple of 5 */
            kn_set_threads(ctx, threads);
            assert_int_equal(compress_ours(ctx, cut), n);
            assert_memory_equal(packed, first, n);
        }
    free(first);
    kn_ctx_free(ctx);
}

static void nothing_is_a_file_too(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_writer *file;
    kn_gzip_writer *w;
    const kn_write_options force = {.force = true};
    ptrdiff_t length;
    assert_ok(ctx, kn_writer_new(ctx, "x.gz", &force, &file));
    assert_ok(ctx, kn_gzip_writer_new(ctx, file, &w));
    assert_ok(ctx, kn_gzip_writer_finish(ctx, w));
    assert_ok(ctx, kn_writer_commit(ctx, file));
    kn_gzip_writer_free(w);
    kn_writer_free(file);
    ptrdiff_t n = (ptrdiff_t)scratch_read("x.gz", packed, sizeof packed);
    kn_byte_source source = kn_byte_source_of("x.gz", packed, n);
    assert_ok(ctx, kn_gzip_length(ctx, &source, PTRDIFF_MAX, &length));
    assert_int_equal(length, 0);
    kn_ctx_free(ctx);
}

static void too_few_bytes_are_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_byte_source source = kn_byte_source_of("x.gz", "\x1f\x8b", 2);
    ptrdiff_t length;
    assert_sentence(ctx, kn_gzip_hint(ctx, &source, &length), KN_ERR_FORMAT,
                    "x.gz: 2 bytes are too few for a gzip file");
    assert_sentence(
        ctx, kn_gzip_length(ctx, &source, PTRDIFF_MAX, &length), KN_ERR_FORMAT,
        "x.gz: the compressed data end too early, so the file is incomplete; get it again");
    kn_ctx_free(ctx);
}

/* ---- layouts that other programs write ----------------------------------------------------- */

/* Members of at most 64 KiB that say how long they are, and an empty one, as bgzip makes them. */
static size_t compress_bgzf(void)
{
    static const unsigned char head[16] = {0x1f, 0x8b, 8, 4, 0,   0,   0, 0,
                                           0,    255,  6, 0, 'B', 'C', 2, 0};
    enum { MEMBER = 65280 };
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
    size_t at = 0;
    for (size_t from = 0; from <= N; from += from < N && N - from < MEMBER ? N - from : MEMBER) {
        size_t n = N - from < MEMBER ? N - from : MEMBER;
        memcpy(packed + at, head, sizeof head);
        size_t size =
            libdeflate_deflate_compress(c, contents + from, n, packed + at + 18, 65536 - 26);
        assert_true(size > 0);
        kn_store16(packed + at + 16, (uint16_t)(size + 25), KN_BIG_ENDIAN);
        kn_store32(packed + at + 18 + size, libdeflate_crc32(0, contents + from, n), KN_BIG_ENDIAN);
        kn_store32(packed + at + 22 + size, (uint32_t)n, KN_BIG_ENDIAN);
        at += size + 26;
    }
    libdeflate_free_compressor(c);
    return at;
}

/* One member, in which each `chunk` bytes end on a byte. alone: without looking back, and with two
 * empty blocks, as pigz -i does it. */
static size_t compress_chunks(uInt chunk, bool alone)
{
    gz_header header = {.name = (unsigned char *)"contents",
                        .extra = (unsigned char *)"xyz",
                        .extra_len = 3};
    z_stream z = {.next_out = packed, .avail_out = sizeof packed};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    deflateSetHeader(&z, &header);
    for (uInt from = 0; from < N; from += chunk) {
        bool last = N - from <= chunk;
        z.next_in = contents + from;
        z.avail_in = last ? N - from : chunk;
        if (!last && alone)
            deflate(&z, Z_SYNC_FLUSH);
        deflate(&z, last ? Z_FINISH : alone ? Z_FULL_FLUSH : Z_SYNC_FLUSH);
    }
    size_t n = sizeof packed - z.avail_out;
    deflateEnd(&z);
    return n;
}

static size_t compress_as(kn_ctx *ctx, int layout)
{
    switch (layout) {
    case 0: return compress_ours(ctx, 70001);
    case 1: return compress_bgzf();
    case 2: return compress_chunks(131072, true);
    case 3: return compress_chunks(131072, false);
    default: return compress_chunks(N, false);
    }
}

enum { LAYOUTS = 5 };

static void any_layout_gives_its_contents(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_inflater *inflater;
    fill();
    assert_ok(ctx, kn_inflater_new(ctx, &inflater));
    for (int layout = 0; layout < LAYOUTS; layout++) {
        ptrdiff_t n = (ptrdiff_t)compress_as(ctx, layout), got, length;
        kn_byte_source source = kn_byte_source_of("x.gz", packed, n);
        bool fits;
        memset(back, 0, N);
        assert_ok(ctx, kn_inflate(ctx, inflater, "x.gz", packed, n, back, N, &got, &fits));
        assert_true(fits && got == N && memcmp(back, contents, N) == 0);
        assert_ok(ctx, kn_inflate(ctx, inflater, "x.gz", packed, n, back, N - 1, &got, &fits));
        assert_false(fits);
        assert_ok(ctx, kn_gzip_hint(ctx, &source, &length));
        assert_int_equal(length, N);
    }
    kn_inflater_free(inflater);
    kn_ctx_free(ctx);
}

/* A file that was changed or cut short is refused; a bit of the header may not matter. */
static void damage_is_refused_in_any_layout(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_inflater *inflater;
    fill();
    assert_ok(ctx, kn_inflater_new(ctx, &inflater));
    for (int layout = 0; layout < LAYOUTS; layout++) {
        ptrdiff_t n = (ptrdiff_t)compress_as(ctx, layout), got;
        bool fits;
        for (int k = 0; k < 24; k++) {
            ptrdiff_t at = k < 8 ? n - 1 - k : n / 25 * (k - 8) + 40;
            packed[at] ^= 0x10;
            kn_status status =
                kn_inflate(ctx, inflater, "x.gz", packed, n, back, sizeof back, &got, &fits);
            assert_true(status == KN_ERR_FORMAT ||
                        (fits && got == N && memcmp(back, contents, N) == 0));
            packed[at] ^= 0x10;
        }
        assert_refused(ctx,
                       kn_inflate(ctx, inflater, "x.gz", packed, n / 2, back, sizeof back, &got,
                                  &fits),
                       KN_ERR_FORMAT, "x.gz: the compressed data end too early");
    }
    kn_inflater_free(inflater);
    kn_ctx_free(ctx);
}

/* Zeros as of a tape, a newline, and what looks like a member but for its first byte. */
static void bytes_behind_the_last_member_are_ignored(void **state)
{
    (void)state;
    static const unsigned char behind[3][32] = {{0}, {10}, {0x1e, 0x8b, 8, 4, [28] = 0, 0, 1, 0}};
    kn_ctx *ctx = kn_ctx_new();
    kn_inflater *inflater;
    fill();
    assert_ok(ctx, kn_inflater_new(ctx, &inflater));
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int k = 0; k < 6; k++) {
            ptrdiff_t n = (ptrdiff_t)compress_as(ctx, layout), got, more = k < 3 ? 32 : 1;
            bool fits;
            memcpy(packed + n, behind[k % 3], (size_t)more);
            memset(back, 0, N);
            assert_ok(ctx,
                      kn_inflate(ctx, inflater, "x.gz", packed, n + more, back, N, &got, &fits));
            assert_true(fits && got == N && memcmp(back, contents, N) == 0);
        }
    kn_inflater_free(inflater);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_gzip)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_contents_come_back),
        cmocka_unit_test(the_bytes_depend_on_nothing_but_the_contents),
        cmocka_unit_test(nothing_is_a_file_too),
        cmocka_unit_test(too_few_bytes_are_a_sentence),
        cmocka_unit_test(any_layout_gives_its_contents),
        cmocka_unit_test(damage_is_refused_in_any_layout),
        cmocka_unit_test(bytes_behind_the_last_member_are_ignored),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
