/* A model to give away: it predicts as the model does. */
#include "support/exports.h"
#include "support/failing.h"

#include "commands/common/maps_api.h"
#include "cov/interpolate_covariance.h"
#include "cov/lowrank.h"
#include "cov/synthetic_points.h"
#include "gp/method.h"
#include "gp/methods/stgpr/internal.h"

/* By way of a file, as who is given it has it. */
static kn_model *given(kn_model *m)
{
    void *bytes, *again;
    size_t n, n_again;
    kn_model *out;
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &n));
    kn_model_free(m);
    assert_ok(ctx, kn_model_from_bytes(ctx, bytes, n, &out));
    assert_ok(ctx, kn_model_to_bytes(ctx, out, &again, &n_again));
    assert_int_equal(n, n_again);
    assert_memory_equal(bytes, again, n);
    kn_bytes_free(bytes), kn_bytes_free(again);
    return out;
}

/* ---- predictions ------------------------------------------------------------------------------
 */

/* Participants on a grid within the range of training, of all levels. */
static kn_mat grid_of(const participants *p, const kn_model *m)
{
    enum { N = 777 };
    kn_mat X = ref_new(N, p->X.cols);
    for (ptrdiff_t i = 0; i < N; i++) {
        for (int k = 0; k < p->numbers; k++) {
            double low = m->x.column[k].min, high = m->x.column[k].max;
            double t = k == 0 ? (double)i / (N - 1) : kn_rng_uniform(&rng);
            kn_col(X, k)[i] = low + (high - low) * t;
        }
        if (p->levels) {
            kn_col(X, p->numbers)[i] = (double)(i % 2);
            kn_col(X, p->numbers + 1)[i] = (double)(i / 2 % SITES);
        }
    }
    return X;
}

typedef struct maps_of {
    kn_mat mean, var;
} maps_of;

static maps_of predict(const kn_model *m, kn_mat X)
{
    kn_maps *maps;
    maps_of out = {ref_new(X.rows, T), ref_new(X.rows, T)};
    assert_ok(ctx, kn_maps_predict(ctx, m, view(X), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, out.mean, out.var));
    kn_maps_free(maps);
    return out;
}

/* Fits, exports, and compares what the two say of participants between those of training with what
 * the export said of its error; a few roundings more, because its points are others. */
static void agrees(participants *p, double limit)
{
    kn_export_info info;
    kn_model *m = fit(p), *shared = given(share(m, &info));
    kn_mat X = grid_of(p, m);
    maps_of a = predict(m, X), b = predict(shared, X);
    double mean = 2 * fmax(info.mean, info.mean_between) + 1e-7;
    double sd = 2 * fmax(info.sd, info.sd_between) + 1e-7;
    assert_true(info.mean <= limit && info.mean_between <= limit);
    assert_true(info.sd <= limit && info.sd_between <= limit);
    assert_true(shared->deidentified && !shared->ids && !shared->gp.latent.X.data);
    assert_int_equal(shared->info.n_samples, p->n);
    for (ptrdiff_t k = 0; k < m->y.n_kept; k++)
        for (ptrdiff_t i = 0; i < X.rows; i++) {
            ptrdiff_t j = m->y.kept[k];
            double one = m->y.sd[k], noise = m->gp.noise[k];
            assert_true(fabs(kn_at(a.mean, i, j) - kn_at(b.mean, i, j)) <= mean * one);
            assert_true(fabs(sqrt(kn_at(a.var, i, j) / one / one + noise) -
                             sqrt(kn_at(b.var, i, j) / one / one + noise)) <= sd);
        }
    free(a.mean.data), free(a.var.data), free(b.mean.data), free(b.var.data), free(X.data);
    kn_model_free(shared);
    kn_model_free(m);
}

static void one_number(void **state)
{
    (void)state;
    participants p = participants_new(60, 1, false);
    by_design(&p);
    agrees(&p, 1e-3);
    p.s.rank = -1; /* dense */
    agrees(&p, 1e-3);
    participants_free(&p);
}

static void categories_and_interactions(void **state)
{
    (void)state;
    participants p = participants_new(90, 1, true);
    by_design(&p);
    agrees(&p, 1e-3);
    p.slope = (kn_interaction){2, 0};
    p.design.interactions = &p.slope;
    p.design.n_interactions = 1;
    agrees(&p, 1e-3);
    participants_free(&p);
}

static void two_and_three_numbers(void **state)
{
    (void)state;
    for (int k = 2; k <= 3; k++) {
        participants p = participants_new(80, k, k == 2);
        by_design(&p);
        agrees(&p, KN_EXPORT_ERROR);
        participants_free(&p);
    }
}

/* Else the variance without noise would be 0 at participants and nowhere else, and tell where they
 * are.
 */
static void what_no_prediction_sees_is_left_out(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        kn_export_info info;
        participants p = participants_new(60, 1, false);
        by_design(&p);
        p.s.rank = -1;
        p.s.method = k ? "stgpr" : "smtgpr";
        kn_model *m = fit(&p), *shared = share(m, &info);
        const kn_latent *l = &shared->gp.latent;
        const kn_stgpr *s = shared->gp.own;
        const kn_decomp *R0 = k ? &s->shared[(ptrdiff_t)s->cell[0]].R0 : &l->cell[0].R0;
        double delta = INFINITY;
        for (ptrdiff_t j = 0; k && j < T; j++)
            delta = s->cell[j] == s->cell[0] ? fmin(delta, s->delta[j]) : delta;
        for (ptrdiff_t j = 0; !k && j < l->P; j++)
            delta = fmin(delta, l->d[j] / l->c[j]);
        assert_true(isfinite(delta) && R0->r[0] > KN_EXPORT_CUT * delta);
        assert_true(2 * R0->m < p.n);
        kn_model_free(shared), kn_model_free(m);
        participants_free(&p);
    }
}

static void sums_of_kernels_over_all_columns(void **state)
{
    (void)state;
    participants p = participants_new(70, 1, false);
    p.s.sample_kernel = "linear+se";
    agrees(&p, 1e-3);
    participants_free(&p);
}

static void each_response_is_univariate(void **state)
{
    (void)state;
    participants p = participants_new(60, 1, true);
    by_design(&p);
    p.s.method = "stgpr";
    agrees(&p, 1e-3);
    p.s.plain = true;
    agrees(&p, 1e-3);
    participants_free(&p);
}

static void rows_that_share_noise(void **state)
{
    (void)state;
    participants p = participants_new(80, 1, true);
    for (ptrdiff_t i = 0; i < p.n; i += 2) /* what a pair has in common */
        for (ptrdiff_t j = 0; j < T; j++) {
            double e = 1.5 * kn_rng_normal(&rng);
            kn_col(p.Y, j)[i] += e;
            kn_col(p.Y, j)[i + 1] += e;
        }
    by_design(&p);
    p.s.groups = p.group;
    agrees(&p, 1e-3);
    kn_export_info info;
    kn_model *m = fit(&p), *shared = given(share(m, &info));
    double limit = 0;
    for (ptrdiff_t k = 0; k < m->gp.P; k++) {
        limit = fmax(limit, m->gp.latent.gamma[k]);
        assert_true(shared->gp.latent.gamma[k] == m->gp.latent.gamma[k]);
    }
    assert_true(limit > 0);
    assert_int_equal(shared->gp.latent.groups.n, 0);
    kn_model_free(m), kn_model_free(shared);
    p.s.method = "stgpr";
    agrees(&p, 1e-3);
    participants_free(&p);
}

static void very_few_participants_and_nothing_predicted(void **state)
{
    (void)state;
    participants p = participants_new(3, 1, false);
    by_design(&p);
    agrees(&p, 1e-3);
    participants_free(&p);
    p = participants_new(60, 1, false);
    free(p.Y.data);
    p.Y = ref_normal(&rng, p.n, T);
    by_design(&p);
    kn_model *m = fit(&p);
    assert_int_equal(m->gp.P, 0);
    kn_model_free(m);
    agrees(&p, 0);
    participants_free(&p);
}

/* ---- points -----------------------------------------------------------------------------------
 */

static void synthetic_points_cover_the_range_to_which_covariates_are_clamped(void **state)
{
    (void)state;
    participants p = participants_new(50, 1, true);
    by_design(&p);
    kn_model *m = fit(&p);
    kn_features f = kn_features_of(&m->gp.spec.sample);
    kn_synthetic_plan plan = {.X = m->gp.latent.X, .cov = &f.rest, .points = 20};
    kn_mat S;
    bool last;
    double low, high, lowest = INFINITY, limit = -INFINITY;
    assert_ok(ctx, kn_synthetic_new(ctx, &plan, 0, &S, &last));
    assert_true(!last && S.rows == 40 && S.cols == m->x.F);
    kn_design_range(&m->x, 0, &low, &high);
    for (ptrdiff_t i = 0; i < S.rows; i++) {
        double x = kn_at(S, i, 0) * m->x.sd[0] + m->x.mean[0];
        lowest = fmin(lowest, x);
        limit = fmax(limit, x);
        for (ptrdiff_t k = 0; k < p.n; k++)
            assert_true(kn_at(S, i, 0) != kn_at(m->gp.latent.X, k, 0));
        for (ptrdiff_t k = 1; k < S.cols; k++)
            assert_true(kn_at(S, i, k) == 0);
    }
    assert_true(lowest <= low && limit >= high && lowest > low - 10 && limit < high + 10);
    double first = kn_at(S, 0, 0), end[2] = {INFINITY, -INFINITY};
    for (ptrdiff_t i = 0; i < S.rows; i++) {
        end[0] = fmin(end[0], kn_at(S, i, 0));
        end[1] = fmax(end[1], kn_at(S, i, 0));
    }
    kn_mat_clear(&S);
    assert_ok(ctx,
              kn_synthetic_between(ctx, &plan, 50, &S)); /* the error is seen at the ends too */
    assert_close(kn_at(S, 0, 0), first, 1e-12);
    assert_close(kn_at(S, 1, 0), end[0], 1e-12);
    assert_close(kn_at(S, 3, 0), end[1], 1e-12);
    kn_mat_clear(&S);
    kn_model_free(m);
    participants_free(&p);
}

/* ---- what is refused --------------------------------------------------------------------------
 */

static void refusals(void **state)
{
    (void)state;
    kn_model *out, *shared;
    kn_maps *maps;
    kn_export_info info = {0};
    participants p = participants_new(40, 1, false);
    by_design(&p);
    kn_model *m = fit(&p);
    shared = share(m, &info);
    assert_refused(ctx, kn_export_model(ctx, shared, 20, 1, &out, &info), KN_ERR_ARGUMENT,
                   "the model is already de-identified; it contains no training participants");
    assert_refused(ctx, kn_maps_loo(ctx, shared, view(p.Y), &maps), KN_ERR_ARGUMENT,
                   "the model is de-identified and has no training participants, so their maps "
                   "cannot be recreated");
    assert_refused(ctx, kn_maps_cv(ctx, shared, view(p.Y), 5, NULL, &maps), KN_ERR_ARGUMENT,
                   "the model is de-identified and has no training participants, so their maps "
                   "cannot be recreated");
    kn_model_free(shared), kn_model_free(m);
    p.s.noise = KN_NOISE_ISO;
    p.s.design = NULL;
    m = fit(&p);
    assert_refused(ctx, kn_export_model(ctx, m, 20, 1, &out, &info), KN_ERR_ARGUMENT,
                   "a model with iso noise cannot be exported");
    assert_null(out);
    kn_model_free(m);
    p.s.method = "kronprod";
    m = fit(&p);
    assert_refused(ctx, kn_export_model(ctx, m, 20, 1, &out, &info), KN_ERR_ARGUMENT,
                   "MT-Kronprod models cannot be exported; use the default method");
    kn_model_free(m);
    participants_free(&p);
}

/* Two values of a number cannot say what happens in a fiftieth of its range. */
static void too_coarse_is_refused(void **state)
{
    (void)state;
    kn_model *out;
    kn_export_info info = {0};
    participants p = participants_new(60, 1, false);
    for (ptrdiff_t i = 0; i < p.n; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(p.Y, j)[i] = 3 * sin(kn_at(p.X, i, 0)) + 0.1 * kn_at(p.Y, i, j);
    p.s.sample_kernel = "linear+se";
    p.s.length = 0.05;
    p.s.rho = 0.9;
    p.s.max_evals = 0;
    kn_model *m = fit(&p);
    assert_refused(ctx, kn_export_model(ctx, m, 2, 1, &out, &info), KN_ERR_DATA,
                   "but at most 0.01 is allowed; try {points=16}");
    assert_null(out);
    assert_true(fmax(info.mean, info.sd) > KN_EXPORT_ERROR);
    kn_model_free(m);
    participants_free(&p);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 8, 1);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(commands_export, open_fixture, close_fixture)
{
    for (int k = 0; k < 2; k++) {
        kn_status status = KN_ERR_MEMORY;
        kn_model *out = NULL;
        kn_export_info info = {0};
        participants p = participants_new(12, 1, true);
        by_design(&p);
        p.s.method = k ? "stgpr" : "smtgpr";
        kn_model *m = fit(&p);
        failing f = failing_by(11);
        while (failing_next(&f, status)) {
            kn_fail_allocation(ctx, f.k);
            status = kn_export_model(ctx, m, 20, 1, &out, &info);
            if (status != KN_OK)
                assert_null(out);
            kn_model_free(out);
            out = NULL;
        }
        kn_fail_allocation(ctx, 0);
        assert_ok(ctx, status);
        kn_model_free(m);
        participants_free(&p);
    }
}

TEST_PROGRAM(commands_export)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_number),
        cmocka_unit_test(categories_and_interactions),
        cmocka_unit_test(two_and_three_numbers),
        cmocka_unit_test(what_no_prediction_sees_is_left_out),
        cmocka_unit_test(sums_of_kernels_over_all_columns),
        cmocka_unit_test(each_response_is_univariate),
        cmocka_unit_test(rows_that_share_noise),
        cmocka_unit_test(very_few_participants_and_nothing_predicted),
        cmocka_unit_test(synthetic_points_cover_the_range_to_which_covariates_are_clamped),
        cmocka_unit_test(refusals),
        cmocka_unit_test(too_coarse_is_refused),
    };
    return cmocka_run_group_tests_name("export", tests, open_fixture, close_fixture);
}
