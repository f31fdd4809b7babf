/* How many components? Held-out log loss along a ladder of P, from one pass at the largest P,
 * because components are independent once (rho, length) is fixed    [METHOD 2, components auto] */
#include <math.h>
#include <string.h>

#include "gp/folds.h"
#include "gp/gp.h"
#include "la/la.h"
#include "la/vec.h"

enum { FOLDS = 5 };
static const double LN_2PI = 1.8378770664093455;
static const int LADDER[KN_MAX_CURVE] = {1,  2,  3,  5,   8,   12,  18,  25,
                                         35, 50, 70, 100, 140, 200, 280, 400};

typedef struct fold_fit {
    kn_fold rows;
    kn_mat mean, var; /* n_test x P, latent predictions of the held-out */
    double *d;        /* P */
    double *s2;       /* P  variance of the training coordinates: |z_p|^2/n */
} fold_fit;

static void fold_fit_clear(fold_fit *f)
{
    kn_fold_clear(&f->rows);
    kn_mat_clear(&f->mean);
    kn_mat_clear(&f->var);
    kn_free(f->d);
    kn_free(f->s2);
}

static kn_status fit_fold(kn_ctx *ctx, kn_mat X, const kn_gram *gram, const kn_spec *spec,
                          const double *r0, const int *fold, int k, ptrdiff_t P, ptrdiff_t T,
                          fold_fit *f)
{
    kn_status status;
    kn_mat Xt = {0}, Xs = {0};
    kn_engine e = {0};
    kn_latent model = {0};
    double lml, clamped = 0;
    KN_TRY(kn_fold_rows(ctx, X.rows, fold, k, &f->rows));
    KN_TRY(kn_fold_pca(ctx, gram, P, &f->rows));
    P = f->rows.Z_train.cols;
    KN_TRY(kn_mat_new(ctx, f->rows.n_train, X.cols, &Xt));
    KN_TRY(kn_mat_new(ctx, f->rows.n_test, X.cols, &Xs));
    kn_mat_rows(X, f->rows.train, Xt);
    kn_mat_rows(X, f->rows.test, Xs);
    KN_TRY(kn_engine_over(ctx, spec, Xt, f->rows.Z_train, T, 0, 1, X.rows, NULL, &e));
    KN_TRY(kn_engine_at(ctx, &e, r0, &lml));
    KN_TRY(kn_alloc_d(ctx, P, &f->d));
    KN_TRY(kn_alloc_d(ctx, P, &f->s2));
    for (ptrdiff_t p = 0; p < P; p++) {
        f->d[p] = e.d[p];
        f->s2[p] = kn_sumsq(kn_cols(f->rows.Z_train, p, 1)) / (double)f->rows.n_train;
    }
    KN_TRY(kn_latent_new(ctx, &Xt, &e.R0, &e.A0, e.c, e.d, 0, &model));
    KN_TRY(kn_mat_new(ctx, f->rows.n_test, P, &f->mean));
    KN_TRY(kn_mat_new(ctx, f->rows.n_test, P, &f->var));
    KN_TRY(kn_latent_predict(ctx, &model, Xs, f->mean, f->var, &clamped));
out:
    kn_latent_clear(&model);
    kn_engine_clear(&e);
    kn_mat_clear(&Xs);
    kn_mat_clear(&Xt);
    return status;
}

typedef struct score_work {
    kn_mat train, error, var, B, B2; /* of one fold and block */
    double *trivial, *noise;
} score_work;

/* score(i, l) += sum_j loss of held-out i at ladder step l, minus the trivial model's, over the
 * block y (N x count). Components enter a ladder step at a time. */
static void score_block(const fold_fit *f, kn_mat y, score_work *w, int steps, kn_mat score)
{
    ptrdiff_t count = y.cols, n = f->rows.n_train, ns = f->rows.n_test, P = f->mean.cols;
    kn_mat train = kn_sub(w->train, 0, 0, n, count), e = kn_sub(w->error, 0, 0, ns, count);
    kn_mat v = kn_sub(w->var, 0, 0, ns, count), B = kn_sub(w->B, 0, 0, count, P);
    kn_mat B2 = kn_sub(w->B2, 0, 0, count, P);
    kn_mat_rows(y, f->rows.train, train);
    kn_mat_rows(y, f->rows.test, e);
    kn_mat_zero(v);
    for (ptrdiff_t j = 0; j < count; j++) {
        double *t = kn_col(train, j), mu = 0, s2 = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            mu += t[i] / (double)n;
        for (ptrdiff_t i = 0; i < n; i++) {
            t[i] -= mu;
            s2 += t[i] * t[i] / (double)n;
        }
        for (ptrdiff_t i = 0; i < ns; i++)
            kn_col(e, j)[i] -= mu;
        w->trivial[j] = w->noise[j] = s2;
    }
    kn_gemm(1, KN_T, train, KN_N, f->rows.US, 0, B);
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t j = 0; j < count; j++)
            kn_col(B2, p)[j] = kn_at(B, j, p) * kn_at(B, j, p);
    kn_mat trivial = kn_sub(score, 0, steps, score.rows, 1); /* last column: the trivial loss */
    for (ptrdiff_t j = 0; j < count; j++)
        for (ptrdiff_t i = 0; i < ns; i++) {
            double x = kn_at(e, i, j), s2 = w->trivial[j];
            if (s2 > 0)
                trivial.data[f->rows.test[i]] += 0.5 * (LN_2PI + log(s2) + x * x / s2);
        }
    for (int l = 0; l < steps; l++) {
        ptrdiff_t p0 = l > 0 ? LADDER[l - 1] : 0, p1 = LADDER[l];
        p0 = p0 < P ? p0 : P;
        p1 = p1 < P ? p1 : P;
        ptrdiff_t np = p1 - p0;
        kn_gemm(-1, KN_N, kn_cols(f->mean, p0, np), KN_T, kn_cols(B, p0, np), 1, e);
        kn_gemm(1, KN_N, kn_cols(f->var, p0, np), KN_T, kn_cols(B2, p0, np), 1, v);
        /* noise_j = (B.^2 d + psi)_j, psi_j = s_j^2 - (B.^2 s2)_j */
        for (ptrdiff_t p = p0; p < p1; p++)
            for (ptrdiff_t j = 0; j < count; j++)
                w->noise[j] += kn_at(B2, j, p) * (f->d[p] - f->s2[p]);
        double *out = kn_col(score, l);
        for (ptrdiff_t j = 0; j < count; j++) {
            double noise = fmax(w->noise[j], 1e-10 * w->trivial[j]); /* psi is 0 up to rounding */
            if (!(w->trivial[j] > 0))
                continue;
            for (ptrdiff_t i = 0; i < ns; i++) {
                double x = kn_at(e, i, j), s2 = kn_at(v, i, j) + noise;
                out[f->rows.test[i]] += 0.5 * (LN_2PI + log(s2) + x * x / s2);
            }
        }
    }
}

static kn_status score_all(kn_ctx *ctx, const kn_responses *Y, const fold_fit *fit, int folds,
                           int steps, kn_mat score)
{
    kn_status status;
    score_work w = {0};
    kn_mat y = {0};
    ptrdiff_t width = Y->T < KN_BLOCK / 4 ? Y->T : KN_BLOCK / 4, P = 0, n = 0, ns = 0;
    for (int k = 0; k < folds; k++) {
        P = fit[k].mean.cols > P ? fit[k].mean.cols : P;
        n = fit[k].rows.n_train > n ? fit[k].rows.n_train : n;
        ns = fit[k].rows.n_test > ns ? fit[k].rows.n_test : ns;
    }
    KN_TRY(kn_mat_new(ctx, Y->N, width, &y));
    KN_TRY(kn_mat_new(ctx, n, width, &w.train));
    KN_TRY(kn_mat_new(ctx, ns, width, &w.error));
    KN_TRY(kn_mat_new(ctx, ns, width, &w.var));
    KN_TRY(kn_mat_new(ctx, width, P, &w.B));
    KN_TRY(kn_mat_new(ctx, width, P, &w.B2));
    KN_TRY(kn_alloc_d(ctx, width, &w.trivial));
    KN_TRY(kn_alloc_d(ctx, width, &w.noise));
    for (ptrdiff_t first = 0; first < Y->T; first += width) {
        kn_mat yb = kn_cols(y, 0, Y->T - first < width ? Y->T - first : width);
        KN_TRY(kn_check_cancel(ctx));
        kn_responses_block(ctx, Y, first, yb);
        for (int k = 0; k < folds; k++)
            score_block(&fit[k], yb, &w, steps, score);
        kn_tell(ctx, "components", first + yb.cols, Y->T, NAN);
    }
    for (int l = 0; l < steps; l++) /* msll, mean over responses */
        for (ptrdiff_t i = 0; i < Y->N; i++)
            kn_col(score, l)[i] = (kn_at(score, i, l) - kn_at(score, i, steps)) / (double)Y->T;
out:
    kn_free(w.noise);
    kn_free(w.trivial);
    kn_mat_clear(&w.B2);
    kn_mat_clear(&w.B);
    kn_mat_clear(&w.var);
    kn_mat_clear(&w.error);
    kn_mat_clear(&w.train);
    kn_mat_clear(&y);
    return status;
}

static void mean_and_error(const double *x, const double *y, ptrdiff_t n, double *mean, double *se)
{
    double m = 0, s = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        m += (x[i] - (y ? y[i] : 0)) / (double)n;
    for (ptrdiff_t i = 0; i < n; i++) {
        double e = x[i] - (y ? y[i] : 0) - m;
        s += e * e;
    }
    *mean = m;
    *se = n > 1 ? sqrt(s / ((double)n * (double)(n - 1))) : 0;
}

/* The smallest P that is not clearly worse than the best. */
static int choose(kn_mat score, int steps, kn_fit_info *info)
{
    int best = 0;
    for (int l = 0; l < steps; l++) {
        kn_curve_point *c = &info->curve[l];
        mean_and_error(kn_col(score, l), NULL, score.rows, &c->msll, &c->se);
        if (c->msll < info->curve[best].msll)
            best = l;
    }
    /* Pure noise lands just below zero by chance about as often as above: one standard error. */
    info->nothing_predicted = info->curve[best].msll + info->curve[best].se >= 0;
    if (info->nothing_predicted)
        return 0;
    for (int l = 0; l < best; l++) {
        double mean, se;
        mean_and_error(kn_col(score, l), kn_col(score, best), score.rows, &mean, &se);
        if (mean <= fmax(se, 0.01 * fabs(info->curve[best].msll)))
            return l;
    }
    return best;
}

/* LML along the ladder at the same (rho, length), for the record. */
static kn_status likelihoods(kn_ctx *ctx, kn_mat X, const kn_gram *gram, const kn_spec *spec,
                             const double *r0, ptrdiff_t T, int steps, kn_fit_info *info)
{
    kn_status status;
    kn_mat Z = {0};
    kn_engine e = {0};
    ptrdiff_t N = X.rows, P = LADDER[steps - 1];
    double lml, total = 0;
    KN_TRY(kn_mat_new(ctx, N, P, &Z));
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(Z, p)[i] = kn_at(gram->U, i, p) * sqrt(gram->s2[p]);
    KN_TRY(kn_engine_over(ctx, spec, X, Z, T, 0, 1, N, NULL, &e));
    KN_TRY(kn_engine_at(ctx, &e, r0, &lml));
    for (ptrdiff_t i = 0; i < N; i++)
        total += gram->s2[i];
    double sum = 0, E = total;
    for (int l = 0, p = 0; l < steps; l++) {
        for (; p < LADDER[l]; p++) {
            sum += e.lml[p];
            E -= gram->s2[p];
        }
        double outside = (double)N * (double)(T - p);
        info->curve[l].lml = sum;
        if (outside > 0 && E > 1e-10 * total)
            info->curve[l].lml -= 0.5 * outside * (LN_2PI + log(E / outside) + 1);
    }
out:
    kn_engine_clear(&e);
    kn_mat_clear(&Z);
    return status;
}

kn_status kn_choose_components(kn_ctx *ctx, kn_mat X, const kn_responses *Y, const kn_gram *gram,
                               const kn_spec *spec, double rho, double length,
                               const kn_gp_options *o, kn_fit_info *info, ptrdiff_t *P)
{
    kn_status status = KN_OK;
    kn_spec structured = *spec; /* components are independent under structured noise only */
    fold_fit fit[FOLDS] = {0};
    kn_mat score = {0};
    void *fold = NULL;
    double r0[KN_R0_MAX_PARAMS];
    ptrdiff_t N = X.rows, most = (N - 1) / 2;
    int steps = 0, folds = N > KN_MANY ? KN_HELD_OUT_ONCE : FOLDS;
    structured.noise = KN_NOISE_STRUCTURED;
    structured.sample_kernel = kn_spec_r0(spec);
    most = most < Y->T ? most : Y->T;
    most = most < gram->rank ? most : gram->rank;
    while (steps < KN_MAX_CURVE && LADDER[steps] <= most)
        info->curve[steps].components = LADDER[steps], steps++;
    kn_theta_of_rho(kn_spec_r0(spec), X.cols, rho, length, r0);
    KN_TRY(kn_alloc(ctx, N, sizeof(int), &fold));
    KN_TRY(kn_folds_deal(ctx, N, o->groups, o->search.seed, &folds, fold));
    KN_TRY(kn_mat_new(ctx, N, steps + 1, &score));
    for (int k = 0; k < folds; k++)
        KN_TRY(fit_fold(ctx, X, gram, &structured, r0, fold, k, LADDER[steps - 1], Y->T, &fit[k]));
    KN_TRY(score_all(ctx, Y, fit, folds, steps, score));
    KN_TRY(likelihoods(ctx, X, gram, &structured, r0, Y->T, steps, info));
    info->n_curve = steps;
    *P = LADDER[choose(score, steps, info)];
    if (info->nothing_predicted)
        kn_log(ctx, KN_LOG_WARNING,
               "the covariates predict nothing: no number of components beats the mean alone; "
               "one component is used");
out:
    for (int k = 0; k < FOLDS; k++)
        fold_fit_clear(&fit[k]);
    kn_mat_clear(&score);
    kn_free(fold);
    return status;
}
