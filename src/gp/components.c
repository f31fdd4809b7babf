/* How many components? Held-out log loss along a ladder of P, from one pass at the largest P,
 * because components are independent once R0 is fixed    [METHOD 2, components auto] */
#include "gp/components.h"

#include <math.h>
#include <string.h>

#include "gp/cv_deal.h"
#include "gp/cv_heldout.h"
#include "gp/predict.h"
#include "la/la.h"
#include "la/vec.h"

enum { FOLDS = 5 };
enum { SCORED = 20000 }; /* of more responses an even sample has as good a mean */
static const double LN_2PI = 1.8378770664093455;
static const int LADDER[KN_MAX_CURVE] = {1,  2,  3,  5,   8,   12,  18,  25,
                                         35, 50, 70, 100, 140, 200, 280, 400};

typedef struct fold_fit {
    kn_fold rows;
    const kn_heldout *held; /* NULL, or whose basis and mean these are */
    kn_mat mean, var;       /* n_test x P, latent predictions of the held-out */
    double *d;              /* P */
    double *s2;             /* P  variance of the training coordinates: |z_p|^2/n */
} fold_fit;

static void fold_fit_clear(fold_fit *f)
{
    kn_fold_clear(&f->rows);
    kn_mat_clear(&f->mean);
    kn_mat_clear(&f->var);
    kn_free(f->d);
    kn_free(f->s2);
}

/* The components of the training rows at R0's parameters, and what they say of the held-out. */
static kn_status fit_rows(kn_ctx *ctx, kn_mat X, const kn_spec *spec, const double *r0, ptrdiff_t T,
                          fold_fit *f)
{
    kn_status status;
    kn_mat Xt = {0}, Xs = {0};
    kn_engine e = {0};
    kn_latent model = {0};
    double lml, clamped = 0;
    ptrdiff_t P = f->rows.Z_train.cols;
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

/* Rows and coordinates of fold k, from the Gram matrix or the one held-out set. */
static kn_status lay_out(kn_ctx *ctx, const kn_gram *gram, const kn_heldout *held, ptrdiff_t N,
                         const int *fold, int k, ptrdiff_t P, fold_fit *f)
{
    kn_status status = kn_fold_rows(ctx, N, fold, k, &f->rows);
    if (status != KN_OK)
        return status;
    if (!held)
        return kn_fold_pca(ctx, gram, P, &f->rows);
    f->held = held;
    ptrdiff_t K = held->basis.Z.cols;
    return kn_mat_copy(ctx, kn_cols(held->basis.Z, 0, P < K ? P : K), &f->rows.Z_train);
}

typedef struct score_work {
    kn_mat train, error, var, B, B2; /* of one fold and block */
    double *trivial, *noise;         /* of each response: variance in training, and what is noise */
    double *mu, *product, *loss;     /* mean in training; of each held-out sample */
} score_work;

/* B_f, mu and the trivial model's variance from the training rows of the block y (N x count) */
static void fold_basis(kn_ctx *ctx, const fold_fit *f, kn_mat y, score_work *w, kn_mat B)
{
    ptrdiff_t n = f->rows.n_train;
    kn_mat train = kn_sub(w->train, 0, 0, n, y.cols);
    kn_mat_rows(y, f->rows.train, train);
    for (ptrdiff_t j = 0; j < y.cols; j++) {
        double *t = kn_col(train, j), mu = 0, s2 = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            mu += t[i] / (double)n;
        for (ptrdiff_t i = 0; i < n; i++) {
            t[i] -= mu;
            s2 += t[i] * t[i] / (double)n;
        }
        w->mu[j] = mu;
        w->trivial[j] = s2;
    }
    kn_gemm(ctx, 1, KN_T, train, KN_N, f->rows.US, 0, B);
}

/* The same without the training rows, y being the held-out ones: what all samples have, less
 * theirs. */
static void heldout_basis(const fold_fit *f, const kn_responses *Y, ptrdiff_t first, kn_mat y,
                          score_work *w, kn_mat B)
{
    const kn_scaling *s = Y->scaling;
    double N = (double)Y->N, n = (double)f->rows.n_train;
    kn_mat_set(B, kn_sub(f->held->basis.B, first, 0, B.rows, B.cols));
    for (ptrdiff_t j = 0; j < y.cols; j++) {
        double sd = s->sd[first + j], shift = (s->mean0[first + j] - s->mean[first + j]) / sd;
        double all = N * (s->sd0[first + j] * s->sd0[first + j] / (sd * sd) + shift * shift);
        w->mu[j] = f->held->mean[first + j];
        w->trivial[j] = fmax((all - kn_sumsq(kn_cols(y, j, 1))) / n - w->mu[j] * w->mu[j], 0);
    }
}

/* loss_i = sum_j 1/2 (ln s2_ij + e_ij^2/s2_ij), s2_ij = v_ij + noise_j (v absent: noise_j), over
 * responses with any variance. Logarithms of products of a few, because logarithms are slow. */
static void sum_losses(kn_mat e, kn_mat v, const double *noise, const score_work *w)
{
    enum { FEW = 16 };
    ptrdiff_t n = e.rows;
    for (ptrdiff_t i = 0; i < n; i++) {
        w->loss[i] = 0;
        w->product[i] = 1;
    }
    for (ptrdiff_t j = 0; j < e.cols; j++) {
        double s0 = fmax(noise[j], 1e-10 * w->trivial[j]); /* psi is 0 up to rounding */
        const double *x = kn_col(e, j), *m = v.data ? kn_col(v, j) : NULL;
        for (ptrdiff_t i = 0; w->trivial[j] > 0 && i < n; i++) {
            double s2 = s0 + (m ? m[i] : 0);
            w->loss[i] += 0.5 * x[i] * x[i] / s2;
            w->product[i] *= s2;
        }
        for (ptrdiff_t i = 0; (j % FEW == FEW - 1 || j == e.cols - 1) && i < n; i++) {
            w->loss[i] += 0.5 * log(w->product[i]);
            w->product[i] = 1;
        }
    }
}

/* score(i, l) += loss of held-out i at ladder step l, over the block y of responses first ...; the
 * last column: the trivial model's. Components enter a ladder step at a time. */
static void score_block(kn_ctx *ctx, const fold_fit *f, const kn_responses *Y, ptrdiff_t first,
                        kn_mat y, score_work *w, int steps, kn_mat score)
{
    ptrdiff_t count = y.cols, ns = f->rows.n_test, P = f->mean.cols;
    kn_mat e = kn_sub(w->error, 0, 0, ns, count), v = kn_sub(w->var, 0, 0, ns, count);
    kn_mat B = kn_sub(w->B, 0, 0, count, P), B2 = kn_sub(w->B2, 0, 0, count, P);
    if (f->held) {
        heldout_basis(f, Y, first, y, w, B);
        kn_mat_set(e, y);
    } else {
        fold_basis(ctx, f, y, w, B);
        kn_mat_rows(y, f->rows.test, e);
    }
    kn_mat_zero(v);
    for (ptrdiff_t j = 0; j < count; j++) {
        w->noise[j] = w->trivial[j];
        for (ptrdiff_t i = 0; i < ns; i++)
            kn_col(e, j)[i] -= w->mu[j];
    }
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t j = 0; j < count; j++)
            kn_col(B2, p)[j] = kn_at(B, j, p) * kn_at(B, j, p);
    sum_losses(e, kn_mat_none(), w->trivial, w);
    for (ptrdiff_t i = 0; i < ns; i++)
        kn_col(score, steps)[f->rows.test[i]] += w->loss[i];
    for (int l = 0; l < steps; l++) {
        ptrdiff_t p0 = l > 0 ? LADDER[l - 1] : 0, p1 = LADDER[l];
        p0 = p0 < P ? p0 : P;
        p1 = p1 < P ? p1 : P;
        ptrdiff_t np = p1 - p0;
        kn_gemm(ctx, -1, KN_N, kn_cols(f->mean, p0, np), KN_T, kn_cols(B, p0, np), 1, e);
        kn_gemm(ctx, 1, KN_N, kn_cols(f->var, p0, np), KN_T, kn_cols(B2, p0, np), 1, v);
        /* noise_j = (B.^2 d + psi)_j, psi_j = s_j^2 - (B.^2 s2)_j */
        for (ptrdiff_t p = p0; p < p1; p++)
            for (ptrdiff_t j = 0; j < count; j++)
                w->noise[j] += kn_at(B2, j, p) * (f->d[p] - f->s2[p]);
        sum_losses(e, v, w->noise, w);
        for (ptrdiff_t i = 0; i < ns; i++)
            kn_col(score, l)[f->rows.test[i]] += w->loss[i];
    }
}

static kn_status score_work_new(kn_ctx *ctx, const fold_fit *fit, int folds, ptrdiff_t width,
                                score_work *w)
{
    kn_status status;
    ptrdiff_t P = 0, n = 0, ns = 0;
    for (int k = 0; k < folds; k++) {
        P = fit[k].mean.cols > P ? fit[k].mean.cols : P;
        n = fit[k].rows.n_train > n && !fit[k].held ? fit[k].rows.n_train : n;
        ns = fit[k].rows.n_test > ns ? fit[k].rows.n_test : ns;
    }
    KN_TRY(kn_mat_new(ctx, n, width, &w->train));
    KN_TRY(kn_mat_new(ctx, ns, width, &w->error));
    KN_TRY(kn_mat_new(ctx, ns, width, &w->var));
    KN_TRY(kn_mat_new(ctx, width, P, &w->B));
    KN_TRY(kn_mat_new(ctx, width, P, &w->B2));
    KN_TRY(kn_alloc_d(ctx, width, &w->trivial));
    KN_TRY(kn_alloc_d(ctx, width, &w->noise));
    KN_TRY(kn_alloc_d(ctx, width, &w->mu));
    KN_TRY(kn_alloc_d(ctx, ns, &w->product));
    KN_TRY(kn_alloc_d(ctx, ns, &w->loss));
out:
    return status;
}

static void score_work_clear(score_work *w)
{
    kn_mat_clear(&w->train);
    kn_mat_clear(&w->error);
    kn_mat_clear(&w->var);
    kn_mat_clear(&w->B);
    kn_mat_clear(&w->B2);
    kn_free(w->trivial);
    kn_free(w->noise);
    kn_free(w->mu);
    kn_free(w->product);
    kn_free(w->loss);
}

/* score(i, l) = mean_j MSLL of sample i at ladder step l; every few blocks of very many responses
 */
static kn_status score_all(kn_ctx *ctx, const kn_responses *Y, const fold_fit *fit, int folds,
                           int steps, kn_mat score)
{
    kn_status status;
    score_work w = {0};
    kn_mat y = {0};
    kn_responses rows = *Y;
    ptrdiff_t width = Y->T < KN_BLOCK / 4 ? Y->T : KN_BLOCK / 4, scored = 0;
    ptrdiff_t step = width * ((Y->T + SCORED - 1) / SCORED);
    if (fit[0].held)
        rows = kn_responses_rows(Y, fit[0].rows.test, fit[0].rows.n_test);
    KN_TRY(kn_mat_new(ctx, rows.N, width, &y));
    KN_TRY(score_work_new(ctx, fit, folds, width, &w));
    for (ptrdiff_t first = 0; first < Y->T; first += step) {
        kn_mat yb = kn_cols(y, 0, Y->T - first < width ? Y->T - first : width);
        KN_TRY(kn_check_cancel(ctx));
        kn_responses_block(ctx, &rows, first, yb);
        for (int k = 0; k < folds; k++)
            score_block(ctx, &fit[k], Y, first, yb, &w, steps, score);
        scored += yb.cols;
        kn_tell(ctx, "components", first + yb.cols, Y->T, NAN);
    }
    for (int l = 0; l < steps; l++)
        for (ptrdiff_t i = 0; i < Y->N; i++)
            kn_col(score, l)[i] = (kn_at(score, i, l) - kn_at(score, i, steps)) / (double)scored;
out:
    score_work_clear(&w);
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

/* LML along the ladder at the same R0, for the record: of coordinates Z (n x P, all of
 * whose energy but the sum of squares of Z lies outside). */
static kn_status likelihoods(kn_ctx *ctx, kn_mat X, kn_mat Z, double total, const kn_spec *spec,
                             const double *r0, ptrdiff_t T, int steps, kn_fit_info *info)
{
    kn_status status;
    kn_engine e = {0};
    double lml, N = (double)X.rows;
    KN_TRY(kn_engine_over(ctx, spec, X, Z, T, 0, 1, X.rows, NULL, &e));
    KN_TRY(kn_engine_at(ctx, &e, r0, &lml));
    double sum = 0, E = total;
    for (int l = 0, p = 0; l < steps; l++) {
        for (; p < LADDER[l]; p++) {
            sum += e.lml[p];
            E -= kn_sumsq(kn_cols(Z, p, 1));
        }
        double outside = N * (double)(T - p);
        info->curve[l].lml = sum;
        if (outside > 0 && E > 1e-10 * total)
            info->curve[l].lml -= 0.5 * outside * (LN_2PI + log(E / outside) + 1);
    }
out:
    kn_engine_clear(&e);
    return status;
}

/* Those of all samples, or of the training part of a held-out set. */
static kn_status record_likelihoods(kn_ctx *ctx, kn_mat X, const kn_gram *gram,
                                    const kn_heldout *held, const kn_spec *spec, const double *r0,
                                    ptrdiff_t T, int steps, kn_fit_info *info)
{
    kn_status status;
    kn_mat Z = {0}, Xt = {0};
    ptrdiff_t P = LADDER[steps - 1];
    double total = 0;
    if (held) {
        KN_TRY(kn_mat_new(ctx, held->rows.n_train, X.cols, &Xt));
        kn_mat_rows(X, held->rows.train, Xt);
        KN_TRY(likelihoods(ctx, Xt, kn_cols(held->basis.Z, 0, P), held->basis.total, spec, r0, T,
                           steps, info));
    } else {
        KN_TRY(kn_gram_coordinates(ctx, gram, P, &Z));
        for (ptrdiff_t i = 0; i < X.rows; i++)
            total += gram->s2[i];
        KN_TRY(likelihoods(ctx, X, Z, total, spec, r0, T, steps, info));
    }
out:
    kn_mat_clear(&Xt);
    kn_mat_clear(&Z);
    return status;
}

/* The rows of `score` that were held out, for its statistics. */
static ptrdiff_t pack(kn_mat score, const int *fold)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < score.rows; i++)
        if (fold[i] >= 0) {
            for (ptrdiff_t l = 0; l < score.cols; l++)
                kn_col(score, l)[n] = kn_at(score, i, l);
            n++;
        }
    return n;
}

kn_status kn_choose_components(kn_ctx *ctx, kn_mat X, const kn_responses *Y, const kn_gram *gram,
                               const kn_heldout *held, const kn_spec *spec, const kn_cov_point *at,
                               const kn_gp_options *o, kn_fit_info *info, ptrdiff_t *P)
{
    kn_status status = KN_OK;
    kn_spec structured = *spec; /* components are independent under structured noise only */
    fold_fit fit[FOLDS] = {0};
    kn_mat score = {0};
    void *fold = NULL;
    double r0[KN_COV_THETA];
    ptrdiff_t N = X.rows, most = (N - 1) / 2, rank = held ? held->basis.Z.cols : gram->rank;
    int steps = 0, folds = held ? KN_HELD_OUT_ONCE : FOLDS;
    structured.noise = KN_NOISE_STRUCTURED;
    structured.sample = kn_cov_between(&spec->sample);
    most = most < Y->T ? most : Y->T;
    most = most < rank ? most : rank;
    while (steps < KN_MAX_CURVE && LADDER[steps] <= most)
        info->curve[steps].components = LADDER[steps], steps++;
    kn_cov_theta(&structured.sample, at, r0);
    KN_TRY(kn_alloc(ctx, N, sizeof(int), &fold));
    KN_TRY(kn_folds_deal(ctx, N, o->groups, o->search.seed, &folds, fold));
    KN_TRY(kn_mat_new(ctx, N, steps + 1, &score));
    for (int k = 0; k < folds; k++) {
        KN_TRY(lay_out(ctx, gram, held, N, fold, k, LADDER[steps - 1], &fit[k]));
        KN_TRY(fit_rows(ctx, X, &structured, r0, Y->T, &fit[k]));
    }
    KN_TRY(score_all(ctx, Y, fit, folds, steps, score));
    KN_TRY(record_likelihoods(ctx, X, gram, held, &structured, r0, Y->T, steps, info));
    info->n_curve = steps;
    score.rows = pack(score, fold);
    *P = LADDER[choose(score, steps, info)];
out:
    for (int k = 0; k < FOLDS; k++)
        fold_fit_clear(&fit[k]);
    kn_mat_clear(&score);
    kn_free(fold);
    return status;
}
