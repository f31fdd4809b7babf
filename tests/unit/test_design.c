#include "data/design.h"

#include "base/rng.h"
#include "io/table.h"
#include "scratch.h"
#include "test.h"
#include "views.h"

static kn_design made(kn_ctx *ctx, kn_mat raw, const kn_design_options *o)
{
    kn_design d;
    assert_ok(ctx, kn_design_new(ctx, view(raw), o, &d));
    return d;
}

static kn_mat applied(kn_ctx *ctx, const kn_design *d, kn_mat raw, bool hold, int *held)
{
    kn_mat X = ref_new(raw.rows, d->F);
    assert_ok(ctx, kn_design_apply(ctx, d, view(raw), hold, X, held));
    return X;
}

static kn_mat matrix(ptrdiff_t rows, ptrdiff_t cols, const double *by_rows)
{
    kn_mat m = ref_new(rows, cols);
    for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = 0; j < cols; j++)
            kn_col(m, j)[i] = by_rows[i * cols + j];
    return m;
}

#define MATRIX(cols, ...)                                                                          \
    matrix((ptrdiff_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)) / (cols), cols,     \
           (const double[]){__VA_ARGS__})

static void refuse_new(kn_ctx *ctx, kn_mat raw, const kn_design_options *o, kn_status status,
                       const char *sentence)
{
    kn_design d = {.C = 7};
    assert_int_equal(kn_design_new(ctx, view(raw), o, &d), status);
    assert_string_equal(kn_message(ctx), sentence);
    assert_true(d.C == 0 && !d.column && !d.mean);
    free(raw.data);
}

/* ---- the numbers of tests/golden/additive
 * --------------------------------------------------------
 */

typedef struct golden {
    kn_mat raw, new;
    int levels[8];
    json_t *json;
} golden;

/* Levels are L0, L1, ... in the table; L99 is one that training does not have. */
static golden golden_load(kn_ctx *ctx, const char *name)
{
    golden g = {0};
    char path[512], file[64];
    kn_table *t;
    snprintf(file, sizeof file, "%s.json", name);
    g.json = ref_json("additive", file);
    const char *root = getenv("KN_TESTS");
    snprintf(path, sizeof path, "%s/golden/additive/%s_covariates.csv", root ? root : "tests",
             name);
    assert_ok(ctx, kn_table_read(ctx, path, &t));
    ptrdiff_t n = (ptrdiff_t)ref_number(g.json, "N"), C = kn_table_cols(t) - 3;
    g.raw = ref_new(n, C);
    g.new = ref_new(kn_table_rows(t) - n, C);
    for (ptrdiff_t c = 0; c < C; c++)
        for (ptrdiff_t i = 0; i < kn_table_rows(t); i++) {
            const char *cell = kn_table_cell(t, i, c + 2);
            int code = *cell == 'L' ? atoi(cell + 1) : 0;
            if (i < n && *cell == 'L' && code >= g.levels[c])
                g.levels[c] = code + 1;
            if (*cell == 'L' && code > g.levels[c])
                code = g.levels[c];
            *(i < n ? &kn_col(g.raw, c)[i] : &kn_col(g.new, c)[i - n]) =
                *cell == 'L' ? code : atof(cell);
        }
    kn_table_free(t);
    return g;
}

static kn_mat rows_of(json_t *json, const char *key)
{
    json_t *a = json_object_get(json, key);
    kn_mat m =
        ref_new((ptrdiff_t)json_array_size(a), (ptrdiff_t)json_array_size(json_array_get(a, 0)));
    for (ptrdiff_t i = 0; i < m.rows; i++)
        for (ptrdiff_t j = 0; j < m.cols; j++)
            kn_col(m, j)[i] =
                json_number_value(json_array_get(json_array_get(a, (size_t)i), (size_t)j));
    return m;
}

/* sum_k w_k R_k in the order lin, quad, se, categories, one pair at a time. */
static kn_mat covariance(const kn_design *d, kn_mat A, kn_mat B, kn_mat w, double length)
{
    kn_design_block block[16];
    int n = kn_design_blocks(d, block, 16);
    kn_mat R = ref_new(A.rows, B.rows);
    assert_int_equal(w.rows, n + 1); /* and se */
    for (ptrdiff_t i = 0; i < A.rows; i++)
        for (ptrdiff_t j = 0; j < B.rows; j++)
            for (int k = 0; k < n; k++) {
                double dot = 0, distance = 0;
                for (ptrdiff_t f = block[k].first; f < block[k].first + block[k].count; f++) {
                    dot += kn_at(A, i, f) * kn_at(B, j, f);
                    distance += pow(kn_at(A, i, f) - kn_at(B, j, f), 2);
                }
                if (block[k].kind == KN_DESIGN_CATEGORY)
                    kn_col(R, j)[i] += w.data[k + 1] * dot;
                else
                    kn_col(R, j)[i] += w.data[k] * dot / (double)block[k].count;
                if (block[k].kind == KN_DESIGN_LINEAR)
                    kn_col(R, j)[i] += w.data[2] * exp(-distance / (2 * length * length));
            }
    return R;
}

static void the_terms_make_the_covariance_of_golden(void **state)
{
    (void)state;
    static const char *const names[] = {"n12", "n12_nogroup", "n40", "n40_nogroup"};
    kn_ctx *ctx = kn_ctx_new();
    for (int k = 0; k < 4; k++) {
        golden g = golden_load(ctx, names[k]);
        kn_design_options o = {.additive = true,
                               .standardise = true,
                               .levels = g.levels,
                               .quadratic = 1};
        kn_design d = made(ctx, g.raw, &o);
        kn_mat mean = ref_numbers(g.json, "x_mean"), sd = ref_numbers(g.json, "x_sd");
        kn_mat q_mean = ref_numbers(g.json, "q_mean"), q_sd = ref_numbers(g.json, "q_sd");
        assert_int_equal(d.Fc, mean.rows);
        assert_int_equal(d.Fq, mean.rows);
        for (ptrdiff_t f = 0; f < mean.rows; f++) { /* the numbers are the first columns */
            assert_close(d.mean[f], mean.data[f], 1e-13);
            assert_close(d.sd[f], sd.data[f], 1e-13);
            assert_close(d.column[f].q_mean, q_mean.data[f], 1e-13);
            assert_close(d.column[f].q_sd, q_sd.data[f], 1e-13);
        }
        int held[8];
        kn_mat X = applied(ctx, &d, g.raw, false, NULL), Xh = applied(ctx, &d, g.raw, true, NULL);
        kn_mat Xn = applied(ctx, &d, g.new, true, held);
        assert_same(X, Xh, 0); /* nothing of training is held */
        kn_mat w = ref_numbers(g.json, "weights");
        double length = exp(ref_number(g.json, "ln_length"));
        kn_mat R = covariance(&d, X, X, w, length), Rn = covariance(&d, Xn, X, w, length);
        kn_mat Rnn = covariance(&d, Xn, Xn, w, length);
        kn_mat expected = rows_of(g.json, "R"), expected_new = rows_of(g.json, "R_new");
        kn_mat diag = ref_numbers(g.json, "R_new_diag");
        assert_same(R, expected, 1e-12);
        assert_same(Rn, expected_new, 1e-12);
        for (ptrdiff_t i = 0; i < diag.rows; i++)
            assert_close(kn_at(Rnn, i, i), diag.data[i], 1e-12);
        assert_true(held[g.new.rows - 1] > 0 && held[0] == 0);
        free(X.data), free(Xh.data), free(Xn.data), free(R.data), free(Rn.data), free(Rnn.data);
        free(expected.data), free(expected_new.data), free(diag.data), free(w.data);
        free(mean.data), free(sd.data), free(q_mean.data), free(q_sd.data);
        free(g.raw.data), free(g.new.data);
        json_decref(g.json);
        kn_design_clear(&d);
    }
    kn_ctx_free(ctx);
}

/* ---- which columns, and what is in them
 * ----------------------------------------------------------
 */

/* age, site of 3, constant, dose of 3 values; the last row's site is missing. */
static kn_mat cohort(void)
{
    return MATRIX(4, 20, 0, 7, 0, 30, 1, 7, 1, 40, 1, 7, 2, 50, 2, 7, 0, 60, 2, 7, 1, 75, NAN, 7,
                  2);
}
static const int COHORT_LEVELS[] = {0, 3, 0, 0};

static void columns_go_where_they_belong(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const kn_interaction by_site[] = {{1, 0}};
    kn_mat raw = cohort();
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = COHORT_LEVELS,
                           .quadratic = 1,
                           .interactions = by_site,
                           .n_interactions = 1};
    kn_design d = made(ctx, raw, &o);
    assert_int_equal(d.C, 4);
    assert_int_equal(d.Fc, 2);
    assert_int_equal(d.Fq, 1); /* dose has three values */
    assert_int_equal(d.F, 2 + 1 + 4 + 4);
    assert_int_equal(d.n_constant, 1);
    assert_true(d.column[2].constant && d.column[2].x == -1);
    assert_true(d.mean[1] == 0 && d.sd[1] == 1);
    static const kn_design_block expected[] = {{KN_DESIGN_LINEAR, 0, 2, -1, -1},
                                               {KN_DESIGN_QUADRATIC, 2, 1, -1, -1},
                                               {KN_DESIGN_CATEGORY, 3, 4, 1, -1},
                                               {KN_DESIGN_INTERACTION, 7, 4, 1, 0}};
    kn_design_block block[4] = {0};
    assert_int_equal(kn_design_blocks(&d, block, 4), 4);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(block[k].kind, expected[k].kind);
        assert_int_equal(block[k].first, expected[k].first);
        assert_int_equal(block[k].count, expected[k].count);
        assert_int_equal(block[k].column, expected[k].column);
        assert_int_equal(block[k].second, expected[k].second);
    }
    kn_design_block few[1];
    assert_int_equal(kn_design_blocks(&d, few, 1), 4);
    assert_int_equal(few[0].count, 2);

    kn_mat X = applied(ctx, &d, raw, false, NULL);
    double mean = 275. / 6, sd = 0, q_mean = 0, q_sd = 0, x[6];
    for (int i = 0; i < 6; i++)
        sd += pow(kn_at(raw, i, 0) - mean, 2) / 6;
    for (int i = 0; i < 6; i++) {
        x[i] = (kn_at(raw, i, 0) - mean) / sqrt(sd);
        q_mean += x[i] * x[i] / 6;
    }
    for (int i = 0; i < 6; i++)
        q_sd += pow(x[i] * x[i] - q_mean, 2) / 6;
    for (int i = 0; i < 6; i++) {
        assert_close(kn_at(X, i, 0), x[i], 1e-14);
        assert_close(kn_at(X, i, 1), (kn_at(raw, i, 3) - 1) / sqrt(2. / 3), 1e-14);
        assert_close(kn_at(X, i, 2), (x[i] * x[i] - q_mean) / sqrt(q_sd), 1e-13);
        for (int l = 0; l < 4; l++) {
            static const double shares[] = {.2, .4, .4, 0};
            double e = i == 5 ? shares[l] : kn_at(raw, i, 1) == l;
            assert_close(kn_at(X, i, 3 + l), e, 1e-15);
            assert_close(kn_at(X, i, 7 + l), e * x[i], 1e-14);
        }
    }
    free(X.data);
    kn_design_clear(&d);

    /* As they are: the slope is over age itself, the parabola still about its mean. */
    o.standardise = false;
    d = made(ctx, raw, &o);
    X = applied(ctx, &d, raw, false, NULL);
    double sum = 0, squares = 0;
    for (int i = 0; i < 6; i++) {
        assert_true(kn_at(X, i, 0) == kn_at(raw, i, 0));
        sum += kn_at(X, i, 2);
        squares += pow(kn_at(X, i, 2), 2);
    }
    assert_close(sum, 0, 1e-12);
    assert_close(squares, 6, 1e-12);
    free(X.data);
    kn_design_clear(&d);
    free(raw.data);
    kn_ctx_free(ctx);
}

static void squares_need_values_and_people(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const int two[] = {5, 5}, four[] = {4, 5};
    for (ptrdiff_t n = 39; n <= 40; n++) {
        kn_mat raw = ref_new(n, 2);
        for (ptrdiff_t i = 0; i < n; i++) {
            kn_col(raw, 0)[i] = (double)(i % 5);
            kn_col(raw, 1)[i] = (double)i;
        }
        kn_design_options o = {.additive = true, .standardise = true, .quadratic = -1};
        for (int k = 0; k < 5; k++) {
            o.quadratic = k == 1 ? 0 : k == 2 ? 1 : -1;
            o.values = k == 3 ? two : k == 4 ? four : NULL;
            kn_design d = made(ctx, raw, &o);
            assert_int_equal(d.Fq, k == 1 ? 0 : k == 2 ? 2 : k == 4 ? 1 : n == 40 ? 2 : 0);
            kn_design_clear(&d);
        }
        o = (kn_design_options){.additive = false, .standardise = true, .quadratic = 1};
        kn_design d = made(ctx, raw, &o);
        assert_true(d.Fq == 0 && d.F == 2);
        kn_design_clear(&d);
        free(raw.data);
    }
    kn_ctx_free(ctx);
}

/* Without a constant among them, the columns are what they were. */
static void a_plain_design_is_standardised_columns(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_rng rng;
    kn_rng_init(&rng, 4, 0);
    kn_mat raw = ref_normal(&rng, 9, 4), with = ref_new(9, 5);
    for (ptrdiff_t f = 0; f < 5; f++)
        for (ptrdiff_t i = 0; i < 9; i++)
            kn_col(with, f)[i] = f == 2 ? 1.5 : kn_at(raw, i, f > 2 ? f - 1 : f);
    for (int standardise = 0; standardise < 2; standardise++) {
        kn_mat old = ref_new(9, 4);
        for (ptrdiff_t f = 0; f < 4; f++) {
            double mean = 0, v = 0;
            for (ptrdiff_t i = 0; i < 9; i++)
                mean += kn_at(raw, i, f) / 9;
            for (ptrdiff_t i = 0; i < 9; i++)
                v += (kn_at(raw, i, f) - mean) * (kn_at(raw, i, f) - mean) / 9;
            for (ptrdiff_t i = 0; i < 9; i++)
                kn_col(old, f)[i] =
                    standardise ? (kn_at(raw, i, f) - mean) / sqrt(v) : kn_at(raw, i, f);
        }
        kn_design_options o = {.standardise = standardise, .quadratic = -1};
        kn_design d = made(ctx, with, &o);
        kn_design_block block;
        assert_int_equal(kn_design_blocks(&d, &block, 1), 1);
        assert_int_equal(block.count, 4);
        assert_int_equal(d.n_constant, 1);
        kn_mat X = applied(ctx, &d, with, true, NULL);
        assert_same(X, old, 1e-14);
        free(X.data), free(old.data);
        kn_design_clear(&d);
    }
    free(raw.data), free(with.data);
    kn_ctx_free(ctx);
}

static void new_people_are_held_near_training(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const kn_interaction by_site[] = {{1, 0}};
    kn_mat raw = cohort();
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = COHORT_LEVELS,
                           .quadratic = 1,
                           .interactions = by_site,
                           .n_interactions = 1};
    kn_design d = made(ctx, raw, &o);
    double low, high;
    kn_design_range(&d, 0, &low, &high);
    assert_true(low == 20 - 27.5 && high == 75 + 27.5);
    /* inside; beyond training; at and beyond the end; below; other constant; unseen; all of it */
    kn_mat new = MATRIX(4, 50, 1, 7, 1, 80, 1, 7, 1, 102.5, 1, 7, 1, 200, 1, 7, 1, -90, 1, 7, 1, 50,
                        1, 8, 1, 50, 3, 7, 1, 50, NAN, 7 + 1e-10, 1, 1e300, 3, -7, -99);
    static const int expected[] = {0, 0, 0, 1, 1, 1, 1, 0, 4};
    static const ptrdiff_t by_column[] = {3, 2, 2, 1};
    int held[9];
    ptrdiff_t people[4];
    kn_mat X = applied(ctx, &d, new, true, held), free_X = applied(ctx, &d, new, false, NULL);
    kn_mat as_held = ref_new(9, 4);
    for (ptrdiff_t i = 0; i < 9; i++) {
        assert_int_equal(held[i], expected[i]);
        for (ptrdiff_t c = 0; c < 4; c++)
            kn_col(as_held, c)[i] = kn_at(new, i, c);
        kn_col(as_held, 0)[i] = fmin(fmax(kn_at(new, i, 0), -7.5), 102.5);
        kn_col(as_held, 3)[i] = fmin(fmax(kn_at(new, i, 3), -1), 3);
    }
    assert_ok(ctx, kn_design_count_held(ctx, &d, view(new), people));
    for (int c = 0; c < 4; c++)
        assert_int_equal(people[c], by_column[c]);
    kn_mat X2 = applied(ctx, &d, as_held, false, NULL);
    for (ptrdiff_t i = 0; i < 9; i++) {
        for (ptrdiff_t f = 0; f < d.F; f++)
            if (f != d.column[0].q)
                assert_true(kn_at(X, i, f) == kn_at(X2, i, f));
        double x = (fmin(fmax(kn_at(new, i, 0), 20), 75) - d.mean[0]) / d.sd[0];
        assert_close(kn_at(X, i, d.column[0].q), (x * x - d.column[0].q_mean) / d.column[0].q_sd,
                     1e-14);
    }
    assert_close(kn_at(free_X, 3, 0), (200 - d.mean[0]) / d.sd[0], 1e-14);
    assert_true(kn_at(X, 6, 6) == 1 && kn_at(X, 6, 3) + kn_at(X, 6, 4) + kn_at(X, 6, 5) == 0);
    free(X.data), free(free_X.data), free(X2.data), free(as_held.data), free(new.data);

    /* A level that training did not have is in no term of those that it had, also alone. */
    kn_mat one = MATRIX(4, 50, 4, 7, 1);
    X = ref_new(1, d.F);
    assert_refused(ctx, kn_design_apply(ctx, &d, view(one), true, X, NULL), KN_ERR_DATA,
                   "covariates row 1, column 2 is 4, expected a level, 0 to 3");
    kn_col(one, 1)[0] = 0;
    kn_col(one, 2)[0] = NAN; /* constant in training, and still to be a number */
    assert_refused(ctx, kn_design_apply(ctx, &d, view(one), true, X, NULL), KN_ERR_DATA,
                   "covariates row 1, column 3 is nan, expected a finite number");
    free(X.data), free(one.data), free(raw.data);
    kn_design_clear(&d);
    kn_ctx_free(ctx);
}

static void a_category_of_one_level_is_nowhere(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const int levels[] = {1, 0, 3};
    kn_mat raw = MATRIX(3, 0, 1, 1, 0, 2, 1, NAN, 3, 1); /* of three levels one is there */
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = levels,
                           .quadratic = -1};
    kn_design d = made(ctx, raw, &o);
    assert_true(d.F == 1 && d.n_constant == 2 && d.column[0].constant && d.column[2].constant);
    kn_mat new = MATRIX(3, 1, 2, 1, 0, 2, 3);
    int held[2];
    kn_mat X = applied(ctx, &d, new, true, held);
    assert_true(held[0] == 1 && held[1] == 1);
    free(X.data), free(new.data), free(raw.data);
    kn_design_clear(&d);
    kn_ctx_free(ctx);
}

static void what_cannot_be_used_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const int category[] = {2, 0};
    kn_design_options o = {.additive = true, .standardise = true, .quadratic = -1};
    refuse_new(ctx, MATRIX(2, 1, 2, 3, NAN), &o, KN_ERR_DATA,
               "covariates row 2, column 2 is nan, expected a finite number");
    refuse_new(ctx, MATRIX(2, 1, 2, 1, 2), &o, KN_ERR_DATA,
               "every covariate is constant: there is nothing to predict the responses from");
    refuse_new(ctx, MATRIX(1, 1e300, -1e300), &o, KN_ERR_DATA,
               "covariates column 1 has values too large to square");
    o.levels = category;
    refuse_new(ctx, MATRIX(2, 0, 1, 2, 2), &o, KN_ERR_DATA,
               "covariates row 2, column 1 is 2, expected a level, 0 to 1");
    refuse_new(ctx, MATRIX(2, 0, 1, .5, 2), &o, KN_ERR_DATA,
               "covariates row 2, column 1 is 0.5, expected a level, 0 to 1");
    refuse_new(ctx, MATRIX(2, 0, 1, INFINITY, 2), &o, KN_ERR_DATA,
               "covariates row 2, column 1 is inf, expected a level, 0 to 1");
    refuse_new(ctx, MATRIX(2, NAN, 1, NAN, 2), &o, KN_ERR_DATA,
               "covariates column 1 has no value at all");
    refuse_new(ctx, MATRIX(2, 1, 1, 1, 1), &o, KN_ERR_DATA,
               "every covariate is constant: there is nothing to predict the responses from");
    static const kn_interaction pairs[] = {{0, 1}, {1, 0}};
    o.interactions = pairs;
    o.n_interactions = 1;
    refuse_new(ctx, MATRIX(2, 0, 1, 0, 2), &o, KN_ERR_ARGUMENT,
               "interaction of covariates 1 and 2, expected a category of two levels or more and "
               "a number that varies");
    refuse_new(ctx, MATRIX(2, 0, 1, 1, 1), &o, KN_ERR_ARGUMENT,
               "interaction of covariates 1 and 2, expected a category of two levels or more and "
               "a number that varies");
    o.n_interactions = 2;
    refuse_new(ctx, MATRIX(2, 0, 1, 1, 2), &o, KN_ERR_ARGUMENT,
               "interaction of covariates 2 and 1, expected a category of two levels or more and "
               "a number that varies");
    kn_ctx_free(ctx);
}

/* ---- what must not matter -----------------------------------------------------------------------
 */

static void order_and_names_change_nothing_but_order(void **state)
{
    (void)state;
    enum { N = 60, L = 4 };
    static const int levels[] = {0, L, 0}, relabelled[L] = {2, 0, 3, 1};
    static const kn_interaction by[] = {{1, 2}};
    kn_ctx *ctx = kn_ctx_new();
    kn_rng rng;
    kn_rng_init(&rng, 7, 0);
    kn_mat raw = ref_normal(&rng, N, 3), other = ref_new(N, 3);
    ptrdiff_t order[N];
    for (ptrdiff_t i = 0; i < N; i++) {
        kn_col(raw, 1)[i] = (double)(i * 7 % L);
        order[i] = (i * 37 + 11) % N;
    }
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t c = 0; c < 3; c++)
            kn_col(other, c)[i] =
                c == 1 ? relabelled[(int)kn_at(raw, order[i], 1)] : kn_at(raw, order[i], c);
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = levels,
                           .quadratic = -1,
                           .interactions = by,
                           .n_interactions = 1};
    kn_design a = made(ctx, raw, &o), b = made(ctx, other, &o);
    kn_mat A = applied(ctx, &a, raw, true, NULL), B = applied(ctx, &b, other, true, NULL);
    assert_int_equal(a.F, 2 + 2 + 2 * (L + 1));
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t f = 0; f < a.F; f++) {
            ptrdiff_t at = f < 4 ? 0 : f < 4 + L + 1 ? 4 : 4 + L + 1;
            ptrdiff_t to = at == 0 || f - at == L ? f : at + relabelled[f - at];
            assert_close(kn_at(B, i, to), kn_at(A, order[i], f), 1e-13);
        }
    free(A.data), free(B.data), free(raw.data), free(other.data);
    kn_design_clear(&a);
    kn_design_clear(&b);
    kn_ctx_free(ctx);
}

static void few_people_are_enough(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const int levels[] = {0, 2};
    kn_design_options o = {.additive = true, .standardise = true, .levels = levels, .quadratic = 1};
    refuse_new(ctx, MATRIX(2, 4, 1), &o, KN_ERR_DATA,
               "every covariate is constant: there is nothing to predict the responses from");
    kn_mat raw = MATRIX(2, 4, 1, 6, 0, 8, 1);
    for (ptrdiff_t n = 2; n <= 3; n++) {
        kn_view first = view(raw);
        kn_design d;
        first.rows = n;
        assert_ok(ctx, kn_design_new(ctx, first, &o, &d));
        assert_true(d.Fc == 1 && d.Fq == 0 && d.F == 4);
        assert_close(d.mean[0], n == 2 ? 5 : 6, 1e-15);
        assert_close(d.sd[0], n == 2 ? 1 : sqrt(8. / 3), 1e-15);
        assert_close(d.column[1].shares[0], 1. / (double)n, 1e-15);
        kn_design_clear(&d);
    }
    free(raw.data);
    kn_ctx_free(ctx);
}

/* ---- JSON and memory ----------------------------------------------------------------------------
 */

static void a_design_survives_json_to_the_bit(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const kn_interaction by_site[] = {{1, 3}, {1, 0}};
    kn_mat raw = cohort();
    for (int additive = 0; additive < 2; additive++) {
        kn_design_options o = {.additive = additive,
                               .standardise = true,
                               .levels = additive ? COHORT_LEVELS : NULL,
                               .quadratic = 1,
                               .interactions = by_site,
                               .n_interactions = additive ? 2 : 0};
        kn_col(raw, 1)[5] = additive ? NAN : 0;
        kn_design d = made(ctx, raw, &o), back;
        json_t *json = kn_design_to_json(&d);
        char *text = json_dumps(json, JSON_COMPACT);
        json_t *again = json_loads(text, 0, NULL);
        assert_ok(ctx, kn_design_from_json(ctx, "m", again, (kn_design_scale){d.C, d.mean, d.sd},
                                           &back));
        kn_mat A = applied(ctx, &d, raw, true, NULL), B = applied(ctx, &back, raw, true, NULL);
        assert_true(back.F == d.F && back.n_constant == d.n_constant && back.Fq == d.Fq);
        assert_same(B, A, 0);
        json_t *json2 = kn_design_to_json(&back);
        char *text2 = json_dumps(json2, JSON_COMPACT);
        assert_string_equal(text2, text);
        free(A.data), free(B.data), free(text), free(text2);
        json_decref(json), json_decref(again), json_decref(json2);
        kn_design_clear(&d);
        kn_design_clear(&back);
    }
    free(raw.data);
    kn_ctx_free(ctx);
}

#define DESIGN(columns, more) "{\"additive\":true,\"columns\":[" columns "]" more "}"
#define AGE                   "{\"min\":1,\"max\":2}"
#define SITE                  "{\"shares\":[0.5,0.5]}"
#define OF(c)                 "m: design of covariate " c ": "

static void a_hostile_design_is_refused(void **state)
{
    (void)state;
    static const char SIZES[] = "m: the design of the covariates, expected one of 2 columns";
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"[]", SIZES},
        {"{}", SIZES},
        {"{\"additive\":1,\"columns\":[" AGE "," SITE "]}", SIZES},
        {DESIGN(AGE, ""), SIZES},
        {DESIGN(AGE "," SITE "," SITE, ""), SIZES},
        {DESIGN("1," SITE, ""), OF("1") "expected min and max, two numbers in order"},
        {DESIGN("{\"min\":2,\"max\":1}," SITE, ""),
         OF("1") "expected min and max, two numbers in order"},
        {DESIGN("{\"min\":\"1\",\"max\":1}," SITE, ""),
         OF("1") "expected min and max, two numbers in order"},
        {DESIGN("{\"min\":-1e308,\"max\":1e308}," SITE, ""),
         OF("1") "expected min and max, two numbers in order"},
        {DESIGN("{\"min\":1,\"max\":1}," SITE, ""),
         OF("1") "it varies between two numbers that are one"},
        {DESIGN("{\"min\":1,\"max\":1,\"constant\":1}," SITE, ""),
         OF("1") "expected constant to be true or false"},
        {DESIGN("{\"min\":1,\"max\":2,\"quadratic\":[1,0]}," SITE, ""),
         OF("1") "expected quadratic to be a mean and a positive sd"},
        {DESIGN("{\"min\":1,\"max\":2,\"quadratic\":[1]}," SITE, ""),
         OF("1") "expected quadratic to be a mean and a positive sd"},
        {DESIGN("{\"min\":1,\"max\":2,\"quadratic\":null}," SITE, ""),
         OF("1") "expected quadratic to be a mean and a positive sd"},
        {DESIGN("{\"min\":1,\"max\":1,\"constant\":true,\"quadratic\":[1,1]}," SITE, ""),
         OF("1") "expected quadratic to be a mean and a positive sd"},
        {DESIGN(AGE ",{\"shares\":[]}", ""), OF("2") "expected shares of 1 to 50 levels"},
        {DESIGN(AGE ",{\"shares\":1}", ""), OF("2") "expected shares of 1 to 50 levels"},
        {DESIGN(AGE ",{\"shares\":[0.5,\"a\"]}", ""), OF("2") "a share is no number from 0 to 1"},
        {DESIGN(AGE ",{\"shares\":[1.5,-0.5]}", ""), OF("2") "a share is no number from 0 to 1"},
        {DESIGN(AGE ",{\"shares\":[0.5,0.4]}", ""), OF("2") "shares do not sum to 1"},
        {"{\"additive\":false,\"columns\":[" AGE "," SITE "]}",
         OF("2") "expected shares of 1 to 50 levels"},
        {DESIGN("{\"min\":1,\"max\":1,\"constant\":true},{\"shares\":[0,1]}", ""),
         "m: every covariate of the design is constant"},
        {DESIGN(AGE "," SITE, ",\"interactions\":{}"),
         "m: interactions, expected an array of at most 1000"},
        {DESIGN(AGE "," SITE, ",\"interactions\":[1]"),
         "m: interaction 1, expected a category and a number that vary"},
        {DESIGN(AGE "," SITE, ",\"interactions\":[[1,0],[0,1]]"),
         "m: interaction 2, expected a category and a number that vary"},
        {DESIGN(AGE "," SITE, ",\"interactions\":[[1,2]]"),
         "m: interaction 1, expected a category and a number that vary"},
        {DESIGN(AGE "," SITE, ",\"interactions\":[[1,0,0]]"),
         "m: interaction 1, expected a category and a number that vary"},
        {DESIGN(AGE ",{\"shares\":[1,0]}", ",\"interactions\":[[1,0]]"),
         "m: interaction 1, expected a category and a number that vary"},
    };
    kn_ctx *ctx = kn_ctx_new();
    double mean[] = {1, 0}, sd[] = {2, 1};
    kn_design d;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *json = json_loads(cases[i].text, 0, NULL);
        assert_non_null(json);
        assert_refused(ctx, kn_design_from_json(ctx, "m", json, (kn_design_scale){2, mean, sd}, &d),
                       KN_ERR_FORMAT, cases[i].sentence);
        assert_true(!d.column && !d.mean && !d.interaction);
        json_decref(json);
    }
    json_t *json = json_loads(DESIGN(AGE "," SITE, ""), 0, NULL);
    static const double wrong[][2] = {{NAN, 1}, {1, 0}, {1, -1}, {1, INFINITY}};
    for (int k = 0; k < 4; k++) {
        mean[0] = wrong[k][0];
        sd[0] = wrong[k][1];
        assert_refused(ctx, kn_design_from_json(ctx, "m", json, (kn_design_scale){2, mean, sd}, &d),
                       KN_ERR_FORMAT, OF("1") "expected a finite mean and a positive sd");
    }
    mean[0] = sd[0] = mean[1] = 1;
    assert_refused(ctx, kn_design_from_json(ctx, "m", json, (kn_design_scale){2, mean, sd}, &d),
                   KN_ERR_FORMAT, OF("2") "expected mean 0 and sd 1 of a category");
    mean[1] = 0;
    assert_ok(ctx, kn_design_from_json(ctx, "m", json, (kn_design_scale){2, mean, sd}, &d));
    assert_int_equal(d.F, 4);
    kn_design_clear(&d);
    json_decref(json);
    kn_ctx_free(ctx);
}

static void running_out_of_memory_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const kn_interaction by_site[] = {{1, 0}};
    kn_mat raw = cohort();
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = COHORT_LEVELS,
                           .quadratic = 1,
                           .interactions = by_site,
                           .n_interactions = 1};
    for (long k = 1;; k++) {
        kn_design d = {0}, back = {0};
        kn_mat X = {0};
        json_t *json = NULL;
        ptrdiff_t people[4];
        kn_fail_allocation(ctx, k);
        kn_status s = kn_design_new(ctx, view(raw), &o, &d);
        if (s == KN_OK)
            s = kn_mat_new(ctx, raw.rows, d.F, &X);
        if (s == KN_OK)
            s = kn_design_apply(ctx, &d, view(raw), true, X, NULL);
        if (s == KN_OK)
            s = kn_design_count_held(ctx, &d, view(raw), people);
        if (s == KN_OK)
            s = kn_design_from_json(ctx, "m", json = kn_design_to_json(&d),
                                    (kn_design_scale){d.C, d.mean, d.sd}, &back);
        kn_fail_allocation(ctx, 0);
        kn_design_clear(&d);
        kn_design_clear(&back);
        kn_mat_clear(&X);
        json_decref(json);
        if (s == KN_OK) {
            assert_true(k > 10);
            break;
        }
        assert_int_equal(s, KN_ERR_MEMORY);
    }
    free(raw.data);
    kn_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_terms_make_the_covariance_of_golden),
        cmocka_unit_test(columns_go_where_they_belong),
        cmocka_unit_test(squares_need_values_and_people),
        cmocka_unit_test(a_plain_design_is_standardised_columns),
        cmocka_unit_test(new_people_are_held_near_training),
        cmocka_unit_test(a_category_of_one_level_is_nowhere),
        cmocka_unit_test(what_cannot_be_used_is_a_sentence),
        cmocka_unit_test(order_and_names_change_nothing_but_order),
        cmocka_unit_test(few_people_are_enough),
        cmocka_unit_test(a_design_survives_json_to_the_bit),
        cmocka_unit_test(a_hostile_design_is_refused),
        cmocka_unit_test(running_out_of_memory_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
