/* Missing responses: filled in at shapes where little is left to go by, and whole fits with them.
 */
#include "support/covs.h"
#include "support/failing.h"
#include "support/views.h"

#include "base/random.h"
#include "data/scaling.h"
#include "gp/missing/completion.h"
#include "model/file/file.h"

static kn_ctx *ctx;

/* ---- shapes ---------------------------------------------------------------------------------- */

typedef struct table {
    kn_mat X, Y;
    kn_scaling scaling;
    kn_missing_mask missing;
    kn_responses R;
    kn_imputer filler;
    double *imputed;
} table;

/* N x T of two factors that follow x, each cell missing with probability share; at least 12 values
 * of each response where N allows. */
static void table_new(table *t, ptrdiff_t N, ptrdiff_t T, double share, uint64_t seed)
{
    kn_rng rng;
    ref_rng_init(&rng, seed, 1);
    *t = (table){.X = ref_new(N, 1), .Y = ref_new(N, T)};
    for (ptrdiff_t i = 0; i < N; i++) {
        double x = t->X.data[i] = kn_rng_normal(&rng), f = x + 0.5 * kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < T; j++) {
            double y = 5 + f * cos((double)j) + 0.5 * kn_rng_normal(&rng);
            kn_col(t->Y, j)[i] = i >= 12 && kn_rng_uniform(&rng) < share ? NAN : y;
        }
    }
}

static void table_open(table *t)
{
    kn_spec spec = {.noise = KN_NOISE_STRUCTURED, .sample = cov_of("linear+se", 1)};
    assert_ok(ctx, kn_scaling_observed(ctx, view(t->Y), true, &t->scaling));
    t->R = kn_responses_of(view(t->Y), &t->scaling);
    assert_ok(ctx, kn_missing_mask_new(ctx, t->R.Y, t->scaling.kept, t->R.T, &t->missing));
    t->R.missing = &t->missing;
    assert_ok(ctx, kn_imputer_new(ctx, &spec, t->X, &t->R, &t->filler));
    t->imputed = calloc((size_t)t->missing.cells + 1, sizeof *t->imputed);
}

static void table_clear(table *t)
{
    free(t->X.data), free(t->Y.data), free(t->imputed);
    kn_scaling_clear(&t->scaling);
    kn_missing_mask_clear(&t->missing);
}

static void every_shape_is_filled_with_finite_numbers(void **state)
{
    (void)state;
    static const ptrdiff_t SHAPE[][2] = {{13, 1}, {13, 2}, {16, 3}, {40, 60}, {64, 5}, {65, 130}};
    for (size_t k = 0; k < sizeof SHAPE / sizeof *SHAPE; k++) {
        table t;
        kn_impute_info info;
        table_new(&t, SHAPE[k][0], SHAPE[k][1], 0.4, k);
        kn_col(t.Y, 0)[12] = NAN;
        table_open(&t);
        assert_ok(ctx, kn_imputer_run(ctx, &t.filler, NULL, 0, t.imputed, &info));
        assert_int_equal(info.cells, t.missing.cells);
        for (ptrdiff_t c = 0; c < t.missing.cells; c++)
            assert_true(isfinite(t.imputed[c]) && fabs(t.imputed[c]) < 10);
        table_clear(&t);
    }
}

/* A sample with one value, a response with exactly ten, and 3000 responses: more than a block. */
static void little_to_go_by_is_enough(void **state)
{
    (void)state;
    table t;
    kn_impute_info info;
    table_new(&t, 30, 3000, 0.1, 7);
    for (ptrdiff_t j = 1; j < 3000; j++)
        kn_col(t.Y, j)[29] = NAN;
    kn_col(t.Y, 0)[29] = 5;
    for (ptrdiff_t i = 10; i < 30; i++)
        kn_col(t.Y, 2)[i] = NAN;
    table_open(&t);
    assert_int_equal(t.scaling.n_kept, 3000);
    assert_int_equal(t.scaling.n[2], 10);
    assert_ok(ctx, kn_imputer_run(ctx, &t.filler, NULL, 0, t.imputed, &info));
    for (ptrdiff_t c = 0; c < t.missing.cells; c++)
        assert_true(isfinite(t.imputed[c]));
    table_clear(&t);
}

/* Rows that are not among those to learn from say nothing, and stay missing. */
static void a_fold_is_filled_by_its_own_rows(void **state)
{
    (void)state;
    table t;
    kn_impute_info info;
    ptrdiff_t rows[40], n = 0;
    table_new(&t, 50, 8, 0.3, 3);
    table_open(&t);
    for (ptrdiff_t i = 0; i < 50; i++)
        if (i % 5 != 2)
            rows[n++] = i;
    assert_ok(ctx, kn_imputer_run(ctx, &t.filler, rows, n, t.imputed, &info));
    double *first = calloc((size_t)t.missing.cells, sizeof *first);
    memcpy(first, t.imputed, (size_t)t.missing.cells * sizeof *first);
    for (ptrdiff_t j = 0; j < 8; j++)
        for (ptrdiff_t i = 2; i < 50; i += 5)
            kn_col(t.Y, j)[i] *= 1000; /* whatever they are */
    assert_ok(ctx, kn_imputer_run(ctx, &t.filler, rows, n, t.imputed, &info));
    for (ptrdiff_t j = 0; j < 8; j++)
        for (ptrdiff_t i = 0; i < 50; i++) {
            if (!kn_is_missing(&t.missing, i, j))
                continue;
            ptrdiff_t at = kn_missing_at(&t.missing, i, j);
            if (i % 5 == 2)
                assert_true(isnan(t.imputed[at]));
            else
                assert_true(t.imputed[at] == first[at]);
        }
    free(first);
    table_clear(&t);
}

/* The rounds bring filled cells nearer to the truth than each response's own mean, and that nearer
 * than the mean of all. */
static void other_responses_help(void **state)
{
    (void)state;
    table t, whole;
    kn_impute_info info;
    table_new(&t, 300, 40, 0, 11);
    table_new(&whole, 300, 40, 0, 11);
    kn_rng rng;
    ref_rng_init(&rng, 5, 2);
    for (ptrdiff_t i = 0; i < 300; i++) { /* more that responses share and x does not tell */
        double g = kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < 40; j++) {
            kn_col(t.Y, j)[i] += g * cos((double)j);
            kn_col(whole.Y, j)[i] += g * cos((double)j);
        }
    }
    for (ptrdiff_t k = 0; k < 300 * 40; k++)
        if (kn_rng_uniform(&rng) < 0.3)
            t.Y.data[k] = NAN;
    table_open(&t);
    table_open(&whole);
    double error[3] = {0};
    for (int how = 0; how < 2; how++) {
        kn_mat Phi;
        kn_impute_problem p = {.Y = t.R, .rounds = how * KN_IMPUTE_ROUNDS, .tolerance = 0};
        assert_ok(ctx, kn_imputer_features(ctx, &t.filler, t.X, &Phi));
        p.Phi = Phi;
        assert_ok(ctx, kn_impute(ctx, &p, t.imputed, NULL, &info));
        for (ptrdiff_t j = 0; j < 40; j++)
            for (ptrdiff_t i = 0; i < 300; i++)
                if (kn_is_missing(&t.missing, i, j)) {
                    double y = (kn_at(whole.Y, i, j) - t.scaling.mean[j]) / t.scaling.sd[j];
                    double f = t.imputed[kn_missing_at(&t.missing, i, j)];
                    error[how] += (y - f) * (y - f);
                    error[2] += how == 0 ? y * y : 0;
                }
        kn_mat_clear(&Phi);
    }
    /* Of the variance 2.25 cos^2 + 0.25 of response j, x leaves 1.25 cos^2 + 0.25 and the shared
     * factor 0.25: in standardised units 0.70 and 0.32 on average over j. The ratios 0.70 and 0.46
     * have standard errors of at most sqrt(2/300) = 0.08 of themselves, those of the variance of
     * the factor over 300 participants: 5 of them are allowed. */
    double left[2] = {0};
    for (ptrdiff_t j = 0; j < 40; j++) {
        double c2 = pow(cos((double)j), 2), all = 2.25 * c2 + 0.25;
        left[0] += (1.25 * c2 + 0.25) / all / 40;
        left[1] += 0.25 / all / 40;
    }
    double limit = 1 + 5 * sqrt(2.0 / 300);
    assert_true(error[0] < limit * left[0] * error[2]);
    assert_true(error[1] < limit * left[1] / left[0] * error[0]);
    table_clear(&t);
    table_clear(&whole);
}

/* Without a missing cell scaling has the bits that it had, and no count of values. */
static void a_complete_table_is_scaled_as_ever(void **state)
{
    (void)state;
    table t;
    kn_scaling plain;
    table_new(&t, 33, 700, 0, 2);
    table_open(&t);
    assert_ok(ctx, kn_scaling_new(ctx, view(t.Y), true, &plain));
    assert_null(t.scaling.n);
    assert_int_equal(t.missing.cells, 0);
    assert_int_equal(plain.n_kept, t.scaling.n_kept);
    assert_memory_equal(plain.mean, t.scaling.mean, (size_t)plain.n_kept * sizeof(double));
    assert_memory_equal(plain.sd, t.scaling.sd, (size_t)plain.n_kept * sizeof(double));
    kn_scaling_clear(&plain);
    table_clear(&t);
}

static void few_values_and_constant_ones_are_left_out(void **state)
{
    (void)state;
    table t;
    table_new(&t, 30, 4, 0, 2);
    for (ptrdiff_t i = 0; i < 30; i++) {
        kn_col(t.Y, 0)[i] = i < 9 ? (double)i : NAN;
        kn_col(t.Y, 1)[i] = i < 20 ? 4 : NAN;
        kn_col(t.Y, 2)[i] = i < 10 ? (double)i : INFINITY;
    }
    table_open(&t);
    assert_int_equal(t.scaling.n_kept, 2);
    assert_int_equal(t.scaling.kept[0], 2);
    assert_int_equal(t.scaling.n_few, 1);
    assert_int_equal(t.scaling.n_constant, 1);
    assert_close(t.scaling.mean[0], 4.5, 1e-15);
    assert_close(t.scaling.sd[0], sqrt(8.25), 1e-15);
    table_clear(&t);
}

/* ---- fits ------------------------------------------------------------------------------------ */

static kn_model *fitted(kn_mat X, kn_mat Y, kn_settings *s)
{
    kn_model *m;
    s->sample_kernel = "linear+se";
    s->seed = 1;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), s, &m));
    return m;
}

static void without_a_missing_cell_fill_and_drop_have_the_same_bytes(void **state)
{
    (void)state;
    table t;
    void *bytes[2];
    ptrdiff_t n[2];
    table_new(&t, 40, 12, 0, 21);
    for (int drop = 0; drop < 2; drop++) {
        kn_settings s;
        kn_settings_init(&s);
        s.missing_responses = drop;
        kn_model *m = fitted(t.X, t.Y, &s);
        assert_ok(ctx, kn_model_write_bytes(ctx, m, &bytes[drop], &n[drop]));
        kn_model_free(m);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], (size_t)n[0]);
    kn_free(bytes[0]), kn_free(bytes[1]);
    table_clear(&t);
}

/* Mean standardised log loss of new samples, against the trivial model of the whole table. */
static double loss(const kn_model *m, kn_mat X, kn_mat Y)
{
    kn_maps *maps;
    kn_mat mean = ref_new(X.rows, Y.cols), var = ref_new(X.rows, Y.cols);
    double noise[64], sum = 0;
    assert_ok(ctx, kn_maps_predict(ctx, m, view(X), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, Y.cols, mean, var));
    assert_ok(ctx, kn_model_noise(ctx, m, noise));
    for (ptrdiff_t j = 0; j < Y.cols; j++)
        for (ptrdiff_t i = 0; i < X.rows; i++) {
            double s2 = kn_at(var, i, j) + noise[j], e = kn_at(Y, i, j) - kn_at(mean, i, j);
            sum += 0.5 * (log(s2) + e * e / s2);
        }
    kn_maps_free(maps);
    sum /= (double)(X.rows * Y.cols);
    free(mean.data), free(var.data);
    return sum;
}

/* Loss against the fit on all cells: less than half of what filling in means loses. */
static void a_fit_with_a_fifth_missing_is_close_to_a_complete_one(void **state)
{
    (void)state;
    table whole, missing, means, fresh;
    kn_rng rng;
    ref_rng_init(&rng, 9, 3);
    table_new(&whole, 150, 24, 0, 31);
    table_new(&missing, 150, 24, 0, 31);
    table_new(&means, 150, 24, 0, 31);
    table_new(&fresh, 200, 24, 0, 32);
    for (ptrdiff_t j = 0; j < 24; j++) {
        double sum = 0, n = 0;
        for (ptrdiff_t i = 0; i < 150; i++)
            if (kn_rng_uniform(&rng) < 0.2) {
                kn_col(missing.Y, j)[i] = kn_col(means.Y, j)[i] = NAN;
            } else {
                sum += kn_at(whole.Y, i, j);
                n++;
            }
        for (ptrdiff_t i = 0; i < 150; i++)
            if (isnan(kn_at(means.Y, i, j)))
                kn_col(means.Y, j)[i] = sum / n;
    }
    const kn_mat Y[] = {whole.Y, missing.Y, means.Y};
    double l[3];
    for (int k = 0; k < 3; k++) {
        kn_settings s;
        kn_settings_init(&s);
        kn_model *m = fitted(whole.X, Y[k], &s);
        if (k == 1) {
            assert_int_equal(m->info.missing.cells > 0, 1);
            assert_true(m->info.cv.z2 > 0.9 && m->info.cv.z2 < 1.1);
            assert_int_equal(m->info.loo.folds, 0);
        }
        l[k] = loss(m, fresh.X, fresh.Y);
        kn_model_free(m);
    }
    assert_true(l[1] - l[0] < 0.5 * (l[2] - l[0]));
    assert_true(l[1] - l[0] < 0.01);
    table_clear(&whole), table_clear(&missing), table_clear(&means), table_clear(&fresh);
}

/* The caller's table stays as it is, NaN included; and what the model keeps comes back from bytes.
 */
static void values_are_counted_and_kept_in_the_file(void **state)
{
    (void)state;
    table t;
    kn_settings s;
    kn_model *back;
    void *bytes;
    ptrdiff_t n;
    table_new(&t, 60, 6, 0.3, 41);
    kn_mat before = ref_new(60, 6);
    kn_mat_set(before, t.Y);
    kn_settings_init(&s);
    kn_model *m = fitted(t.X, t.Y, &s);
    assert_memory_equal(before.data, t.Y.data, 60 * 6 * sizeof(double));
    assert_ok(ctx, kn_model_write_bytes(ctx, m, &bytes, &n));
    assert_ok(ctx, kn_model_parse(ctx, "bytes", bytes, n, &back));
    assert_non_null(back->y.n);
    assert_int_equal(back->info.missing.cells, m->info.missing.cells);
    for (ptrdiff_t j = 0; j < 6; j++) {
        ptrdiff_t values = 0;
        for (ptrdiff_t i = 0; i < 60; i++)
            values += isfinite(kn_at(t.Y, i, j)) != 0;
        assert_int_equal(back->y.n[j], values);
    }
    kn_model_free(m);
    kn_model_free(back);
    kn_free(bytes);
    free(before.data);
    table_clear(&t);
}

static void nearly_empty_tables_are_refused(void **state)
{
    (void)state;
    table t;
    kn_settings s;
    kn_model *m;
    kn_settings_init(&s);
    table_new(&t, 400, 5, 0, 51);
    for (ptrdiff_t j = 0; j < 5; j++)
        for (ptrdiff_t i = 30; i < 400; i++)
            kn_col(t.Y, j)[i] = NAN;
    assert_refused(ctx, kn_fit_arrays(ctx, view(t.X), view(t.Y), &s, &m), KN_ERR_DATA,
                   "92.5% of the cells of 5 responses are missing, but at most 90% may be; exclude "
                   "responses with few values");
    t.Y.rows = t.X.rows = 40;
    assert_refused(ctx, kn_fit_arrays(ctx, view(t.X), view(t.Y), &s, &m), KN_ERR_DATA,
                   "participant 31 has no response at all");
    table_clear(&t);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

/* Of a fit with folds of its own the k-th allocation fails: a sentence, and nothing is kept. */
FAILING_CASE(gp_impute, open_fixture, close_fixture)
{
    static const char *const METHOD[] = {"smtgpr", "stgpr"};
    table t;
    table_new(&t, 16, 3, 0, 61);
    kn_col(t.Y, 1)[13] = kn_col(t.Y, 2)[3] = kn_col(t.Y, 2)[15] = NAN;
    for (int k = 0; k < 2; k++) {
        kn_status status = KN_ERR_MEMORY;
        size_t before = kn_memory_now(ctx);
        for (long at = 1; status == KN_ERR_MEMORY && at < 100000; at += 1 + at / 40) {
            kn_settings s;
            kn_model *m = NULL;
            kn_settings_init(&s);
            s.method = METHOD[k];
            s.sample_kernel = "linear+se";
            s.folds = 3;
            s.max_evals = 5;
            kn_fail_allocation(ctx, at);
            status = kn_fit_arrays(ctx, view(t.X), view(t.Y), &s, &m);
            kn_model_free(m);
            assert_int_equal(kn_memory_now(ctx), before);
        }
        kn_fail_allocation(ctx, 0);
        if (status != KN_OK)
            fail_msg("%s: %s", METHOD[k], kn_message(ctx));
    }
    table_clear(&t);
}

/* Features with a category of many levels: the block changes the path, not the cells. A level has
 * one row, and some level has none. */
static void a_block_of_levels_changes_nothing(void **state)
{
    (void)state;
    enum { N = 90, L = 12, BEFORE = 2, AFTER = 3, M = BEFORE + L + AFTER };
    table t;
    kn_impute_info info;
    kn_rng rng;
    ref_rng_init(&rng, 8, 3);
    table_new(&t, N, 8, 0.2, 21);
    table_open(&t);
    kn_mat Phi = ref_normal(&rng, N, M);
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t l = 0; l < L; l++)
            kn_col(Phi, BEFORE + l)[i] = l == (i == 0 ? L - 1 : i % (L - 2)) ? 0.7 : 0;
    double *plain = calloc((size_t)t.missing.cells, sizeof *plain), delta[2][8];
    for (int block = 0; block < 2; block++) {
        kn_impute_problem p = {.Y = t.R, .Phi = Phi, .rounds = 3, .tolerance = 0};
        if (block)
            p.block = (kn_indicators){BEFORE, L, 0};
        assert_ok(ctx, kn_impute(ctx, &p, block ? t.imputed : plain, delta[block], &info));
    }
    assert_true(t.missing.cells > 100);
    for (ptrdiff_t c = 0; c < t.missing.cells; c++)
        assert_close(t.imputed[c], plain[c], 1e-10);
    for (int j = 0; j < 8; j++)
        assert_close(1 / (1 + delta[1][j]), 1 / (1 + delta[0][j]), 1e-10); /* inf: no signal */
    free(plain), free(Phi.data);
    table_clear(&t);
}

TEST_PROGRAM(gp_impute)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_is_filled_with_finite_numbers),
        cmocka_unit_test(little_to_go_by_is_enough),
        cmocka_unit_test(a_fold_is_filled_by_its_own_rows),
        cmocka_unit_test(other_responses_help),
        cmocka_unit_test(a_complete_table_is_scaled_as_ever),
        cmocka_unit_test(few_values_and_constant_ones_are_left_out),
        cmocka_unit_test(without_a_missing_cell_fill_and_drop_have_the_same_bytes),
        cmocka_unit_test(a_fit_with_a_fifth_missing_is_close_to_a_complete_one),
        cmocka_unit_test(values_are_counted_and_kept_in_the_file),
        cmocka_unit_test(nearly_empty_tables_are_refused),
        cmocka_unit_test(a_block_of_levels_changes_nothing),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
