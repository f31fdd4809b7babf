/* Missing responses: filled in against tests/golden/norms/missing.json, which was computed by dense
 * matrices elsewhere. */
#include "support/covs.h"
#include "support/views.h"

#include "cov/additive.h"
#include "data/scaling.h"
#include "gp/basis/basis.h"
#include "gp/missing/completion.h"
#include "gp/predict/predict.h"

static kn_ctx *ctx;

typedef struct golden {
    json_t *json;
    ptrdiff_t N, T; /* kept */
    kn_mat Y, raw, X, raw_new, Xs;
    kn_design design;
    kn_cov cov;
    kn_cov_point at;
    kn_scaling scaling;
    kn_missing_mask missing;
    kn_responses R;
    kn_imputer filler;
    kn_impute_levels levels;
    kn_mat Phi;
} golden;

static double cell(json_t *rows, ptrdiff_t i, ptrdiff_t j)
{
    json_t *v = json_array_get(json_array_get(rows, (size_t)i), (size_t)j);
    return json_is_null(v) ? NAN : json_number_value(v);
}

static kn_mat covariates(json_t *j, const char *prefix, kn_mat keep)
{
    char name[64];
    static const char *const COLUMN[] = {"age", "sex", "site"};
    kn_mat raw = {0};
    for (ptrdiff_t c = 0; c < 3; c++) {
        snprintf(name, sizeof name, "%s%s", prefix, COLUMN[c]);
        kn_mat all = golden_column(j, name);
        if (c == 0)
            raw = ref_new(keep.data ? keep.rows : all.rows, 3);
        for (ptrdiff_t i = 0; i < raw.rows; i++)
            kn_col(raw, c)[i] = all.data[keep.data ? (ptrdiff_t)keep.data[i] : i];
        free(all.data);
    }
    return raw;
}

static void golden_load(golden *g, ptrdiff_t rank)
{
    static const int LEVELS[] = {0, 2, 3};
    static const double W[] = {.25, .25, 0, .25, .25};
    *g = (golden){.json = golden_json("norms/missing", "")};
    kn_mat participants = golden_column(g->json, "people_kept");
    g->N = participants.rows;
    g->T = 8;
    g->raw = covariates(g->json, "", participants);
    g->raw_new = covariates(g->json, "fit.new_", kn_mat_none());
    g->Y = ref_new(g->N, g->T);
    for (ptrdiff_t j = 0; j < g->T; j++)
        for (ptrdiff_t i = 0; i < g->N; i++)
            kn_col(g->Y, j)[i] =
                cell(json_object_get(g->json, "Y"), (ptrdiff_t)participants.data[i], j);
    kn_design_options o = {.additive = true, .standardise = true, .levels = LEVELS, .quadratic = 1};
    assert_ok(ctx, kn_design_new(ctx, view(g->raw), &o, &g->design));
    g->X = ref_new(g->N, g->design.F);
    g->Xs = ref_new(g->raw_new.rows, g->design.F);
    assert_ok(ctx, kn_design_apply(ctx, &g->design, view(g->raw), false, g->X, NULL));
    assert_ok(ctx, kn_design_apply(ctx, &g->design, view(g->raw_new), true, g->Xs, NULL));
    assert_ok(ctx, kn_cov_of_design(ctx, &g->design, &g->cov));
    assert_int_equal(g->cov.n, 5);
    memcpy(g->at.w, W, sizeof W);
    g->at.shape[0] = 1;
    assert_ok(ctx, kn_scaling_observed(ctx, view(g->Y), true, &g->scaling));
    g->R = kn_responses_of(view(g->Y), &g->scaling);
    assert_ok(ctx, kn_missing_mask_new(ctx, g->R.Y, g->scaling.kept, g->R.T, &g->missing));
    g->R.missing = &g->missing;
    g->T = g->R.T;
    g->filler = (kn_imputer){.X = g->X, .Y = g->R, .cov = g->cov, .rank = rank};
    kn_cov_theta(&g->cov, &g->at, g->filler.theta);
    assert_ok(ctx, kn_imputer_features(ctx, &g->filler, g->X, &g->Phi));
    assert_ok(ctx, kn_impute_levels_new(ctx, &g->cov, g->filler.theta, g->X, &g->R, &g->levels));
    free(participants.data);
}

static void golden_clear(golden *g)
{
    json_decref(g->json);
    free(g->Y.data), free(g->raw.data), free(g->X.data), free(g->raw_new.data), free(g->Xs.data);
    kn_design_clear(&g->design);
    kn_scaling_clear(&g->scaling);
    kn_missing_mask_clear(&g->missing);
    kn_impute_levels_clear(&g->levels);
    kn_mat_clear(&g->Phi);
}

/* The completed table after so many rounds, P = 2. */
static kn_mat completed(golden *g, int rounds, double *delta, kn_impute_info *info)
{
    double *imputed = calloc((size_t)g->missing.cells, sizeof *imputed);
    kn_impute_problem p = {
        .Y = g->R, .Phi = g->Phi, .levels = &g->levels, .P = 2, .rounds = rounds, .tolerance = 0};
    kn_mat Y = ref_new(g->N, g->T);
    assert_ok(ctx, kn_impute(ctx, &p, imputed, delta, info));
    kn_responses R = g->R;
    R.imputed = imputed;
    kn_responses_block(ctx, &R, 0, Y);
    free(imputed);
    return Y;
}

static void what_is_left_out_and_scaled_is_that_of_golden(void **state)
{
    (void)state;
    golden g;
    golden_load(&g, 0);
    kn_mat kept = golden_column(g.json, "responses_kept"), mean = golden_column(g.json, "mean");
    kn_mat sd = golden_column(g.json, "sd");
    assert_int_equal(g.T, kept.rows);
    assert_int_equal(g.scaling.n_few, 1);
    for (ptrdiff_t j = 0; j < g.T; j++) {
        assert_int_equal(g.scaling.kept[j], (ptrdiff_t)kept.data[j]);
        assert_close(g.scaling.mean[j], mean.data[j], 1e-14);
        assert_close(g.scaling.sd[j], sd.data[j], 1e-13);
        assert_int_equal(g.scaling.n[j] + kn_missing_in(&g.missing, j), g.N);
        for (ptrdiff_t i = 0; i < g.N; i++)
            assert_int_equal(kn_impute_empty(&g.levels, i, j),
                             (int)cell(json_object_get(g.json, "empty_level"), i, j));
    }
    free(kept.data), free(mean.data), free(sd.data);
    golden_clear(&g);
}

static void fill_matches_golden(ptrdiff_t rank)
{
    golden g;
    golden_load(&g, rank);
    kn_mat want_delta = golden_column(g.json, "delta"), rms = golden_column(g.json, "rms_change");
    double delta[8];
    static const char *const AFTER[] = {"completed_start", "completed_round1", "completed"};
    static const int ROUNDS[] = {0, 1, 5};
    for (int k = 0; k < 3; k++) {
        kn_impute_info info;
        kn_mat Y = completed(&g, ROUNDS[k], delta, &info), want = golden_rows(g.json, AFTER[k]);
        assert_same(Y, want, 1e-8);
        assert_int_equal(info.rounds, ROUNDS[k]);
        if (k > 0)
            assert_close(info.rms_change, rms.data[ROUNDS[k] - 1], 1e-8);
        free(Y.data), free(want.data);
    }
    for (ptrdiff_t j = 0; j < g.T; j++)
        assert_close(delta[j], want_delta.data[j], 1e-6);
    free(want_delta.data), free(rms.data);
    golden_clear(&g);
}

static void golden_by_a_dense_matrix(void **state)
{
    (void)state;
    fill_matches_golden(0);
}

static void golden_by_features(void **state)
{
    (void)state;
    fill_matches_golden(12);
}

static void a_fit_of_the_completed_table_is_that_of_golden(void **state)
{
    (void)state;
    golden g;
    golden_load(&g, 0);
    kn_impute_info info;
    kn_mat Y = completed(&g, 5, NULL, &info), mean = golden_column(g.json, "fit.column_mean");
    for (ptrdiff_t j = 0; j < g.T; j++) {
        double m = 0;
        for (ptrdiff_t i = 0; i < g.N; i++)
            m += kn_at(Y, i, j) / (double)g.N;
        assert_close(m, mean.data[j], 1e-8);
        for (ptrdiff_t i = 0; i < g.N; i++)
            kn_col(Y, j)[i] -= m;
    }
    kn_scaling as_is;
    kn_gram gram;
    kn_basis basis;
    kn_engine e;
    kn_latent model;
    kn_mat X = {0}, latent = ref_new(3, 2), var = ref_new(3, 2);
    double lml, clamped = 0;
    assert_ok(ctx, kn_scaling_new(ctx, view(Y), false, &as_is));
    kn_responses R = kn_responses_of(view(Y), &as_is);
    assert_ok(ctx, kn_gram_new(ctx, &R, &gram));
    assert_ok(ctx, kn_basis_pca(ctx, &R, &gram, 2, &basis));
    kn_spec spec = {.noise = KN_NOISE_STRUCTURED, .sample = g.cov};
    assert_ok(ctx, engine_over(ctx, &spec, g.X, basis.Z, g.T, basis.E, basis.total, &e));
    assert_ok(ctx, kn_engine_nested(ctx, &e, &g.at, &lml, NULL));
    kn_mat c = golden_column(g.json, "fit.c"), d = golden_column(g.json, "fit.d");
    assert_close(lml, golden_number(g.json, "fit.lml"), 1e-8);
    assert_close(e.s2, golden_number(g.json, "fit.s2"), 1e-8);
    for (ptrdiff_t p = 0; p < 2; p++) {
        assert_close(e.c[p], c.data[p], 1e-6);
        assert_close(e.d[p], d.data[p], 1e-6);
    }
    assert_ok(ctx, kn_mat_copy(ctx, g.X, &X));
    assert_ok(ctx, kn_engine_latent(ctx, &X, &e, &model));
    assert_ok(ctx, kn_latent_predict(ctx, &model, &(kn_predict_input){.X = g.Xs}, latent, var,
                                     &clamped));
    kn_mat got = ref_mul(0, latent, 1, basis.B), want = golden_rows(g.json, "fit.new_mean");
    for (ptrdiff_t j = 0; j < g.T; j++)
        for (ptrdiff_t i = 0; i < 3; i++)
            assert_close(kn_at(got, i, j) + mean.data[j], kn_at(want, i, j), 1e-6);
    free(Y.data), free(mean.data), free(latent.data), free(var.data), free(c.data), free(d.data);
    free(got.data), free(want.data);
    kn_latent_clear(&model);
    kn_engine_clear(&e);
    kn_basis_clear(&basis);
    kn_gram_clear(&gram);
    kn_scaling_clear(&as_is);
    golden_clear(&g);
}

TEST_PROGRAM(gp_impute_golden)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_and_scaled_is_that_of_golden),
        cmocka_unit_test(golden_by_a_dense_matrix),
        cmocka_unit_test(golden_by_features),
        cmocka_unit_test(a_fit_of_the_completed_table_is_that_of_golden),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
