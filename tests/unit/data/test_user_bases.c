/* Bases of the user's own: principal axes inside a span, and harmonics of surfaces. */
#include "support/covs.h"
#include "support/failing.h"
#include "support/test.h"
#include "support/views.h"

#include "base/random.h"
#include "commands/fit/basis_source.h"
#include "data/basis/surface_harmonics.h"
#include "data/scaling.h"
#include "gp/basis/user_span.h"
#include "gp/cv/cv.h"
#include "gp/methods/methods.h"

static kn_ctx *ctx;
static kn_rng rng;

enum { N = 24, T = 15, Q = 4, F = 2, FOLDS = 3 };

/* ---- axes ---------------------------------------------------------------------------------------
 */

typedef struct problem {
    kn_mat X, Y, B; /* B: orthonormal, T x Q: every fourth response */
} problem;

static problem make(void)
{
    problem p = {ref_normal(&rng, N, F), ref_normal(&rng, N, T), ref_new(T, Q)};
    for (ptrdiff_t j = 0; j < T; j++) {
        kn_col(p.B, j % Q)[j] = 1 / sqrt((double)((T + Q - 1 - j % Q) / Q));
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(p.Y, j)[i] += kn_at(p.X, i, 0) * (1 + (double)(j % Q));
    }
    for (ptrdiff_t j = 0; j < T; j++) {
        double mean = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            mean += kn_at(p.Y, i, j) / N;
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(p.Y, j)[i] -= mean;
    }
    return p;
}

static void unmake(problem p)
{
    free(p.X.data), free(p.Y.data), free(p.B.data);
}

static void fit(kn_mat X, const kn_responses *Y, kn_view B, ptrdiff_t P, bool given, kn_gp *gp)
{
    kn_gp_options o = {.components = P, .basis = B, .axes_given = given};
    o.search = (kn_search_options){.rho = 0.4, .length = 1.3, .seed = 1};
    kn_fit_info info = {0};
    kn_fit_problem all = {.X = X,
                          .Y = *Y,
                          .spec = {.sample = cov_of("linear+se", F)},
                          .options = &o};
    assert_ok(ctx, kn_method_smtgpr.fit(ctx, &all, gp, &info));
    kn_fit_problem_clear(&all);
    assert_int_equal(info.basis_columns, Q);
}

/* All columns: another basis of the same span, along which the samples do not covary. */
static void axes_span_what_the_columns_did(void **state)
{
    (void)state;
    problem p = make();
    kn_scaling s;
    kn_basis b;
    kn_mat span;
    assert_ok(ctx, kn_scaling_new(ctx, view(p.Y), false, &s));
    kn_responses Y = kn_responses_of(view(p.Y), &s);
    for (ptrdiff_t P = 1; P <= Q; P++) {
        assert_ok(ctx, kn_basis_given(ctx, &Y, view(p.B), &b));
        assert_ok(ctx, kn_user_span_axes(ctx, &b, P, &span));
        assert_int_equal(b.B.cols, P);
        assert_int_equal(span.data != NULL, P < Q);
        for (ptrdiff_t j = 0; j < T; j++)
            for (ptrdiff_t k = 0; P == Q && k < T; k++) {
                double before = 0, after = 0;
                for (ptrdiff_t q = 0; q < Q; q++) {
                    before += kn_at(p.B, j, q) * kn_at(p.B, k, q);
                    after += kn_at(b.B, j, q) * kn_at(b.B, k, q);
                }
                assert_close(after, before, 1e-13);
            }
        for (ptrdiff_t k = 0; k < P; k++)
            for (ptrdiff_t l = 0; l < P; l++) {
                double both = 0, first = kn_sumsq(kn_cols(b.Z, 0, 1));
                for (ptrdiff_t i = 0; i < N; i++)
                    both += kn_at(b.Z, i, k) * kn_at(b.Z, i, l);
                if (k != l)
                    assert_true(fabs(both) < 1e-12 * first);
                else if (k > 0)
                    assert_true(both <= kn_sumsq(kn_cols(b.Z, k - 1, 1)));
            }
        assert_close(b.E + kn_sumsq(b.Z), b.total, 1e-12);
        kn_mat_clear(&span);
        kn_basis_clear(&b);
    }
    kn_scaling_clear(&s);
    unmake(p);
}

/* A fold's maps are those of a fit of its training rows, axes and all. */
static void folds_find_axes_of_their_own(void **state)
{
    (void)state;
    problem p = make();
    kn_scaling s;
    int fold[N];
    kn_mat mean = ref_new(N, T), var = ref_new(N, T), m = ref_new(N, T), v = ref_new(N, T);
    for (int i = 0; i < N; i++)
        fold[i] = i % FOLDS;
    assert_ok(ctx, kn_scaling_new(ctx, view(p.Y), false, &s));
    kn_responses Y = kn_responses_of(view(p.Y), &s);
    for (int trial = 0; trial < 2 * Q; trial++) {
        ptrdiff_t P = 1 + trial % Q;
        bool given = trial >= Q;
        kn_gp gp, own;
        kn_gp_maps cv, one;
        if (given && P < Q)
            continue;
        fit(p.X, &Y, view(p.B), P, given, &gp);
        assert_int_equal(gp.axes, !given);
        assert_ok(ctx,
                  kn_gp_cv(ctx, &gp, &(kn_cv_problem){.Y = &Y, .folds = FOLDS, .fold = fold}, &cv));
        assert_ok(ctx, kn_gp_maps_block(ctx, &cv, 0, mean, var));
        for (int k = 0; k < FOLDS; k++) {
            kn_mat Xt = ref_new(N - N / FOLDS, F), Yt = ref_new(N - N / FOLDS, T);
            kn_mat Xs = ref_new(N / FOLDS, F);
            double mu[T] = {0};
            for (ptrdiff_t i = 0, tr = 0, te = 0; i < N; i++) {
                for (ptrdiff_t f = 0; f < F; f++)
                    kn_col(fold[i] == k ? Xs : Xt, f)[fold[i] == k ? te : tr] = kn_at(p.X, i, f);
                for (ptrdiff_t j = 0; fold[i] != k && j < T; j++) {
                    kn_col(Yt, j)[tr] = kn_at(p.Y, i, j);
                    mu[j] += kn_at(p.Y, i, j) / (double)Yt.rows;
                }
                fold[i] == k ? te++ : tr++;
            }
            for (ptrdiff_t j = 0; j < T; j++)
                for (ptrdiff_t i = 0; i < Yt.rows; i++)
                    kn_col(Yt, j)[i] -= mu[j];
            kn_scaling st;
            assert_ok(ctx, kn_scaling_new(ctx, view(Yt), false, &st));
            kn_responses train = kn_responses_of(view(Yt), &st);
            fit(Xt, &train, view(p.B), P, given, &own);
            assert_ok(ctx, own.method->predict(ctx, &own, &(kn_predict_input){.X = Xs}, &one));
            kn_mat some = kn_sub(m, 0, 0, Xs.rows, T), some_v = kn_sub(v, 0, 0, Xs.rows, T);
            assert_ok(ctx, kn_gp_maps_block(ctx, &one, 0, some, some_v));
            for (ptrdiff_t j = 0; j < T; j++)
                for (ptrdiff_t i = 0; i < Xs.rows; i++) {
                    assert_close(kn_at(mean, FOLDS * i + k, j), kn_at(some, i, j) + mu[j], 1e-9);
                    assert_close(kn_at(var, FOLDS * i + k, j), kn_at(some_v, i, j), 1e-9);
                }
            kn_gp_maps_clear(&one);
            kn_gp_clear(&own);
            kn_scaling_clear(&st);
            free(Xt.data), free(Yt.data), free(Xs.data);
        }
        kn_gp_maps_clear(&cv);
        kn_gp_clear(&gp);
    }
    kn_scaling_clear(&s);
    free(mean.data), free(var.data), free(m.data), free(v.data);
    unmake(p);
}

/* Maps of folds depend on the span alone, whatever basis of it was given: structured noise, and iso
 * noise with a C that sees signs and turns the components. */
static void folds_use_nothing_but_the_span(void **state)
{
    (void)state;
    problem p = make();
    kn_scaling s;
    int fold[N];
    kn_mat turned = ref_new(T, Q), R = ref_normal(&rng, Q, Q);
    kn_mat mean[2] = {ref_new(N, T), ref_new(N, T)}, var[2] = {ref_new(N, T), ref_new(N, T)};
    const double theta[] = {-0.5, -0.3, 1.5, -1, -0.2, 0.1, 0.4, -1.5, -0.7};
    for (int i = 0; i < N; i++)
        fold[i] = i % FOLDS;
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t q = 0; q < Q; q++)
            for (ptrdiff_t r = 0; r < Q; r++)
                kn_col(turned, q)[j] += kn_at(p.B, j, r) * kn_at(R, r, q);
    assert_ok(ctx, kn_scaling_new(ctx, view(p.Y), false, &s));
    kn_responses Y = kn_responses_of(view(p.Y), &s);
    for (int trial = 0; trial < 2 * Q; trial++) {
        bool iso = trial >= Q;
        for (int r = 0; r < 2; r++) {
            kn_gp gp;
            kn_gp_maps cv;
            kn_fit_info info = {0};
            kn_gp_options o = {.components = 1 + trial % Q, .basis = view(r ? turned : p.B)};
            o.search = (kn_search_options){.rho = 0.4, .length = 1.3, .seed = 1, .theta = theta};
            kn_fit_problem all = {.X = p.X, .Y = Y, .options = &o};
            all.spec = (kn_spec){.sample = cov_of(iso ? "linear+se+iso" : "linear+se", F)};
            if (iso) {
                all.spec.noise = KN_NOISE_ISO;
                all.spec.task = cov_of("linear+se+iso", KN_ALL_COLUMNS);
            }
            assert_ok(ctx, kn_method_smtgpr.fit(ctx, &all, &gp, &info));
            kn_fit_problem_clear(&all);
            assert_int_equal(gp.UC.data != NULL, iso);
            assert_ok(ctx, kn_gp_cv(ctx, &gp,
                                    &(kn_cv_problem){.Y = &Y, .folds = FOLDS, .fold = fold}, &cv));
            assert_ok(ctx, kn_gp_maps_block(ctx, &cv, 0, mean[r], var[r]));
            kn_gp_maps_clear(&cv);
            kn_gp_clear(&gp);
        }
        assert_same(mean[1], mean[0], 1e-8);
        assert_same(var[1], var[0], 1e-8);
    }
    kn_scaling_clear(&s);
    free(turned.data), free(R.data);
    for (int r = 0; r < 2; r++)
        free(mean[r].data), free(var[r].data);
    unmake(p);
}

static void a_constant_is_inside_or_not(void **state)
{
    (void)state;
    kn_mat B = ref_new(T, 2);
    for (ptrdiff_t j = 0; j < T; j++)
        kn_col(B, 0)[j] = 1 / sqrt(T);
    assert_close(kn_user_span_constant(B), 1, 1e-14);
    for (ptrdiff_t j = 0; j < T; j++)
        kn_col(B, 0)[j] = j < 3 ? 1 / sqrt(3) : 0;
    assert_close(kn_user_span_constant(B), 3.0 / T, 1e-14);
    free(B.data);
}

/* ---- harmonics ----------------------------------------------------------------------------------
 */

/* A sphere from an icosahedron, every edge cut in two so many times; vertices in a random order. */
static kn_surface sphere(int times, const ptrdiff_t *order)
{
    static const int FACES[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                     {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                     {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                     {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
    const double g = (1 + sqrt(5)) / 2;
    const double corner[12][3] = {{-1, g, 0}, {1, g, 0}, {-1, -g, 0}, {1, -g, 0},
                                  {0, -1, g}, {0, 1, g}, {0, -1, -g}, {0, 1, -g},
                                  {g, 0, -1}, {g, 0, 1}, {-g, 0, -1}, {-g, 0, 1}};
    ptrdiff_t n = 12, m = 20, limit = 10 * ((ptrdiff_t)1 << (2 * times)) + 2;
    kn_surface s = {.xyz = NULL};
    assert_ok(ctx, kn_alloc_d(ctx, 3 * limit, &s.xyz));
    assert_ok(ctx, kn_alloc_i(ctx, 6 * limit, &s.corner));
    memcpy(s.xyz, corner, sizeof corner);
    for (ptrdiff_t k = 0; k < 60; k++)
        s.corner[k] = FACES[k / 3][k % 3];
    for (int t = 0; t < times; t++) {
        ptrdiff_t *fine = test_calloc((size_t)(12 * m), sizeof *fine), n0 = n;
        ptrdiff_t *mid = test_calloc((size_t)(n0 * 8), 2 * sizeof *mid), *used;
        used = test_calloc((size_t)n0, sizeof *used);
        for (ptrdiff_t f = 0; f < m; f++) {
            ptrdiff_t v[3], at[3];
            for (int k = 0; k < 3; k++)
                v[k] = s.corner[3 * f + k];
            for (int k = 0; k < 3; k++) { /* the middle of edge k, k + 1, once */
                ptrdiff_t a = v[k] < v[(k + 1) % 3] ? v[k] : v[(k + 1) % 3];
                ptrdiff_t b = v[k] + v[(k + 1) % 3] - a, e = 0;
                while (e < used[a] && mid[16 * a + 2 * e] != b)
                    e++;
                if (e == used[a]) {
                    mid[16 * a + 2 * e] = b;
                    mid[16 * a + 2 * e + 1] = n;
                    used[a]++;
                    for (int d = 0; d < 3; d++)
                        s.xyz[3 * n + d] = s.xyz[3 * a + d] + s.xyz[3 * b + d];
                    n++;
                }
                at[k] = mid[16 * a + 2 * e + 1];
            }
            const ptrdiff_t four[12] = {v[0], at[0], at[2], v[1],  at[1], at[0],
                                        v[2], at[2], at[1], at[0], at[1], at[2]};
            memcpy(fine + 12 * f, four, sizeof four);
        }
        m *= 4;
        memcpy(s.corner, fine, (size_t)(3 * m) * sizeof *fine);
        test_free(fine), test_free(mid), test_free(used);
        for (ptrdiff_t i = 0; i < n; i++) {
            double *x = s.xyz + 3 * i, r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
            for (int d = 0; d < 3; d++)
                x[d] /= r;
        }
    }
    s.vertices = n;
    s.triangles = m;
    if (order) {
        double *xyz = test_calloc((size_t)(3 * n), sizeof *xyz);
        for (ptrdiff_t i = 0; i < n; i++)
            memcpy(xyz + 3 * order[i], s.xyz + 3 * i, 3 * sizeof *xyz);
        memcpy(s.xyz, xyz, (size_t)(3 * n) * sizeof *xyz);
        for (ptrdiff_t k = 0; k < 3 * m; k++)
            s.corner[k] = order[s.corner[k]];
        test_free(xyz);
    }
    return s;
}

/* l (l + 1), 2 l + 1 times; e'Ae = I. Small ones are solved densely, larger ones by Lanczos. */
static void harmonics_of_a_sphere_are_spherical(void **state)
{
    (void)state;
    enum { K = 36 };
    static const double close[] = {0.3, 0.06, 0.015}; /* the square of an edge */
    for (int times = 2; times <= 4; times++) {
        kn_surface s = sphere(times, NULL);
        kn_laplacian l;
        kn_mat E;
        double lambda[K];
        assert_ok(ctx, kn_laplacian_new(ctx, &s, NULL, &l));
        assert_int_equal(l.n, s.vertices);
        assert_int_equal(l.parts, 1);
        assert_ok(ctx, kn_mat_new(ctx, l.n, K, &E));
        assert_ok(ctx, kn_harmonics(ctx, "sphere", &l, E, lambda));
        for (int degree = 0, k = 0; k < K; degree++)
            for (int c = 0; c <= 2 * degree; c++, k++) {
                double error = lambda[k] - degree * (degree + 1);
                assert_true(fabs(error) <= close[times - 2] * degree * (degree + 1) + 1e-9);
            }
        for (ptrdiff_t j = 0; j < K; j++)
            for (ptrdiff_t k = 0; k <= j; k++) {
                double sum = 0;
                for (ptrdiff_t i = 0; i < l.n; i++)
                    sum += kn_at(E, i, j) * l.mass[i] * kn_at(E, i, k);
                assert_true(fabs(sum - (j == k)) < 1e-10);
            }
        kn_mat_clear(&E);
        kn_laplacian_clear(&l);
        kn_surface_clear(&s);
    }
}

/* The projector onto the span, vertex by vertex, whatever their numbers. */
static void the_span_does_not_depend_on_the_numbering(void **state)
{
    (void)state;
    enum { K = 16, VERTICES = 642 };
    ptrdiff_t order[VERTICES];
    kn_mat E[2];
    kn_laplacian l[2];
    ptrdiff_t place[2][VERTICES];
    double lambda[K];
    kn_rng_permutation(&rng, VERTICES, order);
    for (int r = 0; r < 2; r++) {
        kn_surface s = sphere(3, r ? order : NULL);
        assert_int_equal(s.vertices, VERTICES);
        assert_ok(ctx, kn_laplacian_new(ctx, &s, NULL, &l[r]));
        assert_true(l[r].width < 120); /* of 641 */
        assert_ok(ctx, kn_mat_new(ctx, VERTICES, K, &E[r]));
        assert_ok(ctx, kn_harmonics(ctx, "sphere", &l[r], E[r], lambda));
        for (ptrdiff_t i = 0; i < VERTICES; i++)
            place[r][l[r].vertex[i]] = i;
        kn_surface_clear(&s);
    }
    for (ptrdiff_t a = 0; a < VERTICES; a += 7)
        for (ptrdiff_t b = 0; b < VERTICES; b += 5) {
            double first = 0, second = 0;
            for (ptrdiff_t k = 0; k < K; k++) {
                first += kn_at(E[0], place[0][a], k) * kn_at(E[0], place[0][b], k);
                second += kn_at(E[1], place[1][order[a]], k) * kn_at(E[1], place[1][order[b]], k);
            }
            assert_true(fabs(first - second) < 1e-8);
        }
    for (int r = 0; r < 2; r++) {
        kn_mat_clear(&E[r]);
        kn_laplacian_clear(&l[r]);
    }
}

/* A mask that cuts the sphere: each part has its constant; and a triangle without area does no
 * harm.
 */
static void parts_have_their_constants(void **state)
{
    (void)state;
    enum { K = 5 };
    kn_surface s = sphere(3, NULL);
    bool *use = test_calloc((size_t)s.vertices, sizeof *use);
    kn_laplacian l;
    kn_mat E;
    double lambda[K];
    for (ptrdiff_t i = 0; i < s.vertices; i++)
        use[i] = fabs(s.xyz[3 * i + 2]) > 0.3;
    s.corner[1] = s.corner[0];
    assert_ok(ctx, kn_laplacian_new(ctx, &s, use, &l));
    assert_int_equal(l.parts, 2);
    assert_ok(ctx, kn_mat_new(ctx, l.n, K, &E));
    assert_ok(ctx, kn_harmonics(ctx, "caps", &l, E, lambda));
    assert_true(lambda[0] < 1e-10 && lambda[1] < 1e-10 && lambda[2] > 0.1);
    E.cols = 1;
    assert_refused(ctx, kn_harmonics(ctx, "caps", &l, E, lambda), KN_ERR_ARGUMENT,
                   "caps: 1 harmonics are too few; at least 2");
    kn_mat_clear(&E);
    kn_laplacian_clear(&l);
    test_free(use);
    kn_surface_clear(&s);
}

/* Folds of a study ask again: of the same responses nothing is computed, of others it is. */
static void harmonics_of_the_same_responses_are_made_once(void **state)
{
    (void)state;
    char name[] = "sphere.gii";
    kn_basis_source source = {.kind = KN_BASIS_HARMONICS, .files = 1, .cols = 3, .K = 3};
    source.file[0] = name;
    source.surface[0] = sphere(2, NULL);
    ptrdiff_t n = source.surface[0].vertices, *voxel = test_calloc((size_t)n, sizeof *voxel);
    kn_space space = {.kind = KN_SPACE_IMAGE, .T = n, .parts = 1, .voxel = voxel};
    space.part[0].geometry = (kn_geometry){.dim = {n, 1, 1}};
    kn_view B;
    for (ptrdiff_t i = 0; i < n; i++)
        voxel[i] = i;
    assert_ok(ctx, kn_basis_source_view(ctx, &source, "maps", &space, &B));
    double first = source.B.data[0];
    source.B.data[0] = 7; /* a mark */
    assert_ok(ctx, kn_basis_source_view(ctx, &source, "maps", &space, &B));
    assert_true(kn_view_at(B, 0, 0) == 7);
    voxel[n - 1] = n - 2, voxel[n - 2] = n - 1;
    assert_ok(ctx, kn_basis_source_view(ctx, &source, "maps", &space, &B));
    assert_true(kn_view_at(B, 0, 0) == first);
    space.T = n - 1;
    assert_ok(ctx, kn_basis_source_view(ctx, &source, "maps", &space, &B));
    assert_int_equal(B.rows, n - 1);
    source.file[0] = NULL;
    kn_basis_source_clear(&source);
    test_free(voxel);
}

static int enter(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 17, 1);
    return ctx == NULL;
}

static int leave(void **state)
{
    (void)state;
    assert_int_equal(kn_memory_now(ctx), 0);
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(data_harmonics, enter, leave)
{
    kn_surface s = sphere(3, NULL);
    kn_status status = KN_ERR_MEMORY;
    failing f = failing_by(5);
    while (failing_next(&f, status)) {
        kn_laplacian l = {0};
        kn_mat E = {0};
        double lambda[8];
        kn_fail_allocation(ctx, f.k);
        status = kn_laplacian_new(ctx, &s, NULL, &l);
        if (status == KN_OK)
            status = kn_mat_new(ctx, l.n, 8, &E);
        if (status == KN_OK)
            status = kn_harmonics(ctx, "sphere", &l, E, lambda);
        kn_fail_allocation(ctx, 0);
        assert_true(status == KN_OK || status == KN_ERR_MEMORY);
        kn_mat_clear(&E);
        kn_laplacian_clear(&l);
    }
    kn_surface_clear(&s);
}

TEST_PROGRAM(data_user_bases)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_span_what_the_columns_did),
        cmocka_unit_test(folds_find_axes_of_their_own),
        cmocka_unit_test(folds_use_nothing_but_the_span),
        cmocka_unit_test(a_constant_is_inside_or_not),
        cmocka_unit_test(harmonics_of_a_sphere_are_spherical),
        cmocka_unit_test(the_span_does_not_depend_on_the_numbering),
        cmocka_unit_test(parts_have_their_constants),
        cmocka_unit_test(harmonics_of_the_same_responses_are_made_once),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
