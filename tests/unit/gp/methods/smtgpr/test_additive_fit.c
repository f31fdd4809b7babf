/* Whole fits of the additive model: what must not matter does not, low rank is the dense one, folds
 * are refits, and one start is enough. */
#include "support/additive_fits.h"

#include "support/rank_bound.h"

#include "gp/likelihood/engine.h"
#include "gp/predict/predict.h"
#include "gp/search/internal.h"
#include "ref/deviance.h"

/* ---- what must not matter -------------------------------------------------------------------- */

static const int MAX_EVALS[] = {0, -1}; /* at a point that is held, and after a search */

/* Maps that differ by no more than some of their own standard deviations. */
static void assert_maps_within(const outcome *a, const outcome *b, double deviations)
{
    for (ptrdiff_t j = 0; j < a->mean.cols; j++)
        for (ptrdiff_t i = 0; i < a->mean.rows; i++) {
            double v = kn_at(b->var, i, j), dm = kn_at(a->mean, i, j) - kn_at(b->mean, i, j);
            assert_true(fabs(dm) <= deviations * sqrt(v));
            assert_true(fabs(kn_at(a->var, i, j) - v) <= 2 * deviations * v);
        }
}

/* At a point that is held everything is the same, but that participants in another order have other
 * pivots: each fit is as far from the dense one as its residual allows. A search ends where a step
 * gains less than 1e-5 nat, and rounding decides after how many steps. Parameters that differ by
 * dLML nats are sqrt(2 dLML) of their standard errors apart, and maps by at most as many of theirs;
 * the noise of a response has a standard error of sqrt(2/N) of itself. */
static void assert_same_fit(const outcome *a, const outcome *b, bool searched, const rank_bound *r)
{
    double N = (double)a->cv_mean.rows, nats = 1e-3, off = sqrt(2 * nats);
    assert_int_equal(a->info.n_components, b->info.n_components);
    if (!searched) {
        double left = fmax(a->info.rank_residual, b->info.rank_residual);
        assert_true(fabs(a->info.lml - b->info.lml) <= 2 * rank_bound_lml(r, left));
        /* twice the bound of one, which goes by the root of the residual */
        assert_maps_agree(a->mean, a->var, b->mean, b->var, r, 4 * left);
        assert_same(a->noise, b->noise, 1e-9);
        return;
    }
    assert_true(fabs(a->info.lml - b->info.lml) <= nats);
    assert_maps_within(a, b, off);
    for (ptrdiff_t j = 0; j < a->noise.rows; j++)
        assert_close(a->noise.data[j] / b->noise.data[j], 1, off * sqrt(2 / N));
}

/* Folds go by the order of participants, so there are none here. */
static void the_order_of_participants_does_not_matter(void **state)
{
    (void)state;
    enum { N = 120 };
    for (int k = 0; k < 4; k++) {
        bool groups = k % 2;
        cohort c = some_participants(COHORT_SMOOTH, N, groups), fresh = fresh_participants(&c);
        kn_settings s = cohort_settings(&c, groups);
        s.folds = 0;
        s.components = k / 2 ? (int)c.T : 4; /* all: the likelihood is the one searched */
        s.max_evals = MAX_EVALS[k / 2];
        kn_model *m = fit(c.X, c.Y, &s);
        outcome a = outcome_of(m, fresh.X, c.Y, 0, NULL);
        kn_model_free(m);
        ptrdiff_t order[N];
        int group[N];
        kn_rng rng;
        ref_rng_init(&rng, 8, 0);
        kn_rng_permutation(&rng, c.N, order);
        kn_mat X = ref_new(c.N, c.X.cols), Y = ref_new(c.N, c.T);
        kn_mat_rows(c.X, order, X);
        kn_mat_rows(c.Y, order, Y);
        for (ptrdiff_t i = 0; i < N; i++)
            group[i] = c.group[order[i]];
        s.groups = groups ? group : NULL;
        m = fit(X, Y, &s);
        outcome b = outcome_of(m, fresh.X, Y, 0, NULL);
        rank_bound r = rank_bound_of(&m->gp.latent);
        kn_model_free(m);
        assert_same_fit(&a, &b, k / 2, &r);
        free_outcome(&a), free_outcome(&b);
        free(X.data), free(Y.data);
        cohort_free(&c), cohort_free(&fresh);
    }
}

/* With folds, noise and slopes: names of levels, and names of groups that sort alike. */
static void names_of_levels_and_groups_do_not_matter(void **state)
{
    (void)state;
    static const int NAME[] = {2, 0, 3, 1};
    for (int k = 0; k < 4; k++) {
        bool groups = k % 2;
        cohort c = some_participants(COHORT_SITES, 120, groups), fresh = fresh_participants(&c);
        kn_settings s = cohort_settings(&c, groups);
        s.max_evals = MAX_EVALS[k / 2];
        if (k / 2)
            s.components = (int)c.T; /* the likelihood is then the one that was searched */
        kn_model *m = fit(c.X, c.Y, &s);
        outcome a = outcome_of(m, fresh.X, c.Y, 0, NULL);
        kn_model_free(m);
        kn_mat all[] = {c.X, fresh.X};
        for (int w = 0; w < 2; w++)
            for (ptrdiff_t i = 0; i < all[w].rows; i++) {
                kn_col(all[w], SITE)[i] = NAME[(int)kn_at(all[w], i, SITE)];
                kn_col(all[w], SEX)[i] = 1 - kn_at(all[w], i, SEX);
            }
        for (ptrdiff_t i = 0; i < c.N; i++)
            c.group[i] = 7 * c.group[i] - 50;
        m = fit(c.X, c.Y, &s);
        outcome b = outcome_of(m, fresh.X, c.Y, 0, NULL);
        rank_bound r = rank_bound_of(&m->gp.latent);
        kn_model_free(m);
        assert_same_fit(&a, &b, k / 2, &r);
        free_outcome(&a), free_outcome(&b);
        cohort_free(&c), cohort_free(&fresh);
    }
}

/* ---- folds ----------------------------------------------------------------------------------- */

/* Mean, basis, gamma, c and d of the others alone, R0 and scaling held. */
static void gram_folds_equal_literal_refits(void **state)
{
    (void)state;
    enum { N = 60, T = 7, FOLDS = 3, P = 3 };
    for (int k = 0; k < 4; k++) {
        bool groups = k % 2, low = k / 2;
        cohort c = cohort_new((cohort_plan){.N = N,
                                            .T = T,
                                            .sites = 3,
                                            .kind = COHORT_CURVED,
                                            .strength = 0.7,
                                            .group_noise = 1,
                                            .members = groups ? 3 : 0,
                                            .seed = 4});
        kn_settings s = cohort_settings(&c, groups);
        s.components = P;
        s.rank = low ? KN_RANK_AUTO : KN_RANK_FULL;
        int fold[N];
        for (int i = 0; i < N; i++)
            fold[i] = c.group[i] % FOLDS;
        kn_model *m = fit(c.X, c.Y, &s);
        kn_free(m->gp.slope);
        m->gp.slope = NULL; /* which no refit has */
        outcome all = outcome_of(m, c.X, c.Y, FOLDS, fold);
        const double *theta = m->gp.latent.cell[0].R0.theta;
        for (int f = 0; f < FOLDS; f++) {
            ptrdiff_t train[N], test[N], n = 0, h = 0;
            int code[N];
            for (int i = 0; i < N; i++)
                if (fold[i] == f)
                    test[h++] = i;
                else
                    code[n] = c.group[i], train[n++] = i;
            /* standardised as all are, centred on these */
            kn_mat Y = ref_new(n, T), X = ref_new(n, m->x.F), Xs = ref_new(h, m->x.F);
            double mu[T] = {0};
            for (int j = 0; j < T; j++) {
                for (ptrdiff_t i = 0; i < n; i++) {
                    double y = (kn_at(c.Y, train[i], j) - m->y.mean[j]) / m->y.sd[j];
                    kn_col(Y, j)[i] = y;
                    mu[j] += y / (double)n;
                }
                for (ptrdiff_t i = 0; i < n; i++)
                    kn_col(Y, j)[i] -= mu[j];
            }
            kn_mat_rows(m->gp.latent.X, train, X);
            kn_mat_rows(m->gp.latent.X, test, Xs);
            /* leading eigenvectors of Y'Y */
            kn_mat YY = ref_mul(1, Y, 0, Y);
            double w[T];
            ref_eig(YY, w);
            kn_mat B = kn_cols(YY, 0, P), Z = ref_mul(0, Y, 0, B);
            kn_groups g = {0};
            if (groups)
                assert_ok(ctx, kn_groups_new(ctx, n, code, &g));
            kn_engine e;
            kn_spec spec = {.sample = m->gp.spec.sample, .additive = true};
            kn_engine_data data = {.X = X, .Z = Z, .groups = &g, .T = T, .total = 1};
            double lml, clamped = 0;
            kn_latent l;
            kn_mat own, mean = ref_new(h, P), var = ref_new(h, P);
            assert_ok(ctx, kn_engine_new(ctx, &spec, &data, &e));
            assert_ok(ctx, kn_engine_at(ctx, &e, theta, &lml));
            assert_ok(ctx, kn_mat_copy(ctx, X, &own));
            assert_ok(ctx, kn_engine_latent(ctx, &own, &e, &l));
            assert_ok(ctx, kn_latent_predict(ctx, &l, &(kn_predict_input){.X = Xs}, mean, var,
                                             &clamped));
            for (int j = 0; j < T; j++)
                for (ptrdiff_t i = 0; i < h; i++) {
                    double sum = mu[j], v = 0, sd = m->y.sd[j];
                    for (int p = 0; p < P; p++) {
                        sum += kn_at(mean, i, p) * kn_at(B, j, p);
                        v += kn_at(var, i, p) * kn_at(B, j, p) * kn_at(B, j, p);
                    }
                    assert_close(kn_at(all.cv_mean, test[i], j), m->y.mean[j] + sd * sum, 1e-7);
                    assert_close(kn_at(all.cv_var, test[i], j), sd * sd * v, 1e-7);
                }
            kn_latent_clear(&l);
            kn_engine_clear(&e);
            free(Y.data), free(X.data), free(Xs.data), free(YY.data), free(Z.data);
            free(mean.data), free(var.data);
        }
        free_outcome(&all);
        kn_model_free(m);
        cohort_free(&c);
    }
}

/* ---- low rank -------------------------------------------------------------------------------- */

typedef struct low_and_full {
    outcome low, full;
    rank_bound bound;
} low_and_full;

/* The same fit with R0 of low rank and dense. */
static low_and_full fit_both(cohort *c, kn_settings s, int folds, const int *fold)
{
    cohort fresh = fresh_participants(c);
    low_and_full both;
    kn_model *m = fit(c->X, c->Y, &s);
    assert_true(m->info.rank < c->N / 4);
    both.low = outcome_of(m, fresh.X, c->Y, folds, fold);
    kn_model_free(m);
    s.rank = KN_RANK_FULL;
    m = fit(c->X, c->Y, &s);
    assert_int_equal(m->info.rank, c->N);
    both.full = outcome_of(m, fresh.X, c->Y, folds, fold);
    both.bound = rank_bound_of(&m->gp.latent);
    kn_model_free(m);
    cohort_free(&fresh);
    return both;
}

static cohort participants_of(ptrdiff_t N, bool groups, cohort_kind kind)
{
    return cohort_new((cohort_plan){.N = N,
                                    .T = 12,
                                    .sites = 8,
                                    .kind = kind,
                                    .strength = 0.6,
                                    .group_noise = 0.5,
                                    .members = groups ? 2 : 0,
                                    .seed = 6});
}

/* At the same R0, within the bounds of rank_bound.h. Maps of new participants have slopes of those
 * held out, so that they are no better than these. Folds choose pivots and c/d of their own, and of
 * three quarters of the participants c/d may be several times as large. */
static void check_low_rank(ptrdiff_t N, bool groups, cohort_kind kind)
{
    enum { FOLDS = 4 };
    cohort c = participants_of(N, groups, kind);
    kn_settings s = cohort_settings(&c, groups);
    int *fold = calloc((size_t)N, sizeof *fold);
    for (ptrdiff_t i = 0; i < N; i++)
        fold[i] = c.group[i] % FOLDS;
    s.components = 6;
    s.max_evals = 0;
    low_and_full b = fit_both(&c, s, FOLDS, fold);
    double left = b.low.info.rank_residual;
    assert_true(left <= 1e-11); /* ten times the tolerance, or it would be dense */
    assert_true(fabs(b.low.info.lml - b.full.info.lml) <= rank_bound_lml(&b.bound, left));
    const outcome *low = &b.low, *full = &b.full;
    double folds = 10 * 1e-11;
    assert_maps_agree(low->mean, low->var, full->mean, full->var, &b.bound, folds);
    assert_maps_agree(low->cv_mean, low->cv_var, full->cv_mean, full->cv_var, &b.bound, folds);
    for (ptrdiff_t j = 0; j < c.T; j++)
        assert_true(fabs(low->noise.data[j] - full->noise.data[j]) <=
                    rank_bound_noise(&b.bound, folds, c.Y, full->cv_mean, full->cv_var, j));
    free_outcome(&b.low), free_outcome(&b.full);
    free(fold);
    cohort_free(&c);
}

static void low_rank_agrees_with_dense(void **state)
{
    (void)state;
    for (int kind = COHORT_LINEAR; kind < COHORT_KINDS; kind += repeat(1, 2))
        for (int groups = 0; groups < 2; groups++)
            check_low_rank(repeat(300, 200), groups, (cohort_kind)kind);
}

/* Each search stops on its own. Both begin at the same points: up to 150 participants the dense one
 * has no subsample. With as many components as responses the likelihood is the one that was
 * searched. A climb ends where a step gains less than 1e-5 nat; parameters that differ by dLML nats
 * are sqrt(2 dLML) of their standard errors apart, and maps by at most as many of their own. */
static void low_rank_and_dense_find_the_same(void **state)
{
    (void)state;
    for (int groups = repeat(0, 1); groups < 2; groups++) {
        cohort c = participants_of(150, groups, COHORT_SMOOTH);
        kn_settings s = cohort_settings(&c, groups);
        s.components = (int)c.T;
        s.folds = 0;
        low_and_full b = fit_both(&c, s, 0, NULL);
        double nats = 1e-3;
        assert_true(fabs(b.low.info.lml - b.full.info.lml) <= nats);
        assert_maps_within(&b.low, &b.full, sqrt(2 * nats));
        free_outcome(&b.low), free_outcome(&b.full);
        cohort_free(&c);
    }
}

/* ---- the search ------------------------------------------------------------------------------ */

/* With as many components as there are responses the likelihood is the one that was searched. */
static double found_lml(cohort *c, const kn_settings *s)
{
    kn_model *m = fit(c->X, c->Y, s);
    double lml = m->info.lml;
    kn_model_free(m);
    return lml;
}

static void one_start_is_as_good_as_twenty(void **state)
{
    (void)state;
    static const double STRENGTH[] = {0.15, 0.4, 1, 2};
    int problems = repeat(20, 5), missed = 0;
    for (int k = 0; k < problems; k++) {
        cohort c = cohort_new((cohort_plan){.N = 80 + 10 * (k % 5),
                                            .T = 8,
                                            .sites = 2 + k % 4,
                                            .kind = (cohort_kind)(k % COHORT_KINDS),
                                            .strength = STRENGTH[k / COHORT_KINDS % 4],
                                            .seed = (uint64_t)(40 + k)});
        kn_settings s = cohort_settings(&c, false);
        s.components = 8;
        s.folds = 0;
        double once = found_lml(&c, &s);
        s.restarts = 20;
        double best = found_lml(&c, &s);
        missed += best - once > 1e-3;
        cohort_free(&c);
    }
    assert_true(missed <= 1);
}

/* Beyond 150 rows a dense search begins where a subsample's ended, with weights that may be next to
 * nothing. Where it ends is a maximum all the same: a climb from weights that are lifted gains less
 * than the 1e-3 nat that the search leaves. With as many components as responses the likelihood of
 * the model is the one that was searched. */
static void a_search_from_a_subsample_ends_at_a_maximum(void **state)
{
    (void)state;
    enum { N = 200, T = 12 };
    for (int k = 0; k < repeat(12, 3); k++) {
        cohort c = cohort_new((cohort_plan){.N = N,
                                            .T = T,
                                            .sites = 8,
                                            .kind = COHORT_SMOOTH,
                                            .strength = 0.6,
                                            .group_noise = 0.5,
                                            .members = 2,
                                            .seed = (uint64_t)(20 + k)});
        kn_settings s = cohort_settings(&c, true);
        s.components = T;
        s.folds = 0;
        s.rank = KN_RANK_FULL;
        kn_model *m = fit(c.X, c.Y, &s);
        kn_mat Y = ref_new(N, T);
        for (int j = 0; j < T; j++)
            for (int i = 0; i < N; i++)
                kn_col(Y, j)[i] = (kn_at(c.Y, i, j) - m->y.mean[j]) / m->y.sd[j];
        kn_mat Z = ref_mul(0, Y, 0, m->gp.B);
        kn_groups g;
        kn_engine e;
        kn_search_space space;
        kn_cov_point at;
        kn_limits limits = {.evals_left = -1};
        kn_search_result again = {.lml = -INFINITY};
        double total, lml;
        assert_ok(ctx, kn_groups_new(ctx, N, c.group, &g));
        kn_spec spec = {.sample = m->gp.spec.sample, .additive = true};
        kn_engine_data data = {.X = m->gp.latent.X, .Z = Z, .groups = &g, .T = T, .total = 1};
        assert_ok(ctx, kn_engine_new(ctx, &spec, &data, &e));
        const kn_decomp *R0 = &m->gp.latent.cell[0].R0;
        kn_cov_point_of(&R0->cov, R0->theta, &at, &total);
        assert_ok(ctx, kn_engine_nested(ctx, &e, &at, &lml, NULL));
        assert_close(lml, m->info.lml, 1e-8);
        for (int q = 0; q < R0->cov.n; q++)
            at.w[q] = (at.w[q] + 0.01) / (1 + R0->cov.n * 0.01);
        assert_ok(ctx, kn_search_space_new(ctx, &e, &space));
        assert_ok(ctx, kn_search_ascend(ctx, &space, &limits, &at, NULL, &again));
        if (!(again.lml <= lml + 1e-3))
            fail_msg("another climb gains %.3g nat", again.lml - lml);
        kn_engine_clear(&e);
        kn_model_free(m);
        free(Y.data), free(Z.data);
        cohort_free(&c);
    }
}

TEST_PROGRAM(smtgpr_additive_fit)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_participants_does_not_matter),
        cmocka_unit_test(names_of_levels_and_groups_do_not_matter),
        cmocka_unit_test(gram_folds_equal_literal_refits),
        cmocka_unit_test(low_rank_agrees_with_dense),
        cmocka_unit_test(low_rank_and_dense_find_the_same),
        cmocka_unit_test(one_start_is_as_good_as_twenty),
        cmocka_unit_test(a_search_from_a_subsample_ends_at_a_maximum),
    };
    int failed = cmocka_run_group_tests_name("additive_fit", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
