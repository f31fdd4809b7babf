/* MTGPR as a method: what it learns says what the dense Gaussian says, at shapes of all kinds. */
#include "base/random.h"
#include "data/scaling.h"
#include "gp/cv/cv.h"
#include "gp/methods/mtgpr/internal.h"
#include "gp/predict/loo.h"
#include "gp/predict/predict.h"
#include "la/la.h"
#include "model/model.h"
#include "norm/reference/reference.h"
#include "support/covs.h"
#include "support/test.h"
#include "support/views.h"
#include "support/with_context.h"

/* One factor that follows the covariates, one that does not, and noise. */
static void participants(uint64_t seed, ptrdiff_t N, ptrdiff_t T, kn_mat *X, kn_mat *Y)
{
    kn_rng rng;
    ref_rng_init(&rng, seed, 0);
    *X = ref_normal(&rng, N, 2);
    *Y = ref_normal(&rng, N, T);
    for (ptrdiff_t i = 0; i < N; i++) {
        double f = sin(kn_at(*X, i, 0)) + kn_at(*X, i, 1), v = kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(*Y, j)[i] += f * (double)(1 + j % 3) - v * (double)(j % 2);
    }
}

static const struct shape {
    ptrdiff_t N, T, P, Q;
    bool ppca;
    const char *kernel;
    int rank;
    double scale; /* of the responses */
} SHAPES[] = {
    {12, 4, 1, 0, false, "linear+se", KN_RANK_FULL, 1},
    {10, 3, 2, 0, false, "linear+se+iso", KN_RANK_FULL, 1},
    {8, 11, 2, 0, true, "linear+se", KN_RANK_FULL, 1},
    {11, 6, 2, 2, false, "linear+se", KN_RANK_FULL, 1},
    {11, 5, 1, 2, true, "linear+se+iso", KN_RANK_FULL, 1},
    {14, 5, 2, 1, true, "linear", KN_RANK_FULL, 1},
    {12, 4, 2, 0, false, "linear+se", KN_RANK_FULL, 1e-5},
    {12, 4, 2, 1, false, "linear+se", KN_RANK_FULL, 1e5},
};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

static kn_settings settings(const struct shape *a, int folds)
{
    kn_settings s;
    kn_settings_init(&s);
    s.method = "mtgpr";
    s.components = (int)a->P;
    s.noise_rank = (int)a->Q;
    s.ppca = a->ppca;
    s.sample_kernel = a->kernel;
    s.rank = a->rank;
    s.folds = folds;
    s.group = "none";
    s.calibrate = KN_CALIBRATE_NONE;
    s.standardise = 0;
    return s;
}

/* C and S (T x T) of a fitted process, from what it keeps. */
static void tasks(const kn_gp *gp, kn_mat C, kn_mat S)
{
    ptrdiff_t T = gp->T, k = gp->P;
    double gamma = gp->complement_component ? gp->latent.c[k] : 0;
    kn_mat V = ref_new(T, k), L = {0};
    kn_mat_set(V, gp->B);
    assert_ok(ctx, kn_mtgpr_factor(ctx, gp->B, &L));
    kn_trsm_right(ctx, KN_T, L, V);
    for (ptrdiff_t a = 0; a < T; a++)
        for (ptrdiff_t b = 0; b < T; b++) {
            double outside = a == b, c = 0, s = 0, unit = sqrt(gp->psi[a] * gp->psi[b]);
            for (ptrdiff_t q = 0; q < k; q++) {
                outside -= kn_at(V, a, q) * kn_at(V, b, q);
                c += kn_at(gp->B, a, q) * gp->latent.c[q] * kn_at(gp->B, b, q);
                s += kn_at(gp->B, a, q) * kn_at(gp->B, b, q);
            }
            kn_col(C, a)[b] = unit * (c + gamma * outside);
            kn_col(S, a)[b] = unit * (s + outside);
        }
    kn_mat_clear(&L);
    free(V.data);
}

/* R0 between rows of two sets. */
static kn_mat kernel(const kn_decomp *R0, kn_mat X, kn_mat Y)
{
    kn_pairs pairs;
    kn_mat K = ref_new(X.rows, Y.rows);
    assert_ok(ctx, kn_pairs_between(ctx, X, Y, &R0->cov.stats, &pairs));
    kn_cov_fill(&R0->cov, R0->theta, &pairs, K);
    kn_pairs_clear(&pairs);
    return K;
}

/* Mean and variance without noise of Xs by the dense Gaussian; returns ln p(vec Y). */
static double dense(kn_mat C, kn_mat S, const kn_decomp *R0, double iso, kn_mat X, kn_mat Y,
                    kn_mat Xs, kn_mat mean, kn_mat var)
{
    ptrdiff_t N = X.rows, T = C.rows, n = Xs.rows;
    kn_mat R = kernel(R0, X, X), Rs = kernel(R0, Xs, X), I = ref_new(N, N);
    double *kss = malloc((size_t)(n * T) * sizeof *kss);
    for (ptrdiff_t i = 0; i < N; i++) {
        kn_col(I, i)[i] = 1;
        kn_col(R, i)[i] += iso;
    }
    kn_mat K = ref_kron(C, R), noise = ref_kron(S, I), Ks = ref_kron(C, Rs);
    for (ptrdiff_t i = 0; i < K.rows * K.cols; i++)
        K.data[i] += noise.data[i];
    for (ptrdiff_t i = 0; i < n; i++) {
        kn_mat x = kn_sub(Xs, i, 0, 1, Xs.cols), self = kernel(R0, x, x);
        for (ptrdiff_t j = 0; j < T; j++)
            kss[i + j * n] = kn_at(C, j, j) * (self.data[0] + iso);
        free(self.data);
    }
    double lml = ref_gp(K, Y.data, Ks, kss, mean.data, var.data);
    free(R.data), free(Rs.data), free(I.data), free(K.data), free(noise.data), free(Ks.data);
    free(kss);
    return lml;
}

/* Numbers of responses as large as `scale`. */
static void check_same(kn_mat a, kn_mat b, double scale, double tol)
{
    for (ptrdiff_t j = 0; j < a.cols; j++)
        for (ptrdiff_t i = 0; i < a.rows; i++)
            assert_close(kn_at(a, i, j) / scale, kn_at(b, i, j) / scale, tol);
}

static kn_mat without(kn_mat M, ptrdiff_t row)
{
    kn_mat out = ref_new(M.rows - 1, M.cols);
    for (ptrdiff_t j = 0; j < M.cols; j++)
        for (ptrdiff_t i = 0; i < M.rows; i++)
            if (i != row)
                kn_col(out, j)[i - (i > row)] = kn_at(M, i, j);
    return out;
}

static void check_loo(const kn_model *m, const struct shape *a, kn_mat Y, kn_mat C, kn_mat S)
{
    const kn_gp *gp = &m->gp;
    kn_responses responses = kn_responses_of(view(Y), &m->y);
    kn_gp_maps maps;
    kn_mat lm = ref_new(a->N, a->T), lv = ref_new(a->N, a->T);
    kn_mat mean = ref_new(1, a->T), var = ref_new(1, a->T);
    assert_ok(ctx, kn_gp_loo(ctx, gp, &responses, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, lm, lv));
    for (ptrdiff_t i = 0; i < a->N; i++) {
        kn_mat x = without(gp->latent.X, i), y = without(Y, i);
        kn_mat xs = kn_sub(gp->latent.X, i, 0, 1, gp->F), copy = ref_new(1, gp->F);
        kn_mat_set(copy, xs);
        dense(C, S, &gp->latent.cell[0].R0, gp->latent.iso, x, y, copy, mean, var);
        check_same(kn_sub(lm, i, 0, 1, a->T), mean, a->scale, 1e-7);
        check_same(kn_sub(lv, i, 0, 1, a->T), var, a->scale * a->scale, 1e-7);
        free(x.data), free(y.data), free(copy.data);
    }
    kn_gp_maps_clear(&maps);
    free(lm.data), free(lv.data), free(mean.data), free(var.data);
}

static void check_covariance(const kn_gp *gp, kn_mat x, kn_mat S, kn_mat var)
{
    ptrdiff_t T = gp->T, J[16];
    kn_mat model = ref_new(T, T), noise = ref_new(T, T);
    for (ptrdiff_t j = 0; j < T; j++)
        J[j] = j;
    assert_ok(ctx, gp->method->covariance(ctx, gp, x, J, model, noise));
    for (ptrdiff_t a = 0; a < T; a++)
        for (ptrdiff_t b = 0; b < T; b++) {
            double unit = sqrt(kn_at(S, a, a) * kn_at(S, b, b));
            if (a == b)
                assert_close(kn_at(model, a, b) / unit, kn_at(var, 0, a) / unit, 1e-7);
            assert_close(kn_at(noise, a, b) / unit, kn_at(S, a, b) / unit, 1e-9);
        }
    free(model.data), free(noise.data);
}

static void learned_models_are_dense_gaussians(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++) {
        const struct shape *a = &SHAPES[k];
        kn_mat X, Y, Xn;
        kn_model *m;
        kn_settings s = settings(a, 0);
        kn_gp_maps maps;
        participants((uint64_t)k + 1, a->N, a->T, &X, &Y);
        for (ptrdiff_t i = 0; i < a->N * a->T; i++)
            Y.data[i] *= a->scale;
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &s, &m));
        const kn_gp *gp = &m->gp;
        Xn = ref_new(3, gp->F);
        for (ptrdiff_t i = 0; i < 3 * gp->F; i++)
            Xn.data[i] = gp->latent.X.data[i] + 0.3;
        kn_mat C = ref_new(a->T, a->T), S = ref_new(a->T, a->T), mean = ref_new(3, a->T);
        kn_mat var = ref_new(3, a->T), dm = ref_new(3, a->T), dv = ref_new(3, a->T);
        tasks(gp, C, S);
        double lml =
            dense(C, S, &gp->latent.cell[0].R0, gp->latent.iso, gp->latent.X, Y, Xn, dm, dv);
        assert_close(m->info.lml, lml, 1e-8);
        assert_ok(ctx, kn_gp_predict(ctx, gp, &(kn_predict_input){.X = Xn}, &maps));
        assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
        check_same(mean, dm, a->scale, a->ppca ? 1e-6 : 1e-7); /* a complement is in float32 */
        check_same(var, dv, a->scale * a->scale, 1e-7);
        for (ptrdiff_t j = 0; j < a->T; j++) /* without folds the noise is that of training */
            assert_close(gp->noise[j] / kn_at(S, j, j), 1, 1e-9);
        for (ptrdiff_t j = 0; j < a->T; j++) /* what of a variance is noise that has C */
            assert_close(kn_reference_iso_variance(gp, j) / kn_at(C, j, j), gp->latent.iso, 1e-9);
        kn_mat x = ref_new(1, gp->F);
        kn_mat_set(x, kn_sub(Xn, 0, 0, 1, gp->F));
        check_covariance(gp, x, S, dv);
        check_loo(m, a, Y, C, S);
        kn_gp_maps_clear(&maps);
        kn_model_free(m);
        free(X.data), free(Y.data), free(Xn.data), free(C.data), free(S.data), free(mean.data);
        free(var.data), free(dm.data), free(dv.data), free(x.data);
    }
}

/* The density of a map is the dense density of one sample about its mean. */
static void map_density_is_the_dense_density(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++) {
        const struct shape *a = &SHAPES[k];
        kn_mat X, Y;
        kn_model *m;
        kn_settings s = settings(a, 0);
        kn_gp_maps maps;
        kn_map_density density;
        ptrdiff_t T = a->T;
        participants((uint64_t)k + 30, a->N, T, &X, &Y);
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &s, &m));
        const kn_gp *gp = &m->gp;
        kn_mat x = ref_new(1, gp->F), cov = ref_new(T, T), noise = ref_new(T, T), V;
        ptrdiff_t J[16];
        double e[16], scale[16], size = 0, inside = 0, dev = 0, det;
        for (ptrdiff_t j = 0; j < T; j++) {
            J[j] = j;
            e[j] = 0.3 * (double)(j % 4) - 0.4;
        }
        kn_mat_set(x, kn_sub(gp->latent.X, 1, 0, 1, gp->F));
        assert_ok(ctx, kn_mtgpr_covariance(ctx, gp, x, J, cov, noise));
        for (ptrdiff_t i = 0; i < T * T; i++)
            cov.data[i] += noise.data[i];
        double want = ref_log_density(cov, e);
        assert_ok(ctx, kn_gp_predict(ctx, gp, &(kn_predict_input){.X = x}, &maps));
        assert_ok(ctx, kn_mtgpr_map_density(ctx, &maps, 0, &density));
        V = ref_new(T, density.K);
        assert_ok(ctx, kn_mtgpr_map_density_block(ctx, &maps, 0, 0, kn_mat_none(), V, scale));
        det = density.log_det;
        for (ptrdiff_t j = 0; j < T; j++) {
            size += e[j] * e[j] / (scale[j] * scale[j]);
            det += 2 * log(scale[j]);
        }
        for (ptrdiff_t q = 0; q < density.K; q++) {
            double z = 0, c = 0;
            for (ptrdiff_t j = 0; j < T; j++) {
                z += e[j] / scale[j] * kn_at(V, j, q);
                for (ptrdiff_t b = 0; density.W.data && b < density.K; b++)
                    c += e[j] / scale[j] * kn_at(V, j, b) * kn_at(density.W, b, q);
            }
            c = density.W.data ? c : z;
            inside += z * z;
            dev += c * c / (kn_at(density.v, 0, q) + density.d[q]);
            det += log(kn_at(density.v, 0, q) + density.d[q]);
        }
        if (density.v0) {
            dev += (size - inside) / (density.v0[0] + density.d0);
            det += (double)(T - density.K) * log(density.v0[0] + density.d0);
        }
        assert_close(-0.5 * ((double)T * log(2 * M_PI) + det + dev), want, 1e-8);
        kn_map_density_clear(&density);
        kn_gp_maps_clear(&maps);
        kn_model_free(m);
        free(X.data), free(Y.data), free(x.data), free(cov.data), free(noise.data), free(V.data);
    }
}

/* A fold is learned from its own rows about their mean at held R0, and predicts as the dense
 * Gaussian of what it learned. */
static void folds_are_refits(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++) {
        const struct shape *a = &SHAPES[k];
        kn_mat X, Y;
        kn_model *m;
        kn_settings s = settings(a, 0);
        kn_gp_maps maps;
        enum { FOLDS = 3 };
        int fold[16];
        if (a->scale != 1)
            continue;
        participants((uint64_t)k + 60, a->N, a->T, &X, &Y);
        for (ptrdiff_t i = 0; i < a->N; i++)
            fold[i] = (int)(i % FOLDS);
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &s, &m));
        const kn_gp *gp = &m->gp;
        const kn_mtgpr *own = gp->own;
        kn_responses responses = kn_responses_of(view(Y), &m->y);
        kn_cv_problem problem = {.Y = &responses, .folds = FOLDS, .fold = fold};
        kn_mat mean = ref_new(a->N, a->T), var = ref_new(a->N, a->T);
        assert_ok(ctx, kn_gp_cv(ctx, gp, &problem, &maps));
        assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
        for (int f = 0; f < FOLDS; f++) {
            ptrdiff_t train[16], test[16], n = 0, h = 0;
            for (ptrdiff_t i = 0; i < a->N; i++)
                *(fold[i] == f ? &test[h++] : &train[n++]) = i;
            kn_mat x = ref_new(n, gp->F), y = ref_new(n, a->T), xs = ref_new(h, gp->F);
            double mu[16] = {0};
            kn_mat_rows(gp->latent.X, train, x);
            kn_mat_rows(gp->latent.X, test, xs);
            kn_mat_rows(Y, train, y);
            for (ptrdiff_t j = 0; j < a->T; j++) {
                for (ptrdiff_t i = 0; i < n; i++)
                    mu[j] += kn_at(y, i, j);
                mu[j] /= (double)n;
                for (ptrdiff_t i = 0; i < n; i++)
                    kn_col(y, j)[i] -= mu[j];
            }
            const kn_decomp *R0 = &gp->latent.cell[0].R0;
            kn_decomp own_R0;
            kn_pairs pairs;
            assert_ok(ctx, kn_pairs_within(ctx, x, &R0->cov.stats, &pairs));
            assert_ok(ctx, kn_decomp_new(ctx, n, &R0->cov, &own_R0));
            assert_ok(ctx, kn_decomp_compute(ctx, &own_R0, &pairs, NULL, R0->theta));
            kn_mtgpr_learned l;
            kn_mtgpr_plan plan = {.columns = {own->P, own->Q},
                                  .gamma = gp->complement_component,
                                  .iso = own->iso,
                                  .limits = {.evals_left = -1}};
            kn_responses rows = kn_responses_rows(&responses, train, n);
            assert_ok(ctx,
                      kn_mtgpr_learn(ctx, &(kn_lowrank_sum_samples){.U = own_R0.U, .r = own_R0.r},
                                     &rows, mu, &plan, &l));
            kn_mat C = ref_new(a->T, a->T), S = ref_new(a->T, a->T);
            for (ptrdiff_t b = 0; b < a->T; b++)
                for (ptrdiff_t c = 0; c < a->T; c++) {
                    double cc = b == c ? l.at.gamma : 0, ss = b == c;
                    for (ptrdiff_t q = 0; q < own->P; q++)
                        cc += kn_at(l.at.G, b, q) * kn_at(l.at.G, c, q);
                    for (ptrdiff_t q = 0; q < own->Q; q++)
                        ss += kn_at(l.at.H, b, q) * kn_at(l.at.H, c, q);
                    kn_col(C, b)[c] = cc * sqrt(l.at.psi[b] * l.at.psi[c]);
                    kn_col(S, b)[c] = ss * sqrt(l.at.psi[b] * l.at.psi[c]);
                }
            kn_mat dm = ref_new(h, a->T), dv = ref_new(h, a->T);
            dense(C, S, R0, l.at.iso, x, y, xs, dm, dv);
            for (ptrdiff_t j = 0; j < a->T; j++)
                for (ptrdiff_t i = 0; i < h; i++) {
                    assert_close(kn_at(mean, test[i], j), kn_at(dm, i, j) + mu[j],
                                 a->ppca ? 1e-6 : 1e-7);
                    assert_close(kn_at(var, test[i], j), kn_at(dv, i, j), 1e-7);
                }
            kn_mtgpr_learned_clear(&l);
            kn_decomp_clear(&own_R0);
            kn_pairs_clear(&pairs);
            free(x.data), free(y.data), free(xs.data), free(C.data);
            free(S.data), free(dm.data), free(dv.data);
        }
        kn_gp_maps_clear(&maps);
        kn_model_free(m);
        free(X.data), free(Y.data), free(mean.data), free(var.data);
    }
}

/* More steps never say less, through EM and L-BFGS and from one round to the next. */
static void learning_never_lowers_the_likelihood(void **state)
{
    (void)state;
    kn_mat X, Y;
    kn_scaling scaling;
    kn_pairs pairs;
    kn_decomp R0;
    kn_cov cov = cov_of("linear+se", 2);
    double theta[3], before = -INFINITY;
    participants(5, 40, 8, &X, &Y);
    theta_at_rho(&cov, 0.5, 1, theta);
    assert_ok(ctx, kn_pairs_within(ctx, X, &cov.stats, &pairs));
    assert_ok(ctx, kn_decomp_new(ctx, 40, &cov, &R0));
    assert_ok(ctx, kn_decomp_compute(ctx, &R0, &pairs, NULL, theta));
    assert_ok(ctx, kn_scaling_new(ctx, view(Y), false, &scaling));
    kn_responses responses = kn_responses_of(view(Y), &scaling);
    for (int evals = 0; evals < 1000; evals = evals == 0 ? 1 : 2 * evals) {
        kn_mtgpr_learned l;
        kn_mtgpr_plan plan = {.columns = {2, 1},
                              .gamma = true,
                              .iso = true,
                              .limits = {.evals_left = evals}};
        assert_ok(ctx, kn_mtgpr_learn(ctx, &(kn_lowrank_sum_samples){.U = R0.U, .r = R0.r},
                                      &responses, NULL, &plan, &l));
        assert_true(l.lml >= before - 1e-9 * fabs(before));
        assert_true(evals > 0 || l.stop == KN_STOP_NOT_OPTIMISED);
        before = l.lml;
        kn_mtgpr_learned_clear(&l);
    }
    kn_scaling_clear(&scaling);
    kn_decomp_clear(&R0);
    kn_pairs_clear(&pairs);
    free(X.data), free(Y.data);
}

/* When time is over the best point so far is the result, and a fold has no more time than the fit.
 */
static void time_ends_learning(void **state)
{
    (void)state;
    struct shape a = {40, 8, 2, 1, true, "linear+se+iso", KN_RANK_FULL, 1};
    kn_settings s = settings(&a, 3);
    kn_mat X, Y;
    kn_model *m;
    participants(5, a.N, a.T, &X, &Y);
    s.max_seconds = 1e-9;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &s, &m));
    assert_int_equal(m->info.stop, KN_STOP_MAX_SECONDS);
    assert_int_equal(m->info.evaluations_inner, 1);
    assert_true(isnan(m->info.projected_gradient)); /* EM has none */
    assert_int_equal(((const kn_mtgpr *)m->gp.own)->evals, 1);
    assert_true(m->info.cv.folds == 3 && isfinite(m->info.cv.msll));
    kn_model_free(m);
    free(X.data), free(Y.data);
}

/* A rank of N is no approximation. */
static void as_many_pivots_as_participants_is_exact(void **state)
{
    (void)state;
    struct shape a = {16, 6, 2, 0, false, "linear+se", KN_RANK_FULL, 1};
    kn_mat X, Y;
    double lml[2];
    participants(8, a.N, a.T, &X, &Y);
    for (int low = 0; low < 2; low++) {
        kn_settings s = settings(&a, 0);
        kn_model *m;
        s.rho = 0.6;
        s.length = 1;
        s.rank = low ? 18 : KN_RANK_FULL;
        s.max_evals = 0;
        assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &s, &m));
        lml[low] = m->info.lml;
        kn_model_free(m);
    }
    assert_close(lml[1], lml[0], 1e-8);
    free(X.data), free(Y.data);
}

TEST_PROGRAM(mtgpr)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learned_models_are_dense_gaussians),
        cmocka_unit_test(map_density_is_the_dense_density),
        cmocka_unit_test(folds_are_refits),
        cmocka_unit_test(learning_never_lowers_the_likelihood),
        cmocka_unit_test(time_ends_learning),
        cmocka_unit_test(as_many_pivots_as_participants_is_exact),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
