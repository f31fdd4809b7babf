/* Clusters of the page, against a flood. */
#include "support/test.h"

#include "base/random.h"
#include "report/compute/internal.h"

static kn_ctx *ctx;
static kn_rng rng;

enum { SIDE = 7, VOXELS = SIDE * SIDE * SIDE };

static bool near(ptrdiff_t a, ptrdiff_t b)
{
    return labs(a % SIDE - b % SIDE) <= 1 && labs(a / SIDE % SIDE - b / SIDE % SIDE) <= 1 &&
           labs(a / SIDE / SIDE - b / SIDE / SIDE) <= 1;
}

/* Everything that a flood from t reaches: its size, and marks it. */
static ptrdiff_t flood(const float *z, ptrdiff_t T, const bool *edge, bool *seen, ptrdiff_t t)
{
    ptrdiff_t size = 1;
    seen[t] = true;
    for (ptrdiff_t s = 0; s < T; s++)
        if (!seen[s] && edge[t * T + s] && fabsf(z[s]) > 3 && (z[s] > 0) == (z[t] > 0))
            size += flood(z, T, edge, seen, s);
    return size;
}

/* Sizes agree, and each peak is in a cluster of its size. */
static void compare(kn_clusters *c, const float *z, ptrdiff_t T, const bool *edge)
{
    kn_report_cluster found[VOXELS];
    kn_cluster_list list = {.cluster = found, .limit = VOXELS};
    static bool seen[VOXELS];
    ptrdiff_t n = 0;
    memset(seen, 0, sizeof seen);
    assert_ok(ctx, kn_clusters_find(ctx, c, z, 3, &list));
    for (ptrdiff_t k = 0; k < list.n; k++) {
        assert_false(seen[found[k].peak]);
        assert_int_equal(flood(z, T, edge, seen, found[k].peak), found[k].size);
        assert_true(k == 0 || found[k].size <= found[k - 1].size);
        assert_close(found[k].z, z[found[k].peak], 0);
        n++;
    }
    for (ptrdiff_t t = 0; t < T; t++)
        assert_int_equal(seen[t], fabsf(z[t]) > 3);
    assert_int_equal(n, list.found);
}

static void clusters_of_volumes_are_those_of_a_flood(void **state)
{
    (void)state;
    static bool edge[VOXELS * VOXELS];
    for (int round = 0; round < repeat(30, 5); round++) {
        ptrdiff_t voxel[VOXELS], T = 0;
        float z[VOXELS];
        kn_clusters *c;
        for (ptrdiff_t v = 0; v < VOXELS; v++)
            if (kn_rng_uniform(&rng) < .8) {
                voxel[T] = v;
                z[T++] = (float)(kn_rng_uniform(&rng) < .05 ? NAN : 2.2 * kn_rng_normal(&rng));
            }
        for (ptrdiff_t s = 0; s < T; s++)
            for (ptrdiff_t t = 0; t < T; t++)
                edge[s * T + t] = near(voxel[s], voxel[t]);
        kn_report_space space = {.kind = KN_REPORT_VOLUME,
                                 .dim = {SIDE, SIDE, SIDE},
                                 .affine = {{-2, 0, 0, 90}, {0, 3, 0, -5}, {0, 0, 2, 1}},
                                 .voxel = voxel};
        assert_ok(ctx, kn_clusters_new(ctx, &space, T, &c));
        compare(c, z, T, edge);
        kn_report_cluster one;
        kn_cluster_list list = {.cluster = &one, .limit = 1};
        assert_ok(ctx, kn_clusters_find(ctx, c, z, 3, &list));
        ptrdiff_t v = voxel[one.peak];
        assert_close(one.mm[0], 90 - 2.0 * (double)(v % SIDE), 1e-12);
        assert_close(one.mm[1], 3.0 * (double)(v / SIDE % SIDE) - 5, 1e-12);
        assert_close(one.ml, 12e-3 * (double)one.size, 1e-12);
        kn_clusters_free(c);
    }
}

/* A strip of triangles with its vertices shuffled, and some without a response. */
static void clusters_of_meshes_follow_edges(void **state)
{
    (void)state;
    enum { V = 60 };
    static bool edge[V * V];
    for (int round = 0; round < repeat(30, 5); round++) {
        double xyz[3 * V];
        ptrdiff_t corner[3 * (V - 2)], place[V], response[V], T = 0;
        float z[V];
        kn_clusters *c;
        for (ptrdiff_t v = 0; v < V; v++) {
            place[v] = v;
            xyz[3 * v] = (double)v, xyz[3 * v + 1] = -1, xyz[3 * v + 2] = 2;
        }
        for (ptrdiff_t v = V - 1; v > 0; v--) {
            ptrdiff_t w = (ptrdiff_t)(kn_rng_uniform(&rng) * (double)(v + 1)), keep = place[v];
            place[v] = place[w], place[w] = keep;
        }
        for (ptrdiff_t v = 0; v < V; v++) {
            response[v] = kn_rng_uniform(&rng) < .9 ? T++ : -1;
            if (response[v] >= 0)
                z[response[v]] = (float)(4 * kn_rng_normal(&rng));
        }
        memset(edge, 0, sizeof edge);
        for (ptrdiff_t i = 0; i < V - 2; i++)
            for (int a = 0; a < 3; a++) {
                corner[3 * i + a] = place[i + a];
                for (int b = 0; b < 3; b++) {
                    ptrdiff_t s = response[place[i + a]], t = response[place[i + b]];
                    if (s >= 0 && t >= 0)
                        edge[s * T + t] = true;
                }
            }
        kn_report_space space = {.kind = KN_REPORT_SURFACE,
                                 .meshes = 1,
                                 .mesh = {
                                     {.surface = {V, V - 2, xyz, corner}, .response = response}}};
        assert_ok(ctx, kn_clusters_new(ctx, &space, T, &c));
        compare(c, z, T, edge);
        kn_clusters_free(c);
        for (ptrdiff_t v = 0; v < V; v++) /* two vertices each: regions, which have no neighbours */
            response[v] = v / 2;
        assert_ok(ctx, kn_clusters_new(ctx, &space, V / 2, &c));
        assert_null(c);
    }
}

static void tables_have_no_clusters(void **state)
{
    (void)state;
    kn_clusters *c;
    ptrdiff_t voxel[] = {0, 1, 2};
    kn_report_space table = {0},
                    line = {.kind = KN_REPORT_VOLUME, .dim = {3, 1, 1}, .voxel = voxel};
    assert_ok(ctx, kn_clusters_new(ctx, &table, 3, &c));
    assert_null(c);
    assert_ok(ctx, kn_clusters_new(ctx, &line, 3, &c));
    assert_null(c);
}

TEST_PROGRAM(report_clusters)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_of_volumes_are_those_of_a_flood),
        cmocka_unit_test(clusters_of_meshes_follow_edges),
        cmocka_unit_test(tables_have_no_clusters),
    };
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 11, 0);
    int failed = cmocka_run_group_tests_name("report_clusters", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
