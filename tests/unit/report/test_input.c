/* What the page is made of: a folder of score, cv or change and a model come back as the numbers
 * that went in. */
#include "support/materials.h"

#include "io/table/table.h"

/* ---- the model ------------------------------------------------------------------------------- */

static void training_is_read_back(void **state)
{
    (void)state;
    kn_report_input m;
    float z[T];
    assert_ok(ctx, kn_report_input_open(ctx, model, NULL, &m));
    assert_int_equal(m.kind, KN_INPUT_MODEL);
    assert_int_equal(m.N, N);
    assert_int_equal(m.n, 0);
    assert_int_equal(m.T, T - 1);
    assert_int_equal(m.C, 3);
    assert_null(m.dir);
    assert_null(m.summary_json);
    const kn_report_input_column *age = column(&m, "age"), *sex = column(&m, "sex"),
                                 *site = column(&m, "site");
    assert_true(age->numeric && !sex->numeric && site->batch && !sex->batch);
    assert_null(age->scored);
    for (ptrdiff_t i = 0; i < N; i++) {
        assert_string_equal(m.training_id[i], training.id[i]);
        assert_true(age->training[i] == training.age[i]); /* 34.2, to the bit */
        assert_string_equal(level(sex, sex->training[i]), training.sex[i]);
        assert_string_equal(level(site, site->training[i]), training.site[i]);
        assert_ok(ctx, kn_report_input_training_z(ctx, &m, i, z));
        assert_memory_equal(z, model->reference.z + i * (T - 1), sizeof(float) * (T - 1));
        assert_true(kn_report_input_training(&m, "extreme_z")[i] == model->reference.statistic[i]);
        assert_true(kn_report_input_training(&m, "deviance")[i] ==
                    model->reference.deviance.ref[i]);
    }
    assert_true(m.has_training_z);
    assert_null(kn_report_input_training(&m, "nothing"));
    assert_null(kn_report_input_participants(&m, "extreme_z"));
    assert_null(kn_report_input_responses(&m, "R2"));
    for (ptrdiff_t j = 0, all = 0; j < m.T; j++, all++) {
        all += all == LEFT_OUT;
        assert_string_equal(m.name[j], RESPONSES[all]);
        assert_string_equal(m.space.name[j], RESPONSES[all]);
        double mean = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            mean += training.y[i * T + all] / N;
        assert_close(m.y_mean[j], mean, 1e-12);
        assert_true(m.y_sd[j] > 0.5);
    }
    assert_non_null(strstr(m.model_json, "\"n_samples\""));
    assert_true(strlen(m.model_words) > 10);
    kn_report_input_clear(&m);
    kn_report_input_clear(&m);
}

/* Sums of kernels have indicators, and one column of two levels. */
static void covariates_of_indicators_are_levels_again(void **state)
{
    (void)state;
    kn_report_input m;
    kn_model *plain = fit(&training, "sample_kernel=linear+se components=1 categorical=sex,site");
    assert_false(plain->encoding.codes);
    assert_ok(ctx, kn_report_input_open(ctx, plain, NULL, &m));
    for (ptrdiff_t i = 0; i < N; i++) {
        const kn_report_input_column *sex = column(&m, "sex"), *site = column(&m, "site");
        assert_true(column(&m, "age")->training[i] == training.age[i]);
        assert_string_equal(level(sex, sex->training[i]), training.sex[i]);
        assert_string_equal(level(site, site->training[i]), training.site[i]);
    }
    kn_report_input_clear(&m);
    kn_model_free(plain);
}

static void a_model_of_numbers_has_names_by_number(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 8, 0);
    kn_mat X = ref_normal(&rng, 30, 2), Y = ref_normal(&rng, 30, 12);
    kn_model *numbers;
    kn_report_input m;
    const char *over;
    for (ptrdiff_t i = 0; i < 30; i++)
        kn_col(Y, 1)[i] = 3; /* left out */
    assert_ok(ctx, kn_fit_arrays(ctx, kn_view_cols(X.data, 30, 2), kn_view_cols(Y.data, 30, 12),
                                 NULL, &numbers));
    assert_ok(ctx, kn_report_input_open(ctx, numbers, NULL, &m));
    assert_int_equal(m.T, 11);
    assert_string_equal(m.name[0], "1");
    assert_string_equal(m.name[1], "3");
    assert_string_equal(m.name[10], "12");
    assert_string_equal(m.column[1].name, "x2");
    assert_null(m.training_id);
    for (ptrdiff_t i = 0; i < 30; i++)
        assert_close(m.column[1].training[i], kn_at(X, i, 1), 1e-14);
    assert_ok(ctx, kn_report_input_choose_over(ctx, &m, NULL, &over));
    assert_null(over);
    kn_report_input_clear(&m);
    kn_model_free(numbers);
    free(X.data), free(Y.data);
}

static void an_exported_model_has_no_participant(void **state)
{
    (void)state;
    kn_report_input m;
    kn_model *shared;
    float z[T];
    const char *over;
    kn_report_input_response r;
    kn_options *o = options_of(ctx, "export", "output=shared.safetensors");
    assert_ok(ctx, kn_export(ctx, model, o, NULL));
    assert_ok(ctx, kn_model_open(ctx, "shared.safetensors", &shared));
    assert_ok(ctx, kn_report_input_open(ctx, shared, NULL, &m));
    assert_int_equal(m.N, N);
    assert_null(m.training_id);
    assert_false(m.has_training_z);
    assert_null(column(&m, "age")->training);
    assert_int_equal(column(&m, "site")->levels, 3);
    assert_ok(ctx, kn_report_input_training_z(ctx, &m, 0, z));
    assert_true(isnan(z[0]));
    assert_ok(ctx, kn_report_input_choose_over(ctx, &m, NULL, &over));
    assert_string_equal(over, "age");
    assert_ok(ctx, kn_report_input_curves(ctx, &m, over, (ptrdiff_t[]){1}, 1, &r));
    assert_int_equal(r.curves, 2);
    assert_int_equal(r.training.n, 0);
    assert_int_equal(r.scored.n, 0);
    kn_report_input_clear(&m);
    kn_model_free(shared);
    kn_options_free(o);
}

/* ---- a folder of score ------------------------------------------------------------------------
 */

static void assert_participants(const kn_report_input *m, const kn_scores *s)
{
    static const char *const NAMES[] = {"extreme_z",  "extreme_z_p",
                                        "deviance_p", "extrapolation_pct",
                                        "mean_z",     "label",
                                        "n_low"};
    const kn_report_input_column *age = column(m, "age"), *sex = column(m, "sex"),
                                 *site = column(m, "site");
    for (ptrdiff_t i = 0; i < m->n; i++) {
        assert_string_equal(m->id[i], scored.id[i]);
        assert_true(age->scored[i] == scored.age[i]);
        assert_string_equal(level(sex, sex->scored[i]), scored.sex[i]);
        assert_string_equal(level(site, site->scored[i]), scored.site[i]);
        assert_string_equal(kn_report_input_texts(m, "participant_id")[i], scored.id[i]);
        assert_string_equal(kn_report_input_texts(m, "sex")[i], scored.sex[i]);
    }
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        const double *expected = kn_scores_participants(s, NAMES[k]),
                     *found = kn_report_input_participants(m, NAMES[k]);
        for (ptrdiff_t i = 0; i < m->n; i++)
            assert_true(isnan(expected[i]) ? isnan(found[i]) : found[i] == expected[i]);
    }
    assert_null(kn_report_input_participants(m, "nothing"));
    assert_null(kn_report_input_texts(m, "nothing"));
}

/* Ids and levels are hostile: they pass through as they are. */
static void a_scored_table_is_read_back(void **state)
{
    (void)state;
    kn_report_input m;
    scored.id[1] = "<img src=x onerror=alert(1)>";
    scored.id[2] = "to be broken";
    scored.id[3] = "tab\tnew\nline\"quote\"";
    scored.id[4] = long_id;
    scored.site[5] = "new site";
    scored.sex[6] = "M";
    kn_scores *s = score(model, &scored, "output=out write=z,metrics format=csv unseen=prior");
    kn_scores *again = score(model, &scored, "write=z unseen=prior");
    scored.id[2] = "\x01\x1b[31m\xff\xfe"; /* as another program may have left it */
    replace("out/scored_participants.tsv", "to be broken", scored.id[2]);
    replace("out/abnormality.tsv", "to be broken", scored.id[2]);
    replace("out/z.csv", "to be broken", scored.id[2]);
    assert_ok(ctx, kn_report_input_open(ctx, model, "out", &m));
    assert_int_equal(m.kind, KN_INPUT_SCORE);
    assert_int_equal(m.n, NEW);
    assert_string_equal(m.dir, "out");
    assert_participants(&m, s);
    assert_int_equal(column(&m, "site")->levels, 4);
    assert_true(column(&m, "site")->scored[5] == 3);
    assert_metrics(&m, s, model->y.kept, 1e-15);
    assert_z(&m, again, model->y.kept);
    assert_non_null(strstr(m.summary_json, "xxh64:"));
    assert_int_equal(m.n_excluded, 0);
    kn_report_input_clear(&m);
    kn_scores_free(s);
    kn_scores_free(again);
    folder_remove("out");
}

static void formats_and_split_are_one(void **state)
{
    (void)state;
    static const char *const HOW[] = {"format=npy", "format=csv split=true",
                                      "format=npy split=true"};
    kn_scores *expected = score(model, &scored, "write=z");
    for (size_t k = 0; k < sizeof HOW / sizeof *HOW; k++) {
        char text[128];
        kn_report_input m;
        snprintf(text, sizeof text, "output=out %s", HOW[k]);
        kn_scores_free(score(model, &scored, text));
        assert_ok(ctx, kn_report_input_open(ctx, model, "out", &m));
        assert_z(&m, expected, model->y.kept);
        kn_report_input_clear(&m);
        folder_remove("out");
    }
    kn_scores_free(expected);
}

static void excluded_participants_are_listed(void **state)
{
    (void)state;
    kn_report_input m;
    kn_scores *s;
    kn_options *o = options_of(ctx, "score", "output=out missing=drop label=sex=M");
    scored.age[3] = NAN;
    kn_data *d = data_of(&scored);
    assert_ok(ctx, kn_score(ctx, model, d, o, &s));
    assert_ok(ctx, kn_report_input_open(ctx, model, "out", &m));
    assert_int_equal(m.n, NEW - 1);
    assert_int_equal(m.n_excluded, 1);
    assert_string_equal(m.excluded_id[0], scored.id[3]);
    assert_non_null(strstr(m.excluded_reason[0], "age"));
    assert_string_equal(m.id[3], scored.id[4]);
    assert_true(kn_report_input_participants(&m, "label")[0] == 0 &&
                kn_report_input_participants(&m, "label")[1] == 1);
    kn_report_input_clear(&m);
    kn_scores_free(s);
    kn_data_free(d);
    kn_options_free(o);
    folder_remove("out");
}

/* ---- cv -----------------------------------------------------------------------------------------
 */

static void cv_has_no_model(void **state)
{
    (void)state;
    kn_report_input m;
    kn_options *o = options_of(ctx, "cv", "output=out folds=3 format=csv");
    kn_data *d = data_of(&training);
    assert_ok(ctx, kn_cv(ctx, d, o, NULL));
    assert_sentence(ctx, kn_report_input_open(ctx, model, "out", &m), KN_ERR_ARGUMENT,
                    "out was written by cv, which has no single model; give the folder alone");
    assert_ok(ctx, kn_report_input_open(ctx, NULL, "out", &m));
    assert_int_equal(m.kind, KN_INPUT_CV);
    assert_int_equal(m.n, N);
    assert_int_equal(m.N, 0);
    assert_int_equal(m.T, T);
    assert_int_equal(m.C, 3);
    assert_null(m.y_mean);
    const kn_report_input_column *age = column(&m, "age"), *sex = column(&m, "sex"),
                                 *site = column(&m, "site");
    assert_true(age->numeric && !sex->numeric && !site->numeric && site->batch);
    kn_table *z;
    assert_ok(ctx, kn_table_read(ctx, "out/z.csv", &z));
    for (ptrdiff_t i = 0; i < N; i++) {
        float row[T];
        assert_string_equal(m.id[i], training.id[i]);
        assert_true(age->scored[i] == training.age[i]);
        assert_string_equal(level(sex, sex->scored[i]), training.sex[i]);
        assert_string_equal(level(site, site->scored[i]), training.site[i]);
        assert_ok(ctx, kn_report_input_z(ctx, &m, i, row));
        for (ptrdiff_t j = 0; j < T; j++) {
            double x;
            kn_table_number(z, i, j + 1, &x);
            assert_true(isnan(x) ? isnan(row[j]) : row[j] == (float)x);
        }
    }
    for (ptrdiff_t l = 0; l < 3; l++)
        assert_string_equal(site->level[l], ((const char *[]){"A", "B", "C"})[l]);
    for (ptrdiff_t j = 0; j < T; j++)
        assert_string_equal(m.name[j], RESPONSES[j]);
    assert_true(isfinite(kn_report_input_responses(&m, "z2")[0]));
    kn_table_free(z);
    kn_report_input_clear(&m);
    kn_data_free(d);
    kn_options_free(o);
    folder_remove("out");
}

/* ---- change -------------------------------------------------------------------------------------
 */

/* Two visits of 12 participants. */
static kn_data *visits_of(participants *p)
{
    kn_data *d;
    make(p, 24, 5);
    for (ptrdiff_t i = 0; i < p->n; i++) {
        p->id[i] = p->name[i / 2];
        p->sex[i] = i / 2 % 2 ? "M" : "F";
        p->site[i] = "A";
        p->visit[i] = i % 2 ? "v2" : "v1";
        p->state[i] = i < 20 ? "stable" : "ill";
        if (i % 2)
            p->age[i] = p->age[i - 1] + 1.5;
    }
    d = data_of(p);
    assert_ok(ctx, kn_data_texts(ctx, d, "visit", p->visit));
    assert_ok(ctx, kn_data_texts(ctx, d, "state", p->state));
    return d;
}

static void changes_are_of_pairs(void **state)
{
    (void)state;
    static participants visits;
    kn_report_input m;
    kn_table *table, *z;
    const char *over;
    kn_report_input_response r;
    kn_options *o = options_of(
        ctx, "change",
        "visit=visit reference=state=stable output=out format=csv save=saved.safetensors");
    kn_data *d = visits_of(&visits);
    kn_model *saved;
    assert_ok(ctx, kn_change(ctx, model, d, o, NULL));
    assert_ok(ctx, kn_model_open(ctx, "saved.safetensors", &saved));
    assert_ok(ctx,
              kn_report_input_open(ctx, saved, "out", &m)); /* the same one, with a reference */
    kn_report_input_clear(&m);
    kn_model_free(saved);
    assert_ok(ctx, kn_report_input_open(ctx, model, "out", &m));
    assert_int_equal(m.kind, KN_INPUT_CHANGE);
    assert_int_equal(m.n, 12);
    assert_null(m.column[0].scored);
    assert_ok(ctx, kn_table_read(ctx, "out/change.tsv", &table));
    assert_ok(ctx, kn_table_read(ctx, "out/change_z.csv", &z));
    for (ptrdiff_t i = 0; i < m.n; i++) {
        char id[64];
        float row[T];
        double x;
        snprintf(id, sizeof id, "%s v1 to v2", kn_table_cell(table, i, 0));
        assert_string_equal(m.id[i], id);
        assert_string_equal(kn_report_input_texts(&m, "participant_id")[i],
                            kn_table_cell(table, i, 0));
        kn_table_number(table, i, kn_table_find(table, "extreme_z_p"), &x);
        assert_true(kn_report_input_participants(&m, "extreme_z_p")[i] == x);
        assert_ok(ctx, kn_report_input_z(ctx, &m, i, row));
        for (ptrdiff_t j = 0; j < m.T; j++) {
            kn_table_number(z, i, 1 + model->y.kept[j], &x);
            assert_true(row[j] == (float)x);
        }
    }
    assert_ok(ctx, kn_report_input_choose_over(ctx, &m, NULL, &over));
    assert_ok(ctx, kn_report_input_curves(ctx, &m, over, (ptrdiff_t[]){0}, 1, &r));
    assert_int_equal(r.training.n, N);
    assert_int_equal(r.scored.n, 0);
    kn_report_input_clear(&m);
    kn_table_free(table);
    kn_table_free(z);
    kn_data_free(d);
    kn_options_free(o);
    folder_remove("out");
}

TEST_PROGRAM(report_input)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(training_is_read_back, fresh),
        cmocka_unit_test_setup(covariates_of_indicators_are_levels_again, fresh),
        cmocka_unit_test_setup(a_model_of_numbers_has_names_by_number, fresh),
        cmocka_unit_test_setup(an_exported_model_has_no_participant, fresh),
        cmocka_unit_test_setup(a_scored_table_is_read_back, fresh),
        cmocka_unit_test_setup(formats_and_split_are_one, fresh),
        cmocka_unit_test_setup(excluded_participants_are_listed, fresh),
        cmocka_unit_test_setup(cv_has_no_model, fresh),
        cmocka_unit_test_setup(changes_are_of_pairs, fresh),
    };
    int failed = cmocka_run_group_tests(tests, begin, end);
    kn_ctx_free(ctx);
    return failed;
}
