/* The additive model with groups that share noise, against tests/golden/additive. */
#include "support/additives.h"
#include "support/views.h"

#include "cov/additive.h"
#include "data/scaling.h"
#include "gp/cv/cv.h"
#include "gp/methods/methods.h"
#include "gp/predict/loo.h"
#include "gp/predict/noise.h"
#include "gp/predict/predict.h"

enum { ROWS = 64, COLUMNS = 4 };

typedef struct golden {
    json_t *json;
    ptrdiff_t N, new, F, C, T, P; /* F numbers and then categories, C columns */
    kn_mat raw, raw_new, Y;       /* codes of categories */
    int levels[COLUMNS], group[ROWS], fold[ROWS];
    ptrdiff_t group_new[ROWS]; /* of training, by the order of appearance; -1: none */
    kn_design design;
    kn_mat X, Xs;
    kn_scaling scaling;
    kn_responses responses;
    kn_mat B, Z;
    kn_cov cov;
    kn_cov_point at;
    double E, total;
} golden;

/* The number of a level, "L7", by the order of appearance in training; a new one is one more. */
static double code_of(char seen[ROWS][8], int *n, const char *level, bool training)
{
    for (int k = 0; k < *n; k++)
        if (strcmp(seen[k], level) == 0)
            return k;
    if (training)
        snprintf(seen[(*n)++], sizeof seen[0], "%s", level);
    return training ? *n - 1 : *n;
}

static void read_covariates(golden *g, const char *name)
{
    char path[1024], line[256], seen[COLUMNS][ROWS][8];
    const char *root = getenv("KN_TESTS");
    snprintf(path, sizeof path, "%s/golden/additive/%s_covariates.csv", root ? root : "tests",
             name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    for (ptrdiff_t row = 0; fgets(line, sizeof line, f); row++) {
        bool training = row < g->N;
        kn_mat to = training ? g->raw : g->raw_new;
        ptrdiff_t i = training ? row : row - g->N;
        char *word = strtok(line, ",\n");
        word = strtok(NULL, ",\n"); /* train, new */
        for (ptrdiff_t c = 0; c < g->C; c++) {
            word = strtok(NULL, ",\n");
            kn_col(to, c)[i] =
                c < g->F ? strtod(word, NULL) : code_of(seen[c], &g->levels[c], word, training);
        }
        int group = atoi(strtok(NULL, ",\n"));
        if (training)
            g->group[i] = group;
        else
            g->group_new[i] = group;
    }
    fclose(f);
}

/* Groups of new rows as the library numbers those of training. */
static void number_groups(golden *g)
{
    kn_groups groups;
    assert_ok(ctx, kn_groups_new(ctx, g->N, g->group, &groups));
    for (ptrdiff_t k = 0; k < g->new; k++)
        for (ptrdiff_t i = 0; i < g->N && g->group_new[k] >= 0; i++)
            if (g->group[i] == g->group_new[k]) {
                g->group_new[k] = groups.of[i];
                break;
            }
    kn_groups_clear(&groups);
}

static golden golden_load(const char *name)
{
    char file[64];
    golden g = {0};
    snprintf(file, sizeof file, "additive/%s", name);
    g.json = golden_json(file, "");
    g.N = (ptrdiff_t)golden_number(g.json, "N");
    g.new = (ptrdiff_t)golden_number(g.json, "new");
    g.F = (ptrdiff_t)golden_number(g.json, "F_continuous");
    g.T = (ptrdiff_t)golden_number(g.json, "T");
    g.P = (ptrdiff_t)golden_number(g.json, "P");
    kn_mat weights = golden_column(g.json, "weights"), fold = golden_column(g.json, "fold");
    g.C = g.F + weights.rows - 3; /* lin, quad, se and the categories */
    g.raw = ref_new(g.N, g.C);
    g.raw_new = ref_new(g.new, g.C);
    read_covariates(&g, name);
    number_groups(&g);
    for (ptrdiff_t i = 0; i < g.N; i++)
        g.fold[i] = (int)fold.data[i];
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = g.levels,
                           .quadratic = 1};
    assert_ok(ctx, kn_design_new(ctx, view(g.raw), &o, &g.design));
    g.X = ref_new(g.N, g.design.F);
    g.Xs = ref_new(g.new, g.design.F);
    assert_ok(ctx, kn_design_apply(ctx, &g.design, view(g.raw), false, g.X, NULL));
    assert_ok(ctx, kn_design_apply(ctx, &g.design, view(g.raw_new), true, g.Xs, NULL));
    assert_ok(ctx, kn_cov_of_design(ctx, &g.design, &g.cov));
    assert_int_equal(g.cov.n, weights.rows);
    for (ptrdiff_t k = 0; k < weights.rows; k++)
        g.at.w[k] = weights.data[k];
    g.at.shape[0] = exp(golden_number(g.json, "ln_length"));
    g.Y = golden_matrix(file, "responses");
    assert_ok(ctx, kn_scaling_new(ctx, view(g.Y), true, &g.scaling));
    g.responses = kn_responses_of(view(g.Y), &g.scaling);
    kn_mat Ys = ref_new(g.N, g.T);
    kn_responses_block(ctx, &g.responses, 0, Ys);
    g.B = golden_rows(g.json, "B");
    g.Z = ref_mul(0, Ys, 0, g.B);
    g.total = kn_sumsq(Ys);
    g.E = g.total - kn_sumsq(g.Z);
    free(weights.data), free(fold.data), free(Ys.data);
    return g;
}

static void golden_free(golden *g)
{
    json_decref(g->json);
    kn_design_clear(&g->design);
    kn_scaling_clear(&g->scaling);
    free(g->raw.data), free(g->raw_new.data), free(g->Y.data), free(g->X.data), free(g->Xs.data);
    free(g->B.data), free(g->Z.data);
}

static kn_engine golden_engine(const golden *g, bool low)
{
    /* room for all pivots beside the exact columns */
    kn_spec spec = {.sample = g->cov, .rank = low ? g->N + g->X.cols : 0, .additive = true};
    kn_groups groups;
    kn_engine e;
    assert_ok(ctx, kn_groups_new(ctx, g->N, g->group, &groups));
    kn_engine_data data = {
        .X = g->X, .Z = g->Z, .groups = &groups, .T = g->T, .E = g->E, .total = g->total};
    assert_ok(ctx, kn_engine_new(ctx, &spec, &data, &e));
    return e;
}

/* The fitted process at the parameters given. */
static kn_gp golden_gp(const golden *g, bool low)
{
    kn_engine e = golden_engine(g, low);
    kn_gp gp = {.method = &kn_method_smtgpr,
                .spec = e.spec,
                .N = g->N,
                .F = g->X.cols,
                .T = g->T,
                .P = g->P,
                .pca = true};
    kn_mat X;
    double lml;
    assert_ok(ctx, kn_engine_nested(ctx, &e, &g->at, &lml, NULL));
    assert_ok(ctx, kn_mat_copy(ctx, g->X, &X));
    assert_ok(ctx, kn_engine_latent(ctx, &X, &e, &gp.latent));
    assert_ok(ctx, kn_mat_copy(ctx, g->B, &gp.B));
    assert_ok(ctx, kn_alloc_d(ctx, g->T, &gp.noise));
    gp.s2 = e.s2;
    kn_engine_clear(&e);
    return gp;
}

#define assert_golden(m, g, key, tol)                                                              \
    do {                                                                                           \
        kn_mat expected_ = golden_rows((g)->json, key);                                            \
        double d_ = ref_difference(m, expected_);                                                  \
        free(expected_.data);                                                                      \
        if (!(d_ <= (tol)))                                                                        \
            fail_msg("%s differs by %.3g, allowed %.3g", key, d_, (double)(tol));                  \
    } while (0)

/* All cases, dense and of low rank. */
static void for_all_golden(void (*check)(const golden *g, bool low, double tol))
{
    static const char *const NAMES[] = {"n12", "n12_nogroup", "n40", "n40_nogroup"};
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++)
        for (int low = 0; low < 2; low++) {
            golden g = golden_load(NAMES[k]);
            g.responses.scaling = &g.scaling;
            check(&g, low, low ? 1e-8 : 1e-10);
            golden_free(&g);
        }
}

static void check_golden_covariance(const golden *g, bool low, double tol)
{
    (void)low;
    double theta[KN_COV_THETA], *self = calloc((size_t)g->new, sizeof *self), work[ROWS];
    kn_pairs within, between;
    kn_mat R = ref_new(g->N, g->N), Rs = ref_new(g->new, g->N);
    kn_cov_theta(&g->cov, &g->at, theta);
    assert_ok(ctx, kn_pairs_between(ctx, g->X, g->X, &g->cov.stats, &within));
    assert_ok(ctx, kn_pairs_between(ctx, g->Xs, g->X, &g->cov.stats, &between));
    kn_cov_fill(&g->cov, theta, &within, R);
    kn_cov_fill(&g->cov, theta, &between, Rs);
    kn_cov_self(&g->cov, theta, g->Xs, work, self);
    kn_mat diagonal = golden_column(g->json, "R_new_diag");
    assert_golden(R, g, "R", tol);
    assert_golden(Rs, g, "R_new", tol);
    assert_same(kn_mat_cols(self, g->new, 1), diagonal, tol);
    kn_pairs_clear(&within);
    kn_pairs_clear(&between);
    free(self), free(R.data), free(Rs.data), free(diagonal.data);
}

static void covariances_of_training_and_new_participants_match_golden(void **state)
{
    (void)state;
    for_all_golden(check_golden_covariance);
}

static void check_golden_likelihood(const golden *g, bool low, double tol)
{
    kn_engine e = golden_engine(g, low);
    double lml, gradient[KN_COV_OUTER];
    json_t *components = json_object_get(g->json, "components");
    assert_golden(g->Z, g, "Z", 1e-10);
    assert_close(g->E, golden_number(g->json, "E"), 1e-10);
    assert_ok(ctx, kn_engine_nested(ctx, &e, &g->at, &lml, gradient));
    assert_close(lml, golden_number(g->json, "lml"), 1e-10);
    assert_close(lml, golden_number(g->json, "lml_dense_NT"), 1e-10);
    assert_close(e.s2, golden_number(g->json, "s2"), 1e-10);
    for (ptrdiff_t p = 0; p < g->P; p++) {
        json_t *c = json_array_get(components, (size_t)p);
        bool null = json_is_true(json_object_get(c, "null"));
        double gamma = g->N == 0 ? 0 : e.cell[e.in[p]].R0.gamma;
        assert_close(gamma, golden_number(c, "gamma"), 0);
        assert_close(e.c[p], golden_number(c, "c"), tol);
        assert_close(e.d[p], golden_number(c, "d"), tol);
        assert_close(e.lml[p], golden_number(c, "lml"), tol);
        if (null)
            assert_true(e.c[p] == 0);
        else
            assert_close(log(e.d[p] / e.c[p]), golden_number(c, "t"), tol);
    }
    kn_mat formula = golden_column(g->json, "gradient_formula");
    kn_mat differences = golden_column(g->json, "gradient_central_differences");
    for (ptrdiff_t k = 0; k < formula.rows; k++) {
        assert_close(gradient[k], formula.data[k], 1e-8);
        assert_close(gradient[k], differences.data[k], 1e-8);
    }
    kn_engine_clear(&e);
    free(formula.data), free(differences.data);
}

static void likelihood_components_and_gradient_match_golden(void **state)
{
    (void)state;
    for_all_golden(check_golden_likelihood);
}

static void check_golden_prediction(const golden *g, bool low, double tol)
{
    tol = low ? LIKE_NOBODY : tol;
    kn_gp gp = golden_gp(g, low);
    kn_predict_input who = {.X = g->Xs, .group = g->group_new};
    kn_mat mean = ref_new(g->new, g->P), var = ref_new(g->new, g->P), noise = ref_new(g->new, g->P);
    double clamped = 0;
    assert_ok(ctx, kn_latent_predict(ctx, &gp.latent, &who, mean, var, &clamped));
    for (ptrdiff_t p = 0; p < g->P; p++)
        for (ptrdiff_t i = 0; i < g->new; i++)
            kn_col(noise, p)[i] =
                g->group_new[i] >= 0 ? gp.latent.d[p] : kn_latent_noise(&gp.latent, p);
    assert_golden(mean, g, "latent_mean_new", tol);
    assert_golden(var, g, "latent_model_var_new", tol);
    assert_golden(noise, g, "latent_noise_new", tol);
    assert_true(clamped < 1e-12);
    free(mean.data), free(var.data), free(noise.data);
    kn_gp_clear(&gp);
}

static void latent_predictions_match_golden(void **state)
{
    (void)state;
    for_all_golden(check_golden_prediction);
}

static void check_golden_leaving(const golden *g, bool low, double tol)
{
    kn_gp gp = golden_gp(g, low);
    kn_mat mean = ref_new(g->N, g->P), var = ref_new(g->N, g->P);
    double clamped = 0;
    for (int group = 0; group < 2; group++) {
        assert_ok(ctx, kn_latent_loo(ctx, &gp.latent, group ? KN_LEAVE_GROUP : KN_LEAVE_ROW, g->Z,
                                     mean, var, &clamped));
        for (ptrdiff_t p = 0; p < g->P; p++)
            for (ptrdiff_t i = 0; i < g->N; i++)
                kn_col(var, p)[i] += group ? kn_latent_noise(&gp.latent, p) : gp.latent.d[p];
        assert_golden(mean, g, group ? "leave_group_out_mean" : "loo_mean", tol);
        assert_golden(var, g, group ? "leave_group_out_var_with_noise" : "loo_var_with_noise", tol);
    }
    free(mean.data), free(var.data);
    kn_gp_clear(&gp);
}

static void leave_one_out_and_leave_group_out_match_golden(void **state)
{
    (void)state;
    for_all_golden(check_golden_leaving);
}

/* Six participants to train on have a component at the least ln(d/c), -8, where the file's search
 * stops 2e-7 short of it. */
static const double AT_BOUND = 3e-8;

static void check_golden_folds(const golden *g, bool low, double tol)
{
    kn_gp gp = golden_gp(g, low);
    kn_gp_maps cv, maps;
    kn_mat mean = ref_new(g->N, g->T), var = ref_new(g->N, g->T), known = ref_new(g->T, 1);
    assert_ok(ctx,
              kn_gp_cv(ctx, &gp, &(kn_cv_problem){.Y = &g->responses, .folds = 2, .fold = g->fold},
                       &cv));
    assert_ok(ctx, kn_gp_maps_block(ctx, &cv, 0, mean, var));
    assert_golden(mean, g, "cv_mean", AT_BOUND);
    assert_golden(var, g, "cv_model_var", AT_BOUND);
    assert_ok(ctx, kn_gp_set_noise(ctx, &gp, &g->responses, &cv));
    kn_mat noise = golden_column(g->json, "noise_standardised");
    assert_same(kn_mat_cols(gp.noise, g->T, 1), noise, AT_BOUND);
    kn_gp_maps_clear(&cv);
    free(mean.data), free(var.data);

    kn_mat all = ref_new(g->new, g->T);
    assert_ok(ctx, kn_gp_predict(ctx, &gp, &(kn_predict_input){g->Xs, g->group_new}, &maps));
    mean = ref_new(g->new, g->T);
    var = ref_new(g->new, g->T);
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
    kn_noise_known_group(&gp, known.data);
    for (ptrdiff_t j = 0; j < g->T; j++)
        for (ptrdiff_t i = 0; i < g->new; i++) {
            double sd = g->scaling.sd[j];
            double standard = g->group_new[i] >= 0 ? known.data[j] : gp.noise[j];
            kn_col(mean, j)[i] = g->scaling.mean[j] + sd * kn_at(mean, i, j);
            kn_col(var, j)[i] *= sd * sd;
            kn_col(all, j)[i] = standard * sd * sd;
        }
    tol = low ? LIKE_NOBODY : tol;
    assert_golden(mean, g, "mean_new", tol);
    assert_golden(var, g, "model_var_new", tol);
    assert_golden(all, g, "noise_var_new", AT_BOUND);
    kn_gp_maps_clear(&maps);
    free(mean.data), free(var.data), free(known.data), free(noise.data), free(all.data);
    kn_gp_clear(&gp);
}

static void folds_noise_and_responses_match_golden(void **state)
{
    (void)state;
    for_all_golden(check_golden_folds);
}

TEST_PROGRAM(smtgpr_additive_golden)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covariances_of_training_and_new_participants_match_golden),
        cmocka_unit_test(likelihood_components_and_gradient_match_golden),
        cmocka_unit_test(latent_predictions_match_golden),
        cmocka_unit_test(leave_one_out_and_leave_group_out_match_golden),
        cmocka_unit_test(folds_noise_and_responses_match_golden),
    };
    return cmocka_run_group_tests_name("additive_golden", tests, begin, end);
}
