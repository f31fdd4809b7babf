/* What every method promises: fit, predict, leave-one-out, cross-validation, save and open,
 * de-identification, predicted memory, refusal of wrong shapes, cancellation.
 *
 * MODELS is the table of models; a method of the registry without a row fails the first test. The
 * mathematics of a method is tested in its own folder. */
#include "support/fits.h"
#include "support/needs.h"

#include "base/memory/alloc.h"
#include "base/random.h"
#include "commands/export/export.h"

enum { N = 30, T = 6, F = 2, NEW = 4, FOLDS = 3 };

typedef struct model_kind {
    const char *name, *method, *kernel; /* kernel NULL: the default of the option */
    int noise, components, rank, inducing, noise_rank;
    bool plain, ppca, grouped;
    bool single_precision; /* the file stores weights as floats: predictions change in the 7th digit
                            */
} model_kind;

static const model_kind MODELS[] = {
    {.name = "structured", .method = "smtgpr", .components = 2},
    {.name = "structured, repeated measures", .method = "smtgpr", .components = 2, .grouped = true},
    {.name = "structured, low rank", .method = "smtgpr", .components = 2, .rank = 12},
    {.name = "iso", .method = "smtgpr", .noise = KN_NOISE_ISO, .components = 2},
    {.name = "whitened", .method = "smtgpr", .noise = KN_NOISE_WHITENED, .components = 1},
    {.name = "whitened, low rank",
     .method = "smtgpr",
     .noise = KN_NOISE_WHITENED,
     .components = 1,
     .rank = 12},
    {.name = "stgpr", .method = "stgpr", .single_precision = true},
    {.name = "stgpr, repeated measures",
     .method = "stgpr",
     .grouped = true,
     .single_precision = true},
    {.name = "stgpr, plain",
     .method = "stgpr",
     .kernel = "linear+se",
     .plain = true,
     .single_precision = true},
    {.name = "kronprod", .method = "kronprod"},
    {.name = "kronsum", .method = "kronsum"},
    {.name = "kronsum, repeated measures", .method = "kronsum", .grouped = true},
    {.name = "mtgpr", .method = "mtgpr", .components = 1},
    {.name = "mtgpr, all terms",
     .method = "mtgpr",
     .kernel = "linear+se+iso",
     .components = 2,
     .noise_rank = 1,
     .ppca = true},
    {.name = "convolved, variational", .method = "convolved", .components = 2},
    {.name = "convolved, PITC",
     .method = "convolved",
     .components = 2,
     .inducing = KN_INDUCING_PITC},
    {.name = "convolved, no inducing inputs",
     .method = "convolved",
     .components = 2,
     .inducing = KN_INDUCING_NONE},
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

static int group[N]; /* two rows per group */

static kn_settings settings_of(const model_kind *k)
{
    kn_settings s;
    kn_settings_init(&s);
    s.method = k->method;
    if (k->noise)
        s.noise = k->noise;
    if (k->components)
        s.components = k->components;
    if (k->kernel)
        s.sample_kernel = k->kernel;
    if (k->noise == KN_NOISE_ISO || strcmp(k->method, "kronprod") == 0)
        s.sample_kernel = NULL;
    s.rank = k->rank ? k->rank : KN_RANK_FULL;
    if (strcmp(k->method, "convolved") == 0) {
        s.inducing = k->inducing;
        s.inducing_points = 4;
    }
    s.noise_rank = k->noise_rank;
    s.ppca = k->ppca;
    s.plain = k->plain;
    s.groups = k->grouped ? group : NULL;
    s.group = "none";
    s.calibrate = KN_CALIBRATE_NONE;
    s.folds = FOLDS;
    s.max_evals = 12;
    return s;
}

typedef struct sample {
    kn_mat X, Y, new_X;
} sample;

/* Three directions of signal, so that one component leaves signal outside the basis. */
static sample draw_sample(void)
{
    kn_rng rng;
    ref_rng_init(&rng, 23, 0);
    sample s = {ref_normal(&rng, N, F), ref_normal(&rng, N, T), ref_normal(&rng, NEW, F)};
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N; i++) {
            double a = kn_at(s.X, i, 0), b = kn_at(s.X, i, 1);
            double signal[3] = {2 * a, 2 * sin(2 * b), a * b};
            kn_col(s.Y, j)[i] += 5 + signal[j % 3] + signal[(j + 1) % 3] / 2;
        }
    for (int i = 0; i < N; i++)
        group[i] = i / 2;
    return s;
}

static void sample_free(sample s)
{
    free(s.X.data), free(s.Y.data), free(s.new_X.data);
}

static kn_model *fit_kind(const model_kind *k, const sample *s)
{
    kn_settings o = settings_of(k);
    kn_model *m;
    kn_status status = kn_fit_arrays(ctx, view(s->X), view(s->Y), &o, &m);
    if (status != KN_OK)
        fail_msg("%s: %s", k->name, kn_message(ctx));
    return m;
}

/* Runs `check` with a fitted model of every row. */
static void for_every_model(void (*check)(const model_kind *k, const sample *s, kn_model *m))
{
    sample s = draw_sample();
    for (int k = 0; k < MODEL_COUNT; k++) {
        kn_model *m = fit_kind(&MODELS[k], &s);
        check(&MODELS[k], &s, m);
        kn_model_free(m);
    }
    sample_free(s);
}

static void every_method_of_the_registry_has_a_row(void **state)
{
    (void)state;
    for (int i = 0; i < kn_method_count(); i++) {
        bool found = false;
        for (int k = 0; k < MODEL_COUNT; k++)
            found = found || strcmp(MODELS[k].method, kn_method_at(i)->name) == 0;
        if (!found)
            fail_msg("%s has no row in MODELS", kn_method_at(i)->name);
    }
}

/* ---- maps ---- */

enum { PREDICTED, LEFT_OUT, CROSS_VALIDATED, MAP_KINDS };

static maps_of maps_by(const kn_model *m, const sample *s, int kind)
{
    kn_maps *maps;
    if (kind == PREDICTED)
        assert_ok(ctx, kn_maps_predict(ctx, m, view(s->new_X), &maps));
    else if (kind == LEFT_OUT)
        assert_ok(ctx, kn_maps_loo(ctx, m, view(s->Y), &maps));
    else
        assert_ok(ctx, kn_maps_cv(ctx, m, view(s->Y), FOLDS, NULL, &maps));
    assert_int_equal(kn_maps_samples(maps), kind == PREDICTED ? NEW : N);
    return collect(maps, T);
}

static void check_maps(const model_kind *k, const sample *s, kn_model *m)
{
    for (int kind = 0; kind < MAP_KINDS; kind++) {
        maps_of a = maps_by(m, s, kind);
        for (ptrdiff_t j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < a.mean.rows; i++)
                if (!isfinite(kn_at(a.mean, i, j)) || !(kn_at(a.var, i, j) >= 0) ||
                    !isfinite(kn_at(a.var, i, j)))
                    fail_msg("%s, maps %d: mean %g, variance %g", k->name, kind,
                             kn_at(a.mean, i, j), kn_at(a.var, i, j));
        release(a);
    }
    kn_fit_info info;
    kn_model_info(m, &info);
    assert_int_equal(info.cv.folds, FOLDS);
    assert_true(isfinite(info.cv.z2) && isfinite(info.cv.msll));
}

static void maps_are_finite_and_variances_are_not_negative(void **state)
{
    (void)state;
    for_every_model(check_maps);
}

/* Mean and variance apart, one response at a time, in another order. */
static void check_blocks(const model_kind *k, const sample *s, kn_model *m)
{
    maps_of whole = maps_by(m, s, PREDICTED);
    kn_maps *maps;
    assert_ok(ctx, kn_maps_predict(ctx, m, view(s->new_X), &maps));
    for (ptrdiff_t i = 0; i < T; i++) {
        ptrdiff_t t = (i * 5) % T;
        kn_mat mean = ref_new(NEW, 1), var = ref_new(NEW, 1);
        assert_ok(ctx, kn_maps_block(ctx, maps, t, 1, mean, kn_mat_none()));
        assert_ok(ctx, kn_maps_block(ctx, maps, t, 1, kn_mat_none(), var));
        if (!(ref_difference(mean, kn_cols(whole.mean, t, 1)) <= 1e-12) ||
            !(ref_difference(var, kn_cols(whole.var, t, 1)) <= 1e-12))
            fail_msg("%s: response %td differs in a block of its own", k->name, t);
        free(mean.data), free(var.data);
    }
    kn_maps_free(maps);
    release(whole);
}

static void blocks_of_any_size_have_the_same_maps(void **state)
{
    (void)state;
    for_every_model(check_blocks);
}

/* The covariance of some responses for one participant has the variances of the maps. */
static void check_covariance(const model_kind *k, const sample *s, kn_model *m)
{
    static const ptrdiff_t J[2] = {4, 1};
    maps_of a = maps_by(m, s, PREDICTED);
    kn_mat x = ref_new(1, F), model = ref_new(2, 2), noise = ref_new(2, 2);
    double noises[T];
    for (int f = 0; f < F; f++)
        x.data[f] = kn_at(s->new_X, 2, f);
    assert_ok(ctx, kn_covariance(ctx, m, view(x), J, 2, model, noise));
    assert_ok(ctx, kn_model_noise(ctx, m, noises));
    for (int q = 0; q < 2; q++) {
        if (!(fabs(kn_at(model, q, q) - kn_at(a.var, 2, J[q])) <= 1e-9))
            fail_msg("%s: covariance %.12g, variance %.12g", k->name, kn_at(model, q, q),
                     kn_at(a.var, 2, J[q]));
        assert_close(kn_at(noise, q, q), noises[J[q]], 1e-9);
    }
    assert_close(kn_at(model, 0, 1), kn_at(model, 1, 0), 1e-12);
    free(x.data), free(model.data), free(noise.data);
    release(a);
}

static void covariances_have_the_variances_of_the_maps(void **state)
{
    (void)state;
    for_every_model(check_covariance);
}

/* ---- files ---- */

static void check_same_maps(const model_kind *k, const kn_model *a, const kn_model *b,
                            const sample *s, bool exact)
{
    for (int kind = 0; kind < MAP_KINDS; kind++) {
        maps_of p = maps_by(a, s, kind), q = maps_by(b, s, kind);
        const double tol = !exact ? 1e-5 : kind == CROSS_VALIDATED ? 1e-12 : 0;
        if (!(ref_difference(p.mean, q.mean) <= tol) || !(ref_difference(p.var, q.var) <= tol))
            fail_msg("%s: maps %d of the opened model differ by %.3g", k->name, kind,
                     fmax(ref_difference(p.mean, q.mean), ref_difference(p.var, q.var)));
        release(p), release(q);
    }
}

typedef struct file_bytes {
    void *bytes;
    size_t n;
} file_bytes;

static file_bytes bytes_of(const kn_model *m)
{
    file_bytes f;
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &f.bytes, &f.n));
    return f;
}

static kn_model *open_bytes(file_bytes f)
{
    kn_model *m;
    assert_ok(ctx, kn_model_from_bytes(ctx, f.bytes, f.n, &m));
    return m;
}

static void assert_same_file(const model_kind *k, file_bytes a, file_bytes b, const char *what)
{
    if (a.n != b.n || memcmp(a.bytes, b.bytes, a.n) != 0)
        fail_msg("%s: the file of %s differs", k->name, what);
}

/* A model without cells of gamma (STGPR without groups, convolved processes) has one after opening:
 * its file is the same from the second save on, and the first two differ in "kernel.gammas". */
static void check_file(const model_kind *k, const sample *s, kn_model *m)
{
    kn_model *refitted = fit_kind(k, s);
    file_bytes first = bytes_of(m), once_more = bytes_of(refitted);
    kn_model *opened = open_bytes(first);
    file_bytes second = bytes_of(opened);
    kn_model *reopened = open_bytes(second);
    file_bytes third = bytes_of(reopened);
    assert_same_file(k, first, once_more, "the same fit once more");
    assert_same_file(k, first, second, "the opened model");
    assert_same_file(k, second, third, "the model opened twice");
    assert_ptr_equal(opened->gp.method, m->gp.method);
    assert_int_equal(opened->gp.D0.rows, m->gp.D0.rows);
    assert_int_equal(opened->gp.latent.groups.n, m->gp.latent.groups.n);
    check_same_maps(k, m, opened, s, !k->single_precision);
    check_same_maps(k, opened, reopened, s, true);
    kn_bytes_free(first.bytes), kn_bytes_free(once_more.bytes);
    kn_bytes_free(second.bytes), kn_bytes_free(third.bytes);
    kn_model_free(opened), kn_model_free(reopened), kn_model_free(refitted);
}

static void an_opened_model_has_the_same_bytes_and_maps(void **state)
{
    (void)state;
    for_every_model(check_file);
}

static void the_number_of_threads_does_not_change_a_byte(void **state)
{
    (void)state;
    sample s = draw_sample();
    for (int k = 0; k < MODEL_COUNT; k++) {
        void *bytes[2];
        size_t n[2];
        for (int threads = 1; threads <= 2; threads++) {
            kn_set_threads(ctx, threads);
            kn_model *m = fit_kind(&MODELS[k], &s);
            assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes[threads - 1], &n[threads - 1]));
            kn_model_free(m);
        }
        kn_set_threads(ctx, 1);
        if (n[0] != n[1] || memcmp(bytes[0], bytes[1], n[0]) != 0)
            fail_msg("%s: two threads make another file", MODELS[k].name);
        kn_bytes_free(bytes[0]), kn_bytes_free(bytes[1]);
    }
    sample_free(s);
}

/* ---- de-identification ---- */

static void check_deidentified(const model_kind *k, const sample *s, kn_model *m)
{
    kn_model *out;
    kn_export_info info = {0};
    (void)s;
    if (!m->gp.method->deidentify) {
        assert_refused(ctx, kn_export_model(ctx, m, 20, 1, &out, &info), KN_ERR_ARGUMENT,
                       "models cannot be exported");
        assert_non_null(strstr(kn_message(ctx), m->gp.method->title));
        assert_null(out);
        return;
    }
    kn_status status = kn_export_model(ctx, m, 20, 1, &out, &info);
    const bool by_name = status == KN_ERR_ARGUMENT && /* such as iso noise */
                         strstr(kn_message(ctx), "cannot be exported");
    if (status != KN_OK && status != KN_ERR_DATA && !by_name) /* DATA: the error is too large */
        fail_msg("%s: %s", k->name, kn_message(ctx));
    assert_true((status == KN_OK) == (out != NULL));
    if (out) {
        assert_int_equal(kn_export_model(ctx, out, 20, 1, &(kn_model *){NULL}, &info),
                         KN_ERR_ARGUMENT); /* it is de-identified already */
        assert_ptr_equal(out->gp.method, m->gp.method);
        assert_true(info.points > 0);
        kn_model_free(out);
    }
}

static void a_model_is_deidentified_or_refused_by_name(void **state)
{
    (void)state;
    for_every_model(check_deidentified);
}

/* ---- memory ---- */

/* The peak of a fit never exceeds the predicted memory. More shapes are in
 * commands/memory/test_predicted_vs_peak.c. */
static void predicted_memory_is_at_least_the_peak(void **state)
{
    (void)state;
    enum { SAMPLES = 60, RESPONSES = 50 }; /* kronsum needs fewer responses than samples */
    kn_rng rng;
    ref_rng_init(&rng, 24, 0);
    kn_mat X = ref_normal(&rng, SAMPLES, F), Y = ref_normal(&rng, SAMPLES, RESPONSES);
    for (int k = 0; k < MODEL_COUNT; k++) {
        const model_kind *kind = &MODELS[k];
        if (kind->grouped || kind->rank || kind->inducing != KN_INDUCING_VARIATIONAL || kind->ppca)
            continue;
        kn_settings o = settings_of(kind);
        kn_model *m;
        kn_need need;
        if (!kind->kernel && o.sample_kernel)
            o.sample_kernel = "linear+se";
        kn_memory_peak_reset(ctx);
        double before = (double)kn_memory_now(ctx);
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
        double peak = (double)kn_memory_peak(ctx) - before;
        kn_problem_size size = {.method = m->gp.method,
                                .N = SAMPLES,
                                .T = RESPONSES,
                                .F = F,
                                .P = kind->components,
                                .M = SAMPLES,
                                .folds = FOLDS,
                                .iso = kind->noise == KN_NOISE_ISO,
                                .plain = kind->plain,
                                .points = o.inducing_points,
                                .top = o.top,
                                .value = sizeof(double),
                                .calibrate = o.calibrate,
                                .threads = kn_threads(ctx)};
        kn_need_predict(&size, &need);
        double predicted = kn_need_total(&need) - need.program - need.responses;
        if (predicted < peak)
            fail_msg("%s: predicted %.0f bytes, peak %.0f", kind->name, predicted, peak);
        kn_model_free(m);
    }
    free(X.data), free(Y.data);
}

/* ---- refusals and cancellation ---- */

static void check_shapes(const model_kind *k, const sample *s, kn_model *m)
{
    kn_settings o = settings_of(k);
    kn_model *none = m;
    kn_maps *maps = NULL;
    kn_view fewer_rows = view(s->Y), fewer_columns = view(s->Y), x = view(s->new_X);
    fewer_rows.rows--;
    fewer_columns.cols--;
    x.cols--;
    assert_int_equal(kn_fit_arrays(ctx, view(s->X), fewer_rows, &o, &none), KN_ERR_SHAPE);
    assert_null(none);
    assert_int_equal(kn_maps_predict(ctx, m, x, &maps), KN_ERR_SHAPE);
    assert_null(maps);
    assert_int_equal(kn_maps_loo(ctx, m, fewer_rows, &maps), KN_ERR_SHAPE);
    assert_null(maps);
    assert_int_equal(kn_maps_loo(ctx, m, fewer_columns, &maps), KN_ERR_SHAPE);
    assert_null(maps);
    assert_int_equal(kn_maps_cv(ctx, m, fewer_rows, FOLDS, NULL, &maps), KN_ERR_SHAPE);
    assert_null(maps);
    assert_int_equal(kn_maps_cv(ctx, m, fewer_columns, FOLDS, NULL, &maps), KN_ERR_SHAPE);
    assert_null(maps);
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    for_every_model(check_shapes);
}

static void cancel_at_progress(void *user, const kn_progress *p)
{
    (void)p;
    ++*(int *)user;
    kn_cancel(ctx);
}

static void a_cancelled_fit_returns_no_model_and_no_memory(void **state)
{
    (void)state;
    sample s = draw_sample();
    for (int k = 0; k < MODEL_COUNT; k++) {
        kn_settings o = settings_of(&MODELS[k]);
        for (int at_progress = 0; at_progress < 2; at_progress++) {
            kn_model *m = NULL;
            int calls = 0;
            const size_t before = kn_memory_now(ctx);
            if (at_progress)
                kn_set_progress(ctx, cancel_at_progress, &calls);
            else
                kn_cancel(ctx);
            kn_status status = kn_fit_arrays(ctx, view(s.X), view(s.Y), &o, &m);
            kn_set_progress(ctx, NULL, NULL);
            kn_cancel_clear(ctx);
            if (status != KN_ERR_CANCELLED || m || (at_progress && calls == 0))
                fail_msg("%s: status %s, %d calls of progress", MODELS[k].name,
                         kn_status_name(status), calls);
            assert_int_equal(kn_memory_now(ctx), before);
        }
    }
    sample_free(s);
}

TEST_PROGRAM(methods_every_method)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_of_the_registry_has_a_row),
        cmocka_unit_test(maps_are_finite_and_variances_are_not_negative),
        cmocka_unit_test(blocks_of_any_size_have_the_same_maps),
        cmocka_unit_test(covariances_have_the_variances_of_the_maps),
        cmocka_unit_test(an_opened_model_has_the_same_bytes_and_maps),
        cmocka_unit_test(the_number_of_threads_does_not_change_a_byte),
        cmocka_unit_test(a_model_is_deidentified_or_refused_by_name),
        cmocka_unit_test(predicted_memory_is_at_least_the_peak),
        cmocka_unit_test(wrong_shapes_are_refused),
        cmocka_unit_test(a_cancelled_fit_returns_no_model_and_no_memory),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
