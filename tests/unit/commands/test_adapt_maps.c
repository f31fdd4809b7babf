/* What a model says of participants of no batch, predicted and cross-validated, against dense
 * Gaussians whose covariances with them lack the terms of batches, pair by pair [METHOD 8e]. */
#include "support/covs.h"
#include "support/test.h"
#include "support/views.h"

#include "base/random.h"
#include "commands/common/maps_api.h"
#include "cov/additive.h"
#include "data/covariates/site_levels.h"
#include "gp/cv/cv.h"
#include "gp/likelihood/engine.h"
#include "gp/method.h"
#include "gp/predict/predict.h"
#include "model/model.h"
#include "ref/deviance.h"

static kn_ctx *ctx;
static kn_rng rng;

enum { N = 48, T = 6, FRESH = 9, FOLDS = 3, P = 2 };
enum { AGE, SEX, SITE, SCANNER, COLUMNS };
static const int LEVELS[COLUMNS] = {0, 2, 4, 2};

typedef struct plan {
    const char *method;
    bool low, groups, scanners, slopes; /* both columns are batches; site:age */
    bool nothing;                       /* responses that follow nothing: P = 0 */
} plan;

typedef struct crowd {
    kn_mat raw, Y, fresh;
    int group[N], fold[N];
    kn_design_options design;
    bool batch[COLUMNS];
    kn_settings s;
    kn_model *m;
} crowd;

static void crowd_new(plan of, crowd *c)
{
    static const kn_interaction BY_SITE[] = {{SITE, AGE}};
    *c = (crowd){.raw = ref_new(N, COLUMNS),
                 .Y = ref_normal(&rng, N, T),
                 .fresh = ref_new(FRESH, COLUMNS),
                 .batch = {[SITE] = true, [SCANNER] = of.scanners}};
    kn_mat load = ref_normal(&rng, T, 3);
    for (int i = 0; i < N + FRESH; i++) {
        kn_mat raw = i < N ? c->raw : c->fresh;
        int at = i < N ? i : i - N;
        double age = 20 + 60 * kn_rng_uniform(&rng);
        kn_col(raw, AGE)[at] = age;
        kn_col(raw, SEX)[at] = (double)kn_rng_below(&rng, 2);
        kn_col(raw, SITE)[at] = i < N ? at % 4 : at % 5; /* 4: a new one */
        kn_col(raw, SCANNER)[at] = (double)kn_rng_below(&rng, 2);
        if (i >= N)
            continue;
        c->group[i] = of.groups ? i / 3 : i;
        c->fold[i] = c->group[i] % FOLDS;
        for (int j = 0; j < T && !of.nothing; j++)
            kn_col(c->Y, j)[i] += 0.04 * (age - 50) * kn_at(load, j, 0) +
                                  3 * sin(1.7 * (i % 4)) * kn_at(load, j, 1) +
                                  (i % 4 == 1) * 0.03 * (age - 50) * kn_at(load, j, 2) +
                                  of.groups * cos(c->group[i]) * kn_at(load, j, 2);
    }
    free(load.data);
    kn_settings_init(&c->s);
    c->design = (kn_design_options){.levels = LEVELS, .quadratic = 1, .batch = c->batch};
    c->design.interactions = of.slopes ? BY_SITE : NULL;
    c->design.n_interactions = of.slopes;
    c->s.design = &c->design;
    c->s.method = of.method;
    c->s.groups = of.groups ? c->group : NULL;
    c->s.rank = of.low ? KN_RANK_AUTO : KN_RANK_FULL;
    if (!of.nothing && strcmp(of.method, "smtgpr") == 0)
        c->s.components = P;
    assert_ok(ctx, kn_fit_arrays(ctx, view(c->raw), view(c->Y), &c->s, &c->m));
}

static void crowd_free(crowd *c)
{
    kn_model_free(c->m);
    free(c->raw.data), free(c->Y.data), free(c->fresh.data);
}

/* ---- the slow version ------------------------------------------------------------------------ */

typedef struct kernel { /* weights of the terms, and the length of the smooth one */
    const kn_model *m;
    double w[KN_COV_TERMS], length;
} kernel;

static kernel kernel_of(const kn_model *m)
{
    const kn_cov *cov = &m->gp.spec.sample;
    const double *theta = m->gp.latent.cell[0].R0.theta;
    kernel k = {.m = m};
    for (int t = 0; t < cov->n; t++) {
        k.w[t] = exp(2 * theta[cov->term[t].at]);
        if (strcmp(cov->term[t].kernel->name, "se") == 0)
            k.length = exp(theta[cov->term[t].at + 1]);
    }
    return k;
}

/* Of two rows of a design; without: batches have no part. */
static double relation(const kernel *k, kn_mat X, ptrdiff_t i, kn_mat Xs, ptrdiff_t s, bool without)
{
    const kn_cov *cov = &k->m->gp.spec.sample;
    double sum = 0;
    for (int t = 0; t < cov->n; t++) {
        const kn_term *term = &cov->term[t];
        ptrdiff_t of = kn_cov_origin(cov, &k->m->x, t).column;
        double dot = 0, distance = 0;
        if (without && of >= 0 && k->m->x.column[of].batch)
            continue;
        for (ptrdiff_t f = term->first; f < term->first + term->count; f++) {
            double x = kn_at(X, i, f), y = kn_at(Xs, s, f);
            dot += x * y;
            distance += (x - y) * (x - y);
        }
        sum += k->w[t] * (strcmp(term->kernel->name, "se") == 0
                              ? exp(-0.5 * distance / (k->length * k->length))
                              : dot / term->scale);
    }
    return sum;
}

typedef struct dense { /* one component, or one response */
    const kernel *k;
    kn_mat X;         /* n x F of training */
    const int *group; /* n  NULL: none */
    double c, d, gamma;
} dense;

static kn_mat covariance(const dense *q)
{
    ptrdiff_t n = q->X.rows;
    kn_mat K = ref_new(n, n);
    for (ptrdiff_t a = 0; a < n; a++)
        for (ptrdiff_t b = 0; b < n; b++)
            kn_col(K, b)[a] = q->c * relation(q->k, q->X, a, q->X, b, false) + q->d * (a == b) +
                              q->d * q->gamma * (q->group && q->group[a] == q->group[b]);
    return K;
}

/* Mean and variance of new participants; alone[s]: of no batch. */
static void posterior(const dense *q, const double *z, kn_mat Xs, const bool *without_site,
                      double *mean, double *var)
{
    ptrdiff_t n = q->X.rows;
    kn_mat K = covariance(q), Ks = ref_new(Xs.rows, n);
    double kss[N + FRESH];
    for (ptrdiff_t s = 0; s < Xs.rows; s++) {
        kss[s] = q->c * relation(q->k, Xs, s, Xs, s, without_site[s]);
        for (ptrdiff_t a = 0; a < n; a++)
            kn_col(Ks, a)[s] = q->c * relation(q->k, q->X, a, Xs, s, without_site[s]);
    }
    ref_gp(K, z, Ks, kss, mean, var);
    free(K.data), free(Ks.data);
}

/* Y in the units of the process, some rows. */
static kn_mat standardised(const crowd *c, const ptrdiff_t *rows, ptrdiff_t n)
{
    kn_mat Y = ref_new(n, T);
    for (int j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(Y, j)[i] =
                (kn_at(c->Y, rows ? rows[i] : i, j) - c->m->y.mean[j]) / c->m->y.sd[j];
    return Y;
}

static double slope_of(const kn_model *m, ptrdiff_t j)
{
    return m->gp.slope ? m->gp.slope[j] : 1;
}

/* ---- predicted ------------------------------------------------------------------------------- */

static void expect_components(const crowd *c, kn_mat Xs, const bool *without_site, kn_mat mean,
                              kn_mat var)
{
    const kn_model *m = c->m;
    kernel k = kernel_of(m);
    kn_mat Y = standardised(c, NULL, N), Z = ref_mul(0, Y, 0, m->gp.B);
    double own[FRESH], v[FRESH];
    for (ptrdiff_t p = 0; p < m->gp.P; p++) {
        dense q = {&k,
                   m->gp.latent.X,
                   m->gp.latent.gamma ? c->group : NULL,
                   m->gp.latent.c[p],
                   m->gp.latent.d[p],
                   kn_latent_gamma(&m->gp.latent, p)};
        posterior(&q, kn_col(Z, p), Xs, without_site, own, v);
        for (int j = 0; j < T; j++)
            for (int i = 0; i < FRESH; i++) {
                double b = kn_at(m->gp.B, j, p);
                kn_col(mean, j)[i] += slope_of(m, j) * b * own[i];
                kn_col(var, j)[i] += b * b * v[i];
            }
    }
    free(Y.data), free(Z.data);
}

static kernel kernel_of_cell(const kn_model *m, ptrdiff_t j)
{
    kn_view cells = kn_model_array(m, "cells");
    ptrdiff_t at = (ptrdiff_t)kn_view_at(kn_model_array(m, "cell"), j, 0);
    int n = m->gp.spec.sample.n;
    kernel k = {.m = m, .length = kn_view_at(cells, at, n)};
    for (int t = 0; t < n; t++)
        k.w[t] = kn_view_at(cells, at, t);
    return k;
}

static dense response_of(const crowd *c, const kernel *k, ptrdiff_t j)
{
    kn_view gamma = kn_model_array(c->m, "gamma");
    return (dense){k,
                   c->m->gp.latent.X,
                   gamma.data ? c->group : NULL,
                   kn_view_at(kn_model_array(c->m, "c"), j, 0),
                   kn_view_at(kn_model_array(c->m, "d"), j, 0),
                   gamma.data ? kn_view_at(gamma, j, 0) : 0};
}

static void expect_responses(const crowd *c, kn_mat Xs, const bool *without_site, kn_mat mean,
                             kn_mat var)
{
    kn_mat Y = standardised(c, NULL, N);
    for (int j = 0; j < T; j++) {
        kernel k = kernel_of_cell(c->m, j);
        dense q = response_of(c, &k, j);
        posterior(&q, kn_col(Y, j), Xs, without_site, kn_col(mean, j), kn_col(var, j));
        for (int i = 0; i < FRESH; i++)
            kn_col(mean, j)[i] *= slope_of(c->m, j);
    }
    free(Y.data);
}

static void check_predicted(const crowd *c, double tol)
{
    const kn_model *m = c->m;
    bool without_site[FRESH];
    kn_maps *maps;
    kn_mat Xs = ref_new(FRESH, m->x.F), mean = ref_new(FRESH, T), var = ref_new(FRESH, T);
    kn_mat own = ref_new(FRESH, T), v = ref_new(FRESH, T);
    for (int i = 0; i < FRESH; i++)
        without_site[i] = kn_at(c->fresh, i, SITE) == LEVELS[SITE] || i % 2;
    assert_ok(ctx, kn_design_apply(ctx, &m->x, view(c->fresh), true, Xs, NULL));
    (strcmp(c->s.method, "stgpr") == 0 ? expect_responses : expect_components)(c, Xs, without_site,
                                                                               mean, var);
    assert_ok(ctx,
              kn_maps_predict_known(ctx, m, view(c->fresh),
                                    (kn_predict_context){.without_site = without_site}, &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, own, v));
    for (int j = 0; j < T; j++)
        for (int i = 0; i < FRESH; i++) {
            double sd = m->y.sd[j];
            assert_close(kn_at(own, i, j), m->y.mean[j] + sd * kn_at(mean, i, j), tol);
            assert_close(kn_at(v, i, j), sd * sd * kn_at(var, i, j), tol);
        }
    kn_maps_free(maps);
    free(Xs.data), free(mean.data), free(var.data), free(own.data), free(v.data);
}

/* ---- cross-validated ------------------------------------------------------------------------- */

typedef struct split { /* a fold */
    ptrdiff_t train[N], test[N], n, h;
    int group[N];
    double mu[T];
    kn_mat Y, X, Xs; /* Y without mu */
} split;

static split split_new(const crowd *c, int f)
{
    split o = {0};
    for (int i = 0; i < N; i++)
        if (c->fold[i] == f)
            o.test[o.h++] = i;
        else
            o.group[o.n] = c->group[i], o.train[o.n++] = i;
    o.Y = standardised(c, o.train, o.n);
    for (int j = 0; j < T; j++) {
        for (ptrdiff_t i = 0; i < o.n; i++)
            o.mu[j] += kn_at(o.Y, i, j) / (double)o.n;
        for (ptrdiff_t i = 0; i < o.n; i++)
            kn_col(o.Y, j)[i] -= o.mu[j];
    }
    o.X = ref_new(o.n, c->m->x.F);
    o.Xs = ref_new(o.h, c->m->x.F);
    kn_mat_rows(c->m->gp.latent.X, o.train, o.X);
    kn_mat_rows(c->m->gp.latent.X, o.test, o.Xs);
    return o;
}

static void split_free(split *o)
{
    free(o->Y.data), free(o->X.data), free(o->Xs.data);
}

static const bool EVERYBODY[N] = {[0 ... N - 1] = true};

/* Basis, c, d and gamma of the others alone. */
static void fold_of_components(const crowd *c, split *o, kn_mat mean)
{
    const kn_model *m = c->m;
    kernel k = kernel_of(m);
    kn_mat YY = ref_mul(1, o->Y, 0, o->Y);
    double w[T], lml, own[N], v[N];
    ref_eig(YY, w);
    kn_mat B = kn_cols(YY, 0, P), Z = ref_mul(0, o->Y, 0, B);
    kn_groups g = {0};
    if (c->s.groups)
        assert_ok(ctx, kn_groups_new(ctx, o->n, o->group, &g));
    kn_engine e;
    kn_latent l;
    kn_mat X;
    kn_spec spec = {.sample = m->gp.spec.sample, .additive = true};
    kn_engine_data data = {.X = o->X, .Z = Z, .groups = &g, .T = T, .total = 1};
    assert_ok(ctx, kn_engine_new(ctx, &spec, &data, &e));
    assert_ok(ctx, kn_engine_at(ctx, &e, m->gp.latent.cell[0].R0.theta, &lml));
    assert_ok(ctx, kn_mat_copy(ctx, o->X, &X));
    assert_ok(ctx, kn_engine_latent(ctx, &X, &e, &l));
    for (int p = 0; p < P; p++) {
        dense q = {&k, o->X, c->s.groups ? o->group : NULL, l.c[p], l.d[p], kn_latent_gamma(&l, p)};
        posterior(&q, kn_col(Z, p), o->Xs, EVERYBODY, own, v);
        for (int j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < o->h; i++)
                kn_col(mean, j)[o->test[i]] += slope_of(m, j) * kn_at(B, j, p) * own[i];
    }
    kn_latent_clear(&l);
    kn_engine_clear(&e);
    free(YY.data), free(Z.data);
}

/* -2 ln likelihood of K = R0 + e^t H with the best c, and that c. */
static double profile(dense *q, const double *y, double t, double *c)
{
    ptrdiff_t n = q->X.rows;
    double logdet = 0, square = 0;
    kn_mat x = ref_new(n, 1);
    q->c = 1, q->d = exp(t);
    kn_mat K = covariance(q);
    memcpy(x.data, y, (size_t)n * sizeof *y);
    ref_solve(K, x); /* and K is its factor */
    for (ptrdiff_t i = 0; i < n; i++) {
        logdet += 2 * log(kn_at(K, i, i));
        square += x.data[i] * y[i];
    }
    *c = square / (double)n;
    free(K.data), free(x.data);
    return logdet + (double)n * log(*c);
}

/* c and d of the others alone, cell and gamma held. */
static void fold_of_response(const crowd *c, split *o, int j, kn_mat mean)
{
    kernel k = kernel_of_cell(c->m, j);
    dense q = response_of(c, &k, j);
    double best = INFINITY, at = 0, own[N], v[N], scale;
    q.X = o->X;
    q.group = q.group ? o->group : NULL;
    for (double width = 11, middle = 3; width > 1e-7; width /= 5, middle = at)
        for (int i = -10; i <= 10; i++) {
            double t = fmin(fmax(middle + width * i / 10, -8), 14);
            double loss = profile(&q, kn_col(o->Y, j), t, &scale);
            if (loss < best)
                best = loss, at = t;
        }
    profile(&q, kn_col(o->Y, j), at, &scale);
    q.c = scale, q.d = scale * exp(at);
    posterior(&q, kn_col(o->Y, j), o->Xs, EVERYBODY, own, v);
    for (ptrdiff_t i = 0; i < o->h; i++)
        kn_col(mean, j)[o->test[i]] += slope_of(c->m, j) * own[i];
}

static void check_cross_validated(const crowd *c, double tol)
{
    const kn_model *m = c->m;
    kn_responses Y = kn_responses_of(view(c->Y), &m->y);
    kn_mat X_without_site, mean = ref_new(N, T), own = ref_new(N, T), before = ref_new(N, T);
    kn_gp_maps cv;
    assert_ok(ctx, kn_mat_copy(ctx, m->gp.latent.X, &X_without_site));
    kn_design_set_without_site(&m->x, NULL, X_without_site);
    kn_cv_problem problem = {.Y = &Y,
                             .folds = FOLDS,
                             .fold = c->fold,
                             .X_without_site = X_without_site};
    assert_ok(ctx, kn_gp_cv(ctx, &m->gp, &problem, &cv));
    assert_ok(ctx, kn_gp_maps_block(ctx, &cv, 0, before, kn_mat_none()));
    kn_gp_maps_set_without_site(&cv);
    assert_ok(ctx, kn_gp_maps_block(ctx, &cv, 0, own, kn_mat_none()));
    for (int f = 0; f < FOLDS; f++) {
        split o = split_new(c, f);
        for (int j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < o.h; i++)
                kn_col(mean, j)[o.test[i]] = o.mu[j];
        if (strcmp(c->s.method, "stgpr") == 0)
            for (int j = 0; j < T; j++)
                fold_of_response(c, &o, j, mean);
        else if (m->gp.P > 0)
            fold_of_components(c, &o, mean);
        split_free(&o);
    }
    assert_same(own, mean, tol);
    if (m->gp.P > 0)
        assert_true(ref_difference(before, own) > 0.1); /* sites do matter */
    kn_gp_maps_clear(&cv);
    kn_mat_clear(&X_without_site);
    free(mean.data), free(own.data), free(before.data);
}

/* ---- promises -------------------------------------------------------------------------------- */

static void check(plan of, double predicted, double held_out)
{
    crowd c;
    crowd_new(of, &c);
    assert_int_equal(c.m->batch.M, 1 + of.scanners);
    assert_true(c.m->sites.T == T && c.m->sites.S == (of.scanners ? 8 : 4));
    check_predicted(&c, predicted);
    check_cross_validated(&c, held_out);
    crowd_free(&c);
}

static void components_leave_batches_as_dense_gaussians_do(void **state)
{
    (void)state;
    for (int k = 0; k < 16; k += repeat(1, 5)) {
        plan of = {"smtgpr", k & 1, k & 2, k & 4, k & 8, false};
        check(of, of.low ? 1e-8 : 1e-10, 1e-7); /* a fold searches for its c and d */
    }
}

static void univariate_leave_site_out_equals_dense_gaussians(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k += repeat(1, 3)) /* few: without all three, and with them */
        check((plan){"stgpr", false, k & 1, k & 2, k & 2, false}, 1e-9, 1e-5);
}

static void without_components_all_predictions_are_the_training_mean(void **state)
{
    (void)state;
    crowd c;
    for (int draw = 0;; draw++) { /* in one draw of 20 noise looks like a component */
        crowd_new((plan){"smtgpr", .nothing = true}, &c);
        if (c.m->gp.P == 0)
            break;
        assert_true(draw < 10);
        crowd_free(&c);
    }
    check_predicted(&c, 1e-12);
    check_cross_validated(&c, 1e-12);
    crowd_free(&c);
}

TEST_PROGRAM(commands_adapt_maps)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 12, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components_leave_batches_as_dense_gaussians_do),
        cmocka_unit_test(univariate_leave_site_out_equals_dense_gaussians),
        cmocka_unit_test(without_components_all_predictions_are_the_training_mean),
    };
    int failed = cmocka_run_group_tests_name("adapt_maps", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
