/* An encoding goes to JSON and comes back; what is no encoding is refused. */
#include "support/encodings.h"

static void assert_encodings_equal(const kn_encoding *a, const kn_encoding *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->missing, b->missing);
    assert_int_equal(a->codes, b->codes);
    for (ptrdiff_t k = 0; k < a->n; k++) {
        const kn_covariate *x = &a->column[k], *y = &b->column[k];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->kind, y->kind);
        assert_memory_equal(&x->mean, &y->mean, sizeof x->mean);
        assert_int_equal(x->levels.n, y->levels.n);
        assert_int_equal(x->levels.numbers, y->levels.numbers);
        assert_int_equal(x->two_valued, y->two_valued);
        for (ptrdiff_t l = 0; l < x->levels.n; l++)
            assert_string_equal(x->levels.text[l], y->levels.text[l]);
    }
}

static void an_encoding_survives_json_to_the_bit(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = DEFAULTS;
    o.missing = KN_MISSING_MEAN;
    o.categorical = "code";
    kn_encoding r =
        learned(ctx,
                "age\tZ\xc3\xbcrich & \"co\"\tcode\n.1\ta,b\t9\n.2\ta\\\t10\n.7\ta,b\t9\n"
                ".1\ta\\\t10\n.1\ta\\\t9\n.1\ta\\\t9\n.1\ta\\\t9\n.1\ta\\\t9\n"
                ".1\ta\\\t9\n.1\ta\\\t9\n",
                &o);
    json_t *json = kn_encoding_to_json(&r);
    assert_non_null(json);
    char *text = json_dumps(json, JSON_COMPACT);
    json_t *again = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    kn_encoding back;
    assert_ok(ctx, kn_encoding_from_json(ctx, "m", again, &back));
    assert_encodings_equal(&r, &back);
    json_t *json2 = kn_encoding_to_json(&back);
    char *text2 = json_dumps(json2, JSON_COMPACT);
    assert_string_equal(text, text2);
    free(text);
    free(text2);
    json_decref(json);
    json_decref(again);
    json_decref(json2);
    kn_encoding_clear(&r);
    kn_encoding_clear(&back);
    kn_ctx_free(ctx);
}

#define COLUMNS(text) "{\"missing\":\"drop\",\"columns\":" text "}"
#define CATEGORY(levels)                                                                           \
    COLUMNS("[{\"name\":\"s\",\"kind\":\"categorical\",\"levels\":" levels "}]")
#define CODES(levels, more)                                                                        \
    "{\"missing\":\"drop\",\"codes\":true,\"columns\":[{\"name\":\"s\",\"kind\":\"categorical\","  \
    "\"levels\":" levels more "}]}"
#define TWO_VALUED "m: covariate 1: two_valued needs codes with two numbers as levels"
#define AGE        "{\"name\":\"age\",\"kind\":\"numeric\",\"mean\":1}"

static void hostile_json_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"[]", "m: the encoding of the covariates does not define missing values"},
        {"{}", "m: the encoding of the covariates does not define missing values"},
        {"{\"missing\":1}", "m: the encoding of the covariates does not define missing values"},
        {"{\"missing\":\"no\"}",
         "m: the encoding of the covariates does not define missing values"},
        {"{\"missing\":\"drop\"}", "m: the encoding has 0 covariates, expected 1 to 10000"},
        {COLUMNS("[]"), "m: the encoding has 0 covariates, expected 1 to 10000"},
        {COLUMNS("{\"a\":1}"), "m: the encoding has 0 covariates, expected 1 to 10000"},
        {COLUMNS("[1]"), "m: covariate 1: expected a name"},
        {COLUMNS("[{}]"), "m: covariate 1: expected a name"},
        {COLUMNS("[" AGE ",{\"name\":\"\"}]"), "m: covariate 2: expected a name"},
        {COLUMNS("[{\"name\":\" a\"}]"), "m: covariate 1: expected a name"},
        {COLUMNS("[{\"name\":\"a\\u0000b\"}]"), "m: covariate 1: expected a name"},
        {COLUMNS("[{\"name\":3}]"), "m: covariate 1: expected a name"},
        {COLUMNS("[{\"name\":\"a\"}]"), "m: covariate 1: expected a kind, numeric or categorical"},
        {COLUMNS("[{\"name\":\"a\",\"kind\":[]}]"),
         "m: covariate 1: expected a kind, numeric or categorical"},
        {COLUMNS("[{\"name\":\"a\",\"kind\":\"x\"}]"),
         "m: covariate 1: expected a kind, numeric or categorical"},
        {COLUMNS("[{\"name\":\"a\",\"kind\":\"numeric\"}]"),
         "m: covariate 1: expected a mean, a finite number"},
        {COLUMNS("[{\"name\":\"a\",\"kind\":\"numeric\",\"mean\":\"1\"}]"),
         "m: covariate 1: expected a mean, a finite number"},
        {COLUMNS("[" AGE "," AGE "]"), "m: two covariates are named 'age'"},
        {CATEGORY("null"), "m: covariate 1: 0 levels, expected 2 to 2000"},
        {CATEGORY("{}"), "m: covariate 1: 0 levels, expected 2 to 2000"},
        {CATEGORY("[\"a\"]"), "m: covariate 1: 1 levels, expected 2 to 2000"},
        {CATEGORY("[\"a\",2]"), "m: covariate 1: a level is not a text that a table can hold"},
        {CATEGORY("[\"a\",\"b \"]"), "m: covariate 1: a level is not a text that a table can hold"},
        {CATEGORY("[\"\",\"b\"]"), "m: covariate 1: a level is not a text that a table can hold"},
        {CATEGORY("[\"a\",\"n/a\"]"),
         "m: covariate 1: a level is not a text that a table can hold"},
        {CATEGORY("[\"1\",\"2.0\"]"),
         "m: covariate 1: a level is not a text that a table can hold"},
        {CATEGORY("[\"a\",\"a\"]"), "m: covariate 1: levels are doubled or out of order"},
        {CATEGORY("[\"b\",\"a\"]"), "m: covariate 1: levels are doubled or out of order"},
        {CATEGORY("[\"10\",\"9\"]"), "m: covariate 1: levels are doubled or out of order"},
        {"{\"missing\":\"drop\",\"codes\":1}", "m: codes of the encoding, expected true or false"},
        {CODES("[]", ""), "m: covariate 1: 0 levels, expected 1 to 2000"},
        {CODES("[\"1\",\"2\"]", ",\"two_valued\":0"), TWO_VALUED},
        {CODES("[\"a\",\"b\"]", ",\"two_valued\":true"), TWO_VALUED},
        {CODES("[\"1\"]", ",\"two_valued\":true"), TWO_VALUED},
        {CODES("[\"1\",\"2\",\"3\"]", ",\"two_valued\":true"), TWO_VALUED},
        {COLUMNS("[{\"name\":\"s\",\"kind\":\"categorical\",\"levels\":[\"1\",\"2\"],"
                 "\"two_valued\":true}]"),
         TWO_VALUED},
    };
    kn_ctx *ctx = kn_ctx_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *json = json_loads(cases[i].text, JSON_ALLOW_NUL, NULL);
        kn_encoding r = {.n = 7};
        assert_non_null(json);
        assert_sentence(ctx, kn_encoding_from_json(ctx, "m", json, &r), KN_ERR_FORMAT,
                        cases[i].sentence);
        assert_int_equal(r.n, 0);
        assert_null(r.column);
        json_decref(json);
    }
    kn_encoding r;
    assert_refused(ctx, kn_encoding_from_json(ctx, "m", NULL, &r), KN_ERR_FORMAT,
                   "m: the encoding of the covariates does not define missing values");
    kn_ctx_free(ctx);
}

static void hostile_sizes_are_refused(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    char name[KN_LEVEL_SIZE + 1];
    kn_encoding r;
    memset(name, 'x', sizeof name);
    name[KN_LEVEL_SIZE] = '\0';
    json_t *json = json_pack("{s:s, s:[{s:s, s:s, s:f}]}", "missing", "drop", "columns", "name",
                             name, "kind", "numeric", "mean", 1.0);
    assert_sentence(ctx, kn_encoding_from_json(ctx, "m", json, &r), KN_ERR_FORMAT,
                    "m: covariate 1: expected a name");
    json_decref(json);

    json_t *columns = json_array();
    for (int i = 0; i < KN_ENCODING_MAX + 1; i++)
        json_array_append_new(columns, json_null());
    json = json_pack("{s:s, s:o}", "missing", "drop", "columns", columns);
    assert_sentence(ctx, kn_encoding_from_json(ctx, "m", json, &r), KN_ERR_FORMAT,
                    "m: the encoding has 10001 covariates, expected 1 to 10000");
    json_decref(json);

    json_t *levels = json_array();
    for (int i = 0; i < KN_LEVELS_MAX + 1; i++)
        json_array_append_new(levels, json_sprintf("%04d", i));
    json = json_pack("{s:s, s:[{s:s, s:s, s:o}]}", "missing", "drop", "columns", "name", "a",
                     "kind", "categorical", "levels", levels);
    assert_sentence(ctx, kn_encoding_from_json(ctx, "m", json, &r), KN_ERR_FORMAT,
                    "m: covariate 1: 2001 levels, expected 2 to 2000");
    json_decref(json);
    kn_ctx_free(ctx);
}

static void codes_survive_json(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_encoding_options o = with_codes(KN_MISSING_MEAN);
    kn_encoding r = learned(ctx, "sex\tage\tsite\n1\t.1\tA\n2\t.2\tA\n1\t.3\tA\n", &o);
    json_t *json = kn_encoding_to_json(&r);
    char *text = json_dumps(json, JSON_COMPACT), *old;
    json_t *again = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    kn_encoding back;
    assert_ok(ctx, kn_encoding_from_json(ctx, "m", again, &back));
    assert_encodings_equal(&r, &back);
    assert_true(back.codes && back.column[0].two_valued && !back.column[2].two_valued);
    refuse_apply(
        ctx, &back, "sex\tage\tsite\n3\t1\tA\n",
        "new.tsv line 2: sex is '3', which is not a level of the training sample (levels: 1, 2); "
        "fit with {numeric=sex} if it is a number");
    kn_encoding_clear(&back);
    kn_encoding_clear(&r);
    json_decref(json);
    json_decref(again);
    free(text);

    /* An encoding without the key "codes" has none. */
    o.codes = false;
    r = learned(ctx, "sex\tage\n1\t.1\n2\t.2\n", &o);
    json = kn_encoding_to_json(&r);
    old = json_dumps(json, JSON_COMPACT);
    assert_null(strstr(old, "codes"));
    assert_ok(ctx, kn_encoding_from_json(ctx, "m", json, &back));
    assert_false(back.codes);
    free(old);
    json_decref(json);
    kn_encoding_clear(&back);
    kn_encoding_clear(&r);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(data_encoding_json)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_encoding_survives_json_to_the_bit),
        cmocka_unit_test(hostile_json_is_refused),
        cmocka_unit_test(hostile_sizes_are_refused),
        cmocka_unit_test(codes_survive_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
