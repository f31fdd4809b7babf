#include "support/failing.h"
#include "support/pngs.h"

#include "io/formats/png.h"

enum { MAX_COUNT = 64 * 64 };
static uint8_t pixel[MAX_COUNT];
static kn_png_colour colour[KN_PNG_COLOURS];

static png_read written(kn_ctx *ctx, int width, int height)
{
    void *bytes;
    ptrdiff_t n;
    assert_ok(ctx, kn_png_indexed(ctx, width, height, pixel, colour, &bytes, &n));
    png_read p = png_of(bytes, n);
    assert_int_equal(p.width, width);
    assert_int_equal(p.height, height);
    kn_free(bytes);
    return p;
}

static void colours_by_chance(unsigned *seed)
{
    for (int c = 0; c < KN_PNG_COLOURS; c++)
        colour[c] = (kn_png_colour){(uint8_t)chance(seed, 256), (uint8_t)chance(seed, 256),
                                    (uint8_t)chance(seed, 256),
                                    (uint8_t)(chance(seed, 2) ? 255 : chance(seed, 256))};
}

static void every_pixel_comes_back_with_its_alpha(void **state)
{
    (void)state;
    unsigned seed = (unsigned)ref_seed(1);
    kn_ctx *ctx = kn_ctx_new();
    for (int trial = 0; trial < 200; trial++) {
        int width = 1 + (int)chance(&seed, 40), height = 1 + (int)chance(&seed, 40);
        unsigned used = 1 + chance(&seed, trial % 2 ? 256 : 20), from = chance(&seed, 257 - used);
        colours_by_chance(&seed);
        for (int i = 0; i < width * height; i++)
            pixel[i] = (uint8_t)(from + chance(&seed, used));
        png_read p = written(ctx, width, height);
        for (int i = 0; i < width * height; i++)
            assert_memory_equal(p.rgba + 4 * i, &colour[pixel[i]], 4);
        free(p.rgba);
    }
    kn_ctx_free(ctx);
}

static void few_colours_take_few_bits(void **state)
{
    (void)state;
    static const int DEPTH[][2] = {{1, 1}, {2, 1},  {3, 2},  {4, 2},
                                   {5, 4}, {16, 4}, {17, 8}, {256, 8}};
    unsigned seed = (unsigned)ref_seed(2);
    kn_ctx *ctx = kn_ctx_new();
    colours_by_chance(&seed);
    for (size_t k = 0; k < sizeof DEPTH / sizeof *DEPTH; k++) {
        for (int i = 0; i < MAX_COUNT; i++)
            pixel[i] = (uint8_t)(255 - i % DEPTH[k][0]); /* the highest numbers: only use counts */
        png_read p = written(ctx, 64, 64);
        assert_int_equal(p.depth, DEPTH[k][1]);
        assert_int_equal(p.colours, DEPTH[k][0]);
        free(p.rgba);
    }
    kn_ctx_free(ctx);
}

/* A slope is the same step again and again; noise is not made smaller by differences. */
static void the_smaller_filter_is_kept(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    unsigned seed = (unsigned)ref_seed(4);
    colours_by_chance(&seed);
    for (int i = 0; i < MAX_COUNT; i++)
        pixel[i] = (uint8_t)(i % 64 * (1 + i / 64 % 3) + 5 * (i / 64) * (i / 64));
    png_read p = written(ctx, 64, 64);
    assert_int_equal(p.filter, 1);
    free(p.rgba);
    for (int i = 0; i < MAX_COUNT; i++)
        pixel[i] = (uint8_t)(17 * chance(&seed, 2) + 40 * chance(&seed, 2) + chance(&seed, 6));
    p = written(ctx, 64, 64);
    assert_int_equal(p.filter, 0);
    free(p.rgba);
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(io_png, NULL, NULL)
{
    kn_ctx *ctx = kn_ctx_new();
    void *bytes;
    ptrdiff_t n;
    long k = 0;
    size_t before = kn_memory_now(ctx);
    kn_status status;
    do {
        kn_fail_allocation(ctx, ++k);
        status = kn_png_indexed(ctx, 64, 64, pixel, colour, &bytes, &n);
        kn_fail_allocation(ctx, 0);
        if (status != KN_OK)
            assert_null(bytes);
        kn_free(bytes);
        assert_int_equal(kn_memory_now(ctx), before);
    } while (status == KN_ERR_MEMORY);
    assert_int_equal(status, KN_OK);
    assert_true(k > 3);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_png)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pixel_comes_back_with_its_alpha),
        cmocka_unit_test(few_colours_take_few_bits),
        cmocka_unit_test(the_smaller_filter_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
