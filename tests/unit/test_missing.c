/* Missing responses: filled in against tests/golden/norms/missing.json, which was computed by dense
 * matrices elsewhere, and at shapes where little is left to go by. */
#include "covs.h"
#include "views.h"

#include "base/rng.h"
#include "cov/additive.h"
#include "gp/basis.h"
#include "gp/filler.h"
#include "gp/predict.h"
#include "model/file.h"

static kn_ctx *ctx;

/* ---- golden ---------------------------------------------------------------------------------- */

typedef struct golden {
    json_t *json;
    ptrdiff_t N, T; /* kept */
    kn_mat Y, raw, X, raw_new, Xs;
    kn_design design;
    kn_cov cov;
    kn_cov_point at;
    kn_scaling scaling;
    kn_holes holes;
    kn_responses R;
    kn_filler filler;
    kn_fill_levels levels;
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
        kn_mat all = ref_numbers(j, name);
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
    *g = (golden){.json = ref_json("norms", "missing.json")};
    kn_mat people = ref_numbers(g->json, "people_kept");
    g->N = people.rows;
    g->T = 8;
    g->raw = covariates(g->json, "", people);
    g->raw_new = covariates(g->json, "fit.new_", kn_mat_none());
    g->Y = ref_new(g->N, g->T);
    for (ptrdiff_t j = 0; j < g->T; j++)
        for (ptrdiff_t i = 0; i < g->N; i++)
            kn_col(g->Y, j)[i] = cell(json_object_get(g->json, "Y"), (ptrdiff_t)people.data[i], j);
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
    assert_ok(ctx, kn_holes_new(ctx, g->R.Y, g->scaling.kept, g->R.T, &g->holes));
    g->R.holes = &g->holes;
    g->T = g->R.T;
    g->filler = (kn_filler){.X = g->X, .Y = g->R, .cov = g->cov, .rank = rank};
    kn_cov_theta(&g->cov, &g->at, g->filler.theta);
    assert_ok(ctx, kn_filler_features(ctx, &g->filler, g->X, &g->Phi));
    assert_ok(ctx, kn_fill_levels_new(ctx, &g->cov, g->filler.theta, g->X, &g->R, &g->levels));
    free(people.data);
}

static void golden_clear(golden *g)
{
    json_decref(g->json);
    free(g->Y.data), free(g->raw.data), free(g->X.data), free(g->raw_new.data), free(g->Xs.data);
    kn_design_clear(&g->design);
    kn_scaling_clear(&g->scaling);
    kn_holes_clear(&g->holes);
    kn_fill_levels_clear(&g->levels);
    kn_mat_clear(&g->Phi);
}

/* The completed table after so many rounds, P = 2. */
static kn_mat completed(golden *g, int rounds, double *delta, kn_fill_info *info)
{
    double *filled = calloc((size_t)g->holes.cells, sizeof *filled);
    kn_fill_problem p = {
        .Y = g->R, .Phi = g->Phi, .levels = &g->levels, .P = 2, .rounds = rounds, .tolerance = 0};
    kn_mat Y = ref_new(g->N, g->T);
    assert_ok(ctx, kn_fill(ctx, &p, filled, delta, info));
    kn_responses R = g->R;
    R.filled = filled;
    kn_responses_block(ctx, &R, 0, Y);
    free(filled);
    return Y;
}

static void what_is_left_out_and_scaled_is_that_of_golden(void **state)
{
    (void)state;
    golden g;
    golden_load(&g, 0);
    kn_mat kept = ref_numbers(g.json, "responses_kept"), mean = ref_numbers(g.json, "mean");
    kn_mat sd = ref_numbers(g.json, "sd");
    assert_int_equal(g.T, kept.rows);
    assert_int_equal(g.scaling.n_few, 1);
    for (ptrdiff_t j = 0; j < g.T; j++) {
        assert_int_equal(g.scaling.kept[j], (ptrdiff_t)kept.data[j]);
        assert_close(g.scaling.mean[j], mean.data[j], 1e-14);
        assert_close(g.scaling.sd[j], sd.data[j], 1e-13);
        assert_int_equal(g.scaling.n[j] + kn_holes_in(&g.holes, j), g.N);
        for (ptrdiff_t i = 0; i < g.N; i++)
            assert_int_equal(kn_fill_empty(&g.levels, i, j),
                             (int)cell(json_object_get(g.json, "empty_level"), i, j));
    }
    free(kept.data), free(mean.data), free(sd.data);
    golden_clear(&g);
}

static void fill_matches_golden(ptrdiff_t rank)
{
    golden g;
    golden_load(&g, rank);
    kn_mat want_delta = ref_numbers(g.json, "delta"), rms = ref_numbers(g.json, "rms_change");
    double delta[8];
    static const char *const AFTER[] = {"completed_start", "completed_round1", "completed"};
    static const int ROUNDS[] = {0, 1, 5};
    for (int k = 0; k < 3; k++) {
        kn_fill_info info;
        kn_mat Y = completed(&g, ROUNDS[k], delta, &info), want = ref_matrix(g.json, AFTER[k]);
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
    kn_fill_info info;
    kn_mat Y = completed(&g, 5, NULL, &info), mean = ref_numbers(g.json, "fit.column_mean");
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
    kn_mat c = ref_numbers(g.json, "fit.c"), d = ref_numbers(g.json, "fit.d");
    assert_close(lml, ref_number(g.json, "fit.lml"), 1e-8);
    assert_close(e.s2, ref_number(g.json, "fit.s2"), 1e-8);
    for (ptrdiff_t p = 0; p < 2; p++) {
        assert_close(e.c[p], c.data[p], 1e-6);
        assert_close(e.d[p], d.data[p], 1e-6);
    }
    assert_ok(ctx, kn_mat_copy(ctx, g.X, &X));
    assert_ok(ctx, kn_engine_latent(ctx, &X, &e, &model));
    assert_ok(ctx,
              kn_latent_predict(ctx, &model, &(kn_newcomers){.X = g.Xs}, latent, var, &clamped));
    kn_mat got = ref_mul(0, latent, 1, basis.B), want = ref_matrix(g.json, "fit.new_mean");
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

/* ---- shapes ---------------------------------------------------------------------------------- */

typedef struct table {
    kn_mat X, Y;
    kn_scaling scaling;
    kn_holes holes;
    kn_responses R;
    kn_filler filler;
    double *filled;
} table;

/* N x T of two factors that follow x, each cell missing with probability share; at least 12 values
 * of each response where N allows. */
static void table_new(table *t, ptrdiff_t N, ptrdiff_t T, double share, uint64_t seed)
{
    kn_rng rng;
    kn_rng_init(&rng, seed, 1);
    *t = (table){.X = ref_new(N, 1), .Y = ref_new(N, T)};
    for (ptrdiff_t i = 0; i < N; i++) {
        double x = t->X.data[i] = kn_rng_normal(&rng), f = x + 0.5 * kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < T; j++) {
            double y = 5 + f * cos((double)j) + 0.5 * kn_rng_normal(&rng);
            kn_col(t->Y, j)[i] = i >= 12 && kn_rng_uniform(&rng) < share ? NAN : y;
        }
    }
}

static void table_open(table *t)
{
    kn_spec spec = {.noise = KN_NOISE_STRUCTURED, .sample = cov_of("linear+se", 1)};
    assert_ok(ctx, kn_scaling_observed(ctx, view(t->Y), true, &t->scaling));
    t->R = kn_responses_of(view(t->Y), &t->scaling);
    assert_ok(ctx, kn_holes_new(ctx, t->R.Y, t->scaling.kept, t->R.T, &t->holes));
    t->R.holes = &t->holes;
    assert_ok(ctx, kn_filler_new(ctx, &spec, t->X, &t->R, &t->filler));
    t->filled = calloc((size_t)t->holes.cells + 1, sizeof *t->filled);
}

static void table_clear(table *t)
{
    free(t->X.data), free(t->Y.data), free(t->filled);
    kn_scaling_clear(&t->scaling);
    kn_holes_clear(&t->holes);
}

static void every_shape_is_filled_with_finite_numbers(void **state)
{
    (void)state;
    static const ptrdiff_t SHAPE[][2] = {{13, 1}, {13, 2}, {16, 3}, {40, 60}, {64, 5}, {65, 130}};
    for (size_t k = 0; k < sizeof SHAPE / sizeof *SHAPE; k++) {
        table t;
        kn_fill_info info;
        table_new(&t, SHAPE[k][0], SHAPE[k][1], 0.4, k);
        kn_col(t.Y, 0)[12] = NAN;
        table_open(&t);
        assert_ok(ctx, kn_filler_run(ctx, &t.filler, NULL, 0, t.filled, &info));
        assert_int_equal(info.cells, t.holes.cells);
        for (ptrdiff_t c = 0; c < t.holes.cells; c++)
            assert_true(isfinite(t.filled[c]) && fabs(t.filled[c]) < 10);
        table_clear(&t);
    }
}

/* A sample with one value, a response with exactly ten, and 3000 responses: more than a block. */
static void little_to_go_by_is_enough(void **state)
{
    (void)state;
    table t;
    kn_fill_info info;
    table_new(&t, 30, 3000, 0.1, 7);
    for (ptrdiff_t j = 1; j < 3000; j++)
        kn_col(t.Y, j)[29] = NAN;
    kn_col(t.Y, 0)[29] = 5;
    for (ptrdiff_t i = 10; i < 30; i++)
        kn_col(t.Y, 2)[i] = NAN;
    table_open(&t);
    assert_int_equal(t.scaling.n_kept, 3000);
    assert_int_equal(t.scaling.n[2], 10);
    assert_ok(ctx, kn_filler_run(ctx, &t.filler, NULL, 0, t.filled, &info));
    for (ptrdiff_t c = 0; c < t.holes.cells; c++)
        assert_true(isfinite(t.filled[c]));
    table_clear(&t);
}

/* Rows that are not among those to learn from say nothing, and stay missing. */
static void a_fold_is_filled_by_its_own_rows(void **state)
{
    (void)state;
    table t;
    kn_fill_info info;
    ptrdiff_t rows[40], n = 0;
    table_new(&t, 50, 8, 0.3, 3);
    table_open(&t);
    for (ptrdiff_t i = 0; i < 50; i++)
        if (i % 5 != 2)
            rows[n++] = i;
    assert_ok(ctx, kn_filler_run(ctx, &t.filler, rows, n, t.filled, &info));
    double *first = calloc((size_t)t.holes.cells, sizeof *first);
    memcpy(first, t.filled, (size_t)t.holes.cells * sizeof *first);
    for (ptrdiff_t j = 0; j < 8; j++)
        for (ptrdiff_t i = 2; i < 50; i += 5)
            kn_col(t.Y, j)[i] *= 1000; /* whatever they are */
    assert_ok(ctx, kn_filler_run(ctx, &t.filler, rows, n, t.filled, &info));
    for (ptrdiff_t j = 0; j < 8; j++)
        for (ptrdiff_t i = 0; i < 50; i++) {
            if (!kn_is_hole(&t.holes, i, j))
                continue;
            ptrdiff_t at = kn_hole_at(&t.holes, i, j);
            if (i % 5 == 2)
                assert_true(isnan(t.filled[at]));
            else
                assert_true(t.filled[at] == first[at]);
        }
    free(first);
    table_clear(&t);
}

/* The rounds bring filled cells nearer to the truth than each response's own mean, and that nearer
 * than the mean of all. */
static void other_responses_help(void **state)
{
    (void)state;
    table t, whole;
    kn_fill_info info;
    table_new(&t, 300, 40, 0, 11);
    table_new(&whole, 300, 40, 0, 11);
    kn_rng rng;
    kn_rng_init(&rng, 5, 2);
    for (ptrdiff_t k = 0; k < 300 * 40; k++)
        if (kn_rng_uniform(&rng) < 0.3)
            t.Y.data[k] = NAN;
    table_open(&t);
    table_open(&whole);
    double error[3] = {0};
    for (int how = 0; how < 2; how++) {
        kn_mat Phi;
        kn_fill_problem p = {.Y = t.R, .rounds = how * KN_FILL_ROUNDS, .tolerance = 0};
        assert_ok(ctx, kn_filler_features(ctx, &t.filler, t.X, &Phi));
        p.Phi = Phi;
        assert_ok(ctx, kn_fill(ctx, &p, t.filled, NULL, &info));
        for (ptrdiff_t j = 0; j < 40; j++)
            for (ptrdiff_t i = 0; i < 300; i++)
                if (kn_is_hole(&t.holes, i, j)) {
                    double y = (kn_at(whole.Y, i, j) - t.scaling.mean[j]) / t.scaling.sd[j];
                    double f = t.filled[kn_hole_at(&t.holes, i, j)];
                    error[how] += (y - f) * (y - f);
                    error[2] += how == 0 ? y * y : 0;
                }
        kn_mat_clear(&Phi);
    }
    assert_true(error[0] < 0.9 * error[2]);
    assert_true(error[1] < 0.9 * error[0]);
    table_clear(&t);
    table_clear(&whole);
}

/* Without a missing cell scaling has the bits that it had, and no count of values. */
static void a_complete_table_is_scaled_as_ever(void **state)
{
    (void)state;
    table t;
    kn_scaling plain;
    table_new(&t, 33, 700, 0, 2);
    table_open(&t);
    assert_ok(ctx, kn_scaling_new(ctx, view(t.Y), true, &plain));
    assert_null(t.scaling.n);
    assert_int_equal(t.holes.cells, 0);
    assert_int_equal(plain.n_kept, t.scaling.n_kept);
    assert_memory_equal(plain.mean, t.scaling.mean, (size_t)plain.n_kept * sizeof(double));
    assert_memory_equal(plain.sd, t.scaling.sd, (size_t)plain.n_kept * sizeof(double));
    kn_scaling_clear(&plain);
    table_clear(&t);
}

static void few_values_and_constant_ones_are_left_out(void **state)
{
    (void)state;
    table t;
    table_new(&t, 30, 4, 0, 2);
    for (ptrdiff_t i = 0; i < 30; i++) {
        kn_col(t.Y, 0)[i] = i < 9 ? (double)i : NAN;
        kn_col(t.Y, 1)[i] = i < 20 ? 4 : NAN;
        kn_col(t.Y, 2)[i] = i < 10 ? (double)i : INFINITY;
    }
    table_open(&t);
    assert_int_equal(t.scaling.n_kept, 2);
    assert_int_equal(t.scaling.kept[0], 2);
    assert_int_equal(t.scaling.n_few, 1);
    assert_int_equal(t.scaling.n_constant, 1);
    assert_close(t.scaling.mean[0], 4.5, 1e-15);
    assert_close(t.scaling.sd[0], sqrt(8.25), 1e-15);
    table_clear(&t);
}

/* ---- fits ------------------------------------------------------------------------------------ */

static kn_model *fitted(kn_mat X, kn_mat Y, kn_settings *s)
{
    kn_model *m;
    s->sample_kernel = "linear+se";
    s->seed = 1;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), s, &m));
    return m;
}

static void without_a_missing_cell_fill_and_drop_have_the_same_bytes(void **state)
{
    (void)state;
    table t;
    void *bytes[2];
    ptrdiff_t n[2];
    table_new(&t, 40, 12, 0, 21);
    for (int drop = 0; drop < 2; drop++) {
        kn_settings s;
        kn_settings_init(&s);
        s.missing_responses = drop;
        kn_model *m = fitted(t.X, t.Y, &s);
        assert_ok(ctx, kn_model_write_bytes(ctx, m, &bytes[drop], &n[drop]));
        kn_model_free(m);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], (size_t)n[0]);
    kn_free(bytes[0]), kn_free(bytes[1]);
    table_clear(&t);
}

/* Mean standardised log loss of new samples, against the trivial model of the whole table. */
static double loss(const kn_model *m, kn_mat X, kn_mat Y)
{
    kn_maps *maps;
    kn_mat mean = ref_new(X.rows, Y.cols), var = ref_new(X.rows, Y.cols);
    double noise[64], sum = 0;
    assert_ok(ctx, kn_maps_predict(ctx, m, view(X), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, Y.cols, mean, var));
    assert_ok(ctx, kn_model_noise(ctx, m, noise));
    for (ptrdiff_t j = 0; j < Y.cols; j++)
        for (ptrdiff_t i = 0; i < X.rows; i++) {
            double s2 = kn_at(var, i, j) + noise[j], e = kn_at(Y, i, j) - kn_at(mean, i, j);
            sum += 0.5 * (log(s2) + e * e / s2);
        }
    kn_maps_free(maps);
    sum /= (double)(X.rows * Y.cols);
    free(mean.data), free(var.data);
    return sum;
}

/* Loss against the fit on all cells: less than half of what filling in means loses. */
static void a_fit_with_a_fifth_missing_is_close_to_a_complete_one(void **state)
{
    (void)state;
    table whole, holes, means, fresh;
    kn_rng rng;
    kn_rng_init(&rng, 9, 3);
    table_new(&whole, 150, 24, 0, 31);
    table_new(&holes, 150, 24, 0, 31);
    table_new(&means, 150, 24, 0, 31);
    table_new(&fresh, 200, 24, 0, 32);
    for (ptrdiff_t j = 0; j < 24; j++) {
        double sum = 0, n = 0;
        for (ptrdiff_t i = 0; i < 150; i++)
            if (kn_rng_uniform(&rng) < 0.2) {
                kn_col(holes.Y, j)[i] = kn_col(means.Y, j)[i] = NAN;
            } else {
                sum += kn_at(whole.Y, i, j);
                n++;
            }
        for (ptrdiff_t i = 0; i < 150; i++)
            if (isnan(kn_at(means.Y, i, j)))
                kn_col(means.Y, j)[i] = sum / n;
    }
    const kn_mat Y[] = {whole.Y, holes.Y, means.Y};
    double l[3];
    for (int k = 0; k < 3; k++) {
        kn_settings s;
        kn_settings_init(&s);
        kn_model *m = fitted(whole.X, Y[k], &s);
        if (k == 1) {
            assert_int_equal(m->info.missing.cells > 0, 1);
            assert_true(m->info.cv.z2 > 0.9 && m->info.cv.z2 < 1.1);
            assert_int_equal(m->info.loo.folds, 0);
        }
        l[k] = loss(m, fresh.X, fresh.Y);
        kn_model_free(m);
    }
    assert_true(l[1] - l[0] < 0.5 * (l[2] - l[0]));
    assert_true(l[1] - l[0] < 0.01);
    table_clear(&whole), table_clear(&holes), table_clear(&means), table_clear(&fresh);
}

/* The caller's table stays as it is, NaN included; and what the model keeps comes back from bytes.
 */
static void values_are_counted_and_kept_in_the_file(void **state)
{
    (void)state;
    table t;
    kn_settings s;
    kn_model *back;
    void *bytes;
    ptrdiff_t n;
    table_new(&t, 60, 6, 0.3, 41);
    kn_mat before = ref_new(60, 6);
    kn_mat_set(before, t.Y);
    kn_settings_init(&s);
    kn_model *m = fitted(t.X, t.Y, &s);
    assert_memory_equal(before.data, t.Y.data, 60 * 6 * sizeof(double));
    assert_ok(ctx, kn_model_write_bytes(ctx, m, &bytes, &n));
    assert_ok(ctx, kn_model_parse(ctx, "bytes", bytes, n, &back));
    assert_non_null(back->y.n);
    assert_int_equal(back->info.missing.cells, m->info.missing.cells);
    for (ptrdiff_t j = 0; j < 6; j++) {
        ptrdiff_t values = 0;
        for (ptrdiff_t i = 0; i < 60; i++)
            values += isfinite(kn_at(t.Y, i, j)) != 0;
        assert_int_equal(back->y.n[j], values);
    }
    kn_model_free(m);
    kn_model_free(back);
    kn_free(bytes);
    free(before.data);
    table_clear(&t);
}

static void almost_nothing_and_nobody_are_refused(void **state)
{
    (void)state;
    table t;
    kn_settings s;
    kn_model *m;
    kn_settings_init(&s);
    table_new(&t, 400, 5, 0, 51);
    for (ptrdiff_t j = 0; j < 5; j++)
        for (ptrdiff_t i = 30; i < 400; i++)
            kn_col(t.Y, j)[i] = NAN;
    assert_refused(ctx, kn_fit_arrays(ctx, view(t.X), view(t.Y), &s, &m), KN_ERR_DATA,
                   "expected at most 90 %");
    t.Y.rows = t.X.rows = 40;
    assert_refused(ctx, kn_fit_arrays(ctx, view(t.X), view(t.Y), &s, &m), KN_ERR_DATA,
                   "sample 31 has no response at all");
    table_clear(&t);
}

/* Of a fit with folds of its own the k-th allocation fails: a sentence, and nothing is kept. */
static void a_failing_allocation_leaks_nothing(void **state)
{
    (void)state;
    static const char *const METHOD[] = {"smtgpr", "stgpr"};
    table t;
    table_new(&t, 16, 3, 0, 61);
    kn_col(t.Y, 1)[13] = kn_col(t.Y, 2)[3] = kn_col(t.Y, 2)[15] = NAN;
    for (int k = 0; k < 2; k++) {
        kn_status status = KN_ERR_MEMORY;
        size_t before = kn_memory_now(ctx);
        for (long at = 1; status == KN_ERR_MEMORY && at < 100000; at += 1 + at / 40) {
            kn_settings s;
            kn_model *m = NULL;
            kn_settings_init(&s);
            s.method = METHOD[k];
            s.sample_kernel = "linear+se";
            s.folds = 3;
            s.max_evals = 5;
            kn_fail_allocation(ctx, at);
            status = kn_fit_arrays(ctx, view(t.X), view(t.Y), &s, &m);
            kn_model_free(m);
            assert_int_equal(kn_memory_now(ctx), before);
        }
        kn_fail_allocation(ctx, 0);
        if (status != KN_OK)
            fail_msg("%s: %s", METHOD[k], kn_message(ctx));
    }
    table_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_and_scaled_is_that_of_golden),
        cmocka_unit_test(golden_by_a_dense_matrix),
        cmocka_unit_test(golden_by_features),
        cmocka_unit_test(a_fit_of_the_completed_table_is_that_of_golden),
        cmocka_unit_test(every_shape_is_filled_with_finite_numbers),
        cmocka_unit_test(little_to_go_by_is_enough),
        cmocka_unit_test(a_fold_is_filled_by_its_own_rows),
        cmocka_unit_test(other_responses_help),
        cmocka_unit_test(a_complete_table_is_scaled_as_ever),
        cmocka_unit_test(few_values_and_constant_ones_are_left_out),
        cmocka_unit_test(without_a_missing_cell_fill_and_drop_have_the_same_bytes),
        cmocka_unit_test(a_fit_with_a_fifth_missing_is_close_to_a_complete_one),
        cmocka_unit_test(values_are_counted_and_kept_in_the_file),
        cmocka_unit_test(almost_nothing_and_nobody_are_refused),
        cmocka_unit_test(a_failing_allocation_leaks_nothing),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
