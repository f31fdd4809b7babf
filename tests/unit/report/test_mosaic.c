#include "support/volumes.h"

#include "report/pictures/internal.h"
#include "report/pictures/picture.h"

enum { TRIALS = 60 };

typedef struct drawn {
    kn_mosaic layout;
    kn_picture_tables tables;
} drawn;

static drawn draw(kn_ctx *ctx, const volume *v)
{
    drawn d = {0};
    assert_ok(ctx, kn_mosaic_layout(ctx, &v->space, v->T, &d.layout));
    assert_ok(ctx, kn_mosaic_build(ctx, &v->space, v->T, &d.tables));
    assert_int_equal(d.tables.whole.width, d.layout.width);
    assert_int_equal(d.tables.whole.height, d.layout.height);
    return d;
}

static ptrdiff_t response_at(const drawn *d, const kn_mosaic_tile *t, ptrdiff_t x, ptrdiff_t y)
{
    return d->tables.whole.response[(t->y + y) * d->tables.whole.width + t->x + x];
}

/* Of all pixels of a slice with a response: further right is never further left in the head,
 * further up never lower, and all are about where the slice is said to be. */
static void check_directions(const volume *v, const drawn *d, const kn_mosaic_tile *t, bool tilted)
{
    const kn_mosaic_plane *p = &kn_mosaic_plane_of[t->plane];
    double first[3], here[3];
    for (ptrdiff_t y = 0; y < t->height; y++) {
        ptrdiff_t from = 0;
        while (from < t->width && response_at(d, t, from, y) < 0)
            from++;
        for (ptrdiff_t x = from; x < t->width; x++) {
            if (response_at(d, t, x, y) < 0)
                continue;
            volume_mm(v, v->space.voxel[response_at(d, t, from, y)], first);
            volume_mm(v, v->space.voxel[response_at(d, t, x, y)], here);
            double right = here[p->across] - first[p->across];
            double pixels = (double)(x - from) * d->layout.pixel;
            assert_true(fabs(right - pixels) <= (tilted ? .3 : .001) * pixels + 3.5);
            assert_true(tilted || fabs(here[p->through] - t->mm) < 1e-6);
        }
    }
    for (ptrdiff_t x = 0; x < t->width; x++) {
        ptrdiff_t last = -1;
        for (ptrdiff_t y = t->height - 1; y >= 0; y--) {
            if (response_at(d, t, x, y) < 0)
                continue;
            volume_mm(v, v->space.voxel[response_at(d, t, x, y)], here);
            if (last >= 0) {
                volume_mm(v, v->space.voxel[response_at(d, t, x, last)], first);
                assert_true(here[p->up] >= first[p->up] - 1e-9);
            }
            last = y;
        }
    }
}

static void right_is_right_and_up_is_up_however_axes_are_stored(void **state)
{
    (void)state;
    unsigned seed = (unsigned)ref_seed(5);
    kn_ctx *ctx = kn_ctx_new();
    for (int trial = 0; trial < TRIALS; trial++) {
        bool tilted = trial % 3 == 2;
        volume v = volume_by_chance(&seed, 80, tilted);
        drawn d = draw(ctx, &v);
        for (int k = 0; k < d.layout.tiles; k++)
            check_directions(&v, &d, &d.layout.tile[k], tilted);
        kn_arena_clear(&d.tables.arena);
        volume_clear(&v);
    }
    kn_ctx_free(ctx);
}

/* What is at x = +10 mm or more is in the right half of its slice. */
static void a_lesion_on_the_right_is_drawn_on_the_right(void **state)
{
    (void)state;
    static const ptrdiff_t dim[3] = {31, 37, 25};
    static const int order[3] = {0, 1, 2};
    static const double size[3] = {2, 2, 2};
    kn_ctx *ctx = kn_ctx_new();
    for (int las = 0; las < 2; las++) {
        const bool turned[3] = {las == 1, false, false};
        unsigned seed = (unsigned)ref_seed(6);
        volume v = volume_of(dim, order, turned, size);
        volume_mask(&v, &seed, 100);
        drawn d = draw(ctx, &v);
        double mm[3];
        int found = 0;
        for (int k = 0; k < d.layout.tiles; k++) {
            const kn_mosaic_tile *t = &d.layout.tile[k];
            for (ptrdiff_t i = 0; t->plane != KN_SAGITTAL && i < t->width * t->height; i++) {
                ptrdiff_t response = response_at(&d, t, i % t->width, i / t->width);
                if (response < 0)
                    continue;
                volume_mm(&v, v.space.voxel[response], mm);
                if (mm[0] >= 10) {
                    assert_true(2 * (i % t->width) >= t->width);
                    found++;
                }
            }
        }
        assert_true(found > 100);
        assert_non_null(strstr(d.tables.words, "the left of the brain on the left"));
        kn_arena_clear(&d.tables.arena);
        volume_clear(&v);
    }
    kn_ctx_free(ctx);
}

static void every_response_of_a_chosen_slice_is_seen(void **state)
{
    (void)state;
    unsigned seed = (unsigned)ref_seed(7);
    kn_ctx *ctx = kn_ctx_new();
    for (int trial = 0; trial < TRIALS; trial++) {
        volume v = volume_by_chance(&seed, 1 + chance(&seed, 99), false);
        if (v.T <= 0) {
            volume_clear(&v);
            continue;
        }
        drawn d = draw(ctx, &v);
        bool *seen = malloc((size_t)v.T);
        double mm[3];
        for (int k = 0; k < d.layout.tiles; k++) {
            const kn_mosaic_tile *t = &d.layout.tile[k];
            for (ptrdiff_t j = 0; j < v.T; j++)
                seen[j] = false;
            for (ptrdiff_t i = 0; i < t->width * t->height; i++)
                if (response_at(&d, t, i % t->width, i / t->width) >= 0)
                    seen[response_at(&d, t, i % t->width, i / t->width)] = true;
            for (ptrdiff_t r = 0; r < v.T; r++) {
                volume_mm(&v, v.space.voxel[r], mm);
                bool here = fabs(mm[kn_mosaic_plane_of[t->plane].through] - t->mm) < 1e-6;
                assert_int_equal(seen[r], here);
            }
        }
        free(seen);
        kn_arena_clear(&d.tables.arena);
        volume_clear(&v);
    }
    kn_ctx_free(ctx);
}

static void slices_do_not_overlap_and_pixels_are_square(void **state)
{
    (void)state;
    unsigned seed = (unsigned)ref_seed(8);
    kn_ctx *ctx = kn_ctx_new();
    for (int trial = 0; trial < TRIALS; trial++) {
        volume v = volume_by_chance(&seed, 100, false);
        drawn d = draw(ctx, &v);
        const kn_mosaic *m = &d.layout;
        assert_true(m->width <= 1000 && m->height <= 1000);
        for (int k = 0; k < m->tiles; k++) {
            const kn_mosaic_tile *t = &m->tile[k];
            const kn_mosaic_plane *p = &kn_mosaic_plane_of[t->plane];
            double across =
                (double)(m->box.high[p->across] - m->box.low[p->across] + 1) * m->o.size[p->across];
            double up = (double)(m->box.high[p->up] - m->box.low[p->up] + 1) * m->o.size[p->up];
            assert_true(fabs((double)t->width * m->pixel - across) <= m->pixel / 2 + 1e-9);
            assert_true(fabs((double)t->height * m->pixel - up) <= m->pixel / 2 + 1e-9);
            assert_true(t->x >= 0 && t->y >= 0 && t->x + t->width <= m->width &&
                        t->y + t->height <= m->height);
            for (int j = 0; j < k; j++) {
                const kn_mosaic_tile *o = &m->tile[j];
                assert_true(o->x + o->width <= t->x || t->x + t->width <= o->x ||
                            o->y + o->height <= t->y || t->y + t->height <= o->y);
            }
        }
        kn_arena_clear(&d.tables.arena);
        volume_clear(&v);
    }
    kn_ctx_free(ctx);
}

/* One slice, a line, a point, and shapes that would make a picture without bounds. */
static void odd_shapes_have_a_picture_of_bounded_size(void **state)
{
    (void)state;
    static const ptrdiff_t DIM[][3] = {{1, 1, 1},    {20, 30, 1}, {20, 1, 30},   {1, 20, 30},
                                       {50, 1, 1},   {1, 1, 50},  {1, 50000, 1}, {40000, 1, 1},
                                       {3, 2000, 2}, {2, 2, 2}};
    static const int order[3] = {0, 1, 2};
    static const bool turned[3] = {false, false, false};
    kn_ctx *ctx = kn_ctx_new();
    for (size_t k = 0; k < sizeof DIM / sizeof *DIM; k++)
        for (int thin = 0; thin < 2; thin++) {
            const double size[3] = {1, thin ? .001 : 1, thin ? 300 : 1};
            volume v = volume_of(DIM[k], order, turned, size);
            for (v.T = 0; v.T < v.voxels; v.T++)
                v.space.voxel[v.T] = v.T;
            drawn d = draw(ctx, &v);
            assert_true(d.layout.tiles >= 1);
            assert_true(d.layout.width >= 1 && d.layout.width <= 1100 && d.layout.height <= 1100);
            assert_true(d.tables.thumb.width <= 200 && d.tables.thumb.height <= 200);
            kn_arena_clear(&d.tables.arena);
            volume_clear(&v);
        }
    kn_ctx_free(ctx);
}

static void a_single_slice_is_shown_as_what_it_is(void **state)
{
    (void)state;
    static const ptrdiff_t DIM[3][3] = {{20, 30, 1}, {20, 1, 30}, {1, 20, 30}};
    static const char *const NAME[3] = {"Axial slice at", "Coronal slice at", "Sagittal slice at"};
    static const int order[3] = {0, 1, 2};
    static const bool turned[3] = {false, false, false};
    static const double size[3] = {2, 2, 2};
    kn_ctx *ctx = kn_ctx_new();
    for (int k = 0; k < 3; k++) {
        unsigned seed = (unsigned)ref_seed(10);
        volume v = volume_of(DIM[k], order, turned, size);
        volume_mask(&v, &seed, 100);
        drawn d = draw(ctx, &v);
        assert_int_equal(d.layout.tiles, 1);
        assert_int_equal(d.layout.tile[0].plane, k);
        assert_memory_equal(d.tables.words, NAME[k], strlen(NAME[k]));
        kn_arena_clear(&d.tables.arena);
        volume_clear(&v);
    }
    kn_ctx_free(ctx);
}

static void an_affine_without_orientation_leaves_sides_unknown(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (int k = 0; k < 3; k++) {
        unsigned seed = (unsigned)ref_seed(11);
        volume v = volume_by_chance(&seed, 100, false);
        if (k == 0)
            memset(v.space.affine, 0, sizeof v.space.affine);
        else if (k == 1)
            v.space.affine[1][1] = NAN;
        else /* two axes in one direction */
            for (int i = 0; i < 3; i++)
                v.space.affine[i][1] = v.space.affine[i][0];
        drawn d = draw(ctx, &v);
        assert_non_null(strstr(d.tables.words, "which side is left is not known"));
        assert_null(strstr(d.tables.words, "left of the brain on the left"));
        kn_arena_clear(&d.tables.arena);
        volume_clear(&v);
    }
    kn_ctx_free(ctx);
}

TEST_PROGRAM(report_mosaic)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_is_right_and_up_is_up_however_axes_are_stored),
        cmocka_unit_test(a_lesion_on_the_right_is_drawn_on_the_right),
        cmocka_unit_test(every_response_of_a_chosen_slice_is_seen),
        cmocka_unit_test(slices_do_not_overlap_and_pixels_are_square),
        cmocka_unit_test(odd_shapes_have_a_picture_of_bounded_size),
        cmocka_unit_test(a_single_slice_is_shown_as_what_it_is),
        cmocka_unit_test(an_affine_without_orientation_leaves_sides_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
