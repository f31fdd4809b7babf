/* Designs against the numbers of tests/golden/additive. */
#include "support/designs.h"

#include "io/table/table.h"

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
    snprintf(file, sizeof file, "additive/%s", name);
    g.json = golden_json(file, "");
    const char *root = getenv("KN_TESTS");
    snprintf(path, sizeof path, "%s/golden/additive/%s_covariates.csv", root ? root : "tests",
             name);
    assert_ok(ctx, kn_table_read(ctx, path, &t));
    ptrdiff_t n = (ptrdiff_t)golden_number(g.json, "N"), C = kn_table_cols(t) - 3;
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
        kn_mat mean = golden_column(g.json, "x_mean"), sd = golden_column(g.json, "x_sd");
        kn_mat q_mean = golden_column(g.json, "q_mean"), q_sd = golden_column(g.json, "q_sd");
        assert_int_equal(d.Fc, mean.rows);
        assert_int_equal(d.Fq, mean.rows);
        for (ptrdiff_t f = 0; f < mean.rows; f++) { /* the numbers are the first columns */
            assert_close(d.mean[f], mean.data[f], 1e-13);
            assert_close(d.sd[f], sd.data[f], 1e-13);
            assert_close(d.column[f].q_mean, q_mean.data[f], 1e-13);
            assert_close(d.column[f].q_sd, q_sd.data[f], 1e-13);
        }
        int held_out[8];
        kn_mat X = applied(ctx, &d, g.raw, false, NULL), Xh = applied(ctx, &d, g.raw, true, NULL);
        kn_mat Xn = applied(ctx, &d, g.new, true, held_out);
        assert_same(X, Xh, 0); /* nothing of training is held */
        kn_mat w = golden_column(g.json, "weights");
        double length = exp(golden_number(g.json, "ln_length"));
        kn_mat R = covariance(&d, X, X, w, length), Rn = covariance(&d, Xn, X, w, length);
        kn_mat Rnn = covariance(&d, Xn, Xn, w, length);
        kn_mat expected = rows_of(g.json, "R"), expected_new = rows_of(g.json, "R_new");
        kn_mat diag = golden_column(g.json, "R_new_diag");
        assert_same(R, expected, 1e-12);
        assert_same(Rn, expected_new, 1e-12);
        for (ptrdiff_t i = 0; i < diag.rows; i++)
            assert_close(kn_at(Rnn, i, i), diag.data[i], 1e-12);
        assert_true(held_out[g.new.rows - 1] > 0 && held_out[0] == 0);
        free(X.data), free(Xh.data), free(Xn.data), free(R.data), free(Rn.data), free(Rnn.data);
        free(expected.data), free(expected_new.data), free(diag.data), free(w.data);
        free(mean.data), free(sd.data), free(q_mean.data), free(q_sd.data);
        free(g.raw.data), free(g.new.data);
        json_decref(g.json);
        kn_design_clear(&d);
    }
    kn_ctx_free(ctx);
}

TEST_PROGRAM(data_design_golden)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_terms_make_the_covariance_of_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
