/* Groups of participants who share noise: the algebra of H = I + gamma G, finding gamma, and models
 * that have groups. */
#include "support/cohorts.h"

#include "commands/common/maps_api.h"
#include "cov/group_noise.h"
#include "model/model.h"
#include "support/calls.h"
#include "support/scratch.h"

static kn_ctx *ctx;

/* ---- H ----------------------------------------------------------------------------------------
 */

/* I + gamma G */
static kn_mat dense_H(ptrdiff_t N, const int *code, double gamma)
{
    kn_mat H = ref_new(N, N);
    for (ptrdiff_t j = 0; j < N; j++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(H, j)[i] = (i == j) + gamma * (code[i] == code[j]);
    return H;
}

static void powers_of_H_are_those_of_the_dense_matrix(void **state)
{
    (void)state;
    static const ptrdiff_t SIZES[] = {1, 2, 3, 5, 20};
    kn_rng rng;
    ref_rng_init(&rng, 1, 0);
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++)
        for (int kinds = 1; kinds <= 21; kinds += 5)
            for (int g = 0; g < KN_GAMMAS; g++) {
                ptrdiff_t N = SIZES[s];
                int code[20];
                for (ptrdiff_t i = 0; i < N; i++)
                    code[i] = 3 - 2 * (int)kn_rng_below(&rng, kinds);
                kn_groups groups;
                assert_ok(ctx, kn_groups_new(ctx, N, code, &groups));
                kn_mat M = ref_normal(&rng, N, 3), H = dense_H(N, code, kn_gamma[g]);
                kn_mat twice, inverse, back;
                assert_ok(ctx, kn_mat_copy(ctx, M, &twice));
                assert_ok(ctx, kn_mat_copy(ctx, M, &inverse));
                kn_groups_inverse(&groups, kn_gamma[g], inverse);
                back = ref_mul(0, H, 0, inverse);
                assert_same(back, M, 1e-13); /* H H^-1 M = M */
                kn_groups_half(&groups, kn_gamma[g], twice);
                kn_groups_half(&groups, kn_gamma[g], twice);
                assert_same(twice, inverse, 1e-13);
                assert_true(ref_chol(H));
                double logdet = 0;
                for (ptrdiff_t i = 0; i < N; i++)
                    logdet += 2 * log(kn_at(H, i, i));
                assert_close(kn_groups_logdet(&groups, kn_gamma[g]), logdet, 1e-13);
                kn_mat_clear(&twice);
                kn_mat_clear(&inverse);
                kn_groups_clear(&groups);
                free(M.data), free(H.data), free(back.data);
            }
}

static void groups_are_numbered_as_they_appear(void **state)
{
    (void)state;
    static const int CODE[] = {7, -2, 7, 5, -2, 7};
    static const ptrdiff_t OF[] = {0, 1, 0, 2, 1, 0}, PART[] = {3, 4, 1}, PART_OF[] = {0, 1, 1};
    kn_groups g, part, all, none = {0};
    kn_mat M = ref_new(6, 1), sums = ref_new(3, 1);
    assert_ok(ctx, kn_groups_new(ctx, 6, CODE, &g));
    assert_int_equal(g.n, 3);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(g.of[i], OF[i]);
        M.data[i] = 1 << i;
    }
    kn_groups_sums(&g, M, sums);
    assert_true(sums.data[0] == 37 && sums.data[1] == 18 && sums.data[2] == 8);
    for (ptrdiff_t k = 0; k < g.n; k++) {
        assert_int_equal(g.start[k + 1] - g.start[k], (int)g.size[k]);
        for (ptrdiff_t i = g.start[k]; i < g.start[k + 1]; i++)
            assert_int_equal(g.of[g.row[i]], k);
    }
    assert_ok(ctx, kn_groups_subset(ctx, &g, PART, 3, &part));
    assert_int_equal(part.n, 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(part.of[i], PART_OF[i]);
    assert_ok(ctx, kn_groups_subset(ctx, &g, NULL, 6, &all));
    assert_int_equal(all.n, 3);
    kn_groups_clear(&part);
    assert_ok(ctx, kn_groups_subset(ctx, &none, PART, 3, &part));
    assert_int_equal(part.n, 0);
    kn_groups_clear(&g);
    kn_groups_clear(&all);
    free(M.data), free(sums.data);
}

static void one_group_of_all_and_groups_of_one_tell_nothing(void **state)
{
    (void)state;
    static const int CODES[][4] = {{1, 1, 1, 1}, {1, 2, 3, 4}, {1, 2, 2, 3}};
    for (int k = 0; k < 3; k++) {
        kn_groups g;
        assert_ok(ctx, kn_groups_new(ctx, 4, CODES[k], &g));
        assert_int_equal(kn_groups_identify_gamma(&g), k == 2);
        kn_groups_clear(&g);
    }
}

/* ---- gamma ------------------------------------------------------------------------------------
 */

static kn_model *fitted(cohort *c, int components, int rank)
{
    kn_settings s = cohort_settings(c, true);
    kn_model *m;
    s.components = components;
    s.rank = rank;
    s.folds = 5;
    assert_ok(ctx, kn_fit_arrays(ctx, cohort_view(c->X), cohort_view(c->Y), &s, &m));
    return m;
}

/* Independent responses are their own components, each with the share planted. */
static cohort planted(double gamma, uint64_t seed)
{
    enum { N = 240, T = 20 };
    cohort c = cohort_new((cohort_plan){.N = N, .T = T, .sites = 2, .members = 3, .seed = seed});
    kn_rng rng;
    ref_rng_init(&rng, seed, 9);
    for (ptrdiff_t j = 0; j < T; j++) {
        double shared[N];
        for (int k = 0; k < N; k++)
            shared[k] = sqrt(gamma) * kn_rng_normal(&rng);
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(c.Y, j)[i] += shared[c.group[i]];
    }
    return c;
}

static void group_noise_is_found_where_there_is_some(void **state)
{
    (void)state;
    static const double GAMMA[] = {0, 1, 3};
    for (int k = 0; k < 3; k++) {
        int right = 0, n = 0;
        for (int seed = 0; seed < repeat(4, 2); seed++) {
            cohort c = planted(GAMMA[k], (uint64_t)seed);
            kn_model *m = fitted(&c, 15, KN_RANK_AUTO);
            for (ptrdiff_t p = 0; p < m->gp.P; p++, n++) {
                double gamma = kn_latent_gamma(&m->gp.latent, p);
                right += k == 0 ? gamma == 0 : gamma >= 0.3;
            }
            kn_model_free(m);
            cohort_free(&c);
        }
        assert_true(right > n * (k == 0 ? 5 : 9) / 10);
    }
}

/* ---- who is a group ---------------------------------------------------------------------------
 */

enum { PARTICIPANTS = 300, MAPS = 12 };

typedef struct study {
    kn_data *data;
    cohort c;
    char id[PARTICIPANTS][8];
} study;

/* Whole-year ages; `visits` rows a participant. */
static void study_new(study *w, uint64_t seed, int visits, double strength)
{
    const char *sex[PARTICIPANTS], *id[PARTICIPANTS];
    w->c = cohort_new((cohort_plan){.N = PARTICIPANTS,
                                    .T = MAPS,
                                    .sites = 2,
                                    .kind = COHORT_LINEAR,
                                    .strength = strength,
                                    .group_noise = visits > 1 ? 0.5 : 0,
                                    .members = visits,
                                    .seed = seed});
    for (int i = 0; i < PARTICIPANTS; i++) {
        kn_col(w->c.X, AGE)[i] = floor(kn_at(w->c.X, i, AGE));
        sex[i] = kn_at(w->c.X, i, SEX) > 0 ? "f" : "m";
        snprintf(w->id[i], sizeof w->id[i], "s%d", i / visits);
        id[i] = w->id[i];
    }
    assert_ok(ctx, kn_data_new(ctx, PARTICIPANTS, &w->data));
    assert_ok(ctx, kn_data_ids(ctx, w->data, id));
    assert_ok(ctx, kn_data_numbers(ctx, w->data, "age", kn_col(w->c.X, AGE), 1));
    assert_ok(ctx, kn_data_texts(ctx, w->data, "sex", sex));
    assert_ok(ctx, kn_data_responses(ctx, w->data, cohort_view(w->c.Y), NULL));
}

static void study_free(study *w)
{
    kn_data_free(w->data);
    cohort_free(&w->c);
}

static void participants_of_the_same_age_and_sex_are_no_group(void **state)
{
    (void)state;
    study w;
    kn_model *m;
    study_new(&w, 5, 1, 1);
    assert_ok(ctx, kn_fit(ctx, w.data, NULL, &m));
    assert_int_equal(m->gp.latent.groups.n, 0);
    assert_int_equal(m->group_rule, KN_GROUP_NONE);
    for (ptrdiff_t p = 0; p < m->gp.P; p++)
        assert_true(kn_latent_gamma(&m->gp.latent, p) == 0);
    kn_model_free(m);
    study_free(&w);
}

static void visits_of_one_participant_are_a_group(void **state)
{
    (void)state;
    study w;
    kn_model *m;
    int with = 0;
    study_new(&w, 5, 3, 1);
    assert_ok(ctx, kn_fit(ctx, w.data, NULL, &m));
    assert_int_equal(m->gp.latent.groups.n, PARTICIPANTS / 3);
    assert_int_equal(m->group_rule, KN_GROUP_IDS);
    for (ptrdiff_t p = 0; p < m->gp.P; p++)
        with += kn_latent_gamma(&m->gp.latent, p) > 0;
    assert_true(with > 0);
    kn_model_free(m);
    study_free(&w);
}

/* ---- models with groups -----------------------------------------------------------------------
 */

typedef struct maps {
    kn_mat mean, var, known, known_var, cv, loo;
} maps;

static void take(kn_maps *made, kn_mat mean, kn_mat var)
{
    assert_ok(ctx, kn_maps_block(ctx, made, 0, mean.cols, mean, var));
    kn_maps_free(made);
}

static maps maps_of(const kn_model *m, const cohort *c)
{
    enum { FOLDS = 4 };
    kn_maps *made;
    maps o = {.mean = ref_new(c->N, c->T),
              .var = ref_new(c->N, c->T),
              .known = ref_new(c->N, c->T),
              .known_var = ref_new(c->N, c->T),
              .cv = ref_new(c->N, c->T),
              .loo = ref_new(c->N, c->T)};
    int *fold = calloc((size_t)c->N, sizeof *fold);
    for (ptrdiff_t i = 0; i < c->N; i++)
        fold[i] = c->group[i] % FOLDS;
    assert_ok(ctx, kn_maps_predict(ctx, m, cohort_view(c->X), &made));
    take(made, o.mean, o.var);
    assert_ok(ctx,
              kn_maps_predict_known(ctx, m, cohort_view(c->X),
                                    (kn_predict_context){.group = m->gp.latent.groups.of}, &made));
    take(made, o.known, o.known_var);
    assert_ok(ctx, kn_maps_cv(ctx, m, cohort_view(c->Y), FOLDS, fold, &made));
    take(made, o.cv, kn_mat_none());
    assert_ok(ctx, kn_maps_loo(ctx, m, cohort_view(c->Y), &made));
    take(made, o.loo, kn_mat_none());
    free(fold);
    return o;
}

static void free_maps(maps o)
{
    free(o.mean.data), free(o.var.data), free(o.known.data), free(o.known_var.data);
    free(o.cv.data), free(o.loo.data);
}

static double distance(kn_mat a, kn_mat b)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < a.rows * a.cols; i++)
        sum += (a.data[i] - b.data[i]) * (a.data[i] - b.data[i]);
    return sum;
}

/* Several cells, dense and of low rank. */
static void models_with_groups_are_the_same_from_a_file(void **state)
{
    (void)state;
    for (int low = 0; low < 2; low++) {
        cohort c = cohort_new((cohort_plan){.N = 150,
                                            .T = 14,
                                            .sites = 3,
                                            .kind = COHORT_SMOOTH,
                                            .strength = 0.6,
                                            .group_noise = 1,
                                            .members = 3,
                                            .seed = 12});
        kn_model *m = fitted(&c, 8, low ? KN_RANK_AUTO : KN_RANK_FULL), *again;
        assert_true(m->gp.latent.n_cells > 1);
        assert_int_equal(m->info.rank < c.N, low);
        maps a = maps_of(m, &c);
        assert_ok(ctx, kn_model_save(ctx, m, "groups.kn", 1));
        assert_ok(ctx, kn_model_open(ctx, "groups.kn", &again));
        maps b = maps_of(again, &c);
        assert_int_equal(again->gp.latent.n_cells, m->gp.latent.n_cells);
        assert_int_equal(again->gp.latent.groups.n, c.N / 3);
        assert_same(b.mean, a.mean, 0); /* the file holds all digits of what these are made of */
        assert_same(b.var, a.var, 0);
        assert_same(b.known, a.known, 0);
        assert_same(b.known_var, a.known_var, 0);
        assert_same(b.cv, a.cv, 0);
        assert_same(b.loo, a.loo, 0);
        /* who is known is predicted better */
        assert_true(distance(a.known, c.Y) < 0.8 * distance(a.mean, c.Y));
        free_maps(a);
        free_maps(b);
        kn_model_free(m);
        kn_model_free(again);
        cohort_free(&c);
    }
}

/* With components and without any. */
static void scores_of_models_with_groups_are_the_same_from_a_file(void **state)
{
    (void)state;
    for (int nothing = 0; nothing < 2; nothing++) {
        study w;
        kn_model *m[2];
        kn_mat z[2];
        for (uint64_t draw = 0;; draw++) { /* in one draw of 20 noise looks like a component */
            study_new(&w, 5 + draw, 3, nothing ? 0 : 1);
            assert_ok(ctx, kn_fit(ctx, w.data, NULL, &m[0]));
            if ((m[0]->info.n_components == 0) == nothing)
                break;
            assert_true(nothing && draw < 10);
            kn_model_free(m[0]);
            study_free(&w);
        }
        assert_ok(ctx, kn_model_save(ctx, m[0], "visits.kn", 1));
        assert_ok(ctx, kn_model_open(ctx, "visits.kn", &m[1]));
        for (int k = 0; k < 2; k++) {
            kn_scores *s;
            assert_ok(ctx, kn_score(ctx, m[k], w.data, NULL, &s));
            z[k] = ref_new(PARTICIPANTS, MAPS);
            assert_ok(ctx, kn_scores_block(ctx, s, "z", 0, MAPS, z[k]));
            kn_scores_free(s);
            kn_model_free(m[k]);
        }
        assert_same(z[1], z[0], 1e-6);
        free(z[0].data), free(z[1].data);
        study_free(&w);
    }
}

/* Everybody alone: the folds are those of a fit without groups. */
static void groups_without_information_leave_no_trace(void **state)
{
    (void)state;
    cohort c = cohort_new((
        cohort_plan){.N = 60, .T = 6, .sites = 2, .kind = COHORT_LINEAR, .strength = 1, .seed = 2});
    kn_mat mean[2];
    for (int k = 0; k < 2; k++) {
        kn_settings s = cohort_settings(&c, k);
        kn_model *m;
        kn_maps *made;
        s.components = 2;
        assert_ok(ctx, kn_fit_arrays(ctx, cohort_view(c.X), cohort_view(c.Y), &s, &m));
        assert_int_equal(m->gp.latent.groups.n, 0);
        mean[k] = ref_new(c.N, c.T);
        assert_ok(ctx, kn_maps_cv(ctx, m, cohort_view(c.Y), 5, NULL, &made));
        take(made, mean[k], kn_mat_none());
        kn_model_free(m);
    }
    assert_same(mean[1], mean[0], 0);
    free(mean[0].data), free(mean[1].data);
    cohort_free(&c);
}

TEST_PROGRAM(cov_groups)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_of_H_are_those_of_the_dense_matrix),
        cmocka_unit_test(groups_are_numbered_as_they_appear),
        cmocka_unit_test(one_group_of_all_and_groups_of_one_tell_nothing),
        cmocka_unit_test(group_noise_is_found_where_there_is_some),
        cmocka_unit_test(participants_of_the_same_age_and_sex_are_no_group),
        cmocka_unit_test(visits_of_one_participant_are_a_group),
        cmocka_unit_test(models_with_groups_are_the_same_from_a_file),
        cmocka_unit_test(groups_without_information_leave_no_trace),
        cmocka_unit_test(scores_of_models_with_groups_are_the_same_from_a_file),
    };
    int failed = cmocka_run_group_tests_name("groups", tests, scratch_enter, scratch_leave);
    kn_ctx_free(ctx);
    return failed;
}
