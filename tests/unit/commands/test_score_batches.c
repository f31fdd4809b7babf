/* Samples pass in batches: how many at a time is not to be seen in what is written, and what is not
 * finished is not written at all. */
#include "support/calls.h"
#include "support/failing.h"
#include "support/folders.h"

#include "base/random.h"
#include "cohort/simulate.h"
#include "norm/calibration/calibration_check.h"
#include "norm/metrics/extreme_statistic.h"
#include "norm/metrics/metrics.h"

static kn_ctx *ctx;

enum { N = 40, NEW = 23, T = 2100 }; /* two blocks of responses */

static double value_of(kn_rng *rng, int i, int j, double age, double shared)
{
    if (j == 17)
        return 3; /* constant, left out of the model */
    return 100 + 0.01 * age * (j % 13) + shared * (1 + j % 5) + 0.5 * kn_rng_normal(rng) +
           (i == 45);
}

/* participants.csv and brains.csv of N + NEW, of which the first N are in train_*.csv; later one of
 * those has other responses, one lacks a response, two new ones lack some or all. */
static void write_tables(void)
{
    kn_rng rng;
    FILE *x[2] = {fopen("people.csv", "w"), fopen("train_people.csv", "w")};
    FILE *y[2] = {fopen("brains.csv", "w"), fopen("train_brains.csv", "w")};
    ref_rng_init(&rng, 5, 0);
    for (int k = 0; k < 2; k++) {
        fprintf(x[k], "participant_id,age,sex,group\n");
        fprintf(y[k], "participant_id");
        for (int j = 0; j < T; j++)
            fprintf(y[k], ",r%d", j);
        fprintf(y[k], "\n");
    }
    for (int i = 0; i < N + NEW; i++) {
        double age = 20 + 60 * kn_rng_uniform(&rng), shared = kn_rng_normal(&rng);
        for (int k = 0; k < (i < N ? 2 : 1); k++) {
            fprintf(x[k], "s%02d,%.2f,%c,%s\n", i, age, "MF"[i % 2], i % 9 ? "healthy" : "patient");
            fprintf(y[k], "s%02d", i);
        }
        for (int j = 0; j < T; j++) {
            double v = value_of(&rng, i, j, age, shared);
            bool gone = i == 60 || (i == 50 && j < 900) || (i == 3 && j == 9);
            if (gone)
                fprintf(y[0], ",n/a");
            else
                fprintf(y[0], ",%.6f", v + (i == 4));
            if (i < N)
                fprintf(y[1], ",%.6f", v);
        }
        for (int k = 0; k < (i < N ? 2 : 1); k++)
            fprintf(y[k], "\n");
    }
    for (int k = 0; k < 2; k++)
        if (fclose(x[k]) != 0 || fclose(y[k]) != 0)
            fail_msg("cannot write tables");
}

static void fit(const char *output, const char *method)
{
    char text[256];
    kn_model *model;
    snprintf(text, sizeof text,
             "covariates=train_people.csv responses=train_brains.csv use=age,sex folds=4 "
             "max_evals=3 "
             "output=%s %s",
             output, method);
    assert_ok(ctx, fit_files(ctx, text, &model));
    kn_model_free(model);
}

static kn_status score(const char *model, const char *output, const char *more, ptrdiff_t rows,
                       kn_scores **scores)
{
    char text[256];
    snprintf(text, sizeof text,
             "model=%s covariates=people.csv responses=brains.csv output=%s "
             "write=z,yhat,ys2_model,ys2 format=npy cases=group=patient %s",
             model, output, more);
    return score_files(ctx, "score", text, rows, scores);
}

static void assert_same_bytes(const char *a, const char *b)
{
    enum { ROOM = 1 << 22 };
    char *x = malloc(ROOM), *y = malloc(ROOM);
    size_t n = scratch_read(a, x, ROOM);
    assert_true(n < ROOM && n > 0);
    if (scratch_read(b, y, ROOM) != n || memcmp(x, y, n) != 0)
        fail_msg("%s differs from %s", a, b);
    free(x);
    free(y);
}

static void assert_same_number(const kn_scores *a, const kn_scores *b, const char *name)
{
    assert_true(kn_scores_number(a, name) == kn_scores_number(b, name));
}

static void batches_of_any_size_write_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *model, *method;
    } models[] = {{"structured.safetensors", "components=4"},
                  {"iso.safetensors", "noise=iso components=4"},
                  {"many.safetensors", "components=20"},
                  {"whitened.safetensors", "noise=whitened components=4"},
                  {"kronprod.safetensors", "method=kronprod"},
                  {"stgpr.safetensors", "method=stgpr"}};
    static const char *const maps[] = {"z", "yhat", "ys2_model", "ys2_noise", "ys2"};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        static const ptrdiff_t sizes[] = {N + NEW, 1, 7};
        kn_scores *scores[3];
        char out[3][64], a[128], b[128];
        fit(models[m].model, models[m].method);
        for (int k = 0; k < 3; k++) {
            snprintf(out[k], sizeof out[k], "out-%zu-%d", m, k);
            assert_ok(ctx, score(models[m].model, out[k], "", sizes[k], &scores[k]));
            assert_true(kn_scores_number(scores[k], "files") == 12);
            assert_int_equal(folder_files(out[k]), 12);
        }
        for (int k = 1; k < 3; k++) {
            for (int i = 0; i < 5; i++) {
                snprintf(a, sizeof a, "%s/%s.npy", out[0], maps[i]);
                snprintf(b, sizeof b, "%s/%s.npy", out[k], maps[i]);
                assert_same_bytes(a, b);
            }
            snprintf(a, sizeof a, "%s/abnormality.tsv", out[0]);
            snprintf(b, sizeof b, "%s/abnormality.tsv", out[k]);
            assert_same_bytes(a, b);
            snprintf(a, sizeof a, "%s/metrics.tsv", out[0]);
            snprintf(b, sizeof b, "%s/metrics.tsv", out[k]);
            assert_same_bytes(a, b);
            assert_same_number(scores[0], scores[k], "calibration.z2");
            assert_same_number(scores[0], scores[k], "metrics.R2");
            assert_same_number(scores[0], scores[k], "metrics.MSLL");
            assert_close(kn_scores_number(scores[0], "AUC.deviance"),
                         kn_scores_number(scores[k], "AUC.deviance"), 0);
        }
        for (int k = 0; k < 3; k++) {
            kn_scores_free(scores[k]);
            folder_remove(out[k]);
        }
    }
}

static void images_are_the_same_bytes_in_every_layout(void **state)
{
    (void)state;
    static const char *const formats[] = {"nii", "csv", "npy"};
    kn_options *o = options_of(ctx, "simulate", "samples=24 patients=4 output=study");
    kn_model *model;
    assert_ok(ctx, kn_simulate(ctx, o));
    kn_options_free(o);
    assert_ok(ctx, fit_files(ctx,
                             "covariates=study/train_participants.tsv "
                             "responses=study/train_images.txt use=age,sex "
                             "output=images.safetensors",
                             &model));
    kn_model_free(model);
    for (int format = 0; format < 3; format++)
        for (int split = 0; split < 2; split++) {
            kn_scores *whole, *parts;
            char text[256];
            static const char all[] = "model=images.safetensors "
                                      "covariates=study/test_participants.tsv "
                                      "format=%s split=%d output=%s";
            snprintf(text, sizeof text, all, formats[format], split, "whole");
            assert_ok(ctx, score_files(ctx, "predict", text, 0, &whole));
            int files = (int)kn_scores_number(whole, "files");
            /* A table of maps has a sidecar, the files of one participant have none. */
            assert_int_equal(files, (split ? 2 * 9 + 3 : 5) + (format == 1 ? (split ? 1 : 3) : 0));
            snprintf(text, sizeof text, all, formats[format], split, "parts");
            assert_ok(ctx, score_files(ctx, "predict", text, 2, &parts));
            assert_int_equal(folder_compare("whole", "parts"), files);
            assert_int_equal(folder_files("parts"), files);
            kn_scores_free(whole);
            kn_scores_free(parts);
            folder_remove("whole");
            folder_remove("parts");
        }
    folder_remove("study");
}

static void cancel_late(void *user, const kn_progress *p)
{
    (void)user;
    if (strcmp(p->stage, "scoring") == 0 && p->done > 30)
        kn_cancel(ctx);
}

/* Most batches are on disk by then, without a name. */
static void a_run_that_is_stopped_leaves_what_was_there(void **state)
{
    (void)state;
    kn_scores *scores;
    for (int split = 0; split < 2; split++) {
        const char *more = split ? "split=yes" : "",
                   *again = split ? "split=yes force=yes" : "force=yes";
        kn_set_progress(ctx, cancel_late, NULL);
        assert_int_equal(score("structured.safetensors", "out", more, 5, &scores),
                         KN_ERR_CANCELLED);
        kn_set_progress(ctx, NULL, NULL);
        kn_cancel_clear(ctx);
        assert_null(scores);
        assert_int_not_equal(access("out", F_OK), 0);

        assert_ok(ctx, score("structured.safetensors", "out", more, 0, &scores));
        kn_scores_free(scores);
        assert_ok(ctx, score("structured.safetensors", "copy", more, 0, &scores));
        kn_scores_free(scores);
        kn_set_progress(ctx, cancel_late, NULL);
        assert_int_equal(score("iso.safetensors", "out", again, 5, &scores), KN_ERR_CANCELLED);
        kn_set_progress(ctx, NULL, NULL);
        kn_cancel_clear(ctx);
        assert_int_equal(folder_files("out"), folder_files("copy"));
        unlink("out/summary.json"); /* it has the time */
        unlink("copy/summary.json");
        folder_compare("out", "copy");
        folder_remove("out");
        folder_remove("copy");
    }
}

/* ---- the parts ---------------------------------------------------------------------------------
 */

static void metrics_in_batches_are_the_same_bits(void **state)
{
    (void)state;
    enum { ROWS = 50, COLS = 70 };
    kn_rng rng;
    kn_mat y = ref_new(ROWS, COLS), m = ref_new(ROWS, COLS), v = ref_new(ROWS, COLS);
    kn_mat whole = ref_new(COLS, KN_N_METRICS), parts = ref_new(COLS, KN_N_METRICS);
    kn_metric_sums *sums = calloc(COLS, sizeof *sums);
    double noise[COLS], mean0[COLS], var0[COLS];
    bool use[ROWS];
    ref_rng_init(&rng, 3, 0);
    for (int j = 0; j < COLS; j++) {
        noise[j] = 0.3, mean0[j] = 900, var0[j] = 1.2;
        for (int i = 0; i < ROWS; i++) {
            kn_col(m, j)[i] = 1000 + kn_rng_normal(&rng);
            kn_col(y, j)[i] = kn_at(m, i, j) + kn_rng_normal(&rng);
            kn_col(v, j)[i] = kn_rng_uniform(&rng);
            use[i] = i % 7 != 0;
        }
        kn_col(y, j)[j % ROWS] = NAN;
    }
    kn_metrics(ctx, &(kn_measured){y, m, v, noise, mean0, var0, use}, whole);
    for (int i = 0, n = 1; i < ROWS; i += n, n = n % 11 + 3) {
        n = n < ROWS - i ? n : ROWS - i;
        kn_measured some = {kn_sub(y, i, 0, n, COLS),
                            kn_sub(m, i, 0, n, COLS),
                            kn_sub(v, i, 0, n, COLS),
                            noise,
                            mean0,
                            var0,
                            use + i};
        kn_metrics_add(ctx, &some, sums);
    }
    kn_metrics_result(sums, parts);
    assert_memory_equal(whole.data, parts.data, sizeof(double) * COLS * KN_N_METRICS);
    free(sums);
    free(y.data), free(m.data), free(v.data), free(whole.data), free(parts.data);
}

static void calibration_does_not_see_batches(void **state)
{
    (void)state;
    enum { ROWS = 50, COLS = 70 };
    kn_rng rng;
    kn_mat z = ref_new(ROWS, COLS);
    double whole[KN_N_CALIBRATION], parts[KN_N_CALIBRATION];
    kn_calibrator c;
    ref_rng_init(&rng, 3, 0);
    for (int i = 0; i < ROWS * COLS; i++)
        z.data[i] = i % 31 ? 0.4 + kn_rng_normal(&rng) : NAN;
    assert_ok(ctx, kn_calibrator_init(ctx, &c));
    assert_ok(ctx, kn_calibrator_add(ctx, &c, z, NULL, kn_mat_none()));
    kn_calibrator_result(&c, whole);
    kn_calibrator_clear(&c);
    for (int n = 1; n < ROWS; n += 6) {
        assert_ok(ctx, kn_calibrator_init(ctx, &c));
        for (int i = 0; i < ROWS; i += n)
            assert_ok(ctx,
                      kn_calibrator_add(ctx, &c, kn_sub(z, i, 0, n < ROWS - i ? n : ROWS - i, COLS),
                                        NULL, kn_mat_none()));
        kn_calibrator_result(&c, parts);
        kn_calibrator_clear(&c);
        for (int k = 0; k < KN_N_CALIBRATION; k++)
            assert_close(parts[k], whole[k], 1e-12);
    }
    free(z.data);
}

static void the_statistic_of_rows_is_that_of_each(void **state)
{
    (void)state;
    enum { ROWS = 9, COLS = 400 };
    kn_rng rng;
    float z[ROWS * COLS];
    double m[ROWS], work[COLS];
    ref_rng_init(&rng, 3, 0);
    for (int i = 0; i < ROWS * COLS; i++)
        z[i] = i % 31 ? (float)kn_rng_normal(&rng) : NAN;
    for (int threads = 1; threads < 12; threads += 5) {
        kn_set_threads(ctx, threads);
        assert_ok(ctx, kn_extreme_rows(ctx, z, ROWS, COLS, 0.05, m));
        for (int i = 0; i < ROWS; i++)
            assert_true(m[i] == kn_extreme_f(z + i * COLS, 1, COLS, 0.05, work));
    }
    kn_set_threads(ctx, 0);
}

static int open_fixture(void **state)
{
    ctx = kn_ctx_new();
    if (scratch_enter(state) != 0)
        return -1;
    write_tables();
    return 0;
}

static int close_fixture(void **state)
{
    int status = scratch_leave(state);
    kn_ctx_free(ctx);
    return status;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(commands_score_in_batches, open_fixture, close_fixture)
{
    fit("structured.safetensors", "components=4");
    kn_options *o = options_of(ctx, "score",
                               "model=structured.safetensors covariates=people.csv "
                               "responses=brains.csv output=out write=z,yhat,ys2_model format=npy "
                               "label=group=patient");
    kn_status status = KN_ERR_MEMORY;
    for (long k = 1; status != KN_OK; k += 1 + k / 9) {
        kn_model *model = NULL;
        kn_data *data = NULL;
        kn_scores *scores = NULL;
        kn_fail_allocation(ctx, k);
        status = kn_model_open(ctx, "structured.safetensors", &model);
        if (status == KN_OK)
            status = kn_data_read(ctx, o, &data);
        if (status == KN_OK)
            status = kn_score_in_batches(ctx, model, data, o, 20, &scores);
        kn_fail_allocation(ctx, 0);
        kn_scores_free(scores);
        kn_data_free(data);
        kn_model_free(model);
        assert_true(status == KN_OK || status == KN_ERR_MEMORY);
        assert_int_equal(folder_files("out"), status == KN_OK ? 11 : 0);
        assert_true(status == KN_OK || access("out", F_OK) != 0);
    }
    kn_options_free(o);
    folder_remove("out");
}

TEST_PROGRAM(commands_score_batches)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_of_any_size_write_the_same),
        cmocka_unit_test(images_are_the_same_bytes_in_every_layout),
        cmocka_unit_test(a_run_that_is_stopped_leaves_what_was_there),
        cmocka_unit_test(metrics_in_batches_are_the_same_bits),
        cmocka_unit_test(calibration_does_not_see_batches),
        cmocka_unit_test(the_statistic_of_rows_is_that_of_each),
    };
    return cmocka_run_group_tests_name("batches", tests, open_fixture, close_fixture);
}
