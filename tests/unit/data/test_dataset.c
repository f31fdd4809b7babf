/* Participants from memory and from files are the same participants: the same model to the byte,
 * the same scores, sentences that name rows instead of lines. */
#include "commands/score/internal.h"
#include "io/npy/npy.h"
#include "io/table/table.h"

#include "support/participants.h"
#include "support/same_model.h"

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* ---- the same either way -----------------------------------------------------------------------
 */

static void memory_and_files_give_the_same_bytes(void **state)
{
    (void)state;
    static const char how[] = "components=2 folds=4";
    char files[128], prefixed[N][8];
    const char *site[N];
    kn_data *d;
    void *a, *b;
    size_t n, m;
    for (int i = 0; i < N; i++) { /* in a file, 01 would be a number */
        snprintf(prefixed[i], sizeof prefixed[i], "s%s", p.site[i]);
        site[i] = prefixed[i];
    }
    assert_ok(ctx, kn_data_new(ctx, N, &d));
    assert_ok(ctx, kn_data_ids(ctx, d, p.id));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", p.age, 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "site", site));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(p.y, N, T), NAMES));
    kn_model *memory = fit_data(ctx, d, how), *file;
    snprintf(files, sizeof files, "covariates=people.csv responses=maps.csv %s", how);
    assert_ok(ctx, fit_files(ctx, files, &file));
    assert_ok(ctx, kn_model_to_bytes(ctx, memory, &a, &n));
    assert_ok(ctx, kn_model_to_bytes(ctx, file, &b, &m));
    assert_same_model(a, n, b, m);
    kn_bytes_free(a);
    kn_bytes_free(b);
    kn_model_free(memory);
    kn_model_free(file);
    kn_data_free(d);
}

static void scores_in_memory_are_those_that_are_written(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES);
    assert_ok(ctx, kn_data_texts(ctx, d, "group", p.group));
    kn_model *m = fit_data(ctx, d, "components=2 folds=4 use=age,site");
    kn_scores *here =
        score_data(ctx, m, d, "write=z,yhat,ys2_model,fdr cases=group=patient training_rows=plain");
    kn_scores *there = score_data(
        ctx, m, d,
        "write=z,yhat,ys2_model,fdr cases=group=patient training_rows=plain output=out format=npy");
    kn_model_free(m); /* the scores stand alone */
    assert_true(kn_scores_number(here, "files") == 0 && kn_scores_number(there, "files") == 12);
    kn_table *t;
    assert_ok(ctx, kn_table_read(ctx, "out/abnormality.tsv", &t));
    assert_int_equal(kn_table_cols(t), 27);
    for (ptrdiff_t c = 1; c < 27; c++) {
        const double *x = kn_scores_participants(here, kn_table_name(t, c));
        assert_non_null(x);
        for (ptrdiff_t i = 0; i < N; i++) {
            double written;
            kn_table_number(t, i, c, &written);
            if (strcmp(kn_table_name(t, c), "p_note") == 0)
                assert_string_equal(kn_table_cell(t, i, c), kn_p_note_name(x[i]));
            else
                assert_true(same(x[i], written));
            assert_string_equal(kn_scores_ids(here)[i], kn_table_cell(t, i, 0));
        }
    }
    kn_table_free(t);
    assert_ok(ctx, kn_table_read(ctx, "out/metrics.tsv", &t));
    for (ptrdiff_t c = 1; c < kn_table_cols(t); c++)
        for (ptrdiff_t j = 0; j < T; j++) {
            double written;
            kn_table_number(t, j, c, &written);
            assert_true(same(kn_scores_responses(here, kn_table_name(t, c))[j], written));
        }
    kn_table_free(t);
    static const char *const maps[] = {"z", "yhat", "ys2_model", "fdr"};
    for (int k = 0; k < 4; k++) {
        char path[32];
        kn_npy npy;
        kn_mat z = block(here, maps[k]);
        snprintf(path, sizeof path, "out/%s.npy", maps[k]);
        assert_ok(ctx, kn_npy_read(ctx, path, &npy));
        for (ptrdiff_t i = 0; i < N * T; i++)
            assert_true(z.data[i] == kn_view_at(npy.view, i % N, i / N));
        kn_npy_clear(&npy);
        free(z.data);
    }
    assert_true(kn_scores_number(here, "AUC.extreme_z") ==
                kn_scores_number(there, "AUC.extreme_z"));
    assert_true(kn_scores_number(here, "AUC.extreme_z.low") <=
                kn_scores_number(here, "AUC.extreme_z"));
    assert_true(kn_scores_number(here, "counts.cases") == 5);
    assert_true(isnan(kn_scores_number(here, "AUC.bottom")));
    assert_non_null(strstr(kn_scores_json(here), "\"calibration\""));
    kn_scores_free(here);
    kn_scores_free(there);
    kn_scores_free(NULL);
    kn_data_free(d);
    folder_remove("out");
}

/* ---- covariates --------------------------------------------------------------------------------
 */

static void conditions_select_participants_in_memory_and_files(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES), *files;
    kn_model *m = fit_data(ctx, d, "where=site!=02 folds=4"), *again, *read;
    ptrdiff_t chosen = 0;
    for (int i = 0; i < N; i++)
        chosen += strcmp(p.site[i], "02") != 0;
    assert_true(kn_model_number(m, "n_samples") == (double)chosen);
    again = fit_data(ctx, d, "folds=4"); /* the choice was that call's */
    assert_true(kn_model_number(again, "n_samples") == N);
    kn_scores *s = score_data(ctx, m, d, "where=site=03");
    assert_true(kn_scores_n_participants(s) == N / 3 && strcmp(kn_scores_ids(s)[0], "s02") == 0);
    kn_scores_free(s);

    write_tables(); /* read whole, and chosen from by the fit */
    kn_options *o = options_of(ctx, "fit", "covariates=people.csv responses=maps.csv");
    assert_ok(ctx, kn_data_read(ctx, o, &files));
    read = fit_data(ctx, files, "where=site!=s02 folds=4");
    assert_true(kn_model_number(read, "lml") == kn_model_number(m, "lml"));
    kn_options_free(o);
    kn_data_free(files);
    kn_model_free(read);
    kn_model_free(again);
    kn_model_free(m);

    double visit[N];
    const char *participant[N];
    for (int i = 0; i < N; i++) {
        visit[i] = 1 + i % 2;
        participant[i] = p.id[i - i % 2];
    }
    assert_ok(ctx, kn_data_ids(ctx, d, participant));
    assert_ok(ctx, kn_data_numbers(ctx, d, "visit", visit, 1));
    m = fit_data(ctx, d, "session=last use=age,site");
    assert_true(kn_model_number(m, "n_samples") == N / 2);
    s = score_data(ctx, m, d, "session=visit");
    assert_string_equal(kn_scores_ids(s)[1], "s00_ses-2");
    kn_scores_free(s);
    kn_model_free(m);
    kn_data_free(d);
}

/* Options that a later call does not give keep their values at reading, also if another one of them
 * makes the rows be paired anew. */
static void options_of_reading_hold_when_rows_are_paired_anew(void **state)
{
    (void)state;
    kn_data *files;
    kn_model *m;
    ptrdiff_t chosen = 0;
    for (int i = 0; i < N; i++)
        chosen += strcmp(p.site[i], "02") != 0;
    write_tables();
    kn_options *o =
        options_of(ctx, "fit", "covariates=people.csv responses=maps.csv where=site!=s02");
    assert_ok(ctx, kn_data_read(ctx, o, &files));
    m = fit_data(ctx, files, "session=last folds=4");
    assert_true(kn_model_number(m, "n_samples") == (double)chosen);
    kn_model_free(m);
    kn_data_free(files);
    kn_options_free(o);

    FILE *in = fopen("maps.csv", "r"), *out = fopen("fewer.csv", "w");
    char line[4096]; /* without the last participant */
    assert_true(in && out);
    for (int i = 0; i < N && fgets(line, sizeof line, in); i++)
        fputs(line, out);
    fclose(in);
    fclose(out);
    o = options_of(ctx, "fit", "covariates=people.csv responses=fewer.csv match=common");
    assert_ok(ctx, kn_data_read(ctx, o, &files));
    m = fit_data(ctx, files, "where=site!=none folds=4");
    assert_true(kn_model_number(m, "n_samples") == N - 1);
    kn_model_free(m);
    kn_data_free(files);
    kn_options_free(o);
}

static void texts_are_a_category_whatever_they_look_like(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES);
    kn_model *m = fit_data(ctx, d, "components=1 folds=0");
    char *json;
    assert_true(kn_model_number(m, "n_covariates") == 2); /* age and site */
    assert_ok(ctx, kn_model_json(ctx, m, &json));
    assert_non_null(strstr(json, "\"categorical\""));
    kn_text_free(json);
    kn_model_free(m);
    kn_data_free(d);
}

static void sentences_name_rows(void **state)
{
    (void)state;
    double age = p.age[4];
    kn_data *d;
    kn_model *m = (kn_model *)&ctx;
    p.age[4] = NAN;
    d = in_memory(N, NAMES);
    assert_refused(ctx, kn_fit(ctx, d, NULL, &m), KN_ERR_DATA,
                   "covariates row 5: age is 'n/a', a missing value; use {missing=drop} to exclude "
                   "such participants, or {missing=mean} to impute");
    assert_null(m);
    kn_data_free(d);
    p.age[4] = INFINITY;
    assert_ok(ctx, kn_data_new(ctx, N, &d));
    assert_refused(ctx, kn_data_numbers(ctx, d, "age", p.age, 1), KN_ERR_DATA,
                   "covariates row 5: age is inf, but must be a finite number");
    p.age[4] = age;
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", p.age, 1)); /* the name is free again */
    assert_refused(ctx, kn_data_texts(ctx, d, "age", p.site), KN_ERR_DATA,
                   "two columns are named 'age'");
    assert_refused(ctx, kn_fit(ctx, d, NULL, &m), KN_ERR_ARGUMENT, "have no responses");
    assert_ok(ctx, kn_data_texts(ctx, d, "ids", p.site)); /* a name like any other */
    assert_refused(ctx, kn_data_texts(ctx, d, "", p.site), KN_ERR_ARGUMENT, "has no name");
    assert_refused(ctx, kn_data_texts(ctx, d, "group", NULL), KN_ERR_ARGUMENT, "null pointer");
    assert_refused(ctx, kn_data_responses(ctx, d, kn_view_rows(p.y, N - 1, T), NULL), KN_ERR_SHAPE,
                   "covariates have 40 rows, but responses have 39");
    const char *twice[N];
    memcpy(twice, p.id, sizeof twice);
    twice[7] = "s02";
    assert_ok(ctx, kn_data_ids(ctx, d, twice));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(p.y, N, T), NULL));
    assert_ok(ctx, kn_fit(ctx, d, NULL, &m)); /* one participant, two rows */
    kn_model_free(m);
    assert_ok(ctx, kn_data_ids(ctx, d, p.id));
    assert_ok(ctx, kn_fit(ctx, d, NULL, &m));
    kn_options *o = options_of(ctx, "fit", "covariates=people.csv responses=maps.csv");
    kn_data *files;
    assert_ok(ctx, kn_data_read(ctx, o, &files));
    assert_refused(ctx, kn_data_numbers(ctx, files, "age", p.age, 1), KN_ERR_ARGUMENT,
                   "data from files cannot be combined with data from memory");
    kn_data_free(files);
    kn_options_free(o);
    kn_data *other;
    kn_scores *s;
    assert_ok(ctx, kn_data_new(ctx, N, &other));
    assert_ok(ctx, kn_data_texts(ctx, other, "site", p.site));
    assert_refused(
        ctx, kn_predict(ctx, m, other, NULL, &s), KN_ERR_DATA,
        "covariates has no column 'age' (a covariate of the model); its columns are site");
    assert_refused(ctx, kn_score(ctx, m, other, NULL, &s), KN_ERR_ARGUMENT, "no responses");
    kn_data_free(other);
    kn_model_free(m);
    kn_data_free(d);
    kn_data_free(NULL);
    assert_refused(ctx, kn_data_new(ctx, 0, &d), KN_ERR_SHAPE,
                   "0 participants are too few; at least one is needed");
    assert_null(d);
}

static void participants_without_a_covariate_can_be_dropped(void **state)
{
    (void)state;
    double age = p.age[4];
    kn_data *all = in_memory(N, NAMES);
    kn_model *m = fit_data(ctx, all, "components=2 folds=0");
    p.age[4] = NAN;
    kn_data *d = in_memory(N, NAMES);
    p.age[4] = age;
    kn_scores *a = score_data(ctx, m, all, ""), *b = score_data(ctx, m, d, "missing=drop");
    assert_int_equal(kn_scores_n_participants(b), N - 1);
    assert_string_equal(kn_scores_ids(b)[4], "s05");
    kn_mat za = block(a, "z"), zb = block(b, "z");
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N - 1; i++)
            assert_close(kn_at(zb, i, j), kn_at(za, i + (i >= 4), j), 1e-6);
    free(za.data), free(zb.data);
    kn_scores_free(a);
    kn_scores_free(b);
    kn_model_free(m);
    kn_data_free(d);
    kn_data_free(all);
}

/* ---- responses ---------------------------------------------------------------------------------
 */

static void responses_are_found_by_name(void **state)
{
    (void)state;
    static const char *const turned[T] = {"f", "e", "d", "c", "b", "a"};
    static double back[N * T];
    kn_data *d = in_memory(N, NAMES), *other = in_memory(N, NULL);
    kn_model *m = fit_data(ctx, d, "components=2 folds=0");
    for (int i = 0; i < N; i++)
        for (int j = 0; j < T; j++)
            back[i * T + j] = p.y[i * T + T - 1 - j];
    assert_ok(ctx, kn_data_responses(ctx, other, kn_view_rows(back, N, T), turned));
    kn_scores *a = score_data(ctx, m, d, ""), *b = score_data(ctx, m, other, ""), *s;
    kn_mat za = block(a, "z"), zb = block(b, "z");
    assert_memory_equal(za.data, zb.data, sizeof(double) * N * T);
    free(za.data), free(zb.data);
    assert_ok(ctx, kn_data_responses(ctx, other, kn_view_rows(p.y, N, T), NULL)); /* by position */
    kn_scores_free(b);
    b = score_data(ctx, m, other, "");
    za = block(a, "z"), zb = block(b, "z");
    assert_memory_equal(za.data, zb.data, sizeof(double) * N * T);
    free(za.data), free(zb.data);
    assert_ok(ctx, kn_data_responses(ctx, other, (kn_view){p.y, KN_F64, N, T - 1, T, 1}, NAMES));
    assert_refused(ctx, kn_score(ctx, m, other, NULL, &s), KN_ERR_DATA,
                   "the responses have no column 'f' (a response of the model)");
    assert_ok(ctx, kn_data_responses(ctx, other, (kn_view){p.y, KN_F64, N, T - 1, T, 1}, NULL));
    assert_refused(ctx, kn_score(ctx, m, other, NULL, &s), KN_ERR_SHAPE,
                   "responses have 5 columns, but the model has 6");
    kn_scores_free(a);
    kn_scores_free(b);
    kn_model_free(m);
    kn_data_free(other);
    kn_data_free(d);
}

static void training_participants_get_their_cross_validated_z(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES), *unknown = in_memory(N, NAMES);
    kn_model *m = fit_data(ctx, d, "components=2 folds=4");
    const char *others[N];
    char text[N][8];
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "n%02d", i);
        others[i] = text[i];
    }
    assert_ok(ctx, kn_data_ids(ctx, unknown, others));
    kn_scores *a = score_data(ctx, m, d, ""), *b = score_data(ctx, m, d, "training_rows=plain");
    kn_scores *c = score_data(ctx, m, unknown, "");
    kn_mat za = block(a, "z"), zb = block(b, "z"), zc = block(c, "z");
    for (int i = 0; i < N * T; i++) {
        assert_true(za.data[i] == (double)m->reference.z[(i % N) * T + i / N]);
        assert_true(zb.data[i] == zc.data[i]);
    }
    assert_true(kn_scores_number(a, "counts.in_training") == N);
    assert_true(kn_scores_participants(a, "in_training")[3] == 1);
    assert_true(kn_scores_participants(c, "in_training")[3] == 0);
    free(za.data), free(zb.data), free(zc.data);
    kn_scores_free(a);
    kn_scores_free(b);
    kn_scores_free(c);
    kn_model_free(m);
    kn_data_free(unknown);
    kn_data_free(d);
}

static void maps_that_were_not_kept_are_refused_by_name(void **state)
{
    (void)state;
    double out[N * T];
    kn_data *d = in_memory(N, NAMES);
    kn_model *m = fit_data(ctx, d, "components=1 folds=0");
    kn_scores *s = score_data(ctx, m, d, ""), *predicted;
    assert_ok(ctx, kn_predict(ctx, m, d, NULL, &predicted));
    assert_ok(ctx, kn_scores_block(ctx, predicted, "ys2_model", 2, 3, kn_mat_cols(out, N, 3)));
    assert_null(kn_scores_participants(predicted, "extreme_z"));
    assert_null(kn_scores_responses(predicted, "R2"));
    assert_true(kn_scores_responses(predicted, "ys2_noise")[0] > 0);
    assert_refused(ctx, kn_scores_block(ctx, s, "yhat", 0, T, kn_mat_cols(out, N, T)),
                   KN_ERR_ARGUMENT,
                   "yhat is not in memory; name it in {write}, and give no {output}");
    assert_refused(ctx, kn_scores_block(ctx, s, "w", 0, T, kn_mat_cols(out, N, T)), KN_ERR_ARGUMENT,
                   "there is no map 'w'");
    assert_refused(ctx, kn_scores_block(ctx, s, "z", 4, 3, kn_mat_cols(out, N, 3)), KN_ERR_ARGUMENT,
                   "responses 5 to 7 asked for, there are 6");
    assert_refused(ctx, kn_scores_block(ctx, s, "z", 0, 3, kn_mat_cols(out, N - 1, 3)),
                   KN_ERR_SHAPE, "expected 40 x 3");
    assert_null(kn_scores_participants(s, "beauty"));
    kn_scores_free(s);
    kn_scores_free(predicted);
    kn_model_free(m);
    kn_data_free(d);
}

TEST_PROGRAM(data_dataset)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_and_files_give_the_same_bytes),
        cmocka_unit_test(scores_in_memory_are_those_that_are_written),
        cmocka_unit_test(conditions_select_participants_in_memory_and_files),
        cmocka_unit_test(options_of_reading_hold_when_rows_are_paired_anew),
        cmocka_unit_test(texts_are_a_category_whatever_they_look_like),
        cmocka_unit_test(sentences_name_rows),
        cmocka_unit_test(participants_without_a_covariate_can_be_dropped),
        cmocka_unit_test(responses_are_found_by_name),
        cmocka_unit_test(training_participants_get_their_cross_validated_z),
        cmocka_unit_test(maps_that_were_not_kept_are_refused_by_name),
    };
    if (scratch_enter(NULL) != 0)
        return 1;
    make_participants();
    write_tables();
    int failed = cmocka_run_group_tests_name("data", tests, NULL, NULL);
    scratch_leave(NULL);
    kn_ctx_free(ctx);
    return failed;
}
