/* Whole fits of the additive model: what is promised of new participants, of many participants and
 * of noise alone. */
#include "support/additive_fits.h"
#include "support/scratch.h"

#include "gp/predict/slope.h"

/* ---- new participants
 * ------------------------------------------------------------------------------ */

/* noise_j = max( mean_i(e_ij^2 - v_ij), 0.5 mean_i e_ij^2 ), and with few participants the floor
 * binds */
static void noise_is_what_the_held_out_say_and_half_of_it_at_least(void **state)
{
    (void)state;
    enum { T = 12, FOLDS = 4 };
    int bound = 0, free_of_it = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        ptrdiff_t N = seed % 2 ? 8 : 60;
        cohort c = cohort_new((cohort_plan){
            .N = N, .T = T, .sites = 4, .kind = COHORT_SITES, .strength = 20, .seed = seed});
        kn_settings s = cohort_settings(&c, false);
        kn_mat e = ref_new(N, T), v = ref_new(N, T);
        double noise[T];
        kn_model *m;
        kn_maps *maps;
        s.components = 3;
        s.folds = FOLDS;
        assert_ok(ctx, kn_fit_arrays(ctx, cohort_view(c.X), cohort_view(c.Y), &s, &m));
        assert_ok(ctx, kn_maps_cv(ctx, m, cohort_view(c.Y), FOLDS, NULL, &maps));
        assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, e, v));
        assert_ok(ctx, kn_model_noise(ctx, m, noise));
        for (ptrdiff_t j = 0; j < T; j++) {
            double square = 0, variance = 0, n = (double)N;
            for (ptrdiff_t i = 0; i < N; i++) {
                double r = kn_at(c.Y, i, j) - kn_at(e, i, j);
                square += r * r / n;
                variance += kn_at(v, i, j) / n;
            }
            assert_close(noise[j] / square, fmax(1 - variance / square, 0.5), 1e-9);
            bound += variance > 0.5 * square;
            free_of_it += variance < 0.5 * square;
        }
        kn_maps_free(maps);
        kn_model_free(m);
        free(e.data), free(v.data);
        cohort_free(&c);
    }
    assert_true(bound > 0 && free_of_it > 0);
}

static void a_covariate_that_was_constant_predicts_nothing(void **state)
{
    (void)state;
    cohort c = some_participants(COHORT_LINEAR, 100, false), fresh = fresh_participants(&c);
    kn_mat X = ref_new(c.N, 4), Xs = ref_new(FRESH, 4);
    int levels[] = {0, 2, 4, 0};
    kn_settings s = cohort_settings(&c, false);
    kn_mat_set(kn_cols(X, 0, 3), c.X);
    kn_mat_set(kn_cols(Xs, 0, 3), fresh.X);
    for (ptrdiff_t i = 0; i < c.N; i++)
        kn_col(X, 3)[i] = 1.5;
    c.design.levels = levels;
    kn_model *m = fit(X, c.Y, &s);
    kn_mat mean[2], var[2];
    for (int k = 0; k < 2; k++) {
        for (ptrdiff_t i = 0; i < FRESH; i++)
            kn_col(Xs, 3)[i] = k ? 50 + (double)i : 1.5;
        mean[k] = ref_new(FRESH, c.T);
        var[k] = ref_new(FRESH, c.T);
        predict(m, Xs, mean[k], var[k]);
    }
    assert_same(mean[1], mean[0], 0);
    assert_same(var[1], var[0], 0);
    for (int k = 0; k < 2; k++)
        free(mean[k].data), free(var[k].data);
    kn_model_free(m);
    free(X.data), free(Xs.data);
    cohort_free(&c), cohort_free(&fresh);
}

/* Trained below 40 and asked above: half a range further the line is held, at once the parabola. */
static void variance_is_bounded_beyond_the_training_range(void **state)
{
    (void)state;
    enum { ASKED = 6 };
    static const double AGES[ASKED] = {30, 39, 50, 60, 90, 1000};
    for (int kind = COHORT_LINEAR; kind < COHORT_SITES; kind++) {
        cohort c = some_participants((cohort_kind)kind, 150, false);
        kn_settings s = cohort_settings(&c, false);
        double low = INFINITY, high = -INFINITY;
        for (ptrdiff_t i = 0; i < c.N; i++) {
            double age = kn_col(c.X, AGE)[i] = 20 + (kn_at(c.X, i, AGE) - 20) / 3;
            low = fmin(low, age);
            high = fmax(high, age);
        }
        double end = high + (high - low) / 2;
        kn_mat Xs = ref_new(ASKED, 3), mean = ref_new(ASKED, c.T), var = ref_new(ASKED, c.T);
        for (int i = 0; i < ASKED; i++)
            kn_col(Xs, AGE)[i] = AGES[i];
        kn_col(Xs, AGE)[3] = end;
        kn_model *m = fit(c.X, c.Y, &s);
        predict(m, Xs, mean, var);
        for (ptrdiff_t j = 0; j < c.T; j++) {
            double prior = 0, sd = m->y.sd[j];
            for (ptrdiff_t p = 0; p < m->gp.P; p++)
                prior += kn_at(m->gp.B, j, p) * kn_at(m->gp.B, j, p) * m->gp.latent.c[p];
            for (int i = 4; i < ASKED; i++) { /* held */
                assert_close(kn_at(mean, i, j), kn_at(mean, 3, j), 1e-12);
                assert_close(kn_at(var, i, j), kn_at(var, 3, j), 1e-12);
            }
            /* of uniform ages the line has 12 times its variance one range from the middle */
            for (int i = 0; i < ASKED; i++)
                assert_true(kn_at(var, i, j) <= 14 * prior * sd * sd);
            assert_true(fabs(kn_at(mean, 3, j) - m->y.mean[j]) < 6 * sd);
        }
        kn_model_free(m);
        free(Xs.data), free(mean.data), free(var.data);
        cohort_free(&c);
    }
}

/* The slopes by their formula, one response at a time. */
static void slopes_are_those_of_the_formula(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 2, 0);
    for (int round = 0; round < 200; round++) {
        enum { MAX_COUNT = 40 };
        ptrdiff_t T = 1 + kn_rng_below(&rng, MAX_COUNT);
        double md[MAX_COUNT], mm[MAX_COUNT], slope[MAX_COUNT], sum_md = 0, sum_mm = 0;
        for (ptrdiff_t j = 0; j < T; j++) {
            mm[j] = round % 5 == 0 ? 0 : exp(3 * kn_rng_normal(&rng));
            md[j] = mm[j] * (1 + (round % 7) * kn_rng_normal(&rng)) * (round % 3 ? 1 : -1);
            sum_md += md[j];
            sum_mm += mm[j];
        }
        kn_slopes(T, md, mm, slope);
        for (ptrdiff_t j = 0; j < T; j++) {
            double all = sum_mm > 0 ? sum_md / sum_mm : 1, kappa = 20 * sum_mm / (double)T, own;
            all = all < 0 ? 0 : all > 1 ? 1 : all;
            own = mm[j] + kappa > 0 ? (md[j] + kappa * all) / (mm[j] + kappa) : 1;
            assert_true(slope[j] >= 0 && slope[j] <= 1.2);
            assert_close(slope[j], own < 0 ? 0 : own > 1.2 ? 1.2 : own, 1e-12);
        }
    }
}

/* Beyond 5000 participants one set is held out; what the curve says of it is what the reference
 * says. */
static void of_many_participants_the_curve_is_that_of_those_held_out(void **state)
{
    (void)state;
    cohort c = cohort_new((cohort_plan){
        .N = 5100, .T = 6, .sites = 3, .kind = COHORT_LINEAR, .strength = 1, .seed = 1});
    kn_settings s = cohort_settings(&c, false);
    s.max_evals = 4;
    kn_model *m = fit(c.X, c.Y, &s);
    double best = 0;
    for (int k = 0; k < m->info.n_curve; k++)
        best = fmin(best, m->info.curve[k].msll);
    assert_true(m->info.n_components > 0);
    assert_close(best, m->info.cv.msll, 0.05);
    kn_model_free(m);
    cohort_free(&c);
}

/* ---- nothing to predict ---------------------------------------------------------------------- */

static cohort simple_participants(cohort_kind kind, double strength, ptrdiff_t T, uint64_t seed)
{
    return cohort_new((cohort_plan){
        .N = 200, .T = T, .sites = 3, .kind = kind, .strength = strength, .seed = seed});
}

static void pure_noise_has_no_component(void **state)
{
    (void)state;
    int seeds = repeat(20, 10), without = 0;
    for (int k = 0; k < seeds; k++) {
        cohort c = simple_participants(COHORT_NONE, 0, 300, (uint64_t)(70 + k));
        kn_settings s = cohort_settings(&c, false);
        s.folds = 0;
        kn_model *m = fit(c.X, c.Y, &s);
        assert_int_equal(m->info.nothing_predicted, m->info.n_components == 0);
        without += m->info.n_components == 0;
        kn_model_free(m);
        cohort_free(&c);
    }
    assert_true(without >= seeds * 9 / 10);
}

static void a_strong_signal_always_has_components(void **state)
{
    (void)state;
    for (int k = 0; k < repeat(20, 8); k++) {
        cohort_kind kind = (cohort_kind)(COHORT_LINEAR + k % (COHORT_KINDS - 1));
        cohort c = simple_participants(kind, 0.6, 60, (uint64_t)(70 + k));
        kn_settings s = cohort_settings(&c, false);
        s.folds = 0;
        kn_model *m = fit(c.X, c.Y, &s);
        assert_true(m->info.n_components > 0);
        assert_false(m->info.nothing_predicted);
        kn_model_free(m);
        cohort_free(&c);
    }
}

/* Without components: the mean of training, no model variance, and the noise that participants held
 * out had about the mean of the others. */
static void a_model_without_components_predicts_saves_and_opens(void **state)
{
    (void)state;
    cohort c = simple_participants(COHORT_NONE, 0, 300, 71), fresh = fresh_participants(&c);
    kn_settings s = cohort_settings(&c, false);
    kn_model *m = fit(c.X, c.Y, &s), *again;
    kn_maps *maps;
    kn_mat held_out = ref_new(c.N, c.T), loo = ref_new(c.N, c.T), none = ref_new(FRESH, c.T);
    assert_int_equal(m->info.n_components, 0);
    assert_int_equal(m->info.nothing_predicted, 1);
    assert_null(m->gp.slope);
    outcome a = outcome_of(m, fresh.X, c.Y, 0, NULL);
    assert_same(a.var, none, 0);
    assert_ok(ctx, kn_maps_cv(ctx, m, cohort_view(c.Y), s.folds, NULL, &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, c.T, held_out, kn_mat_none()));
    kn_maps_free(maps);
    assert_ok(ctx, kn_maps_loo(ctx, m, cohort_view(c.Y), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, c.T, loo, kn_mat_none()));
    kn_maps_free(maps);
    for (ptrdiff_t j = 0; j < c.T; j++) {
        double mean = 0, square = 0;
        for (ptrdiff_t i = 0; i < c.N; i++) {
            double e = kn_at(c.Y, i, j) - kn_at(held_out, i, j);
            mean += kn_at(c.Y, i, j) / (double)c.N;
            square += e * e / (double)c.N;
        }
        assert_close(a.noise.data[j], square, 1e-10);
        for (ptrdiff_t i = 0; i < FRESH; i++)
            assert_close(kn_at(a.mean, i, j), mean, 1e-12);
        for (ptrdiff_t i = 0; i < c.N; i++)
            assert_close(kn_at(loo, i, j), mean, 1e-12);
    }
    assert_close(m->info.cv.z2, 1, 0.02);
    assert_ok(ctx, kn_model_save(ctx, m, "none.kn", 1));
    kn_model_free(m);
    assert_ok(ctx, kn_model_open(ctx, "none.kn", &again));
    outcome b = outcome_of(again, fresh.X, c.Y, 0, NULL);
    assert_int_equal(b.info.n_components, 0);
    assert_same(b.mean, a.mean, 0);
    assert_same(b.var, a.var, 0);
    assert_same(b.noise, a.noise, 0);
    kn_model_free(again);
    free_outcome(&a), free_outcome(&b);
    free(held_out.data), free(loo.data), free(none.data);
    cohort_free(&c), cohort_free(&fresh);
}

/* z of the same participants by kn_score: (y - mean)/sd, sd of those held out. */
static void a_model_without_components_scores(void **state)
{
    (void)state;
    enum { N = 200, T = 300 };
    cohort c = simple_participants(COHORT_NONE, 0, T, 71);
    kn_data *d;
    kn_model *m;
    kn_scores *scores;
    kn_options *o = options_of(ctx, "score", "training_rows=plain");
    kn_options *plain = options_of(ctx, "fit", "calibrate=none");
    const char *sex[N];
    for (int i = 0; i < N; i++)
        sex[i] = kn_at(c.X, i, SEX) > 0 ? "f" : "m";
    assert_ok(ctx, kn_data_new(ctx, N, &d));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", kn_col(c.X, AGE), 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "sex", sex));
    assert_ok(ctx, kn_data_responses(ctx, d, cohort_view(c.Y), NULL));
    assert_ok(ctx, kn_fit(ctx, d, plain, &m));
    assert_int_equal((int)kn_model_number(m, "n_components"), 0);
    assert_ok(ctx, kn_score(ctx, m, d, o, &scores));
    kn_mat z = ref_new(N, T), noise = ref_new(T, 1);
    assert_ok(ctx, kn_scores_block(ctx, scores, "z", 0, T, z));
    assert_ok(ctx, kn_model_noise(ctx, m, noise.data));
    for (int j = 0; j < T; j++)
        for (int i = 0; i < N; i++)
            assert_close(kn_at(z, i, j), (kn_at(c.Y, i, j) - m->y.mean[j]) / sqrt(noise.data[j]),
                         1e-5);
    kn_scores_free(scores);
    kn_model_free(m);
    kn_data_free(d);
    kn_options_free(o);
    kn_options_free(plain);
    free(z.data), free(noise.data);
    cohort_free(&c);
}

TEST_PROGRAM(smtgpr_additive_promises)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_what_the_held_out_say_and_half_of_it_at_least),
        cmocka_unit_test(a_covariate_that_was_constant_predicts_nothing),
        cmocka_unit_test(variance_is_bounded_beyond_the_training_range),
        cmocka_unit_test(pure_noise_has_no_component),
        cmocka_unit_test(a_strong_signal_always_has_components),
        cmocka_unit_test(a_model_without_components_predicts_saves_and_opens),
        cmocka_unit_test(a_model_without_components_scores),
        cmocka_unit_test(slopes_are_those_of_the_formula),
        cmocka_unit_test(of_many_participants_the_curve_is_that_of_those_held_out),
    };
    int failed = cmocka_run_group_tests_name("additive_new", tests, scratch_enter, scratch_leave);
    kn_ctx_free(ctx);
    return failed;
}
