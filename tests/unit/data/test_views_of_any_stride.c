/* However the caller's values lie in memory, they are the same values: views of any stride, turned,
 * with gaps or repeated, give the model and the z that a plain copy gives, byte for byte. */
#include "support/calls.h"

#include "base/random.h"

static kn_ctx *ctx;

enum { N = 40, MAX_COUNT = 2100 }; /* two blocks of responses */

static double age[N];
static const char *site[N];

/* n x T values in an order of memory; `room` is all of it. */
typedef struct layout {
    const char *name;
    int row_step, col_step; /* of a plain array by rows; negative: turned, 0: all alike */
    bool by_columns;
} layout;

static const layout LAYOUTS[] = {
    {"by columns", 1, 1, true},        {"rows turned", -1, 1, false},
    {"columns turned", 1, -1, false},  {"both turned", -1, -1, false},
    {"every second row", 2, 1, false}, {"every third column", 1, 3, false},
    {"gaps in both", 3, 2, true},      {"turned with gaps", -2, -3, true},
    {"columns turned", 1, -1, true},   {"rows turned", -1, 1, true},
};
enum { N_LAYOUTS = sizeof LAYOUTS / sizeof *LAYOUTS };

typedef struct stored {
    void *policy;
    kn_view view;
} stored;

static void put(void *policy, kn_type type, ptrdiff_t at, double x)
{
    if (type == KN_F32)
        ((float *)policy)[at] = (float)x;
    else
        ((double *)policy)[at] = x;
}

/* What lies between the values is not to be looked at. */
static stored store(kn_view from, const layout *l)
{
    ptrdiff_t n = from.rows, T = from.cols, rows = abs(l->row_step), cols = abs(l->col_step);
    ptrdiff_t row = l->by_columns ? rows : rows * T * cols,
              col = l->by_columns ? cols * n * rows : cols;
    ptrdiff_t all = n * rows * T * cols, start = 0;
    stored s = {.policy = malloc((size_t)all * sizeof(double))};
    for (ptrdiff_t i = 0; i < all; i++)
        put(s.policy, from.type, i, i % 2 ? NAN : 1e30);
    if (l->row_step < 0)
        start += (n - 1) * row, row = -row;
    if (l->col_step < 0)
        start += (T - 1) * col, col = -col;
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            put(s.policy, from.type, start + i * row + j * col, kn_view_at(from, i, j));
    size_t element = from.type == KN_F32 ? sizeof(float) : sizeof(double);
    s.view = (kn_view){(char *)s.policy + (size_t)start * element, from.type, n, T, row, col};
    return s;
}

static double *make_values(ptrdiff_t T, uint64_t seed)
{
    kn_rng rng;
    double *y = malloc((size_t)(N * T) * sizeof *y);
    ref_rng_init(&rng, seed, 0);
    for (ptrdiff_t i = 0; i < N; i++) {
        double shared = kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < T; j++)
            y[i * T + j] = (float)(5 + 0.03 * (double)(j % 5) * age[i] + shared * (double)(j % 3) +
                                   kn_rng_normal(&rng));
    }
    return y;
}

static kn_data *participants(kn_view Y)
{
    kn_data *d;
    assert_ok(ctx, kn_data_new(ctx, N, &d));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", age, 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "site", site));
    assert_ok(ctx, kn_data_responses(ctx, d, Y, NULL));
    return d;
}

/* A model's bytes, and z of participants that it takes for new ones. */
typedef struct result {
    void *bytes;
    size_t n;
    float *z;
} result;

static result result_of(kn_data *d, const char *how)
{
    result r;
    kn_model *m;
    kn_scores *s;
    kn_options *o = options_of(ctx, "fit", how);
    assert_ok(ctx, kn_fit(ctx, d, o, &m));
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &r.bytes, &r.n));
    assert_ok(ctx, kn_score(ctx, m, d, NULL, &s));
    kn_view z = kn_scores_array(s, "z");
    size_t size = (size_t)(z.rows * z.cols) * sizeof *r.z;
    r.z = malloc(size);
    memcpy(r.z, z.data, size);
    kn_scores_free(s);
    kn_model_free(m);
    kn_options_free(o);
    return r;
}

static void result_free(result *r)
{
    kn_bytes_free(r->bytes);
    free(r->z);
}

static void assert_alike(const char *name, const result *a, const result *b, ptrdiff_t T)
{
    if (a->n != b->n || memcmp(a->bytes, b->bytes, a->n) != 0)
        fail_msg("%td responses, %s: another model", T, name);
    if (memcmp(a->z, b->z, (size_t)(N * T) * sizeof *a->z) != 0)
        fail_msg("%td responses, %s: other z", T, name);
}

/* Y by rows, of doubles and of floats, against every other way to lie. */
static void compare_layouts(const double *y, ptrdiff_t T, const char *how)
{
    static const layout plain = {"by rows", 1, 1, false};
    float *narrow = malloc((size_t)(N * T) * sizeof *narrow);
    for (ptrdiff_t i = 0; i < N * T; i++)
        narrow[i] = (float)y[i];
    result first = {0};
    for (int type = 0; type < 2; type++) {
        kn_view from = type ? kn_view_rows_f32(narrow, N, T) : kn_view_rows(y, N, T);
        for (int k = -1; k < N_LAYOUTS; k++) {
            stored s = store(from, k < 0 ? &plain : &LAYOUTS[k]);
            kn_data *d = participants(s.view);
            result r = result_of(d, how);
            if (type == 0 && k < 0)
                first = r;
            else
                assert_alike(k < 0 ? "floats" : LAYOUTS[k].name, &first, &r, T);
            if (type > 0 || k >= 0)
                result_free(&r);
            kn_data_free(d);
            free(s.policy);
        }
    }
    result_free(&first);
    free(narrow);
}

static void every_layout_gives_the_same_bytes(void **state)
{
    (void)state;
    static const ptrdiff_t sizes[] = {1, 2, 3, 17, MAX_COUNT};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        double *y = make_values(sizes[k], 3);
        compare_layouts(y, sizes[k],
                        sizes[k] < MAX_COUNT ? "folds=4 max_evals=4"
                                             : "folds=4 max_evals=4 components=2");
        free(y);
    }
}

static void so_do_other_methods_and_missing_cells(void **state)
{
    (void)state;
    enum { T = 12 };
    double *y = make_values(T, 5);
    compare_layouts(y, T, "method=stgpr folds=4 max_evals=4");
    compare_layouts(y, T, "noise=whitened components=2 folds=4 max_evals=4");
    for (ptrdiff_t i = 0; i < N * T; i += 7)
        y[i] = NAN;
    compare_layouts(y, T, "components=2 folds=4 max_evals=4 missing_responses=impute");
    free(y);
}

static void a_column_that_is_repeated_is_a_copy_of_it(void **state)
{
    (void)state;
    for (ptrdiff_t T = 1; T <= 4; T += 3) {
        double *y = make_values(1, 7), *copy = malloc((size_t)(N * T) * sizeof *copy);
        for (ptrdiff_t i = 0; i < N * T; i++)
            copy[i] = y[i / T];
        kn_data *a = participants(kn_view_rows(copy, N, T)),
                *b = participants((kn_view){y, KN_F64, N, T, 1, 0});
        result r = result_of(a, "components=1 folds=4"), s = result_of(b, "components=1 folds=4");
        assert_alike("one column", &r, &s, T);
        result_free(&r);
        result_free(&s);
        kn_data_free(a);
        kn_data_free(b);
        free(y), free(copy);
    }
    kn_model *m;
    double one[5] = {1, 2, 3, 4, 5};
    kn_data *d = participants((kn_view){one, KN_F64, N, 5, 0, 1}); /* everybody alike */
    char first[512];
    assert_int_equal(kn_fit(ctx, d, NULL, &m), KN_ERR_DATA);
    snprintf(first, sizeof first, "%s", kn_message(ctx));
    kn_data_free(d);
    double *copy = malloc(sizeof one * N);
    for (int i = 0; i < N; i++)
        memcpy(copy + 5 * i, one, sizeof one);
    d = participants(kn_view_rows(copy, N, 5));
    assert_refused(ctx, kn_fit(ctx, d, NULL, &m), KN_ERR_DATA, first);
    kn_data_free(d);
    free(copy);
}

static void numbers_are_taken_at_any_stride(void **state)
{
    (void)state;
    enum { T = 3 };
    static const ptrdiff_t strides[] = {1, -1, 3, -2};
    double *y = make_values(T, 9), policy[3 * N];
    result first = {0};
    for (size_t k = 0; k < sizeof strides / sizeof *strides; k++) {
        ptrdiff_t step = strides[k], start = step < 0 ? -step * (N - 1) : 0;
        kn_data *d;
        for (int i = 0; i < 3 * N; i++)
            policy[i] = INFINITY;
        for (int i = 0; i < N; i++)
            policy[start + i * step] = age[i];
        assert_ok(ctx, kn_data_new(ctx, N, &d));
        assert_ok(ctx, kn_data_numbers(ctx, d, "age", policy + start, step));
        for (int i = 0; i < 3 * N; i++)
            policy[i] = NAN; /* columns are copied */
        assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(y, N, T), NULL));
        result r = result_of(d, "folds=4");
        if (k == 0)
            first = r;
        else
            assert_alike("a column of covariates", &first, &r, T);
        if (k > 0)
            result_free(&r);
        kn_data_free(d);
    }
    result_free(&first);
    kn_data *d;
    kn_model *m;
    assert_ok(ctx, kn_data_new(ctx, N, &d));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", age, 1));
    assert_ok(ctx, kn_data_numbers(ctx, d, "one", age, 0)); /* one number for all participants */
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(y, N, T), NULL));
    assert_ok(ctx, kn_fit(ctx, d, NULL, &m));
    assert_true(kn_model_number(m, "n_constant_covariates") == 1);
    kn_model_free(m);
    kn_data_free(d);
    free(y);
}

TEST_PROGRAM(data_views_of_any_stride)
{
    static const char *const sites[] = {"Oslo", "Rome"};
    kn_rng rng;
    ref_rng_init(&rng, 1, 0);
    for (int i = 0; i < N; i++) {
        age[i] = 20 + 60 * kn_rng_uniform(&rng);
        site[i] = sites[i % 2];
    }
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_gives_the_same_bytes),
        cmocka_unit_test(so_do_other_methods_and_missing_cells),
        cmocka_unit_test(a_column_that_is_repeated_is_a_copy_of_it),
        cmocka_unit_test(numbers_are_taken_at_any_stride),
    };
    int failed = cmocka_run_group_tests_name("views", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
