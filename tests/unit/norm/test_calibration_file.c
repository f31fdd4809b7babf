/* The calibration in a model file: the same z to the bit, and nothing in it is believed. */
#include "support/crowds.h"

#include "io/safetensors/safetensors.h"
#include "model/file/internal.h"

static kn_ctx *ctx;

/* Spread that grows with age, and skew: every part has something to do. */
static crowd participants(uint64_t seed, ptrdiff_t n)
{
    enum { T = 12 };
    kn_rng rng;
    ref_rng_init(&rng, seed, 0);
    crowd c = crowd_new(&rng, n, T);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(c.Y, j)[i] =
                crowd_age(&c, i) + exp(0.3 * kn_rng_normal(&rng) * (2 + crowd_age(&c, i)));
    return c;
}

static void a_model_saved_and_opened_gives_the_same_z(void **state)
{
    (void)state;
    static const char *const how[] = {"calibrate=none", "calibrate=student", "calibrate=auto",
                                      "calibrate=full"};
    crowd train = participants(1, 80), fresh = participants(2, 50);
    for (int k = 0; k < 4; k++) {
        kn_model *m = crowd_fit(ctx, &train, how[k]), *back;
        void *bytes;
        size_t n;
        assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &n));
        assert_ok(ctx, kn_model_from_bytes(ctx, bytes, n, &back));
        kn_mat a = crowd_z(ctx, m, &fresh), b = crowd_z(ctx, back, &fresh);
        assert_memory_equal(a.data, b.data, (size_t)(a.rows * a.cols) * sizeof(double));
        assert_true(m->calibration.nu == back->calibration.nu);
        for (int p = 0; p < KN_CALIBRATION_COMPONENTS; p++) {
            const kn_calibration_component *x = &m->calibration.component[p],
                                           *y = &back->calibration.component[p];
            assert_true(x->tried == y->tried && x->kept == y->kept);
            assert_true(!x->tried || (x->gain == y->gain && x->se == y->se));
        }
        assert_true(k < 3 || (m->calibration.beta.data && m->calibration.theta.data));
        kn_bytes_free(bytes);
        kn_model_free(m), kn_model_free(back);
        free(a.data), free(b.data);
    }
    crowd_free(&train), crowd_free(&fresh);
}

/* The calibration of m as its file would have it, with the record as it is here. */
static kn_status read_sites(const kn_model *m, const kn_calibration_transform *arrays,
                            json_t *calibration, kn_calibration_for of,
                            kn_calibration_transform *out)
{
    kn_st_writer *w;
    kn_st_file *f;
    void *bytes;
    ptrdiff_t n;
    *out = (kn_calibration_transform){0};
    of.x = &m->x;
    json_t *record = json_object();
    if (calibration)
        json_object_set(record, "layer", calibration);
    assert_ok(ctx, kn_st_writer_new(ctx, &w));
    assert_ok(ctx, kn_calibration_add(ctx, arrays, w));
    assert_ok(ctx, kn_st_write_bytes(ctx, w, &bytes, &n));
    assert_ok(ctx, kn_st_parse(ctx, "x.safetensors", bytes, n, &f));
    kn_status status = kn_calibration_read(ctx, f, record, of, out);
    kn_st_close(f);
    kn_free(bytes);
    kn_st_writer_free(w);
    json_decref(record);
    return status;
}

static kn_status read_back(const kn_model *m, const kn_calibration_transform *arrays,
                           json_t *calibration, ptrdiff_t T)
{
    kn_calibration_transform out;
    kn_status status =
        read_sites(m, arrays, calibration, (kn_calibration_for){.T = T, .S = arrays->S}, &out);
    kn_calibration_clear(&out);
    return status;
}

static void assert_bad(const kn_model *m, const kn_calibration_transform *arrays,
                       json_t *calibration)
{
    assert_refused(ctx, read_back(m, arrays, calibration, m->gp.T), KN_ERR_FORMAT,
                   "x.safetensors: ");
    assert_null(strchr(kn_message(ctx), '\n'));
}

typedef struct lie {
    int column; /* of the scale; -1: of the calibration itself */
    const char *key, *json;
} lie;

static void a_record_that_lies_is_refused(void **state)
{
    (void)state;
    static const lie LIES[] = {
        {-1, "nu", "0"},        {-1, "nu", "-3"},          {-1, "nu", "null"},
        {-1, "nu", "\"many\""}, {-1, "nu", "1e999"},       {-1, "columns", "3"},
        {-1, "columns", "[7]"}, {-1, "columns", "[{}]"},   {-1, "shape", "1"},
        {1, "kind", "9"},       {1, "kind", "-1"},         {1, "kind", "\"line\""},
        {1, "kind", "null"},    {1, "kind", "4294967297"}, {1, "source", "5"},
        {1, "source", "-1"},    {1, "source", "null"},     {1, "mean", "null"},
        {1, "sd", "0"},         {1, "sd", "-1"},           {1, "sd", "null"},
        {1, "low", "1e9"},      {1, "centre", "null"},     {1, "centre", "\"0\""}};
    crowd train = participants(3, 80);
    kn_model *m = crowd_fit(ctx, &train, "calibrate=full");
    json_t *good = kn_calibration_to_json(&m->calibration);
    assert_ok(ctx, read_back(m, &m->calibration, good, m->gp.T));
    for (size_t k = 0; k < sizeof LIES / sizeof *LIES; k++) {
        json_t *bad = json_deep_copy(good), *at = bad;
        json_t *value = json_loads(LIES[k].json, JSON_DECODE_ANY, NULL);
        if (!value) /* beyond what JSON has */
            value = json_string(LIES[k].json);
        if (LIES[k].column >= 0)
            at = json_array_get(json_object_get(bad, "columns"), (size_t)LIES[k].column);
        json_object_set_new(at, LIES[k].key, value);
        if (read_back(m, &m->calibration, bad, m->gp.T) == KN_OK)
            fail_msg("%s of %d = %s is believed", LIES[k].key, LIES[k].column, LIES[k].json);
        assert_bad(m, &m->calibration, bad);
        json_decref(bad);
    }
    json_t *text = json_string("none"); /* something that is no calibration is not no calibration */
    assert_bad(m, &m->calibration, text);
    json_decref(text);
    assert_ok(ctx, read_back(m, &m->calibration, NULL, m->gp.T));
    json_t *none = json_null();
    assert_ok(ctx, read_back(m, &m->calibration, none, m->gp.T));
    json_decref(good);
    kn_model_free(m);
    crowd_free(&train);
}

static void arrays_that_lie_are_refused(void **state)
{
    (void)state;
    crowd train = participants(3, 80);
    kn_model *m = crowd_fit(ctx, &train, "calibrate=full");
    json_t *good = kn_calibration_to_json(&m->calibration);
    kn_calibration_transform *l = &m->calibration, less = m->calibration;
    static const double NONSENSE[] = {NAN, INFINITY, 1e7};
    assert_int_not_equal(read_back(m, l, good, m->gp.T + 1), KN_OK); /* of other responses */
    less.beta = kn_mat_none();
    assert_bad(m, &less, good);
    less = m->calibration;
    less.theta.cols--;
    assert_bad(m, &less, good);
    less = m->calibration;
    less.beta = kn_sub(l->beta, 0, 0, l->beta.rows - 1, l->beta.cols);
    assert_bad(m, &less, good);
    for (int k = 0; k < 3; k++) {
        double *cell[2] = {&kn_col(l->beta, 3)[1], &kn_col(l->theta, 2)[1]};
        for (int c = 0; c < 2; c++) {
            double was = *cell[c];
            *cell[c] = NONSENSE[k];
            assert_bad(m, l, good);
            *cell[c] = was;
        }
    }
    kn_col(l->theta, 0)[1] = 100; /* no fit says so: b = e^100 */
    assert_bad(m, l, good);
    json_decref(good);
    kn_model_free(m);
    crowd_free(&train);
}

static void terms_of_sites_come_back_or_are_refused(void **state)
{
    (void)state;
    static const char *const LIES[] = {"2", "4", "0", "-3", "3.0", "null", "\"3\"", "[]", "true"};
    static const double NONSENSE[] = {NAN, INFINITY, -1e7};
    double terms[3] = {0.25, -1.5, 0.1 + 0.2};
    crowd train = participants(3, 80);
    kn_model *m = crowd_fit(ctx, &train, "calibrate=full");
    kn_calibration_transform out, l = m->calibration;
    l.S = 3;
    l.batch = terms;
    json_t *good = kn_calibration_to_json(&l), *without = kn_calibration_to_json(&m->calibration);
    assert_null(json_object_get(without, "sites"));
    assert_ok(ctx, read_sites(m, &l, good, (kn_calibration_for){.T = m->gp.T, .S = 3}, &out));
    assert_int_equal(out.S, 3);
    assert_memory_equal(out.batch, terms, sizeof terms);
    kn_calibration_clear(&out);
    assert_int_not_equal(read_sites(m, &l, good, (kn_calibration_for){.T = m->gp.T}, &out), KN_OK);
    kn_calibration_clear(&out); /* of a model that has no sites */
    for (size_t k = 0; k < sizeof LIES / sizeof *LIES; k++) {
        json_t *bad = json_deep_copy(good);
        json_object_set_new(bad, "sites", json_loads(LIES[k], JSON_DECODE_ANY, NULL));
        assert_bad(m, &l, bad);
        json_decref(bad);
    }
    for (int k = 0; k < 3; k++) {
        terms[1] = NONSENSE[k];
        assert_bad(m, &l, good);
    }
    terms[1] = 0;
    kn_calibration_transform none = m->calibration; /* no array, one of other length */
    assert_int_not_equal(read_sites(m, &none, good, (kn_calibration_for){.T = m->gp.T, .S = 3},
                                    &out),
                         KN_OK);
    kn_calibration_clear(&out);
    l.S = 2;
    assert_int_not_equal(read_sites(m, &l, good, (kn_calibration_for){.T = m->gp.T, .S = 3}, &out),
                         KN_OK);
    kn_calibration_clear(&out);
    json_decref(good), json_decref(without);
    kn_model_free(m);
    crowd_free(&train);
}

TEST_PROGRAM(norm_calibration_file)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_saved_and_opened_gives_the_same_z),
        cmocka_unit_test(a_record_that_lies_is_refused),
        cmocka_unit_test(arrays_that_lie_are_refused),
        cmocka_unit_test(terms_of_sites_come_back_or_are_refused),
    };
    int failed = cmocka_run_group_tests_name("layer_file", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
