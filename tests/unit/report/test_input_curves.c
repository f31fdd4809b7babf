/* The curves of the page are those of centiles. */
#include "support/materials.h"

#include "io/table/table.h"

static void assert_short(double x, const kn_table *t, ptrdiff_t row, const char *name)
{
    char text[KN_NUMBER_SIZE];
    kn_number_short(x, text);
    assert_string_equal(text, kn_table_cell(t, row, kn_table_find(t, name)));
}

/* centiles.tsv has a response after the other, curves, points and centiles. */
static void assert_curves(const kn_report_input *m, const kn_table *t,
                          const kn_report_input_response *r)
{
    ptrdiff_t row = r->response * 2 * KN_INPUT_GRID * KN_INPUT_CENTILES;
    assert_int_equal(r->curves, 2);
    for (ptrdiff_t k = 0; k < r->curves; k++) {
        const kn_report_input_curve *c = &r->curve[k];
        assert_string_equal(c->level, k ? "M" : "F");
        assert_string_equal(c->label, k ? "sex=M,site=mean" : "sex=F,site=mean");
        for (int i = 0; i < KN_INPUT_GRID; i++)
            for (int p = 0; p < KN_INPUT_CENTILES; p++, row++) {
                char x[KN_NUMBER_SIZE];
                kn_number_text(c->x[i], x);
                assert_string_equal(kn_table_cell(t, row, 0), m->name[r->response]);
                assert_string_equal(kn_table_cell(t, row, kn_table_find(t, "age")), x);
                assert_string_equal(kn_table_cell(t, row, kn_table_find(t, "sex")), c->level);
                assert_short(c->value[p][i], t, row, "value");
                assert_short(c->low[p][i], t, row, "lower");
                assert_short(c->high[p][i], t, row, "upper");
                assert_short(c->extrapolation[i], t, row, "extrapolation_pct");
            }
    }
}

static void assert_points(const kn_table *t, const kn_report_input_points *p,
                          const participants *who, ptrdiff_t response)
{
    assert_int_equal(p->n, who->n);
    for (ptrdiff_t i = 0; i < p->n; i++) {
        ptrdiff_t row = i * (T - 1) + response;
        double value, z;
        kn_table_number(t, row, kn_table_find(t, "value"), &value);
        kn_table_number(t, row, kn_table_find(t, "z"), &z);
        assert_string_equal(kn_table_cell(t, row, 0), who->id[i]);
        assert_true(p->x[i] == who->age[i]);
        assert_true(p->z[i] == z);
        assert_close(p->value[i], value, 1e-13);
        assert_int_equal(p->curve[i], who->sex[i][0] == 'M');
    }
}

static void centiles_into(const participants *p, const char *dir)
{
    char text[64];
    snprintf(text, sizeof text, "over=age output=%s", dir);
    kn_options *o = options_of(ctx, "centiles", text);
    kn_data *d = data_of(p);
    assert_ok(ctx, kn_centiles(ctx, model, NULL, d, o, NULL));
    kn_data_free(d);
    kn_options_free(o);
}

static void curves_are_those_of_centiles(void **state)
{
    (void)state;
    static const ptrdiff_t WHICH[] = {0, 2, 4};
    kn_report_input m;
    kn_report_input_response r[3];
    kn_table *curves, *points, *trained;
    const char *over;
    kn_scores_free(score(model, &scored, "output=out"));
    centiles_into(&scored, "new");
    centiles_into(&training, "old");
    assert_ok(ctx, kn_report_input_open(ctx, model, "out", &m));
    assert_ok(ctx, kn_report_input_choose_over(ctx, &m, "AGE", &over));
    assert_string_equal(over, "age");
    assert_ok(ctx, kn_report_input_choose_over(ctx, &m, NULL, &over));
    assert_string_equal(over, "age");
    assert_ok(ctx, kn_table_read(ctx, "new/centiles.tsv", &curves));
    assert_ok(ctx, kn_table_read(ctx, "new/points.tsv", &points));
    assert_ok(ctx, kn_table_read(ctx, "old/points.tsv", &trained));
    assert_ok(ctx, kn_report_input_curves(ctx, &m, over, WHICH, 3, r));
    for (int k = 0; k < 3; k++) {
        assert_int_equal(r[k].response, WHICH[k]);
        assert_curves(&m, curves, &r[k]);
        assert_points(points, &r[k].scored, &scored, WHICH[k]);
        assert_points(trained, &r[k].training, &training, WHICH[k]);
    }
    assert_refused(ctx, kn_report_input_choose_over(ctx, &m, "sex", &over), KN_ERR_ARGUMENT,
                   "{over}: sex is a category, but must be a number");
    assert_refused(ctx, kn_report_input_choose_over(ctx, &m, "bmi", &over), KN_ERR_ARGUMENT,
                   "{over}: the model has no covariate 'bmi'");
    kn_report_input_clear(&m);
    kn_table_free(curves);
    kn_table_free(points);
    kn_table_free(trained);
    folder_remove("out");
    folder_remove("new");
    folder_remove("old");
}

/* Without an age the covariate that says the most. */
static void over_is_what_moves_responses(void **state)
{
    (void)state;
    enum { n = 60 };
    double dull[n], telling[n], y[n * 3];
    kn_rng rng;
    ref_rng_init(&rng, 21, 0);
    for (int i = 0; i < n; i++) {
        dull[i] = kn_rng_normal(&rng);
        telling[i] = kn_rng_normal(&rng);
        for (int j = 0; j < 3; j++)
            y[3 * i + j] = telling[i] + 0.3 * kn_rng_normal(&rng);
    }
    kn_data *d;
    kn_model *two;
    kn_report_input m;
    const char *over;
    kn_options *o = options_of(ctx, "fit", "components=1 folds=4");
    assert_ok(ctx, kn_data_new(ctx, n, &d));
    assert_ok(ctx, kn_data_numbers(ctx, d, "dull", dull, 1));
    assert_ok(ctx, kn_data_numbers(ctx, d, "telling", telling, 1));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(y, n, 3), NULL));
    assert_ok(ctx, kn_fit(ctx, d, o, &two));
    assert_ok(ctx, kn_report_input_open(ctx, two, NULL, &m));
    assert_ok(ctx, kn_report_input_choose_over(ctx, &m, NULL, &over));
    assert_string_equal(over, "telling");
    kn_report_input_clear(&m);
    kn_model_free(two);
    kn_data_free(d);
    kn_options_free(o);
}

TEST_PROGRAM(report_input_curves)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(curves_are_those_of_centiles, fresh),
        cmocka_unit_test_setup(over_is_what_moves_responses, fresh),
    };
    int failed = cmocka_run_group_tests(tests, begin, end);
    kn_ctx_free(ctx);
    return failed;
}
