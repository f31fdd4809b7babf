#include "support/failing.h"
#include "support/volumes.h"

#include "report/pictures/colormaps.h"
#include "report/pictures/internal.h"
#include "report/pictures/picture.h"

static const int ORDER[3] = {0, 1, 2};
static const bool TURNED[3] = {false, false, false};
static const double CUBE[3] = {2, 2, 2};

/* A single slice with a response at every voxel. */
static volume slice_of(ptrdiff_t width, ptrdiff_t height, ptrdiff_t deep)
{
    const ptrdiff_t dim[3] = {width, height, deep};
    volume v = volume_of(dim, ORDER, TURNED, CUBE);
    for (v.T = 0; v.T < v.voxels; v.T++)
        v.space.voxel[v.T] = v.T;
    return v;
}

static png_read take(kn_picture *p)
{
    png_read read = png_of(p->bytes, p->n);
    assert_int_equal(read.width, p->width);
    assert_int_equal(read.height, p->height);
    kn_picture_clear(p);
    return read;
}

/* Pixel in the middle of voxel (x, y), y from below, of a picture of one slice. */
static const unsigned char *at(const png_read *p, const kn_mosaic *m, ptrdiff_t x, ptrdiff_t y)
{
    const kn_mosaic_tile *t = &m->tile[0];
    ptrdiff_t nx = m->box.high[0] + 1, ny = m->box.high[1] + 1;
    ptrdiff_t u = (2 * x + 1) * t->width / (2 * nx);
    ptrdiff_t w = t->height - 1 - (2 * y + 1) * t->height / (2 * ny);
    return p->rgba + 4 * ((t->y + w) * p->width + t->x + u);
}

/* alpha = min(1, |z| / 3)^2 in steps of a quarter, nothing for what is missing or faint; blue below
 * 0. */
static void z_has_the_colour_that_is_promised(void **state)
{
    (void)state;
    enum { N = 40 };
    kn_ctx *ctx = kn_ctx_new();
    volume v = slice_of(N, 2, 1);
    int8_t z[2 * N];
    kn_pictures *pictures;
    kn_picture picture;
    kn_mosaic m;
    for (int i = 0; i < 2 * N; i++) /* -9.0 .. 9.0, one row below 0, one above */
        z[i] = (int8_t)((i < N ? -1 : 1) * (i % N) * 90 / (N - 1));
    z[5] = KN_REPORT_NO_Z;
    assert_ok(ctx, kn_mosaic_layout(ctx, &v.space, v.T, &m));
    assert_ok(ctx, kn_pictures_new(ctx, &v.space, v.T, &pictures));
    assert_ok(ctx, kn_pictures_z(ctx, pictures, z, &picture));
    png_read p = take(&picture);
    for (int i = 0; i < 2 * N; i++) {
        const unsigned char *c = at(&p, &m, i % N, i / N);
        double shown = fmin(round(abs(z[i]) / 2.5) / 4, KN_PICTURE_ZMAX);
        double alpha = shown < KN_ZFAINT || i == 5 ? 0 : fmin(1, shown * shown / 9);
        assert_true(fabs(c[3] - 255 * alpha) <= .5 + 1e-9);
        if (alpha > 0)
            assert_true(i < N ? c[2] > c[0] + 50 : c[0] > c[2] + 50);
    }
    assert_true(at(&p, &m, N - 1, 0)[1] > at(&p, &m, N / 2, 0)[1]); /* lighter when stronger */
    free(p.rgba);
    kn_pictures_free(pictures);
    volume_clear(&v);
    kn_ctx_free(ctx);
}

static void values_run_from_nothing_to_the_lightest(void **state)
{
    (void)state;
    enum { N = 50 };
    kn_ctx *ctx = kn_ctx_new();
    volume v = slice_of(N, 2, 1);
    double value[2 * N];
    kn_pictures *pictures;
    kn_picture picture;
    kn_mosaic m;
    for (int i = 0; i < 2 * N; i++)
        value[i] = i < N ? .1 + .4 * i / (N - 1) : NAN;
    value[N + 1] = -5;
    value[N + 2] = 7;
    assert_ok(ctx, kn_mosaic_layout(ctx, &v.space, v.T, &m));
    assert_ok(ctx, kn_pictures_new(ctx, &v.space, v.T, &pictures));
    assert_ok(ctx, kn_pictures_values(ctx, pictures, value, .1, .5, &picture));
    png_read p = take(&picture);
    assert_int_equal(at(&p, &m, 0, 0)[3], 0); /* low itself is nothing */
    assert_int_equal(at(&p, &m, 0, 1)[3], 0); /* not known */
    assert_int_equal(at(&p, &m, 1, 1)[3], 0);
    assert_memory_equal(at(&p, &m, 2, 1), at(&p, &m, N - 1, 0), 4);
    for (int i = 1; i < N; i++) {
        const unsigned char *a = at(&p, &m, i - 1, 0), *b = at(&p, &m, i, 0);
        assert_true(b[3] >= a[3]);
        assert_true(b[3] == 255 || i < N / 3);
    }
    free(p.rgba);
    kn_pictures_free(pictures);
    volume_clear(&v);
    kn_ctx_free(ctx);
}

/* CIE L* of a colour. */
static double lightness(kn_png_colour c)
{
    const double channel[3] = {c.red / 255., c.green / 255., c.blue / 255.};
    static const double weight[3] = {.2126, .7152, .0722};
    double Y = 0;
    for (int i = 0; i < 3; i++)
        Y += weight[i] *
             (channel[i] <= .04045 ? channel[i] / 12.92 : pow((channel[i] + .055) / 1.055, 2.4));
    return Y > .008856 ? 116 * cbrt(Y) - 16 : 903.3 * Y;
}

/* Without any colour vision the order of values is still seen, and no step is lost or doubled. */
static void colours_become_lighter_by_even_steps(void **state)
{
    (void)state;
    const int middle = KN_ZLEVELS / 2;
    double range = lightness(kn_vcolour(KN_VLEVELS - 1)) - lightness(kn_vcolour(0));
    assert_true(range > 60);
    for (int k = 1; k < KN_VLEVELS; k++) {
        double step = lightness(kn_vcolour(k)) - lightness(kn_vcolour(k - 1));
        assert_true(step > .5 * range / (KN_VLEVELS - 1) && step < 1.7 * range / (KN_VLEVELS - 1));
    }
    for (int k = 1; k <= middle; k++) {
        double below = lightness(kn_zcolour(middle - k)), above = lightness(kn_zcolour(middle + k));
        assert_true(fabs(below - above) < 5); /* the two arms are equally strong */
        assert_true(k < 2 || below > lightness(kn_zcolour(middle - k + 1)));
        assert_true(k < 2 || above > lightness(kn_zcolour(middle + k - 1)));
    }
}

/* Two responses one above the other: the thumbnail shows the one that is further from 0. */
static void a_thumbnail_shows_the_largest_of_a_column(void **state)
{
    (void)state;
    enum { N = 10, DEEP = 9 };
    kn_ctx *ctx = kn_ctx_new();
    volume v = slice_of(N, N, DEEP);
    int8_t z[N * N * DEEP] = {0};
    kn_pictures *pictures;
    kn_picture picture;
    z[3 * N * N + 2] = -60; /* the back: the bottom of the picture */
    z[6 * N * N + 2] = 45;
    z[7 * N * N + N * N - 1] = 60; /* front, right */
    assert_ok(ctx, kn_pictures_new(ctx, &v.space, v.T, &pictures));
    assert_ok(ctx, kn_pictures_thumb(ctx, pictures, z, &picture));
    png_read p = take(&picture);
    int blue = 0, orange = 0;
    for (int i = 0; i < p.width * p.height; i++) {
        const unsigned char *c = p.rgba + 4 * i;
        assert_int_equal(c[3], 255);
        if (c[2] > c[0] + 20) {
            assert_true(i / p.width >= p.height * 9 / 10); /* the bottom */
            assert_int_equal(i % p.width * N / p.width, 2);
            blue++;
        } else if (c[0] > c[2] + 20) {
            assert_true(i / p.width < p.height / N && i % p.width >= p.width * 9 / 10);
            orange++;
        }
    }
    assert_int_equal(blue, p.width * p.height / (N * N));
    assert_int_equal(orange, blue);
    free(p.rgba);
    kn_pictures_free(pictures);
    volume_clear(&v);
    kn_ctx_free(ctx);
}

static void the_ground_is_there_where_the_background_is(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    volume v = slice_of(20, 20, 1);
    kn_pictures *pictures;
    kn_picture picture;
    kn_mosaic m;
    for (int i = 0; i < 400; i++)
        v.ground[i] = (uint8_t)(i % 20 * 13);
    v.space.background = v.ground;
    v.space.voxel[0] = 0;
    v.space.voxel[1] = 399; /* the box is all of it, responses are at two corners */
    v.T = 2;
    assert_ok(ctx, kn_mosaic_layout(ctx, &v.space, v.T, &m));
    assert_ok(ctx, kn_pictures_new(ctx, &v.space, v.T, &pictures));
    assert_ok(ctx, kn_pictures_background(ctx, pictures, &picture));
    png_read p = take(&picture);
    assert_int_equal(at(&p, &m, 0, 5)[3], 0);   /* nothing there */
    assert_int_equal(at(&p, &m, 0, 0)[3], 255); /* a response on black */
    for (int x = 2; x < 20; x++)
        assert_true(at(&p, &m, x, 5)[0] > at(&p, &m, x - 1, 5)[0]);
    free(p.rgba);
    kn_pictures_free(pictures);
    volume_clear(&v);
    kn_ctx_free(ctx);
}

static void a_table_has_no_picture(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_report_space space = {.kind = KN_REPORT_TABLE_SPACE};
    kn_pictures *pictures;
    assert_ok(ctx, kn_pictures_new(ctx, &space, 10, &pictures));
    assert_null(pictures);
    kn_ctx_free(ctx);
}

static kn_status all_pictures(kn_ctx *ctx, const volume *v, const int8_t *z)
{
    kn_pictures *pictures = NULL;
    kn_picture ground = {0}, map = {0}, thumb = {0}, bar = {0};
    kn_status status;
    KN_TRY(kn_pictures_new(ctx, &v->space, v->T, &pictures));
    KN_TRY(kn_pictures_background(ctx, pictures, &ground));
    KN_TRY(kn_pictures_z(ctx, pictures, z, &map));
    KN_TRY(kn_pictures_thumb(ctx, pictures, z, &thumb));
    KN_TRY(kn_pictures_bar(ctx, true, &bar));
out:
    kn_picture_clear(&ground);
    kn_picture_clear(&map);
    kn_picture_clear(&thumb);
    kn_picture_clear(&bar);
    kn_pictures_free(pictures);
    return status;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(report_picture, NULL, NULL)
{
    kn_ctx *ctx = kn_ctx_new();
    unsigned seed = (unsigned)ref_seed(12);
    volume v = volume_by_chance(&seed, 70, false);
    int8_t *z = calloc((size_t)v.T, 1);
    size_t before = kn_memory_now(ctx);
    kn_status status;
    long k = 0;
    do {
        kn_fail_allocation(ctx, ++k);
        status = all_pictures(ctx, &v, z);
        kn_fail_allocation(ctx, 0);
        assert_int_equal(kn_memory_now(ctx), before);
    } while (status == KN_ERR_MEMORY);
    assert_int_equal(status, KN_OK);
    assert_true(k > 20);
    free(z);
    volume_clear(&v);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(report_picture)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(z_has_the_colour_that_is_promised),
        cmocka_unit_test(values_run_from_nothing_to_the_lightest),
        cmocka_unit_test(colours_become_lighter_by_even_steps),
        cmocka_unit_test(a_thumbnail_shows_the_largest_of_a_column),
        cmocka_unit_test(the_ground_is_there_where_the_background_is),
        cmocka_unit_test(a_table_has_no_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
