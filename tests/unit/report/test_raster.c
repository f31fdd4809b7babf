#include "report/pictures/internal.h"

#include "support/failing.h"
#include "support/test.h"

/* ---- meshes
 * -------------------------------------------------------------------------------------- */

enum { MAX_COUNT = 4000 };

typedef struct mesh {
    kn_surface s;
    double xyz[3 * MAX_COUNT];
    ptrdiff_t corner[6 * MAX_COUNT];
} mesh;

static mesh made; /* large: not on the stack */

static void vertex(double x, double y, double z)
{
    double *p = made.xyz + 3 * made.s.vertices++;
    p[0] = x;
    p[1] = y;
    p[2] = z;
}

static void triangle(ptrdiff_t a, ptrdiff_t b, ptrdiff_t c)
{
    ptrdiff_t *t = made.corner + 3 * made.s.triangles++;
    t[0] = a;
    t[1] = b;
    t[2] = c;
}

static void begin(void)
{
    made.s = (kn_surface){.xyz = made.xyz, .corner = made.corner};
}

static void sphere(double x, double y, double z, int n)
{
    begin();
    for (int i = 0; i <= n; i++)
        for (int j = 0; j < 2 * n; j++) {
            const double a = 3.14159265358979 * i / n,
                         b = 3.14159265358979 * (j + 0.5 * (i % 2)) / n;
            vertex(x + 40 * sin(a) * cos(b), y + 40 * sin(a) * sin(b), z + 40 * cos(a));
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2 * n; j++) { /* at the poles triangles have no area */
            const int a = 2 * n * i, next = (j + 1) % (2 * n);
            triangle(a + j, a + 2 * n + j, a + next);
            triangle(a + next, a + 2 * n + j, a + 2 * n + next);
        }
}

static uint32_t seed;
static double uniform(void)
{
    seed = seed * 1664525U + 1013904223U;
    return (double)(seed >> 8) / (double)(1 << 24);
}

/* Triangles anywhere, through each other, some of them points and lines. */
static void thicket(void)
{
    begin();
    seed = (uint32_t)ref_seed(5);
    for (int i = 0; i < 120; i++)
        vertex(80 * uniform() - 40, 80 * uniform() - 40, 80 * uniform() - 40);
    for (int i = 0; i < 90; i++)
        triangle((ptrdiff_t)(120 * uniform()), (ptrdiff_t)(120 * uniform()),
                 (ptrdiff_t)(120 * uniform()));
    triangle(3, 3, 7);
    triangle(5, 5, 5);
}

/* ---- the slow way: a ray through the middle of a pixel, against every triangle (Moeller,
 * Trumbore) ---- */

static void minus(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = a[i] - b[i];
}

static void cross(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

typedef struct hit {
    double distance, weight[3];
    bool near_edge; /* rounding may decide */
    ptrdiff_t triangle;
} hit;

static hit cast(const kn_surface *s, const kn_raster_frame *f, ptrdiff_t i, ptrdiff_t j)
{
    const double across = ((double)i + 0.5 - (double)f->width / 2) / f->scale;
    const double origin[3] = {f->from_left ? -1000 : 1000, f->y + (f->from_left ? -across : across),
                              f->z - ((double)j + 0.5 - (double)f->height / 2) / f->scale};
    const double direction[3] = {f->from_left ? 1 : -1, 0, 0};
    hit best = {.distance = INFINITY, .triangle = -1};
    for (ptrdiff_t k = 0; k < s->triangles; k++) {
        const double *a = s->xyz + 3 * s->corner[3 * k];
        double e1[3], e2[3], p[3], q[3], r[3];
        minus(s->xyz + 3 * s->corner[3 * k + 1], a, e1);
        minus(s->xyz + 3 * s->corner[3 * k + 2], a, e2);
        cross(direction, e2, p);
        const double det = dot(e1, p);
        if (fabs(det) < 1e-9)
            continue;
        minus(origin, a, r);
        cross(r, e1, q);
        const double u = dot(r, p) / det, v = dot(direction, q) / det, w = 1 - u - v;
        const double lowest = fmin(u, fmin(v, w)), distance = dot(e2, q) / det;
        best.near_edge = best.near_edge || fabs(lowest) < 1e-9;
        if (lowest < 0 || distance >= best.distance)
            continue;
        best = (hit){distance, {w, u, v}, best.near_edge, k};
    }
    return best;
}

/* Random triangles may have the same corners (1.4 % of seeds); either of them may be drawn. */
static bool same_corners(const kn_surface *s, ptrdiff_t a, ptrdiff_t b)
{
    const ptrdiff_t *p = s->corner + 3 * a, *q = s->corner + 3 * b;
    bool same = true;
    for (int c = 0; c < 3; c++)
        same = same && (p[c] == q[0] || p[c] == q[1] || p[c] == q[2]);
    return same;
}

static void compare(bool from_left)
{
    const kn_raster_frame f = {
        .from_left = from_left, .y = 3.3, .z = -1.7, .scale = 0.61, .width = 70, .height = 61};
    static kn_raster_pixel pixel[70 * 61];
    ptrdiff_t seen = 0, unsure = 0;
    kn_raster_view(&made.s, &f, pixel);
    for (ptrdiff_t j = 0; j < f.height; j++)
        for (ptrdiff_t i = 0; i < f.width; i++) {
            const kn_raster_pixel *p = &pixel[j * f.width + i];
            const hit h = cast(&made.s, &f, i, j);
            if (h.near_edge) {
                unsure++;
                continue;
            }
            assert_int_equal(p->vertex >= 0, h.triangle >= 0);
            if (h.triangle < 0)
                continue;
            seen++;
            assert_close(p->depth + 1000, h.distance, 1e-9);
            int nearest = 0;
            for (int c = 1; c < 3; c++)
                nearest = h.weight[c] > h.weight[nearest] ? c : nearest;
            if (p->triangle == h.triangle) { /* else two cross within rounding, at the same depth */
                assert_int_equal(p->vertex, made.s.corner[3 * h.triangle + nearest]);
                for (int c = 0; c < 3; c++)
                    assert_close(p->weight[c], h.weight[c], 1e-6);
            } else if (!same_corners(&made.s, p->triangle, h.triangle)) {
                unsure++;
            }
        }
    assert_true(seen > 500);
    assert_true(unsure < 20);
}

static void pixels_are_what_a_ray_meets(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        sphere(0, 4, -3, 24);
        compare(side == 0);
        thicket();
        compare(side == 0);
    }
}

static void what_is_outside_the_picture_is_left_out(void **state)
{
    (void)state;
    static kn_raster_pixel pixel[12 * 9];
    const kn_raster_frame far = {.y = 1e6, .z = 1e12, .scale = 3, .width = 12, .height = 9};
    const kn_raster_frame close = {.scale = 100, .width = 12, .height = 9};
    sphere(0, 0, 0, 24);
    kn_raster_view(&made.s, &far, pixel);
    for (int i = 0; i < 12 * 9; i++)
        assert_int_equal(pixel[i].vertex, -1);
    kn_raster_view(&made.s, &close, pixel);
    for (int i = 0; i < 12 * 9; i++)
        assert_true(pixel[i].vertex >= 0 && made.xyz[3 * pixel[i].vertex] > 0);
    begin(); /* nothing at all */
    kn_raster_view(&made.s, &close, pixel);
    assert_int_equal(pixel[0].vertex, -1);
}

static void normals_point_outwards_however_triangles_turn(void **state)
{
    (void)state;
    static double normal[3 * MAX_COUNT];
    for (int turned = 0; turned < 2; turned++) {
        sphere(30, -20, 10, 16);
        for (ptrdiff_t k = 0; turned && k < made.s.triangles; k++) {
            const ptrdiff_t b = made.corner[3 * k + 1];
            made.corner[3 * k + 1] = made.corner[3 * k + 2];
            made.corner[3 * k + 2] = b;
        }
        kn_raster_normals(&made.s, normal);
        for (ptrdiff_t v = 2 * 16; v < made.s.vertices - 2 * 16;
             v++) /* of the poles many are of no area */
            assert_true(normal[3 * v] * (made.xyz[3 * v] - 30) +
                            normal[3 * v + 1] * (made.xyz[3 * v + 1] + 20) +
                            normal[3 * v + 2] * (made.xyz[3 * v + 2] - 10) >
                        0.95 * 40);
    }
}

/* A sphere with a furrow around its middle. */
static void folds_are_where_the_surface_bends_in(void **state)
{
    (void)state;
    static double normal[3 * MAX_COUNT], fold[MAX_COUNT];
    static float sulc[MAX_COUNT];
    kn_ctx *ctx = kn_ctx_new();
    for (int given = 0; given < 3; given++) { /* not at all, FreeSurfer's sign, the other */
        sphere(0, 0, 0, 24);
        for (ptrdiff_t v = 0; v < made.s.vertices; v++) {
            double *p = made.xyz + 3 * v;
            const double in = exp(-p[2] * p[2] / 40), factor = 1 - 0.25 * in;
            for (int i = 0; i < 2; i++)
                p[i] *= factor;
            sulc[v] = (float)(given == 2 ? -in : in);
        }
        kn_raster_normals(&made.s, normal);
        assert_ok(ctx, kn_raster_folds(ctx, &made.s, normal, given > 0 ? sulc : NULL, fold));
        for (ptrdiff_t v = 0; v < made.s.vertices; v++) {
            assert_true(fabs(fold[v]) <= 1);
            if (fabs(made.xyz[3 * v + 2]) < 3)
                assert_true(fold[v] > 0.5);
        }
        assert_true(fold[2 * 24 * 4] < fold[2 * 24 * 12]);
    }
    kn_ctx_free(ctx);
}

/* ---- the picture
 * --------------------------------------------------------------------------------- */

static kn_report_space two(mesh *left, mesh *right, ptrdiff_t *response)
{
    kn_report_space space = {.kind = KN_REPORT_SURFACE, .meshes = 2};
    sphere(-45, 0, 0, 24);
    *left = made;
    sphere(45, 0, 0, 24);
    *right = made;
    left->s.xyz = left->xyz;
    left->s.corner = left->corner;
    right->s.xyz = right->xyz;
    right->s.corner = right->corner;
    for (ptrdiff_t v = 0; v < 2 * left->s.vertices; v++)
        response[v] = v;
    space.mesh[0] = (kn_report_mesh){.side = 0, .surface = left->s, .response = response};
    space.mesh[1] =
        (kn_report_mesh){.side = 1, .surface = right->s, .response = response + left->s.vertices};
    return space;
}

/* The mean of a coordinate over the responses that are seen in a quarter of the picture, or in a
 * half of that quarter. */
static double mean_of(const kn_picture_table *t, const kn_report_space *space, const int quarter[2],
                      int coordinate, int half)
{
    const ptrdiff_t w = t->width / 2, h = t->height / 2, n = space->mesh[0].surface.vertices;
    double sum = 0;
    ptrdiff_t count = 0;
    for (ptrdiff_t j = 0; j < h; j++)
        for (ptrdiff_t i = half == 1 ? w / 2 : 0; i < (half == 0 ? w / 2 : w); i++) {
            const ptrdiff_t r = t->response[(quarter[1] * h + j) * t->width + quarter[0] * w + i];
            if (r < 0)
                continue;
            sum += space->mesh[r >= n].surface.xyz[3 * (r % n) + coordinate];
            count++;
        }
    assert_true(count > 100);
    return sum / (double)count;
}

static void sides_are_sides(void **state)
{
    (void)state;
    static mesh left, right;
    static ptrdiff_t response[2 * MAX_COUNT];
    const kn_report_space space = two(&left, &right, response);
    const ptrdiff_t T = 2 * left.s.vertices;
    kn_ctx *ctx = kn_ctx_new();
    kn_picture_tables out = {0};
    assert_ok(ctx, kn_raster_build(ctx, &space, T, &out));
    const kn_picture_table *tables[2] = {&out.whole, &out.thumb};
    for (int k = 0; k < 2; k++)
        for (int column = 0; column < 2; column++)
            for (int row = 0; row < 2; row++) {
                const int quarter[2] = {column, row};
                const double centre =
                    column == 0 ? -45 : 45; /* the left hemisphere is on the left */
                const double x = mean_of(tables[k], &space, quarter, 0, -1);
                const bool from_left = (column == 0) == (row == 0); /* outer views above */
                assert_true(from_left ? x < centre - 15 : x > centre + 15);
                const double front = mean_of(tables[k], &space, quarter, 1, from_left ? 0 : 1);
                assert_true(front > 10); /* the nose: on the left where the eye is on the left */
            }
    for (ptrdiff_t i = 0; i < out.whole.width * out.whole.height; i++)
        assert_true(out.whole.response[i] < 0 || out.whole.background[i] > 0);
    assert_non_null(strstr(out.words, "left hemisphere on the left"));
    kn_arena_clear(&out.arena);
    kn_ctx_free(ctx);
}

static void one_mesh_has_two_views_and_gaps_stay(void **state)
{
    (void)state;
    static mesh left, right;
    static ptrdiff_t response[2 * MAX_COUNT];
    kn_report_space space = two(&left, &right, response);
    kn_ctx *ctx = kn_ctx_new();
    kn_picture_tables out = {0};
    space.meshes = 1;
    space.mesh[0] = space.mesh[1];
    for (ptrdiff_t v = 0; v < right.s.vertices; v++)
        space.mesh[0].response[v] =
            right.xyz[3 * v + 2] > 0 ? -1 : 1000000; /* none; not one of the T */
    assert_ok(ctx, kn_raster_build(ctx, &space, 10, &out));
    assert_true(out.whole.width > out.whole.height);
    ptrdiff_t drawn = 0;
    for (ptrdiff_t i = 0; i < out.whole.width * out.whole.height; i++) {
        assert_int_equal(out.whole.response[i], -1);
        drawn += out.whole.background[i] > 0;
    }
    assert_true(drawn > out.whole.width * out.whole.height / 2);
    kn_arena_clear(&out.arena);
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(report_raster, NULL, NULL)
{
    static mesh left, right;
    static ptrdiff_t response[2 * MAX_COUNT];
    const kn_report_space space = two(&left, &right, response);
    kn_status status = KN_ERR_MEMORY;
    for (long k = 1; status != KN_OK && k < 100; k++) {
        kn_ctx *ctx = kn_ctx_new();
        kn_picture_tables out = {0};
        kn_fail_allocation(ctx, k);
        status = kn_raster_build(ctx, &space, 10, &out);
        assert_true(status == KN_OK || status == KN_ERR_MEMORY);
        kn_arena_clear(&out.arena);
        kn_ctx_free(ctx);
    }
    assert_int_equal(status, KN_OK);
}

TEST_PROGRAM(report_raster)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_what_a_ray_meets),
        cmocka_unit_test(what_is_outside_the_picture_is_left_out),
        cmocka_unit_test(normals_point_outwards_however_triangles_turn),
        cmocka_unit_test(folds_are_where_the_surface_bends_in),
        cmocka_unit_test(sides_are_sides),
        cmocka_unit_test(one_mesh_has_two_views_and_gaps_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
