/* Centile curves: they hold as many new participants as they say, the calibration's inverse undoes
 * it, and bands are those of fits made by hand. */
#include "support/calls.h"
#include "support/failing.h"
#include "support/folders.h"

#include "base/random.h"
#include "commands/centiles/centiles.h"
#include "data/canonical_order.h"
#include "gp/assign_folds.h"
#include "io/table/table.h"
#include "norm/calibration/calibration_transform.h"
#include "stats/normal.h"

static kn_ctx *ctx;

enum { T = 4, MAX_COUNT = 2000 };

/* The distribution that participants are simulated from: a curved mean with a shift between sexes,
 * noise whose sd doubles from 20 to 80 years, of a lognormal distribution with skewness 1.3. */
typedef struct cohort {
    ptrdiff_t n;
    double age[MAX_COUNT], y[MAX_COUNT * T]; /* y row by row */
    const char *sex[MAX_COUNT];
} cohort;

static double true_mean(double age, bool male, int j)
{
    double a = age - 50;
    return 10 + j + (0.02 + 0.01 * j) * a - 0.0008 * a * a + 0.3 * male;
}

static double true_sd(double age)
{
    return 0.5 * (1 + (age - 20) / 60);
}

static void simulate(cohort *c, ptrdiff_t n, uint64_t seed, bool skewed)
{
    static const double S = 0.4;
    kn_rng rng;
    ref_rng_init(&rng, seed, 0);
    c->n = n;
    for (ptrdiff_t i = 0; i < n; i++) {
        c->age[i] = i == 0 ? 20 : i == 1 ? 80 : 20 + 60 * kn_rng_uniform(&rng);
        c->sex[i] = kn_rng_uniform(&rng) < 0.5 ? "F" : "M";
        for (int j = 0; j < T; j++) {
            double u = kn_rng_normal(&rng), v = exp(S * S);
            double e = skewed ? (exp(S * u) - sqrt(v)) / sqrt(v * (v - 1)) : u;
            c->y[i * T + j] = true_mean(c->age[i], c->sex[i][0] == 'M', j) +
                              (skewed ? true_sd(c->age[i]) : 0.7) * e;
        }
    }
}

static const char *response_names[T] = {"a", "b", "c", "d"};

static kn_data *data_of(const cohort *c)
{
    const char *const *names = response_names;
    kn_data *d;
    assert_ok(ctx, kn_data_new(ctx, c->n, &d));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", c->age, 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "sex", c->sex));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(c->y, c->n, T), names));
    return d;
}

static kn_model *fit(const cohort *c, const char *text)
{
    kn_data *d = data_of(c);
    kn_model *m = fit_data(ctx, d, text);
    kn_data_free(d);
    return m;
}

static kn_status centiles(const kn_model *m, const cohort *training, const cohort *participants,
                          const char *text, kn_centiles_info *info)
{
    kn_options *o = options_of(ctx, "centiles", text);
    kn_data *a = training ? data_of(training) : NULL,
            *b = participants ? data_of(participants) : NULL;
    kn_status status = kn_centiles(ctx, m, a, b, o, info);
    kn_data_free(a);
    kn_data_free(b);
    kn_options_free(o);
    return status;
}

static kn_table *table_of(const char *path)
{
    kn_table *t;
    assert_ok(ctx, kn_table_read(ctx, path, &t));
    return t;
}

static double number(const kn_table *t, ptrdiff_t row, const char *name)
{
    double x;
    ptrdiff_t c = kn_table_find(t, name);
    assert_true(c >= 0);
    kn_table_number(t, row, c, &x);
    return x;
}

static const char *text_of(const kn_table *t, ptrdiff_t row, const char *name)
{
    return kn_table_cell(t, row, kn_table_find(t, name));
}

/* ---- the calibration
 * ------------------------------------------------------------------------------- */

static void inverse_undoes_the_calibration(void **state)
{
    (void)state;
    static const double NU[] = {2, 5, 9, 39, 300, 9999, 10000, 1e5};
    static const double THETA[][2] = {{0, 0}, {0.6, -0.4}, {-0.5, 0.25}, {1.2, -0.8}};
    kn_shash_nodes nodes;
    kn_shash_nodes_init(&nodes);
    for (size_t k = 0; k < sizeof NU / sizeof *NU; k++) {
        kn_calibration_transform l = {.nu = NU[k]};
        assert_ok(ctx, kn_calibration_prepare(ctx, &l));
        for (size_t h = 0; h <= sizeof THETA / sizeof *THETA; h++) {
            kn_shash distribution = {0}, *shape = NULL;
            if (h == 4 && NU[k] < 1000) /* with such tails t would be no double */
                continue;
            if (h > 0) {
                distribution = kn_shash_at(&nodes, THETA[h - 1]);
                shape = &distribution;
            }
            double last = -INFINITY;
            for (double z = -8; z <= 8; z += 0.125) {
                double e = kn_calibration_inverse(&l, shape, z), V = 4, back;
                assert_true(isfinite(e) && e > last);
                last = e;
                e *= 2;
                kn_calibration_z(&l, shape, &(kn_calibration_cells){1, &e, &V, &back, NULL});
                assert_close(back, z, 1e-9);
            }
        }
        kn_calibration_clear(&l);
    }
    assert_true(kn_calibration_inverse(&(kn_calibration_transform){0}, NULL, 1.5) ==
                1.5); /* no calibration at all */
    assert_true(isnan(kn_calibration_inverse(&(kn_calibration_transform){.nu = 9}, NULL, NAN)));
}

static void kurtosis_is_that_of_the_distribution(void **state)
{
    (void)state;
    kn_shash_nodes nodes;
    kn_rng rng;
    enum { DRAWS = 400000 };
    static const double THETA[][2] = {{0, 0}, {0.4, -0.1}, {-0.3, 0.2}};
    kn_shash_nodes_init(&nodes);
    ref_rng_init(&rng, 3, 0);
    assert_close(kn_band_kurt(&nodes, NULL, 100), 2, 1e-15);
    for (size_t h = 0; h < sizeof THETA / sizeof *THETA; h++) {
        kn_shash distribution = kn_shash_at(&nodes, THETA[h]);
        double fourth = 0;
        for (int i = 0; i < DRAWS; i++)
            fourth += pow(kn_shash_inverse(&distribution, kn_rng_normal(&rng)), 4) / DRAWS;
        assert_close(kn_band_kurt(&nodes, &distribution, 1e9), fourth - 1, 0.08);
    }
    kn_shash heavy = kn_shash_at(&nodes, (double[]){0, -1.5});
    assert_close(kn_band_kurt(&nodes, &heavy, 50), 50, 1e-15); /* 50 values have no more */
}

static void jackknife_is_its_formula(void **state)
{
    (void)state;
    enum { K = 8, ROWS = 3, COLS = 2 };
    kn_rng rng;
    double x[K][ROWS * COLS], mean[ROWS * COLS] = {0}, J[ROWS * COLS] = {0};
    ref_rng_init(&rng, 4, 0);
    for (int f = 0; f < K; f++) {
        for (int i = 0; i < ROWS * COLS; i++)
            x[f][i] = 1000 + kn_rng_normal(&rng);
        kn_band_fold(kn_mat_cols(mean, ROWS, COLS), kn_mat_cols(J, ROWS, COLS),
                     kn_mat_cols(x[f], ROWS, COLS), f + 1);
    }
    kn_band_jackknife(kn_mat_cols(J, ROWS, COLS), K);
    for (int i = 0; i < ROWS * COLS; i++) {
        double m = 0, s = 0;
        for (int f = 0; f < K; f++)
            m += x[f][i] / K;
        for (int f = 0; f < K; f++)
            s += (x[f][i] - m) * (x[f][i] - m);
        assert_close(mean[i], m, 1e-14);
        assert_close(J[i], s * (K - 1) / K, 1e-12);
    }
    kn_band_terms b = {.J = 0.04, .t = -2, .noise = 9, .kurt = 2, .n = 50};
    assert_close(kn_band_half(&b), 1.959963984540054 * sqrt(0.04 + 4 * 9 * 2 / 200.0), 1e-15);
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* Value of a centile of response j at an age, between the points of a curve. */
static double on_curve(const kn_table *t, const char *response, const char *sex, double percent,
                       double age)
{
    double a0 = NAN, v0 = NAN;
    for (ptrdiff_t r = 0; r < kn_table_rows(t); r++) {
        if (strcmp(text_of(t, r, "response"), response) != 0 ||
            strcmp(text_of(t, r, "sex"), sex) != 0 || number(t, r, "centile") != percent)
            continue;
        double a = number(t, r, "age"), v = number(t, r, "value");
        if (a >= age)
            return isnan(a0) ? v : v0 + (v - v0) * (age - a0) / (a - a0);
        a0 = a, v0 = v;
    }
    return v0;
}

static cohort train, fresh; /* large for a stack */

/* Limit of 5 standard errors of a share p of new participants beyond curves that `train`
 * participants taught: p (1 - p)/n from n new ones, and from training at most as much as quantiles
 * of the sample itself would have, p (1 - p)/train. The T responses are independent. */
static double share_limit(double p, double train_n, double new_n)
{
    return 5 * sqrt(p * (1 - p) * (1 / train_n + 1 / new_n) / T);
}

/* 1000 participants of the distribution above teach the model; of 2000 others 90 % are between the
 * curves of 5 and 95 %, of the young as of the old, and 5 % beyond either. A normal distribution of
 * one width has 97 and 81
 * %.
 */
static void curves_cover_the_stated_proportion_of_new_participants(void **state)
{
    (void)state;
    static const char *const names[T] = {"a", "b", "c", "d"};
    double inside[2] = {0}, count[2] = {0}, below = 0, above = 0;
    simulate(&train, 1000, 6, true);
    simulate(&fresh, 2000, 12, true);
    kn_model *m = fit(&train, "seed=1");
    kn_centiles_info info = {.size = sizeof info};
    assert_ok(ctx, centiles(m, NULL, NULL, "over=age centiles=5,95 grid=13 output=hold", &info));
    assert_true(info.responses == T && info.curves == 2 && info.values == 13 && info.bands == 1);
    assert_int_equal(info.files, 5);
    kn_table *t = table_of("hold/centiles.tsv");
    double curve[T][2][2][13];
    for (int j = 0; j < T; j++)
        for (int s = 0; s < 2; s++)
            for (int p = 0; p < 2; p++)
                for (int k = 0; k < 13; k++)
                    curve[j][s][p][k] =
                        on_curve(t, names[j], s ? "M" : "F", p ? 95 : 5, 20 + 5 * k + 1e-9);
    for (ptrdiff_t i = 0; i < fresh.n; i++)
        for (int j = 0; j < T; j++) {
            double at = fmin((fresh.age[i] - 20) / 5, 11.999), limit[2];
            int k = (int)at, s = fresh.sex[i][0] == 'M', old = fresh.age[i] > 50;
            for (int p = 0; p < 2; p++)
                limit[p] =
                    curve[j][s][p][k] + (at - k) * (curve[j][s][p][k + 1] - curve[j][s][p][k]);
            double y = fresh.y[i * T + j];
            inside[old] += y > limit[0] && y < limit[1];
            below += y <= limit[0];
            above += y >= limit[1];
            count[old]++;
        }
    double all = count[0] + count[1];
    double old = (double)train.n, new = (double)fresh.n;
    double off[5] = {(inside[0] + inside[1]) / all - 0.9, inside[0] / count[0] - 0.9,
                     inside[1] / count[1] - 0.9, below / all - 0.05, above / all - 0.05};
    double limit[5] = {share_limit(0.1, old, new), share_limit(0.1, old / 2, new / 2),
                       share_limit(0.1, old / 2, new / 2), share_limit(0.05, old, new),
                       share_limit(0.05, old, new)};
    for (int k = 0; k < 5; k++)
        if (!(fabs(off[k]) < limit[k]))
            fail_msg("share %d is off by %.4f, allowed %.4f", k, off[k], limit[k]);
    kn_table_free(t);
    kn_model_free(m);
}

/* Who is scored where the curves are keeps his value; elsewhere his z and his own age. */
static void participants_keep_their_z(void **state)
{
    (void)state;
    simulate(&train, 150, 21, true);
    simulate(&fresh, 12, 22, true);
    kn_model *m = fit(&train, "seed=1");
    kn_centiles_info info = {.size = sizeof info};
    assert_ok(ctx, centiles(m, NULL, &fresh, "over=age grid=5 output=own", &info));
    assert_int_equal(info.participants, 12);
    kn_table *own = table_of("own/points.tsv");
    assert_int_equal(kn_table_rows(own), 12 * T);
    assert_ok(ctx, centiles(m, NULL, &fresh, "over=age at=sex=M grid=5 output=moved", &info));
    assert_int_equal(info.curves, 1);
    kn_table *moved = table_of("moved/points.tsv"), *params = table_of("moved/params.tsv");
    for (ptrdiff_t r = 0; r < 12 * T; r++) {
        ptrdiff_t i = r / T, j = r % T;
        double y = fresh.y[i * T + j], z = number(own, r, "z");
        assert_close(number(own, r, "value"), y, 1e-6); /* z were floats */
        assert_close(number(own, r, "age"), fresh.age[i], 1e-12);
        assert_close(number(own, r, "centile"), 100 * kn_normal_cdf(z), 1e-9);
        assert_true(number(moved, r, "z") == z && strcmp(text_of(moved, r, "sex"), "M") == 0);
        bool male = fresh.sex[i][0] == 'M';
        assert_true(male == (fabs(number(moved, r, "value") - y) < 1e-5));
        assert_true(strcmp(text_of(own, r, "sex"), fresh.sex[i]) == 0);
    }
    assert_true(number(params, 0, "nu") == 149);
    kn_table_free(own);
    kn_table_free(moved);
    kn_table_free(params);
    kn_model_free(m);
}

/* ---- bands ----------------------------------------------------------------------------------- */

/* 8 fits by hand, each of the participants that the folds leave, and predictions by the public
 * call. */
static void bands_come_from_fits_without_some_participants(void **state)
{
    (void)state;
    enum { N = 60, G = 3, K = 8 };
    int folds = K, fold[N];
    double age[2 * G], mean[K][2 * G][T];
    const char *sex[2 * G];
    static cohort some;
    simulate(&train, N, 31, true);
    double x[2 * N]; /* as encoded: folds are dealt in the canonical order of these rows */
    ptrdiff_t order[N];
    for (int i = 0; i < N; i++) {
        x[i] = train.age[i];
        x[N + i] = train.sex[i][0] == 'M';
    }
    assert_ok(ctx, kn_row_order(ctx, &(kn_row_source){.n = N, .X = kn_mat_cols(x, N, 2)}, order));
    assert_ok(ctx, kn_folds_assign(ctx, N, NULL, order, 1, &folds, fold));
    for (int g = 0; g < 2 * G; g++) {
        age[g] = 20 + 30 * (g % G);
        sex[g] = g < G ? "F" : "M";
    }
    for (int f = 0; f < K; f++) {
        some.n = 0;
        for (int i = 0; i < N; i++)
            if (fold[i] != f) {
                some.age[some.n] = train.age[i];
                some.sex[some.n] = train.sex[i];
                memcpy(some.y + some.n++ * T, train.y + i * T, T * sizeof(double));
            }
        kn_model *m = fit(&some, "folds=4 components=2");
        kn_data *d;
        kn_scores *s;
        double out[2 * G * T];
        assert_ok(ctx, kn_data_new(ctx, 2 * G, &d));
        assert_ok(ctx, kn_data_numbers(ctx, d, "age", age, 1));
        assert_ok(ctx, kn_data_texts(ctx, d, "sex", sex));
        assert_ok(ctx, kn_predict(ctx, m, d, NULL, &s));
        assert_ok(ctx, kn_scores_block(ctx, s, "yhat", 0, T, kn_mat_cols(out, 2 * G, T)));
        for (int g = 0; g < 2 * G; g++)
            for (int j = 0; j < T; j++)
                mean[f][g][j] = out[g + j * 2 * G];
        kn_scores_free(s);
        kn_data_free(d);
        kn_model_free(m);
    }
    kn_model *m = fit(&train, "folds=4 components=2");
    kn_centiles_info info = {.size = sizeof info};
    assert_ok(ctx,
              centiles(m, &train, NULL, "over=age grid=3 centiles=50,97.5 output=jack", &info));
    assert_int_equal(info.bands, 2);
    kn_table *t = table_of("jack/centiles.tsv"), *p = table_of("jack/params.tsv");
    ptrdiff_t r = 0;
    for (int j = 0; j < T; j++)
        for (int g = 0; g < 2 * G; g++)
            for (int k = 0; k < 2; k++, r++) {
                double at = 0, J = 0, sd = number(p, r / 2, "sd");
                for (int f = 0; f < K; f++)
                    at += mean[f][g][j] / K;
                for (int f = 0; f < K; f++)
                    J += (mean[f][g][j] - at) * (mean[f][g][j] - at) * (K - 1) / K;
                double half = (number(t, r, "upper") - number(t, r, "lower")) / 2;
                double value = number(t, r, "value");
                assert_close(value - number(t, r, "lower"), half, 1e-7); /* of ten digits each */
                double away = value - number(p, r / 2, "mean");          /* sd t */
                double lowest = pow(half / KN_BAND_NORMAL, 2) - J;
                if (k == 0 && number(p, r / 2, "a") == 0)
                    assert_close(half, KN_BAND_NORMAL * sqrt(J), 1e-5); /* yhat are floats */
                else /* noise kurt/(4 n) times t^2; noise is a part of sd^2, and kurt at least .5 */
                    assert_true(lowest > -1e-6 && lowest < away * away * 60 / (4 * N) + 1e-6 &&
                                sd > 0);
            }
    assert_int_equal(r, kn_table_rows(t));
    kn_table_free(t);
    kn_table_free(p);
    kn_model_free(m);
}

/* 16 studies of 80 participants of a normal distribution: the median at 20, 50 and 80 years is
 * within its band in most of them. Of 8 fits the variance is known as well as 7 degrees of freedom
 * allow, so that 95 % intervals by 1.96 cover some 91 %. */
static void jackknife_bands_cover(void **state)
{
    (void)state;
    int studies = repeat(16, 6), covered = 0, all = 0;
    for (int s = 0; s < studies; s++) {
        simulate(&train, 80, 100 + (uint64_t)s, false);
        kn_model *m = fit(&train, "folds=4 components=4");
        kn_centiles_info info = {.size = sizeof info};
        assert_ok(ctx, centiles(m, &train, NULL,
                                "over=age grid=3 centiles=50 output=cover force=yes", &info));
        kn_table *t = table_of("cover/centiles.tsv");
        for (ptrdiff_t r = 0; r < kn_table_rows(t); r++, all++) {
            double truth = true_mean(number(t, r, "age"), text_of(t, r, "sex")[0] == 'M',
                                     text_of(t, r, "response")[0] - 'a');
            covered += truth > number(t, r, "lower") && truth < number(t, r, "upper");
        }
        kn_table_free(t);
        kn_model_free(m);
    }
    assert_true(covered > 0.8 * all && covered < 0.995 * all);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    simulate(&train, 40, 41, true);
    kn_model *m = fit(&train, "folds=4 components=1"), *plain;
    kn_settings s;
    kn_settings_init(&s);
    s.folds = 0;
    double x[40];
    memcpy(x, train.age, sizeof x);
    assert_ok(ctx,
              kn_fit_arrays(ctx, kn_view_cols(x, 40, 1), kn_view_rows(train.y, 40, T), &s, &plain));
    assert_refused(ctx, centiles(plain, NULL, NULL, "over=age output=no", NULL), KN_ERR_DATA,
                   "the model was fitted to numeric arrays and has no encoding of covariates");
    assert_refused(ctx, centiles(m, NULL, NULL, "output=no", NULL), KN_ERR_ARGUMENT,
                   "{over} is needed");
    assert_refused(ctx, centiles(m, NULL, NULL, "over=age", NULL), KN_ERR_ARGUMENT,
                   "{output} is needed");
    assert_refused(ctx, centiles(NULL, NULL, NULL, "over=age output=no", NULL), KN_ERR_ARGUMENT,
                   "model is a null pointer");
    simulate(&fresh, 39, 41, true);
    assert_refused(ctx, centiles(m, &fresh, NULL, "over=age output=no", NULL), KN_ERR_DATA,
                   "responses has 39 participants, but the model was fitted to 40; "
                   "{bands=jackknife} needs all of them");
    assert_refused(ctx, centiles(m, &train, NULL, "over=age bands=model output=no", NULL),
                   KN_ERR_ARGUMENT, "{covariates} are for {bands=jackknife}");
    response_names[1] = "other";
    assert_refused(ctx, centiles(m, &train, NULL, "over=age output=no", NULL), KN_ERR_DATA,
                   "response 2 is 'other', but 'b' in the model");
    response_names[1] = "b";
    assert_int_equal(folder_files("no"), 0);
    assert_true(rmdir("no") != 0); /* the folder is gone too */
    kn_model_free(plain);
    kn_model_free(m);
}

static int open_fixture(void **state)
{
    ctx = kn_ctx_new();
    if (scratch_enter(state) != 0)
        return -1;
    return 0;
}

static int close_fixture(void **state)
{
    int status = scratch_leave(state);
    kn_ctx_free(ctx);
    return status;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(commands_centiles, open_fixture, close_fixture)
{
    simulate(&train, 20, 51, true);
    simulate(&fresh, 3, 52, true);
    kn_model *m = fit(&train, "folds=4 components=1 calibrate=full");
    kn_options *o = options_of(ctx, "centiles", "over=age grid=3 output=short targets=a,b");
    kn_data *participants = data_of(&fresh);
    kn_status status = KN_ERR_MEMORY;
    long k = 0;
    while (status == KN_ERR_MEMORY && k < 20000) { /* the sanitizer run looks for leaks */
        kn_fail_allocation(ctx, ++k);
        status = kn_centiles(ctx, m, NULL, participants, o, NULL);
        kn_fail_allocation(ctx, 0);
        if (status == KN_ERR_MEMORY)
            assert_int_equal(folder_files("short"), 0);
    }
    assert_int_equal(status, KN_OK);
    assert_true(k > 50);
    assert_int_equal(folder_files("short"), 7);
    kn_data_free(participants);
    kn_options_free(o);
    kn_model_free(m);
    folder_remove("short");
}

TEST_PROGRAM(commands_centiles)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverse_undoes_the_calibration),
        cmocka_unit_test(kurtosis_is_that_of_the_distribution),
        cmocka_unit_test(jackknife_is_its_formula),
        cmocka_unit_test(curves_cover_the_stated_proportion_of_new_participants),
        cmocka_unit_test(participants_keep_their_z),
        cmocka_unit_test(bands_come_from_fits_without_some_participants),
        cmocka_unit_test(jackknife_bands_cover),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("centiles", tests, open_fixture, close_fixture);
}
