#include "scratch.h"

#include "io/gzip.h"

enum { N = 5000000 }; /* several chunks, on two threads more than once round */
static unsigned char contents[N], packed[2 * N], back[2 * N];

static size_t compress(kn_ctx *ctx, ptrdiff_t cut)
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
        ptrdiff_t n = (ptrdiff_t)compress(ctx, 70001), got, length;
        kn_source source = kn_source_of("x.gz", packed, n);
        bool fits;
        assert_ok(ctx, kn_inflate(ctx, inflater, "x.gz", packed, n, back, N, &got, &fits));
        assert_true(fits && got == N && memcmp(back, contents, N) == 0);
        assert_ok(ctx, kn_inflate(ctx, inflater, "x.gz", packed, n, back, N - 1, &got, &fits));
        assert_false(fits);
        memset(back, 0, N);
        assert_ok(ctx, kn_gunzip_start(ctx, g, &source));
        assert_ok(ctx, kn_gunzip_read(ctx, g, 2 * N, back, &got));
        assert_true(got == N && memcmp(back, contents, N) == 0);
        assert_ok(ctx, kn_gzip_length(ctx, &source, &length));
        assert_int_equal(length, N);
        assert_ok(ctx, kn_gzip_hint(ctx, &source, &length)); /* a single member */
        assert_int_equal(length, N);
        packed[n - 8] ^= 1; /* the checksum */
        assert_refused(ctx, kn_gzip_length(ctx, &source, &length), KN_ERR_FORMAT,
                       "x.gz: the compressed data are damaged");
        assert_refused(ctx, kn_inflate(ctx, inflater, "x.gz", packed, n, back, N, &got, &fits),
                       KN_ERR_FORMAT, "x.gz: the compressed data are damaged");
    }
    kn_gunzip_free(g);
    kn_inflater_free(inflater);
    kn_ctx_free(ctx);
}

static void the_bytes_depend_on_the_contents_alone(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    unsigned char *first = malloc(sizeof packed);
    fill();
    kn_set_threads(ctx, 1);
    size_t n = compress(ctx, 70001);
    memcpy(first, packed, n);
    for (int threads = 1; threads <= 5; threads += 2)
        for (ptrdiff_t cut = 1001; cut < N; cut = cut * 13 + 1) { /* odd, no multiple of 5 */
            kn_set_threads(ctx, threads);
            assert_int_equal(compress(ctx, cut), n);
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
    kn_source source = kn_source_of("x.gz", packed, n);
    assert_ok(ctx, kn_gzip_length(ctx, &source, &length));
    assert_int_equal(length, 0);
    kn_ctx_free(ctx);
}

static void too_few_bytes_are_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_source source = kn_source_of("x.gz", "\x1f\x8b", 2);
    ptrdiff_t length;
    assert_sentence(ctx, kn_gzip_hint(ctx, &source, &length), KN_ERR_FORMAT,
                    "x.gz: 2 bytes are too few for a gzip file");
    assert_sentence(ctx, kn_gzip_length(ctx, &source, &length), KN_ERR_FORMAT,
                    "x.gz: the compressed data end too early: the file was cut short");
    kn_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_contents_come_back),
        cmocka_unit_test(the_bytes_depend_on_the_contents_alone),
        cmocka_unit_test(nothing_is_a_file_too),
        cmocka_unit_test(too_few_bytes_are_a_sentence),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
