/* Cells of additive terms and of groups against dense Gaussians. */
#include "support/stgpr_cohorts.h"

#include "gp/methods/stgpr/weight_cells.h"

/* Who is left out: row i, or with groups all of its group. */
static void assert_leaves_out_as_dense(const cohort *c, const kn_model *model, bool groups,
                                       double tol)
{
    kn_maps *maps;
    assert_ok(ctx, kn_maps_loo(ctx, model, view(c->Y), &maps));
    maps_of l = collect(maps, c->T);
    ptrdiff_t *rows = all_rows(c->N);
    double *y = calloc((size_t)c->N, sizeof *y);
    for (ptrdiff_t j = 0; j < c->T; j++)
        for (ptrdiff_t i = 0; i < c->N; i += 5) {
            dense_part p = dense_of(c, model, j);
            double mean, var;
            for (ptrdiff_t r = 0; r < c->N; r++)
                if (groups ? c->code[r] != c->code[i] : r != i) {
                    y[p.n] = kn_at(c->Y, r, j);
                    rows[p.n++] = r;
                }
            p.rows = rows;
            p.Xs = kn_sub(c->raw, i, 0, 1, 3);
            p.us = kn_sub(c->u, i, 0, 1, 1);
            dense_additive(&p, y, &mean, &var);
            assert_close(kn_at(l.mean, i, j), mean, tol);
            assert_close(kn_at(l.var, i, j), var, tol);
        }
    release(l);
    free(y), free(rows);
}

/* How many are younger than participant i, of his sex and site. */
static int nearest_rank(const cohort *c, int i)
{
    int n = 0;
    for (ptrdiff_t k = 0; k < c->N; k++)
        n += kn_at(c->raw, k, 2) == kn_at(c->raw, i, 2) &&
             kn_at(c->raw, k, 1) == kn_at(c->raw, i, 1) &&
             kn_at(c->raw, k, 0) < kn_at(c->raw, i, 0);
    return n;
}

static void additive_cells_match_dense_gaussians(void **state)
{
    (void)state;
    int silent[2] = {0};
    for (int groups = 0; groups < 2; groups++)
        for (int n = 0; n < 3; n++) {
            cohort c = cohort_of(&rng, 48, 6, groups + 1, 2);
            kn_settings o = additive_of(&c, groups);
            kn_fit_info info;
            double rho = 0.5 * n, w[TERMS] = {0.6 * (1 - rho), 0.3 * rho, 0.3 * rho, 0.2, 0.2};
            o.rho = rho;
            o.length = 0.7 + n;
            o.max_evals = 0;             /* what cells take is the middle then */
            for (int i = 0; i < 48; i++) /* unlike all neighbours: pure noise is likeliest */
                kn_col(c.Y, 5)[i] = nearest_rank(&c, i) % 2 ? 1.0 : -1.0;
            kn_model *model = fit(c.raw, c.Y, &o, &info);
            kn_view cells = kn_model_array(model, "cells");
            for (ptrdiff_t k = 0; k < cells.rows; k++)
                for (int t = 0; t <= TERMS; t++)
                    assert_close(kn_view_at(cells, k, t), t < TERMS ? w[t] : o.length, 1e-15);
            assert_int_equal(info.stop, KN_STOP_NOT_OPTIMISED);
            silent[groups] += kn_view_at(kn_model_array(model, "c"), 5, 0) == 0;
            assert_predicts_as_dense(&c, model, groups, 1e-10);
            assert_leaves_out_as_dense(&c, model, groups, 1e-9);
            kn_model_free(model);
            cohort_free(c);
        }
    assert_true(silent[0] > 0 && silent[1] > 0);
}

/* Categories have the weights of the S-MTGPR fit; cells move what is left. */
static void weights_of_categories_are_fixed_at_the_smtgpr_fit(void **state)
{
    (void)state;
    cohort c = cohort_of(&rng, 60, 8, 1, 0);
    kn_settings o = additive_of(&c, false);
    kn_fit_info info;
    kn_cov_point base;
    double total;
    kn_model *model = fit(c.raw, c.Y, &o, &info);
    o.method = "smtgpr";
    kn_model *joint = fit(c.raw, c.Y, &o, &info);
    const kn_decomp *R0 = &joint->gp.latent.cell[0].R0;
    kn_cov_point_of(&R0->cov, R0->theta, &base, &total);
    kn_view cells = kn_model_array(model, "cells");
    for (ptrdiff_t k = 0; k < cells.rows; k++) {
        double sum = 0, quad = kn_view_at(cells, k, 1), se = kn_view_at(cells, k, 2);
        for (int t = 0; t < TERMS; t++)
            sum += kn_view_at(cells, k, t);
        assert_close(sum, 1, 1e-14);
        assert_close(kn_view_at(cells, k, 3), base.w[3], 1e-9);
        assert_close(kn_view_at(cells, k, 4), base.w[4], 1e-9);
        assert_close(quad * base.w[2], se * base.w[1], 1e-9);
    }
    assert_predicts_as_dense(&c, model, false, 1e-8);
    kn_model_free(joint);
    kn_model_free(model);
    cohort_free(c);
}

static void planted_gamma_is_found(void **state)
{
    (void)state;
    enum { N = 90, T = 40 };
    int right = 0;
    cohort c = cohort_of(&rng, N, T, 3, 3);
    kn_settings o = additive_of(&c, true);
    kn_fit_info info;
    kn_model *model = fit(c.raw, c.Y, &o, &info);
    kn_view gamma = kn_model_array(model, "gamma");
    for (int j = 0; j < T; j++) /* 3 in every other response, else 0 */
        right += j % 2 ? kn_view_at(gamma, j, 0) >= 1 : kn_view_at(gamma, j, 0) <= 0.3;
    assert_true(right >= 0.9 * T);
    assert_predicts_as_dense(&c, model, true, 1e-8);
    kn_model_free(model);
    cohort_free(c);
}

/* c and d of a fold by search, cell and gamma held. */
static void refit(dense_part *p, const double *y)
{
    double best = -INFINITY, at = 0, none[1];
    kn_mat nobody = {0};
    p->Xs = p->us = nobody;
    for (int pass = 0; pass < 12; pass++) {
        double width = 11 * pow(0.15, pass), middle = pass == 0 ? 3 : at;
        for (int k = -22; k <= 22; k++) {
            double t = middle + width * k / 22, q = 0;
            if (t < -8 || t > 14)
                continue;
            p->cj = 1, p->dj = exp(t);
            double one = dense_additive(p, y, none, none), n = (double)p->n;
            p->cj = 4, p->dj = 4 * exp(t); /* two scales tell y'K^-1 y and the determinant */
            double four = dense_additive(p, y, none, none);
            q = (four - one + 0.5 * n * log(4)) / (0.5 * (1 - 0.25));
            double lml = one + 0.5 * q - 0.5 * n - 0.5 * n * log(q / n);
            if (lml > best) {
                best = lml;
                at = t;
            }
        }
    }
    p->cj = 1, p->dj = exp(at);
    double one = dense_additive(p, y, none, none), n = (double)p->n;
    p->cj = 4, p->dj = 4 * exp(at);
    double four = dense_additive(p, y, none, none);
    double c = (four - one + 0.5 * n * log(4)) / (0.5 * (1 - 0.25)) / n;
    p->cj = c, p->dj = c * exp(at);
}

static void additive_folds_hold_cell_and_gamma(void **state)
{
    (void)state;
    enum { N = 40, T = 4, FOLDS = 4 };
    for (int groups = 0; groups < 2; groups++) {
        cohort c = cohort_of(&rng, N, T, 2, 3);
        kn_settings o = additive_of(&c, groups);
        kn_fit_info info;
        kn_maps *maps;
        int fold[N];
        for (int i = 0; i < N; i++)
            fold[i] = c.code[i] % FOLDS;
        kn_model *model = fit(c.raw, c.Y, &o, &info);
        assert_ok(ctx, kn_maps_cv(ctx, model, view(c.Y), FOLDS, fold, &maps));
        maps_of m = collect(maps, T);
        for (int j = 0; j < T; j++)
            for (int k = 0; k < FOLDS; k++) {
                dense_part p = dense_of(&c, model, j);
                ptrdiff_t rows[N], out[N], n_out = 0;
                double y[N], mu = 0, mean[1], var[1];
                for (int i = 0; i < N; i++)
                    if (fold[i] == k)
                        out[n_out++] = i;
                    else
                        rows[p.n++] = i;
                p.rows = rows;
                for (ptrdiff_t i = 0; i < p.n; i++)
                    mu += kn_at(c.Y, rows[i], j) / (double)p.n;
                for (ptrdiff_t i = 0; i < p.n; i++)
                    y[i] = kn_at(c.Y, rows[i], j) - mu;
                refit(&p, y);
                for (ptrdiff_t i = 0; i < n_out; i++) {
                    p.Xs = kn_sub(c.raw, out[i], 0, 1, 3);
                    p.us = kn_sub(c.u, out[i], 0, 1, 1);
                    dense_additive(&p, y, mean, var);
                    assert_close(kn_at(m.mean, out[i], j), mean[0] + mu, 1e-4);
                    assert_close(kn_at(m.var, out[i], j), var[0], 1e-4);
                }
            }
        release(m);
        kn_model_free(model);
        cohort_free(c);
    }
}

static void low_rank_cells_agree_with_dense_ones(void **state)
{
    (void)state;
    for (int groups = 0; groups < 2; groups++) {
        enum { N = 200, T = 9, FOLDS = 4 };
        cohort c = cohort_of(&rng, N, T, 2, 2);
        kn_settings o = additive_of(&c, groups);
        kn_fit_info full, low;
        int fold[N];
        for (int i = 0; i < N; i++)
            fold[i] = c.code[i] % FOLDS;
        o.rho = 0.4;
        o.length = 1.3;
        o.max_evals = 0;
        kn_model *model[2] = {fit(c.raw, c.Y, &o, &full), NULL};
        o.rank = KN_RANK_AUTO;
        model[1] = fit(c.raw, c.Y, &o, &low);
        assert_true(full.rank == N && low.rank == N / 4);
        kn_cell_samples samples = {.cov = &model[1]->gp.spec.sample,
                                   .X = model[1]->gp.latent.X,
                                   .groups = groups ? &model[1]->gp.latent.groups : NULL,
                                   .rank = N / 4};
        kn_cov_point at = kn_cell_point(samples.cov, ((kn_stgpr *)model[1]->gp.own)->cells, 0);
        kn_cell_work w;
        assert_ok(ctx, kn_cell_work_new(ctx, N, &samples, 1, &w));
        assert_ok(ctx, kn_cell_decompose(ctx, &w, &at, 0.3));
        assert_true(kn_cell_is_low(&w)); /* there are no pairs to be dense with */
        kn_cell_work_clear(&w);
        assert_close(low.lml, full.lml, 1e-8);
        maps_of m[2][4];
        for (int k = 0; k < 2; k++) {
            kn_maps *maps;
            ptrdiff_t number[6] = {3, -1, 0, 2, 5, -1};
            m[k][0] = predict(model[k], c.news, T);
            assert_ok(ctx, kn_maps_loo(ctx, model[k], view(c.Y), &maps));
            m[k][1] = collect(maps, T);
            assert_ok(ctx, kn_maps_cv(ctx, model[k], view(c.Y), FOLDS, fold, &maps));
            m[k][2] = collect(maps, T);
            assert_ok(ctx,
                      kn_maps_predict_known(ctx, model[k], view(c.news),
                                            (kn_predict_context){.group = groups ? number : NULL},
                                            &maps));
            m[k][3] = collect(maps, T);
        }
        for (int what = 0; what < 4; what++) {
            assert_same(m[1][what].mean, m[0][what].mean, 1e-7);
            assert_same(m[1][what].var, m[0][what].var, 1e-7);
            release(m[0][what]), release(m[1][what]);
        }
        kn_model_free(model[0]);
        kn_model_free(model[1]);
        cohort_free(c);
    }
}

/* One cell where no continuous covariate is, and no pilot where there is nothing to take. */
static void covariates_of_one_kind_do(void **state)
{
    (void)state;
    cohort c = cohort_of(&rng, 40, 5, 2, 1);
    kn_settings o = additive_of(&c, false);
    kn_fit_info info;
    kn_mat sites = kn_cols(c.raw, 1, 2), age = kn_cols(c.raw, 0, 1);
    kn_design_options design = {.quadratic = -1, .levels = LEVELS + 1};
    o.design = &design;
    for (int few = 0; few < 2; few++) { /* both, site alone */
        design.levels = LEVELS + 1 + few;
        kn_model *model = fit(kn_cols(sites, few, 2 - few), c.Y, &o, &info);
        assert_int_equal(kn_model_array(model, "cells").rows, 1);
        assert_int_equal(kn_model_array(model, "cells").cols, 2 - few);
        kn_model_free(model);
    }
    design.levels = LEVELS;
    design.quadratic = 0;
    kn_model *model = fit(age, c.Y, &o, &info);
    assert_int_equal(kn_model_array(model, "cells").cols, 3);
    kn_model_free(model);
    cohort_free(c);
}

TEST_PROGRAM(stgpr_additive)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(additive_cells_match_dense_gaussians),
        cmocka_unit_test(weights_of_categories_are_fixed_at_the_smtgpr_fit),
        cmocka_unit_test(planted_gamma_is_found),
        cmocka_unit_test(additive_folds_hold_cell_and_gamma),
        cmocka_unit_test(low_rank_cells_agree_with_dense_ones),
        cmocka_unit_test(covariates_of_one_kind_do),
    };
    return cmocka_run_group_tests_name("stgpr_additive", tests, begin_seeded, end);
}
