/* People from memory and from files are the same people: the same model to the byte, the same
 * scores, sentences that name rows instead of lines. */
#include "calls.h"
#include "folders.h"

#include "base/rng.h"
#include "io/npy.h"
#include "io/table.h"
#include "work/verdicts.h"

static kn_ctx *ctx;

enum { N = 40, T = 6 };

static struct people {
    double age[N], y[N * T]; /* y row by row */
    char id_text[N][8];
    const char *site[N], *id[N], *group[N];
} p;
static const char *const NAMES[T] = {"a", "b", "c", "d", "e", "f"};

static void make_people(void)
{
    static const char *const sites[] = {"01", "02", "03"};
    kn_rng rng;
    kn_rng_init(&rng, 11, 0);
    for (int i = 0; i < N; i++) {
        double s = kn_rng_normal(&rng);
        p.age[i] = 20 + 60 * kn_rng_uniform(&rng);
        p.site[i] = sites[i % 3];
        p.group[i] = i % 8 ? "control" : "patient";
        snprintf(p.id_text[i], sizeof p.id_text[i], "s%02d", i);
        p.id[i] = p.id_text[i];
        for (int j = 0; j < T; j++)
            p.y[i * T + j] =
                3 - 0.01 * j * p.age[i] + 0.2 * s * (j % 2) + 0.1 * kn_rng_normal(&rng) + (i % 3);
    }
}

/* Ids, ages and sites of the first n, and their responses unless names is NULL. */
static kn_data *in_memory(ptrdiff_t n, const char *const *names)
{
    kn_data *d;
    assert_ok(ctx, kn_data_new(ctx, n, &d));
    assert_ok(ctx, kn_data_ids(ctx, d, p.id));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", p.age, 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "site", p.site));
    if (names)
        assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(p.y, n, T), names));
    return d;
}

static void write_tables(void)
{
    FILE *x = fopen("people.csv", "w"), *y = fopen("maps.csv", "w");
    fprintf(x, "participant_id,age,site\n");
    fprintf(y, "participant_id,a,b,c,d,e,f\n");
    for (int i = 0; i < N; i++) {
        fprintf(x, "%s,%.17g,s%s\n", p.id[i], p.age[i], p.site[i]);
        fprintf(y, "%s", p.id[i]);
        for (int j = 0; j < T; j++)
            fprintf(y, ",%.17g", p.y[i * T + j]);
        fprintf(y, "\n");
    }
    if (fclose(x) != 0 || fclose(y) != 0)
        fail_msg("cannot write tables");
}

static kn_mat block(const kn_scores *s, const char *name)
{
    kn_mat m = ref_new(kn_scores_n_people(s), kn_scores_n_responses(s));
    assert_ok(ctx, kn_scores_block(ctx, s, name, 0, m.cols, m));
    return m;
}

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
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
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
        score_data(ctx, m, d, "write=z,yhat,ys2_model,fdr label=group=patient training_rows=plain");
    kn_scores *there = score_data(
        ctx, m, d,
        "write=z,yhat,ys2_model,fdr label=group=patient training_rows=plain output=out format=npy");
    kn_model_free(m); /* the scores stand alone */
    assert_true(kn_scores_number(here, "files") == 0 && kn_scores_number(there, "files") == 9);
    kn_table *t;
    assert_ok(ctx, kn_table_read(ctx, "out/abnormality.tsv", &t));
    assert_int_equal(kn_table_cols(t), 27);
    for (ptrdiff_t c = 1; c < 27; c++) {
        const double *x = kn_scores_people(here, kn_table_name(t, c));
        assert_non_null(x);
        for (ptrdiff_t i = 0; i < N; i++) {
            double written;
            kn_table_number(t, i, c, &written);
            if (strcmp(kn_table_name(t, c), "p_note") == 0)
                assert_string_equal(kn_table_cell(t, i, c), kn_note_text(x[i]));
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
    assert_true(kn_scores_number(here, "AUC.top") == kn_scores_number(there, "AUC.top"));
    assert_true(kn_scores_number(here, "AUC.top.low") <= kn_scores_number(here, "AUC.top"));
    assert_true(kn_scores_number(here, "counts.abnormal") == 5);
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

static void conditions_choose_people_in_memory_and_files(void **state)
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
    assert_true(kn_scores_n_people(s) == N / 3 && strcmp(kn_scores_ids(s)[0], "s02") == 0);
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
    const char *person[N];
    for (int i = 0; i < N; i++) {
        visit[i] = 1 + i % 2;
        person[i] = p.id[i - i % 2];
    }
    assert_ok(ctx, kn_data_ids(ctx, d, person));
    assert_ok(ctx, kn_data_numbers(ctx, d, "visit", visit, 1));
    m = fit_data(ctx, d, "session=last use=age,site");
    assert_true(kn_model_number(m, "n_samples") == N / 2);
    s = score_data(ctx, m, d, "session=visit");
    assert_string_equal(kn_scores_ids(s)[1], "s00_ses-2");
    kn_scores_free(s);
    kn_model_free(m);
    kn_data_free(d);
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
                   "covariates row 5: age is 'n/a', expected a number (use {missing=drop})");
    assert_null(m);
    kn_data_free(d);
    p.age[4] = INFINITY;
    assert_ok(ctx, kn_data_new(ctx, N, &d));
    assert_refused(ctx, kn_data_numbers(ctx, d, "age", p.age, 1), KN_ERR_DATA,
                   "covariates row 5: age is inf, expected a finite number");
    p.age[4] = age;
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", p.age, 1)); /* the name is free again */
    assert_refused(ctx, kn_data_texts(ctx, d, "age", p.site), KN_ERR_DATA,
                   "two columns are named 'age'");
    assert_refused(ctx, kn_fit(ctx, d, NULL, &m), KN_ERR_ARGUMENT, "have no responses");
    assert_ok(ctx, kn_data_texts(ctx, d, "ids", p.site)); /* a name like any other */
    assert_refused(ctx, kn_data_texts(ctx, d, "", p.site), KN_ERR_ARGUMENT, "has no name");
    assert_refused(ctx, kn_data_texts(ctx, d, "group", NULL), KN_ERR_ARGUMENT, "null pointer");
    assert_refused(ctx, kn_data_responses(ctx, d, kn_view_rows(p.y, N - 1, T), NULL), KN_ERR_SHAPE,
                   "covariates have 40 rows, responses 39");
    const char *twice[N];
    memcpy(twice, p.id, sizeof twice);
    twice[7] = "s02";
    assert_ok(ctx, kn_data_ids(ctx, d, twice));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(p.y, N, T), NULL));
    assert_ok(ctx, kn_fit(ctx, d, NULL, &m)); /* one person, two rows */
    kn_model_free(m);
    assert_ok(ctx, kn_data_ids(ctx, d, p.id));
    assert_ok(ctx, kn_fit(ctx, d, NULL, &m));
    kn_options *o = options_of(ctx, "fit", "covariates=people.csv responses=maps.csv");
    kn_data *files;
    assert_ok(ctx, kn_data_read(ctx, o, &files));
    assert_refused(ctx, kn_data_numbers(ctx, files, "age", p.age, 1), KN_ERR_ARGUMENT,
                   "data from files take nothing from memory");
    kn_data_free(files);
    kn_options_free(o);
    kn_data *other;
    kn_scores *s;
    assert_ok(ctx, kn_data_new(ctx, N, &other));
    assert_ok(ctx, kn_data_texts(ctx, other, "site", p.site));
    assert_refused(ctx, kn_predict(ctx, m, other, NULL, &s), KN_ERR_DATA,
                   "covariates: no column 'age' which the model was fitted with");
    assert_refused(ctx, kn_score(ctx, m, other, NULL, &s), KN_ERR_ARGUMENT, "no responses");
    kn_data_free(other);
    kn_model_free(m);
    kn_data_free(d);
    kn_data_free(NULL);
    assert_refused(ctx, kn_data_new(ctx, 0, &d), KN_ERR_SHAPE, "0 people");
    assert_null(d);
}

static void people_who_lack_a_covariate_may_leave(void **state)
{
    (void)state;
    double age = p.age[4];
    kn_data *all = in_memory(N, NAMES);
    kn_model *m = fit_data(ctx, all, "components=2 folds=0");
    p.age[4] = NAN;
    kn_data *d = in_memory(N, NAMES);
    p.age[4] = age;
    kn_scores *a = score_data(ctx, m, all, ""), *b = score_data(ctx, m, d, "missing=drop");
    assert_int_equal(kn_scores_n_people(b), N - 1);
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
                   "responses: no column 'f' which is a response of the model");
    assert_ok(ctx, kn_data_responses(ctx, other, (kn_view){p.y, KN_F64, N, T - 1, T, 1}, NULL));
    assert_refused(ctx, kn_score(ctx, m, other, NULL, &s), KN_ERR_SHAPE,
                   "responses have 5 columns, the model has 6");
    kn_scores_free(a);
    kn_scores_free(b);
    kn_model_free(m);
    kn_data_free(other);
    kn_data_free(d);
}

static void people_of_training_get_their_cross_validated_z(void **state)
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
    assert_true(kn_scores_people(a, "in_training")[3] == 1);
    assert_true(kn_scores_people(c, "in_training")[3] == 0);
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
    assert_null(kn_scores_people(predicted, "statistic"));
    assert_null(kn_scores_responses(predicted, "R2"));
    assert_true(kn_scores_responses(predicted, "ys2_noise")[0] > 0);
    assert_refused(ctx, kn_scores_block(ctx, s, "yhat", 0, T, kn_mat_cols(out, N, T)),
                   KN_ERR_ARGUMENT, "yhat is not in memory: name it in {write}");
    assert_refused(ctx, kn_scores_block(ctx, s, "w", 0, T, kn_mat_cols(out, N, T)), KN_ERR_ARGUMENT,
                   "there is no map 'w'");
    assert_refused(ctx, kn_scores_block(ctx, s, "z", 4, 3, kn_mat_cols(out, N, 3)), KN_ERR_ARGUMENT,
                   "responses 5 to 7 asked for, there are 6");
    assert_refused(ctx, kn_scores_block(ctx, s, "z", 0, 3, kn_mat_cols(out, N - 1, 3)),
                   KN_ERR_SHAPE, "expected 40 x 3");
    assert_null(kn_scores_people(s, "beauty"));
    kn_scores_free(s);
    kn_scores_free(predicted);
    kn_model_free(m);
    kn_data_free(d);
}

/* ---- models ------------------------------------------------------------------------------------
 */

static void a_model_with_one_byte_changed_is_refused(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES);
    kn_model *m = fit_data(ctx, d, "noise=iso components=2 folds=4 max_evals=20"), *none;
    void *bytes;
    size_t n, flips = 0;
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &n));
    unsigned char *b = bytes;
    for (size_t at = 0; at < n; at++) { /* each bit in turn, and once all of them */
        unsigned char change = at % 9 == 8 ? 0xff : (unsigned char)(1 << at % 9);
        b[at] ^= change;
        none = (kn_model *)&ctx;
        if (kn_model_from_bytes(ctx, b, n, &none) == KN_OK)
            fail_msg("byte %zu of %zu", at, n);
        assert_null(none);
        assert_true(strlen(kn_message(ctx)) > 10);
        b[at] ^= change;
        flips++;
    }
    assert_int_equal(flips, n);
    assert_ok(ctx, kn_model_from_bytes(ctx, b, n, &none));
    kn_model_free(none);
    kn_bytes_free(bytes);
    kn_model_free(m);
    kn_data_free(d);
}

static void a_model_goes_to_bytes_and_back(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES);
    kn_model *m = fit_data(ctx, d, "noise=iso components=2 folds=4 max_evals=20"), *back;
    void *a, *b;
    size_t n, k;
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &a, &n));
    assert_ok(ctx, kn_model_from_bytes(ctx, a, n, &back));
    assert_ok(ctx, kn_model_to_bytes(ctx, back, &b, &k));
    assert_int_equal(n, k);
    assert_memory_equal(a, b, n);
    assert_ok(ctx, kn_model_save(ctx, m, "m.safetensors", 0));
    char *file = malloc(n + 1);
    assert_int_equal(scratch_read("m.safetensors", file, n + 1), n);
    assert_memory_equal(a, file, n);
    free(file);
    unlink("m.safetensors");
    assert_true(kn_model_number(back, "lml") == kn_model_number(m, "lml"));
    assert_string_equal(kn_model_text(back, "noise"), "iso");
    assert_string_equal(kn_model_text(back, "method"), "smtgpr");
    assert_null(kn_model_text(back, "lml"));
    assert_true(isnan(kn_model_number(back, "beauty")));
    assert_true(isfinite(kn_model_number(m, "seconds.fit")));
    assert_true(isnan(kn_model_number(back, "seconds.fit"))); /* not in the bytes */
    kn_view theta = kn_model_array(back, "theta"), gradient = kn_model_array(back, "gradient");
    assert_int_equal(theta.rows, (int)kn_model_number(back, "n_theta"));
    assert_int_equal(gradient.rows, theta.rows);
    assert_non_null(kn_model_text(back, "theta.0"));
    assert_null(kn_model_text(back, "theta.99"));
    assert_null(kn_model_array(back, "beauty").data);
    for (size_t cut = 0; cut < n; cut += 1 + n / 50) {
        kn_model *none = (kn_model *)&ctx;
        assert_int_not_equal(kn_model_from_bytes(ctx, a, cut, &none), KN_OK);
        assert_null(none);
    }
    kn_bytes_free(a);
    kn_bytes_free(b);
    kn_bytes_free(NULL);
    kn_model_free(back);
    kn_model_free(m);
    kn_data_free(d);
}

static void the_search_for_components_is_told(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES);
    kn_model *m = fit_data(ctx, d, "folds=0");
    int n = (int)kn_model_number(m, "n_curve");
    kn_view P = kn_model_array(m, "curve.components"), msll = kn_model_array(m, "curve.msll");
    assert_true(n >= 2 && P.rows == n && msll.rows == n);
    for (int k = 0; k < n; k++) {
        assert_true(kn_view_at(P, k, 0) == m->info.curve[k].components);
        assert_true(kn_view_at(msll, k, 0) == m->info.curve[k].msll);
    }
    kn_model_free(m);
    kn_data_free(d);
}

/* ---- what goes wrong ---------------------------------------------------------------------------
 */

static kn_status everything(void)
{
    kn_data *d = NULL;
    kn_options *o = NULL;
    kn_model *m = NULL, *back = NULL;
    kn_scores *s = NULL, *predicted = NULL;
    void *bytes = NULL;
    size_t n;
    kn_status status;
    KN_TRY(kn_data_new(ctx, 12, &d));
    KN_TRY(kn_data_ids(ctx, d, p.id));
    KN_TRY(kn_data_numbers(ctx, d, "age", p.age, 1));
    KN_TRY(kn_data_responses(ctx, d, kn_view_rows(p.y, 12, T), NAMES));
    KN_TRY(kn_options_new(ctx, "fit", &o));
    KN_TRY(kn_options_set(ctx, o, "components", "1"));
    KN_TRY(kn_options_set(ctx, o, "folds", "3"));
    KN_TRY(kn_fit(ctx, d, o, &m));
    KN_TRY(kn_model_to_bytes(ctx, m, &bytes, &n));
    KN_TRY(kn_model_from_bytes(ctx, bytes, n, &back));
    KN_TRY(kn_score(ctx, back, d, NULL, &s));
    KN_TRY(kn_predict(ctx, back, d, NULL, &predicted));
out:
    kn_scores_free(predicted);
    kn_scores_free(s);
    kn_bytes_free(bytes);
    kn_model_free(back);
    kn_model_free(m);
    kn_options_free(o);
    kn_data_free(d);
    return status;
}

static void any_failing_allocation_leaks_nothing(void **state)
{
    (void)state;
    kn_status status = KN_ERR_MEMORY;
    long k = 1;
    for (; status == KN_ERR_MEMORY && k < 20000; k += 1 + k / 40) { /* the sanitizer looks on */
        kn_fail_allocation(ctx, k);
        status = everything();
    }
    kn_fail_allocation(ctx, 0);
    assert_int_equal(status, KN_OK);
    assert_true(k > 200);
}

static void cancel(void *user, const kn_progress *progress)
{
    assert_true(progress->size >= sizeof *progress);
    (void)user;
    kn_cancel(ctx);
}

static void a_cancelled_fit_is_the_best_model_so_far_or_none(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES);
    kn_options *o = options_of(ctx, "fit", "components=2 output=m.safetensors");
    kn_model *m = NULL;
    kn_set_progress(ctx, cancel, NULL);
    kn_status status = kn_fit(ctx, d, NULL, &m);
    assert_true(status == KN_ERR_CANCELLED ||
                (status == KN_OK && strcmp(kn_model_text(m, "stop"), "cancelled") == 0));
    kn_model_free(m);
    kn_cancel_clear(ctx);
    assert_refused(ctx, kn_fit(ctx, d, o, &m), KN_ERR_CANCELLED, "stopped on request");
    assert_null(m);
    assert_int_not_equal(access("m.safetensors", F_OK), 0);
    kn_set_progress(ctx, NULL, NULL);
    kn_cancel_clear(ctx);
    kn_options_free(o);
    kn_data_free(d);
}

int main(void)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_and_files_give_the_same_bytes),
        cmocka_unit_test(scores_in_memory_are_those_that_are_written),
        cmocka_unit_test(conditions_choose_people_in_memory_and_files),
        cmocka_unit_test(texts_are_a_category_whatever_they_look_like),
        cmocka_unit_test(sentences_name_rows),
        cmocka_unit_test(people_who_lack_a_covariate_may_leave),
        cmocka_unit_test(responses_are_found_by_name),
        cmocka_unit_test(people_of_training_get_their_cross_validated_z),
        cmocka_unit_test(maps_that_were_not_kept_are_refused_by_name),
        cmocka_unit_test(a_model_goes_to_bytes_and_back),
        cmocka_unit_test(a_model_with_one_byte_changed_is_refused),
        cmocka_unit_test(the_search_for_components_is_told),
        cmocka_unit_test(any_failing_allocation_leaks_nothing),
        cmocka_unit_test(a_cancelled_fit_is_the_best_model_so_far_or_none),
    };
    if (scratch_enter(NULL) != 0)
        return 1;
    make_people();
    write_tables();
    int failed = cmocka_run_group_tests_name("data", tests, NULL, NULL);
    scratch_leave(NULL);
    kn_ctx_free(ctx);
    return failed;
}
