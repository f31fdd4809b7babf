/* The density of a whole map against the dense Gaussian of each sample: density and deviances of
 * maps predicted and cross-validated, with and without missing responses. */
#include "support/test.h"
#include "support/views.h"

#include "base/random.h"
#include "gp/assign_folds.h"
#include "gp/cv/cv.h"
#include "gp/methods/methods.h"
#include "gp/predict/covariance.h"
#include "gp/predict/map_density.h"
#include "gp/predict/predict.h"
#include "model/file/file.h"

static kn_ctx *ctx;
static kn_rng rng;

enum { F = 2, FOLDS = 3, NEW = 7 };

/* Responses with something to find in them, in units of their own. */
static void participants(ptrdiff_t n, ptrdiff_t T, double signal, kn_mat *X, kn_mat *Y)
{
    *X = ref_normal(&rng, n, F);
    *Y = ref_normal(&rng, n, T);
    for (ptrdiff_t i = 0; i < n; i++) {
        double shared = kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(*Y, j)[i] = 3 + (double)(j + 1) * (kn_at(*Y, i, j) + shared * cos((double)j) +
                                                      signal * kn_at(*X, i, 0) * sin((double)j) +
                                                      signal * kn_at(*X, i, 1));
    }
}

/* e'S^-1 e and ln N(e; 0, S) over the responses that there are; T/|J| where wanted. */
static void dense(kn_mat S, const double *e, double *dev, double *log_p)
{
    ptrdiff_t T = S.rows, n = 0, J[64];
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(e[j]))
            J[n++] = j;
    *dev = *log_p = NAN;
    if (2 * n < T)
        return;
    kn_mat s = ref_new(n, n), copy = ref_new(n, n), x = ref_new(n, 1);
    double own[64];
    for (ptrdiff_t a = 0; a < n; a++) {
        x.data[a] = own[a] = e[J[a]];
        for (ptrdiff_t b = 0; b < n; b++)
            kn_col(s, a)[b] = kn_col(copy, a)[b] = kn_at(S, J[b], J[a]);
    }
    *log_p = ref_log_density(s, own);
    ref_solve(copy, x);
    *dev = 0;
    for (ptrdiff_t a = 0; a < n; a++)
        *dev += x.data[a] * own[a] * (double)T / (double)n;
    free(s.data), free(copy.data), free(x.data);
}

/* B diag(d) B' + s (I - BB') */
static kn_mat spread(kn_mat B, const double *d, double s)
{
    kn_mat S = ref_new(B.rows, B.rows);
    for (ptrdiff_t a = 0; a < B.rows; a++)
        for (ptrdiff_t b = 0; b < B.rows; b++) {
            double sum = a == b ? s : 0;
            for (ptrdiff_t p = 0; p < B.cols; p++)
                sum += kn_at(B, a, p) * kn_at(B, b, p) * (d[p] - s);
            kn_col(S, a)[b] = sum;
        }
    return S;
}

/* Energy outside the basis of what a fold was trained on, a cell of its own at a time. */
static double fold_s2(const kn_responses *Y, const kn_fold_prediction *p, kn_mat B)
{
    ptrdiff_t T = Y->T, n = p->n_train;
    kn_mat y = ref_new(Y->N, T);
    double sum = 0;
    kn_responses_block(ctx, Y, 0, y);
    for (ptrdiff_t j = 0; j < T; j++) {
        double mean = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            mean += kn_at(y, p->train[i], j) / (double)n;
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(y, j)[p->train[i]] -= mean;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < T; j++) {
            double rest = kn_at(y, p->train[i], j);
            for (ptrdiff_t q = 0; q < B.cols; q++)
                for (ptrdiff_t k = 0; k < T; k++)
                    rest -= kn_at(B, j, q) * kn_at(B, k, q) * kn_at(y, p->train[i], k);
            sum += rest * rest;
        }
    free(y.data);
    return T > B.cols ? sum / (double)(n * (T - B.cols)) : 0;
}

typedef struct covariances {
    kn_mat model, noise;
} covariances;

/* Of sample i of a part, by what METHOD says of each model. */
static covariances of_sample(const kn_gp_maps *maps, const kn_responses *Y, int part, ptrdiff_t i)
{
    const kn_gp *gp = maps->gp;
    const kn_fold_prediction *p = &maps->part[part];
    bool iso = gp->spec.noise == KN_NOISE_ISO, known = maps->known && maps->known[i];
    ptrdiff_t P = p->var.cols - gp->complement_component;
    kn_mat B = ref_new(gp->T, P);
    double v[65], d[64], s2 = gp->s2;
    assert_ok(ctx, kn_components_basis(ctx, maps, part, 0, kn_mat_none(), B));
    for (ptrdiff_t q = 0; q < p->var.cols; q++)
        v[q] = kn_at(p->var, i, q);
    for (ptrdiff_t q = 0; q < P; q++)
        d[q] = iso     ? s2
               : p->d  ? p->d[q]
               : known ? gp->latent.d[q]
                       : kn_latent_noise(&gp->latent, q);
    if (p->train && !iso)
        s2 = fold_s2(Y, p, B);
    covariances c = {spread(B, v, gp->complement_component ? v[P] : 0), spread(B, d, s2)};
    free(B.data);
    return c;
}

/* Every sample's numbers by brute force. x: covariates of predicted maps; their model covariance
 * is then asked for, not made here. */
static void check(const kn_gp_maps *maps, const kn_responses *Y, kn_mat x, double tolerance)
{
    const kn_gp *gp = maps->gp;
    ptrdiff_t T = gp->T, n = maps->n, all[64];
    kn_map_density_state w;
    kn_mat y = ref_new(n, T), mean = ref_new(n, T), var = ref_new(n, T);
    kn_responses own = Y ? *Y : kn_gp_maps_y(maps);
    assert_ok(ctx, kn_map_density_evaluate(ctx, maps, Y, &w));
    kn_responses_block(ctx, &own, 0, y);
    assert_ok(ctx, kn_gp_maps_block(ctx, maps, 0, mean, var));
    for (ptrdiff_t j = 0; j < T; j++)
        all[j] = j;
    for (int k = 0; k < (maps->n_parts ? maps->n_parts : 1); k++)
        for (ptrdiff_t i = 0; i < (maps->n_parts ? maps->part[k].n : n); i++) {
            const ptrdiff_t *rows = maps->n_parts ? maps->part[k].rows : NULL;
            ptrdiff_t row = rows ? rows[i] : i;
            covariances c = {ref_new(T, T), ref_new(T, T)};
            double e[64], null[64], dev, noise, log_p, unused, log_null;
            kn_mat S0 = ref_new(T, T);
            if (maps->n_parts) {
                free(c.model.data), free(c.noise.data);
                c = of_sample(maps, &maps->Y, k, i);
                if (x.data && !(maps->known && maps->known[i])) {
                    kn_mat model = ref_new(T, T);
                    assert_ok(ctx, kn_gp_covariance(ctx, gp, kn_sub(x, i, 0, 1, x.cols), all, model,
                                                    kn_mat_none()));
                    assert_same(c.model, model, 1e-12);
                    free(model.data);
                }
            }
            for (ptrdiff_t j = 0; j < T; j++) {
                const kn_scaling *s = own.scaling;
                double sd = s->sd0[j] / s->sd[j];
                e[j] = kn_at(y, row, j) - kn_at(mean, row, j);
                null[j] =
                    isfinite(e[j]) ? kn_at(y, row, j) - (s->mean0[j] - s->mean[j]) / s->sd[j] : NAN;
                kn_col(S0, j)[j] = sd * sd;
                if (maps->n_parts == 0) {
                    kn_col(c.model, j)[j] = kn_at(var, row, j);
                    kn_col(c.noise, j)[j] = gp->noise[j];
                }
            }
            for (ptrdiff_t q = 0; q < T * T; q++)
                c.model.data[q] += c.noise.data[q];
            dense(c.model, e, &dev, &log_p);
            dense(c.noise, e, &noise, &unused);
            dense(S0, null, &unused, &log_null);
            assert_true(isnan(dev) == isnan(w.dev[row]));
            if (!isnan(dev)) {
                assert_close(w.dev[row], dev, tolerance);
                assert_close(w.dev_noise[row], noise, tolerance);
                assert_close(w.log_p[row], log_p, tolerance);
                assert_close(w.log_null[row], log_null, 1e-12);
            } else {
                assert_true(isnan(w.log_p[row]) && isnan(w.dev_noise[row]));
            }
            free(c.model.data), free(c.noise.data), free(S0.data);
        }
    kn_map_density_state_clear(&w);
    free(y.data), free(mean.data), free(var.data);
}

/* New participants, all of whose responses are there, or some of whose are not. */
static void check_new(const kn_model *m, bool gaps, double tolerance)
{
    kn_mat X, Y, Xs;
    kn_gp_maps maps;
    ptrdiff_t T = m->gp.T;
    participants(NEW, T, 1, &X, &Y);
    for (ptrdiff_t j = 0; gaps && j < T; j++) {
        kn_col(Y, j)[1] = kn_col(Y, j)[2] = j % 3 == 1 ? NAN : kn_at(Y, 1, j); /* the same gaps */
        kn_col(Y, j)[3] = j == T - 1 ? NAN : kn_at(Y, 3, j);
        kn_col(Y, j)[4] = j > T / 2 ? NAN : kn_at(Y, 4, j);     /* half */
        kn_col(Y, j)[5] = 2 * j > T - 2 ? NAN : kn_at(Y, 5, j); /* fewer, or just half */
        kn_col(Y, j)[6] = NAN;
    }
    Xs = ref_new(NEW, m->x.F);
    assert_ok(ctx, kn_design_apply(ctx, &m->x, view(X), true, Xs, NULL));
    assert_ok(ctx, kn_gp_predict(ctx, &m->gp, &(kn_predict_input){.X = Xs}, &maps));
    kn_responses R = kn_responses_of(view(Y), &m->y);
    check(&maps, &R, Xs, tolerance);
    kn_gp_maps_clear(&maps);
    free(X.data), free(Y.data), free(Xs.data);
}

static void check_folds(const kn_model *m, kn_mat Y)
{
    ptrdiff_t N = Y.rows;
    int folds = FOLDS, fold[256];
    kn_gp_maps cv;
    kn_responses R = kn_responses_of(view(Y), &m->y);
    assert_ok(ctx, kn_folds_assign(ctx, N, NULL, NULL, 1, &folds, fold));
    assert_ok(ctx,
              kn_gp_cv(ctx, &m->gp, &(kn_cv_problem){.Y = &R, .folds = FOLDS, .fold = fold}, &cv));
    check(&cv, NULL, kn_mat_none(), 1e-9);
    kn_gp_maps_clear(&cv);
}

static kn_settings quick(void)
{
    kn_settings o;
    kn_settings_init(&o);
    o.calibrate = KN_CALIBRATE_NONE;
    o.max_evals = 3;
    o.folds = 0;
    return o;
}

typedef struct shape {
    ptrdiff_t N, T, P;
    double signal;
} shape;

static const shape SHAPES[] = {{12, 1, 1, 1},   {20, 5, 2, 1},   {25, 30, 4, 1}, {40, 7, 7, 1},
                               {30, 12, 12, 1}, {15, 40, 14, 1}, {60, 9, 3, 2}};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

static void structured_and_iso_have_the_density_of_the_dense_gaussian(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int way = 0; way < 4;
             way++) { /* of principal components, or of a basis of one's own */
            shape s = SHAPES[k];
            kn_mat X, Y, B = ref_orthonormal(&rng, s.T, s.P);
            kn_model *m;
            kn_settings o = quick();
            bool iso = way >= 2;
            o.components = (int)s.P;
            o.noise = iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED;
            if (way % 2) {
                o.components = 0;
                o.basis_view = view(B);
            }
            participants(s.N, s.T, s.signal, &X, &Y);
            if (s.T > s.P && s.P >= s.N - 1) { /* nothing would be outside: no density */
                free(X.data), free(Y.data), free(B.data);
                continue;
            }
            kn_status status = kn_fit_arrays(ctx, view(X), view(Y), &o, &m);
            if (iso && status == KN_ERR_DATA) {
                free(X.data), free(Y.data), free(B.data);
                continue;
            }
            assert_ok(ctx, status);
            check_new(m, false, 1e-9);
            check_new(m, true, 1e-8);
            check_folds(m, Y);
            kn_model_free(m);
            free(X.data), free(Y.data), free(B.data);
        }
}

static void no_component_at_all_leaves_one_variance_for_everything(void **state)
{
    (void)state;
    kn_mat X, Y;
    kn_model *m;
    kn_settings o = quick();
    participants(40, 10, 0, &X, &Y);
    for (int draw = 0;; draw++) { /* in one draw of 20 noise looks like a component */
        for (ptrdiff_t k = 0; k < 400; k++)
            Y.data[k] = kn_rng_normal(&rng);
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
        if (m->gp.P == 0)
            break;
        assert_true(draw < 10);
        kn_model_free(m);
    }
    check_new(m, false, 1e-10);
    check_new(m, true, 1e-10);
    check_folds(m, Y);
    kn_model_free(m);
    free(X.data), free(Y.data);
}

static void kronprod_has_what_is_outside_its_components(void **state)
{
    (void)state;
    static const shape shapes[] = {{12, 20, 0, 1}, {20, 6, 0, 1}, {9, 30, 0, 2}};
    for (int k = 0; k < 3; k++)
        for (int se = 0; se < 2; se++) {
            kn_mat X, Y;
            kn_model *m;
            kn_settings o = quick();
            double theta[9];
            o.method = "kronprod";
            o.task_kernel = se ? "linear+se+iso" : NULL;
            o.max_evals = 0; /* its likelihood would lead to no noise at all */
            o.theta_start = theta;
            o.n_theta_start = se ? 9 : 7;
            for (int i = 0; i < 9; i++)
                theta[i] = 0.4 * kn_rng_normal(&rng) - 0.5;
            participants(shapes[k].N, shapes[k].T, 1, &X, &Y);
            assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
            check_new(m, false, 1e-8);
            check_new(m, true, 1e-7);
            if (!se) {
                check_folds(m, Y);
            } else {
                int folds = FOLDS, fold[64];
                kn_gp_maps cv;
                kn_map_density_state w;
                kn_responses R = kn_responses_of(view(Y), &m->y);
                assert_ok(ctx, kn_folds_assign(ctx, Y.rows, NULL, NULL, 1, &folds, fold));
                assert_ok(ctx,
                          kn_gp_cv(ctx, &m->gp,
                                   &(kn_cv_problem){.Y = &R, .folds = FOLDS, .fold = fold}, &cv));
                assert_refused(ctx, kn_map_density_evaluate(ctx, &cv, NULL, &w), KN_ERR_ARGUMENT,
                               "so there is no whole-map density");
                kn_gp_maps_clear(&cv);
            }
            kn_model_free(m);
            free(X.data), free(Y.data);
        }
}

static void stgpr_has_independent_responses(void **state)
{
    (void)state;
    kn_mat X, Y;
    kn_model *m;
    kn_settings o = quick();
    o.method = "stgpr";
    participants(30, 9, 1, &X, &Y);
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    check_new(m, false, 1e-11);
    check_new(m, true, 1e-11);
    check_folds(m, Y);
    kn_model_free(m);
    free(X.data), free(Y.data);
}

/* A row of its own, as methods have that define the density of whole maps. */
static void own_deviances_are_those_of_the_cross_validated_density(void **state)
{
    (void)state;
    enum { N = 40, T = 12 };
    kn_mat X, Y;
    kn_model *m, *back;
    kn_settings o = quick();
    int folds = FOLDS, fold[N];
    kn_gp_maps cv;
    kn_map_density_state w;
    kn_cv_summary summary;
    kn_method own = kn_method_smtgpr;
    void *bytes;
    ptrdiff_t n;
    own.own_deviance = true;
    o.components = 3;
    participants(N, T, 1, &X, &Y);
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    m->gp.method = &own;
    kn_responses R = kn_responses_of(view(Y), &m->y);
    assert_ok(ctx, kn_folds_assign(ctx, N, NULL, NULL, 1, &folds, fold));
    assert_ok(ctx,
              kn_gp_cv(ctx, &m->gp, &(kn_cv_problem){.Y = &R, .folds = FOLDS, .fold = fold}, &cv));
    assert_ok(ctx, kn_map_density_evaluate(ctx, &cv, NULL, &w));
    kn_reference_clear(&m->reference);
    kn_reference_job job = {
        .gp = &m->gp, .cv = &cv, .fold = fold, .folds = FOLDS, .top = 0.05, .keep_z = true};
    kn_reference *r = &m->reference;
    assert_ok(ctx, kn_reference_make(ctx, &job, r, &summary));
    assert_true(r->has_deviance && r->own_deviance);
    assert_null(r->deviance.psi);
    assert_int_equal(r->deviance.n_ref, N);
    assert_int_equal(r->neighbours.pairs, N - 1);
    for (ptrdiff_t i = 0; i < N; i++) {
        assert_true(r->deviance.ref[i] == w.dev[i]);
        assert_true(r->deviance_noise.ref[i] == w.dev_noise[i]);
    }
    assert_close(kn_deviance_p(&r->deviance, 1e300), 1.0 / (N + 1), 1e-12);
    /* a file that says so of a method that has no such deviance */
    assert_ok(ctx, kn_model_write_bytes(ctx, m, &bytes, &n));
    assert_refused(ctx, kn_model_parse(ctx, "own", bytes, n, &back), KN_ERR_FORMAT, "own_deviance");
    kn_free(bytes);
    kn_map_density_state_clear(&w);
    kn_gp_maps_clear(&cv);
    kn_model_free(m);
    free(X.data), free(Y.data);
}

TEST_PROGRAM(gp_map_density)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 11, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structured_and_iso_have_the_density_of_the_dense_gaussian),
        cmocka_unit_test(no_component_at_all_leaves_one_variance_for_everything),
        cmocka_unit_test(kronprod_has_what_is_outside_its_components),
        cmocka_unit_test(stgpr_has_independent_responses),
        cmocka_unit_test(own_deviances_are_those_of_the_cross_validated_density),
    };
    int failed = cmocka_run_group_tests_name("law", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
