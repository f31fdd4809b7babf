/* The public door: wrong arguments get a sentence, odd but legal data work, nothing leaks. */
#include "support/failing.h"
#include "support/test.h"
#include "support/views.h"

#include "base/random.h"

static kn_ctx *ctx;
static kn_rng rng;

static kn_settings options(void)
{
    kn_settings o;
    plain_settings(&o);
    o.components = 2;
    return o;
}

#define assert_fit_refused(X, Y, o, status, text)                                                  \
    do {                                                                                           \
        kn_model *m_ = (kn_model *)&ctx;                                                           \
        assert_refused(ctx, kn_fit_arrays(ctx, X, Y, o, &m_), status, text);                       \
        assert_null(m_);                                                                           \
    } while (0)

static void bad_data_is_refused_by_name(void **state)
{
    (void)state;
    kn_mat X = ref_normal(&rng, 10, 2), Y = ref_normal(&rng, 10, 5);
    kn_settings o = options();
    kn_view none = kn_view_cols(NULL, 10, 2);
    assert_fit_refused(none, view(Y), &o, KN_ERR_ARGUMENT, "covariates has no data");
    assert_fit_refused(view(X), kn_view_cols(Y.data, 9, 5), &o, KN_ERR_SHAPE,
                       "covariates have 10 rows, but responses have 9");
    assert_fit_refused(kn_view_cols(X.data, 10, 0), view(Y), &o, KN_ERR_SHAPE,
                       "covariates is 10 x 0");
    assert_fit_refused(kn_view_cols(X.data, 2, 2), kn_view_cols(Y.data, 2, 5), &o, KN_ERR_DATA,
                       "2 participants are too few; at least 3 are needed");
    double keep = X.data[13];
    X.data[13] = NAN;
    assert_fit_refused(view(X), view(Y), &o, KN_ERR_DATA, "covariates row 4, column 2 is");
    X.data[13] = INFINITY;
    assert_fit_refused(view(X), view(Y), &o, KN_ERR_DATA, "must be a finite number");
    X.data[13] = keep;
    kn_mat constant = ref_new(10, 5), flat = ref_new(10, 2);
    assert_fit_refused(view(X), view(constant), &o, KN_ERR_DATA, "all 5 responses are constant");
    assert_fit_refused(view(flat), view(Y), &o, KN_ERR_DATA, "every covariate is constant");
    free(X.data), free(Y.data), free(constant.data), free(flat.data);
}

static void options_out_of_range_are_refused_by_name(void **state)
{
    (void)state;
    kn_mat X = ref_normal(&rng, 10, 2), Y = ref_normal(&rng, 10, 5);
    double theta[7] = {0};
    struct {
        const char *text;
        kn_settings o;
    } c[32];
    int n = 0;
#define CASE(words, change)                                                                        \
    do {                                                                                           \
        kn_settings o = options();                                                                 \
        change;                                                                                    \
        c[n].text = words;                                                                         \
        c[n++].o = o;                                                                              \
    } while (0)
    CASE("{components} is -1", o.components = -1);
    CASE("{components} is 6, but 10 participants with 5 responses allow at most 5",
         o.components = 6);
    CASE("{folds} is 1", o.folds = 1);
    CASE("{restarts} is -2", o.restarts = -2);
    CASE("{max_evals} is -3", o.max_evals = -3);
    CASE("{max_seconds} is -1", o.max_seconds = -1);
    CASE("{rho} is 1.5", o.rho = 1.5);
    CASE("{length} is 0", o.length = 0);
    CASE("neither linear nor se", o.sample_kernel = "iso");
    CASE("{sample_kernel} is 'rbf', but must be additive, or a sum of", o.sample_kernel = "rbf");
    CASE("structured noise allows the sample kernels", o.sample_kernel = "linear+iso");
    CASE("{task_kernel} requires {noise=iso}", o.task_kernel = "linear");
    CASE("{task_scale} requires {noise=iso}", o.task_scale = KN_TASK_SCALE_SQRTN);
    CASE("{likelihood=paper} requires {noise=iso}", o.likelihood = KN_PAPER);
    CASE("joint optimisers", o.optimiser = KN_TNEWTON);
    CASE("theta is for iso noise", o.theta_start = theta);
    CASE("{method} is 'magic', but must be smtgpr|", o.method = "magic");
    CASE("{noise} is 7; it must be 0 to 3", o.noise = 7);
    CASE("theta has 3 values, these kernels have 7",
         (o.noise = KN_NOISE_ISO, o.sample_kernel = NULL, o.theta_start = theta,
          o.n_theta_start = 3));
    CASE("theta value 2 is 6", (o.noise = KN_NOISE_ISO, o.sample_kernel = NULL,
                                o.theta_start = theta, o.n_theta_start = 7, theta[1] = 6));
    CASE("the basis has 10 rows, but must have 5", o.basis_view = view(X));
#undef CASE
    for (int i = 0; i < n; i++) {
        kn_model *m;
        kn_status s = kn_fit_arrays(ctx, view(X), view(Y), &c[i].o, &m);
        if (s != KN_ERR_ARGUMENT && s != KN_ERR_SHAPE)
            fail_msg("'%s' was not refused: %s", c[i].text, kn_status_name(s));
        if (!strstr(kn_message(ctx), c[i].text))
            fail_msg("message '%s', expected '%s'", kn_message(ctx), c[i].text);
        assert_null(m);
    }
    free(X.data), free(Y.data);
}

static void a_basis_of_dependent_columns_is_refused(void **state)
{
    (void)state;
    kn_mat X = ref_normal(&rng, 10, 2), Y = ref_normal(&rng, 10, 5), B = ref_normal(&rng, 5, 2);
    kn_settings o = options();
    kn_model *m;
    kn_fit_info info;
    o.basis_view = view(B);
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    kn_model_info(m, &info);
    assert_int_equal(info.basis_orthonormalised, 1);
    kn_view b = kn_model_array(m, "B");
    double dot = 0, norm = 0;
    for (ptrdiff_t j = 0; j < 5; j++) {
        dot += kn_view_at(b, j, 0) * kn_view_at(b, j, 1);
        norm += kn_view_at(b, j, 0) * kn_view_at(b, j, 0);
    }
    assert_close(dot, 0, 1e-14);
    assert_close(norm, 1, 1e-14);
    kn_model_free(m);
    for (ptrdiff_t j = 0; j < 5; j++)
        kn_col(B, 1)[j] = -3 * kn_at(B, j, 0);
    assert_fit_refused(view(X), view(Y), &o, KN_ERR_DATA, "linearly dependent");
    free(X.data), free(Y.data), free(B.data);
}

/* Every number finite, every variance positive. */
static void check_usable(kn_model *m, kn_view X, kn_view Y)
{
    ptrdiff_t T = Y.cols;
    kn_maps *maps[3];
    kn_fit_info info;
    double *noise = calloc((size_t)T, sizeof *noise);
    kn_model_info(m, &info);
    assert_true(isfinite(info.lml));
    assert_ok(ctx, kn_model_noise(ctx, m, noise));
    assert_ok(ctx, kn_maps_predict(ctx, m, X, &maps[0]));
    bool missing = info.missing.cells > 0; /* then those of training cannot be made again */
    kn_status expected = missing ? KN_ERR_DATA : KN_OK;
    assert_int_equal(kn_maps_loo(ctx, m, Y, &maps[1]), expected);
    assert_int_equal(kn_maps_cv(ctx, m, Y, 3, NULL, &maps[2]), expected);
    for (int k = 0; k < (missing ? 1 : 3); k++) {
        kn_mat mean = ref_new(kn_maps_samples(maps[k]), T), var = ref_new(mean.rows, T);
        assert_ok(ctx, kn_maps_block(ctx, maps[k], 0, T, mean, var));
        for (ptrdiff_t j = 0; j < T; j++) {
            bool left_out = isnan(noise[j]);
            assert_true(left_out || noise[j] >= 0);
            for (ptrdiff_t i = 0; i < mean.rows; i++) {
                assert_true(left_out ? isnan(kn_at(mean, i, j)) : isfinite(kn_at(mean, i, j)));
                assert_true(left_out ? isnan(kn_at(var, i, j)) : kn_at(var, i, j) >= 0);
            }
        }
        kn_maps_free(maps[k]);
        free(mean.data), free(var.data);
    }
    free(noise);
}

static void odd_but_legal_data_work(void **state)
{
    (void)state;
    for (int trial = 0; trial < 12; trial++)
        for (int iso = 0; iso < 2; iso++) {
            ptrdiff_t N = trial == 0 ? 3 : 12, T = trial == 1 ? 1 : 6, F = 3;
            kn_mat X = ref_normal(&rng, N, F), Y = ref_normal(&rng, N, T);
            kn_settings o = options();
            kn_model *m;
            kn_fit_info info;
            o.noise = iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED;
            o.sample_kernel = iso ? "linear+se+iso" : "linear+se";
            o.components = trial == 0 || trial == 1 ? 1 : 2;
            for (ptrdiff_t i = 0; i < N; i++) {
                if (trial == 2)
                    kn_col(X, 1)[i] = 5; /* a constant covariate */
                if (trial == 3)
                    kn_col(X, 2)[i] = 2 * kn_at(X, i, 0) - kn_at(X, i, 1); /* collinear */
                if (trial == 4 && i >= N / 2)                              /* duplicated rows */
                    for (ptrdiff_t f = 0; f < F; f++)
                        kn_col(X, f)[i] = kn_at(X, i - N / 2, f);
                if (trial == 5)
                    kn_col(Y, 3)[i] = 7; /* a constant response */
                if (trial == 6)
                    kn_col(Y, 0)[i] = i == 2 ? NAN : (double)i; /* and one that is not finite */
                if (trial == 7) /* two levels only: half of all distances are zero */
                    kn_col(X, 0)[i] = kn_col(X, 1)[i] = kn_col(X, 2)[i] = (double)(i % 2);
                if (trial == 8)
                    for (ptrdiff_t j = 0; j < T; j++)
                        kn_col(Y, j)[i] = 1e6 + 1e-3 * kn_at(Y, i, j);
                if (trial == 9)
                    for (ptrdiff_t j = 0; j < T; j++) /* no noise at all */
                        kn_col(Y, j)[i] = (double)(j + 1) * kn_at(X, i, 0);
            }
            if (trial == 9)
                o.components = 1;
            if (trial == 10)
                o.components = 6; /* P = T */
            if (trial == 11)
                o.components = KN_COMPONENTS_AUTO;
            bool dropped = trial == 6 && iso; /* else what is missing is filled in */
            o.missing_responses = dropped ? KN_RESPONSES_DROP : KN_RESPONSES_FILL;
            kn_status status = kn_fit_arrays(ctx, view(X), view(Y), &o, &m);
            if (trial == 9 && iso) { /* one component spans everything */
                assert_int_equal(status, KN_ERR_DATA);
                assert_non_null(strstr(kn_message(ctx), "without noise"));
            } else {
                if (status != KN_OK)
                    fail_msg("trial %d iso %d: %s", trial, iso, kn_message(ctx));
                kn_model_info(m, &info);
                assert_int_equal(info.n_left_out, trial == 5 || dropped);
                assert_int_equal(info.missing.cells, trial == 6 && !dropped);
                assert_int_equal(info.n_constant_x, trial == 2);
                check_usable(m, view(X), view(Y));
            }
            kn_model_free(m);
            free(X.data), free(Y.data);
        }
}

static void an_empty_complement_is_recorded_or_refused(void **state)
{
    (void)state;
    kn_mat X = ref_normal(&rng, 8, 2), Y = ref_normal(&rng, 8, 20);
    kn_settings o = options();
    kn_model *m;
    kn_fit_info info;
    o.components = 7; /* N - 1 */
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    kn_model_info(m, &info);
    assert_int_equal(info.complement_empty, 1);
    check_usable(m, view(X), view(Y));
    kn_model_free(m);
    o.noise = KN_NOISE_ISO;
    o.sample_kernel = "linear+se+iso";
    assert_fit_refused(view(X), view(Y), &o, KN_ERR_DATA,
                       "7 components span the responses, which leaves the exact iso likelihood "
                       "without noise; use at most 6");
    o.components = 6;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    kn_model_free(m);
    o.components = 8;
    assert_fit_refused(view(X), view(Y), &o, KN_ERR_ARGUMENT, "at most 7");
    free(X.data), free(Y.data);
}

static void maps_check_their_arguments(void **state)
{
    (void)state;
    kn_mat X = ref_normal(&rng, 10, 2), Y = ref_normal(&rng, 10, 5), out = ref_new(10, 5);
    kn_settings o = options();
    kn_model *m;
    kn_maps *maps;
    int fold[10] = {0};
    ptrdiff_t J[2] = {1, 5};
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    assert_refused(ctx, kn_maps_predict(ctx, m, kn_view_cols(X.data, 5, 3), &maps), KN_ERR_SHAPE,
                   "3 columns, the model has 2");
    assert_null(maps);
    assert_refused(ctx, kn_maps_predict(ctx, NULL, view(X), &maps), KN_ERR_ARGUMENT, "model");
    assert_refused(ctx, kn_maps_loo(ctx, m, kn_view_cols(Y.data, 9, 5), &maps), KN_ERR_SHAPE,
                   "trained on 10 x 5");
    assert_refused(ctx, kn_maps_cv(ctx, m, view(Y), 1, NULL, &maps), KN_ERR_ARGUMENT, "folds is 1");
    fold[3] = 4;
    assert_refused(ctx, kn_maps_cv(ctx, m, view(Y), 3, fold, &maps), KN_ERR_ARGUMENT,
                   "fold of participant 4 is 4, but must be 0 to 2");
    assert_ok(ctx, kn_maps_predict(ctx, m, view(X), &maps));
    assert_refused(ctx, kn_maps_block(ctx, maps, 3, 3, out, out), KN_ERR_ARGUMENT,
                   "responses 4 to 6 asked for, there are 5");
    assert_refused(ctx, kn_maps_block(ctx, maps, 0, 3, out, kn_mat_none()), KN_ERR_SHAPE,
                   "expected 10 x 3");
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, 5, kn_mat_none(), out));
    assert_refused(ctx, kn_covariance(ctx, m, view(X), J, 2, kn_mat_none(), kn_mat_none()),
                   KN_ERR_SHAPE, "x has 10 rows; it must have one, for one participant");
    assert_refused(ctx,
                   kn_covariance(ctx, m, kn_view_rows(X.data, 1, 2), J, 2,
                                 kn_mat_cols(out.data, 2, 2), kn_mat_none()),
                   KN_ERR_ARGUMENT, "response 5 is not in the model");
    kn_maps_free(maps);
    kn_maps_free(NULL);
    kn_model_free(m);
    kn_model_free(NULL);
    free(X.data), free(Y.data), free(out.data);
}

static void blocks_agree_with_the_whole_and_floats_with_doubles(void **state)
{
    (void)state;
    kn_mat X = ref_normal(&rng, 20, 2), Y = ref_normal(&rng, 20, 9);
    kn_mat M = ref_new(20, 9), V = ref_new(20, 9), m = ref_new(20, 9), v = ref_new(20, 9);
    float *f = calloc(180, sizeof *f);
    for (ptrdiff_t i = 0; i < 20; i++) {
        for (ptrdiff_t j = 0; j < 9; j++) {
            f[i * 9 + j] = (float)kn_at(Y, i, j);
            kn_col(Y, j)[i] = f[i * 9 + j];
        }
        kn_col(Y, 4)[i] = f[i * 9 + 4] = 1; /* left out */
    }
    kn_settings o = options();
    kn_model *a, *b;
    kn_maps *ma, *mb;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &a));
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), kn_view_rows_f32(f, 20, 9), &o, &b));
    assert_ok(ctx, kn_maps_cv(ctx, a, view(Y), 4, NULL, &ma));
    assert_ok(ctx, kn_maps_cv(ctx, b, kn_view_rows_f32(f, 20, 9), 4, NULL, &mb));
    assert_ok(ctx, kn_maps_block(ctx, ma, 0, 9, M, V));
    for (ptrdiff_t j = 0; j < 9; j += 2)
        assert_ok(ctx, kn_maps_block(ctx, mb, j, j < 8 ? 2 : 1, kn_cols(m, j, j < 8 ? 2 : 1),
                                     kn_cols(v, j, j < 8 ? 2 : 1)));
    for (ptrdiff_t i = 0; i < 180; i++) {
        assert_true(isnan(M.data[i]) == isnan(m.data[i]));
        if (!isnan(M.data[i])) {
            assert_close(m.data[i], M.data[i], 1e-12);
            assert_close(v.data[i], V.data[i], 1e-12);
        }
    }
    kn_maps_free(ma);
    kn_maps_free(mb);
    kn_model_free(a);
    kn_model_free(b);
    free(X.data), free(Y.data), free(M.data), free(V.data), free(m.data), free(v.data), free(f);
}

/* fit, predict, loo, cv; the k-th allocation fails */
static kn_status everything_by(kn_settings o, kn_mat X, kn_mat Y)
{
    kn_model *m = NULL;
    kn_maps *maps = NULL;
    kn_mat out = {0};
    double data[200];
    kn_status status;
    o.folds = 3;
    status = kn_fit_arrays(ctx, view(X), view(Y), &o, &m);
    if (status != KN_OK)
        assert_null(m);
    if (status == KN_OK)
        status = kn_maps_cv(ctx, m, view(Y), 3, NULL, &maps);
    out = kn_mat_cols(data, X.rows, Y.cols);
    if (status == KN_OK)
        status = kn_maps_block(ctx, maps, 0, Y.cols, out, kn_mat_none());
    kn_maps_free(maps);
    maps = NULL;
    if (status == KN_OK)
        status = kn_maps_loo(ctx, m, view(Y), &maps);
    kn_maps_free(maps);
    maps = NULL;
    if (status == KN_OK)
        status = kn_maps_predict(ctx, m, view(X), &maps);
    kn_maps_free(maps);
    kn_model_free(m);
    return status;
}

static kn_status everything(kn_mat X, kn_mat Y, kn_noise noise)
{
    kn_settings o = options();
    o.noise = (int)noise;
    o.components = KN_COMPONENTS_AUTO;
    return everything_by(o, X, Y);
}

/* With all that it can be asked for. */
static kn_status everything_by_mtgpr(kn_mat X, kn_mat Y)
{
    kn_settings o = options();
    o.method = "mtgpr";
    o.components = 1;
    o.noise_rank = 1;
    o.ppca = true;
    o.sample_kernel = "linear+se+iso";
    o.max_evals = 3;
    return everything_by(o, X, Y);
}

static void inputs_are_not_modified(void **state)
{
    (void)state;
    kn_mat X = ref_normal(&rng, 15, 2), Y = ref_normal(&rng, 15, 4);
    double x[30], y[60];
    memcpy(x, X.data, sizeof x);
    memcpy(y, Y.data, sizeof y);
    assert_int_equal(everything(X, Y, KN_NOISE_STRUCTURED), KN_OK);
    assert_memory_equal(x, X.data, sizeof x);
    assert_memory_equal(y, Y.data, sizeof y);
    free(X.data), free(Y.data);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 99, 0);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(commands_fit_score_save_open, open_fixture, close_fixture)
{
    kn_mat X = ref_normal(&rng, 9, 2), Y = ref_normal(&rng, 9, 4);
    static const kn_noise NOISE[] = {KN_NOISE_STRUCTURED, KN_NOISE_ISO, KN_NOISE_WHITENED,
                                     KN_NOISE_AUTO};
    for (int n = 0; n < 5; n++) {
        kn_status status = KN_ERR_MEMORY;
        failing f = failing_by(17);
        size_t before = kn_memory_now(ctx);
        while (failing_next(&f, status)) { /* the sanitizer run looks for leaks */
            kn_fail_allocation(ctx, f.k);
            status = n < 4 ? everything(X, Y, NOISE[n]) : everything_by_mtgpr(X, Y);
            assert_true(kn_memory_now(ctx) == before);
        }
        kn_fail_allocation(ctx, 0);
        assert_int_equal(status, KN_OK);
        assert_true(f.k > 100);
    }
    free(X.data), free(Y.data);
}

TEST_PROGRAM(commands_arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_data_is_refused_by_name),
        cmocka_unit_test(options_out_of_range_are_refused_by_name),
        cmocka_unit_test(a_basis_of_dependent_columns_is_refused),
        cmocka_unit_test(odd_but_legal_data_work),
        cmocka_unit_test(an_empty_complement_is_recorded_or_refused),
        cmocka_unit_test(maps_check_their_arguments),
        cmocka_unit_test(blocks_agree_with_the_whole_and_floats_with_doubles),
        cmocka_unit_test(inputs_are_not_modified),
    };
    return cmocka_run_group_tests_name("api", tests, open_fixture, close_fixture);
}
