/* Maps of STGPR, cell by cell                                                     [METHOD 5, 5b, 7]
 *
 * A cell costs an eigenproblem whatever the number of its responses, and blocks cut across cells.
 * So maps are made for a panel of many responses at once, as wide as memory allows, and blocks are
 * read from it. */
#include "gp/stgpr_predict.h"

#include <math.h>

#include "gp/cv_fold.h"
#include "gp/stgpr.h"
#include "la/la.h"

enum { ROWS = 4096 };                  /* new samples at a time */
static const double PANEL_BYTES = 1e9; /* of means and variances held */

typedef struct stgpr_maps {
    kn_maps_kind kind;
    kn_mat Xs;      /* PREDICT */
    kn_pairs pairs; /* of the training samples */
    int *fold;      /* CV */
    /* the panel: responses first .. first + count - 1 */
    ptrdiff_t first, count;
    bool has_mean, has_var;
    kn_mat mean, var; /* samples x count */
    double clamped;
} stgpr_maps;

ptrdiff_t kn_stgpr_batch(const kn_gp *gp)
{
    return (ptrdiff_t)(PANEL_BYTES / (16 * (double)gp->T));
}

static void maps_free(void *own)
{
    stgpr_maps *m = own;
    kn_mat_clear(&m->Xs);
    kn_pairs_clear(&m->pairs);
    kn_free(m->fold);
    kn_mat_clear(&m->mean);
    kn_mat_clear(&m->var);
    kn_free(m);
}

static kn_status begin(kn_ctx *ctx, const kn_gp *gp, kn_maps_kind kind, ptrdiff_t n,
                       kn_gp_maps *out)
{
    kn_status status;
    void *p;
    *out = (kn_gp_maps){.gp = gp, .n = n};
    KN_TRY(kn_alloc(ctx, 1, sizeof(stgpr_maps), &p));
    stgpr_maps *m = out->own = p;
    out->own_free = maps_free;
    m->kind = kind;
    KN_TRY(kn_pairs_within(ctx, gp->latent.X, &gp->spec.sample.stats, &m->pairs));
out:
    return status;
}

kn_status kn_stgpr_predict(kn_ctx *ctx, const kn_gp *gp, const kn_newcomers *who, kn_gp_maps *out)
{
    kn_status status;
    KN_TRY(begin(ctx, gp, KN_MAPS_PREDICT, who->X.rows, out));
    KN_TRY(kn_mat_copy(ctx, who->X, &((stgpr_maps *)out->own)->Xs));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

kn_status kn_stgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out)
{
    kn_status status = begin(ctx, gp, KN_MAPS_LOO, gp->N, out);
    out->Y = *Y;
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

kn_status kn_stgpr_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out)
{
    kn_status status;
    void *p;
    KN_TRY(begin(ctx, gp, KN_MAPS_CV, gp->N, out));
    stgpr_maps *m = out->own;
    out->Y = *problem->Y;
    out->folds = problem->folds;
    KN_TRY(kn_alloc(ctx, gp->N, sizeof(int), &p));
    m->fold = p;
    for (ptrdiff_t i = 0; i < gp->N; i++)
        m->fold[i] = problem->fold[i];
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* Some samples before a cell: R0*, R0* U, and results for as many responses as the work space. */
typedef struct ahead {
    kn_pairs pairs; /* samples x training */
    kn_mat Xs, Rs, RU;
    double *self, *sq;
    kn_mat mean, var, inverse;
} ahead;

static void ahead_clear(ahead *a)
{
    kn_pairs_clear(&a->pairs);
    kn_mat_clear(&a->Rs);
    kn_mat_clear(&a->RU);
    kn_mat_clear(&a->mean);
    kn_mat_clear(&a->var);
    kn_mat_clear(&a->inverse);
    kn_free(a->self);
    kn_free(a->sq);
    *a = (ahead){0};
}

/* Takes over the pairs, whatever comes of it. */
static kn_status ahead_new(kn_ctx *ctx, kn_mat Xs, ptrdiff_t N, kn_pairs *pairs, ptrdiff_t width,
                           ahead *out)
{
    kn_status status;
    ptrdiff_t n = Xs.rows;
    *out = (ahead){.pairs = *pairs, .Xs = Xs};
    *pairs = (kn_pairs){0};
    KN_TRY(kn_mat_new(ctx, n, N, &out->Rs));
    KN_TRY(kn_mat_new(ctx, n, N, &out->RU));
    KN_TRY(kn_mat_new(ctx, n, width, &out->mean));
    KN_TRY(kn_mat_new(ctx, n, width, &out->var));
    KN_TRY(kn_mat_new(ctx, N, width, &out->inverse));
    KN_TRY(kn_alloc_d(ctx, n, &out->self));
    KN_TRY(kn_alloc_d(ctx, n, &out->sq));
out:
    return status;
}

/* Faces a cell, whose decomposition is at hand where variances are wanted. */
static void ahead_face(kn_ctx *ctx, ahead *a, const kn_cell_work *w, const double *theta,
                       bool variances)
{
    kn_cov_fill(&w->R0.cov, theta, &a->pairs, a->Rs);
    if (!variances)
        return;
    kn_cov_self(&w->R0.cov, theta, a->Xs, a->sq, a->self);
    kn_gemm(ctx, 1, KN_N, a->Rs, KN_N, w->R0.U, 0, a->RU);
    for (ptrdiff_t i = 0; i < a->RU.rows * a->RU.cols; i++)
        a->RU.data[i] *= a->RU.data[i];
}

/* var = c (R0** - (R0* U).^2 (1/(r + delta))) for n responses, c and d in the work space. */
static void ahead_variances(kn_ctx *ctx, ahead *a, const kn_cell_work *w, ptrdiff_t n,
                            double *clamped)
{
    kn_mat v = kn_cols(a->var, 0, n), inverse = kn_cols(a->inverse, 0, n);
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < w->R0.m; i++)
            kn_col(inverse, j)[i] = w->c[j] > 0 ? 1 / (w->c[j] * w->R0.r[i] + w->d[j]) : 0;
    kn_gemm(ctx, 1, KN_N, a->RU, KN_N, inverse, 0, v);
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < v.rows; i++) {
            double c = w->c[j], prior = c * a->self[i];
            kn_col(v, j)[i] = kn_at_least_zero(prior - c * c * kn_at(v, i, j), prior, clamped);
        }
}

static void load_parameters(const kn_stgpr *s, const ptrdiff_t *J, ptrdiff_t n, kn_cell_work *w)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        w->c[j] = s->c[J[j]];
        w->d[j] = s->d[J[j]];
    }
}

/* Puts the results for responses J into the panel, rows as named or in order. */
static void put(kn_mat from, const ptrdiff_t *rows, const ptrdiff_t *J, ptrdiff_t first,
                kn_mat panel)
{
    for (ptrdiff_t j = 0; j < from.cols; j++)
        for (ptrdiff_t i = 0; i < from.rows; i++)
            kn_col(panel, J[j] - first)[rows ? rows[i] : i] = kn_at(from, i, j);
}

typedef struct job {
    const kn_gp *gp;
    const kn_responses *Y;
    stgpr_maps *m;
    kn_cell_groups g;
    ptrdiff_t width;
    bool mean, var; /* to be made */
} job;

static void cell_theta(const job *b, ptrdiff_t cell, double *theta)
{
    const kn_mat cells = ((const kn_stgpr *)b->gp->own)->cells;
    const kn_cov *cov = &b->gp->spec.sample;
    kn_cov_point at = kn_cov_at_rho(cov, kn_at(cells, cell, 0), kn_at(cells, cell, 1));
    kn_cov_theta(cov, &at, theta);
}

/* New samples from `row` on: mean = R0* alpha. */
static kn_status predict_rows(kn_ctx *ctx, const job *b, ptrdiff_t row, ptrdiff_t n,
                              kn_cell_work *w)
{
    kn_status status;
    const kn_stgpr *s = b->gp->own;
    stgpr_maps *m = b->m;
    kn_mat Xs = kn_sub(m->Xs, row, 0, n, m->Xs.cols);
    kn_pairs pairs = {0};
    ahead a = {0};
    KN_TRY(kn_pairs_between(ctx, Xs, b->gp->latent.X, &w->R0.cov.stats, &pairs));
    KN_TRY(ahead_new(ctx, Xs, b->gp->N, &pairs, b->width, &a));
    for (ptrdiff_t cell = 0; cell < s->cells.rows; cell++) {
        double theta[KN_COV_THETA];
        if (b->g.start[cell] == b->g.start[cell + 1])
            continue;
        KN_TRY(kn_check_cancel(ctx));
        cell_theta(b, cell, theta);
        if (b->var)
            KN_TRY(kn_decomp_compute(ctx, &w->R0, &m->pairs, NULL, theta));
        ahead_face(ctx, &a, w, theta, b->var);
        for (ptrdiff_t k = b->g.start[cell]; k < b->g.start[cell + 1]; k += b->width) {
            const ptrdiff_t *J = b->g.order + k, c = kn_at_most(b->g.start[cell + 1] - k, b->width);
            if (b->mean) {
                kn_mat alpha = kn_cols(w->Y, 0, c), mean = kn_cols(a.mean, 0, c);
                for (ptrdiff_t j = 0; j < c; j++)
                    kn_mat_set(kn_cols(alpha, j, 1), kn_cols(s->alpha, J[j], 1));
                kn_gemm(ctx, 1, KN_N, a.Rs, KN_N, alpha, 0, mean);
                put(mean, NULL, J, m->first, kn_sub(m->mean, row, 0, n, m->count));
            }
            if (b->var) {
                load_parameters(s, J, c, w);
                ahead_variances(ctx, &a, w, c, &m->clamped);
                put(kn_cols(a.var, 0, c), NULL, J, m->first, kn_sub(m->var, row, 0, n, m->count));
            }
        }
    }
out:
    ahead_clear(&a);
    kn_pairs_clear(&pairs);
    return status;
}

static kn_status predict_panel(kn_ctx *ctx, const job *b)
{
    kn_status status;
    kn_cell_work w = {0};
    ptrdiff_t n = b->m->Xs.rows;
    KN_TRY(kn_cell_work_new(ctx, b->gp->N, &b->gp->spec.sample, b->width, &w));
    for (ptrdiff_t row = 0; row < n; row += ROWS)
        KN_TRY(predict_rows(ctx, b, row, kn_at_most(n - row, ROWS), &w));
out:
    kn_cell_work_clear(&w);
    return status;
}

/* k_i = sum_n U_in^2/(r_n + delta); residual alpha/k, variance with noise c/k          [METHOD 5]
 */
static void loo_responses(kn_ctx *ctx, const job *b, const kn_cell_work *w, kn_mat U2,
                          const ptrdiff_t *J, ptrdiff_t n)
{
    const kn_stgpr *s = b->gp->own;
    stgpr_maps *m = b->m;
    kn_mat inverse = kn_cols(w->A, 0, n), k = kn_cols(w->A2, 0, n);
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < w->R0.m; i++)
            kn_col(inverse, j)[i] = 1 / (w->c[j] * w->R0.r[i] + w->d[j]);
    kn_gemm(ctx, 1, KN_N, U2, KN_N, inverse, 0, k); /* of K = c R0 + d I, so 1/k is the variance */
    for (ptrdiff_t j = 0; j < n; j++) {
        double c = w->c[j], d = w->d[j];
        for (ptrdiff_t i = 0; i < k.rows; i++) {
            double v = 1 / kn_at(k, i, j), y = kn_at(w->Y, i, j);
            double residual = c > 0 ? kn_at(s->alpha, i, J[j]) / c * v : y;
            if (b->mean)
                kn_col(m->mean, J[j] - m->first)[i] = y - residual;
            if (b->var)
                kn_col(m->var, J[j] - m->first)[i] =
                    c > 0 ? kn_at_least_zero(v - d, v, &m->clamped) : 0;
        }
    }
}

static kn_status loo_panel(kn_ctx *ctx, const job *b)
{
    kn_status status;
    const kn_stgpr *s = b->gp->own;
    kn_cell_work w = {0};
    kn_mat U2 = {0};
    KN_TRY(kn_cell_work_new(ctx, b->gp->N, &b->gp->spec.sample, b->width, &w));
    KN_TRY(kn_mat_new(ctx, b->gp->N, b->gp->N, &U2));
    for (ptrdiff_t cell = 0; cell < s->cells.rows; cell++) {
        if (b->g.start[cell] == b->g.start[cell + 1])
            continue;
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_cell_decompose(ctx, &w, &b->m->pairs, kn_at(s->cells, cell, 0),
                                 kn_at(s->cells, cell, 1)));
        for (ptrdiff_t i = 0; i < U2.rows * U2.cols; i++)
            U2.data[i] = w.R0.U.data[i] * w.R0.U.data[i];
        for (ptrdiff_t k = b->g.start[cell]; k < b->g.start[cell + 1]; k += b->width) {
            const ptrdiff_t *J = b->g.order + k, n = kn_at_most(b->g.start[cell + 1] - k, b->width);
            kn_responses_columns(ctx, b->Y, J, kn_cols(w.Y, 0, n));
            load_parameters(s, J, n, &w);
            loo_responses(ctx, b, &w, U2, J, n);
        }
    }
out:
    kn_mat_clear(&U2);
    kn_cell_work_clear(&w);
    return status;
}

/* Y (n_train x n) = training rows of the responses J, centred; the means in mu. */
static void fold_responses(kn_ctx *ctx, const job *b, const kn_fold *f, const ptrdiff_t *J,
                           kn_mat Y, double *mu)
{
    kn_responses train = kn_responses_rows(b->Y, f->train, f->n_train);
    kn_responses_columns(ctx, &train, J, Y);
    for (ptrdiff_t j = 0; j < Y.cols; j++) {
        double *y = kn_col(Y, j);
        mu[j] = 0;
        for (ptrdiff_t i = 0; i < Y.rows; i++)
            mu[j] += y[i] / (double)Y.rows;
        for (ptrdiff_t i = 0; i < Y.rows; i++)
            y[i] -= mu[j];
    }
}

/* One fold: mean, c and d again from its training rows, the cell held             [METHOD 5b] */
static kn_status cv_fold(kn_ctx *ctx, const job *b, const kn_fold *f, double *mu)
{
    kn_status status;
    const kn_stgpr *s = b->gp->own;
    stgpr_maps *m = b->m;
    kn_pairs train = {0}, cross = {0};
    kn_cell_work w = {0};
    kn_mat Xs = {0};
    ahead a = {0};
    KN_TRY(kn_mat_new(ctx, f->n_test, b->gp->F, &Xs));
    kn_mat_rows(b->gp->latent.X, f->test, Xs);
    KN_TRY(kn_pairs_subset(ctx, &m->pairs, f->train, f->n_train, &train));
    KN_TRY(kn_pairs_cross(ctx, &m->pairs, f->test, f->n_test, f->train, f->n_train, &cross));
    KN_TRY(kn_cell_work_new(ctx, f->n_train, &b->gp->spec.sample, b->width, &w));
    KN_TRY(ahead_new(ctx, Xs, f->n_train, &cross, b->width, &a));
    for (ptrdiff_t cell = 0; cell < s->cells.rows; cell++) {
        double theta[KN_COV_THETA];
        if (b->g.start[cell] == b->g.start[cell + 1])
            continue;
        KN_TRY(kn_check_cancel(ctx));
        cell_theta(b, cell, theta);
        KN_TRY(kn_decomp_compute(ctx, &w.R0, &train, NULL, theta));
        ahead_face(ctx, &a, &w, theta, true);
        for (ptrdiff_t k = b->g.start[cell]; k < b->g.start[cell + 1]; k += b->width) {
            const ptrdiff_t *J = b->g.order + k, n = kn_at_most(b->g.start[cell + 1] - k, b->width);
            kn_mat Y = kn_cols(w.Y, 0, n), mean = kn_cols(a.mean, 0, n);
            fold_responses(ctx, b, f, J, Y, mu);
            KN_TRY(kn_cell_fit(ctx, &w, Y, 0));
            kn_cell_alpha(ctx, &w, n, Y);
            kn_gemm(ctx, 1, KN_N, a.Rs, KN_N, Y, 0, mean);
            for (ptrdiff_t j = 0; j < n; j++)
                for (ptrdiff_t i = 0; i < mean.rows; i++)
                    kn_col(mean, j)[i] += mu[j];
            ahead_variances(ctx, &a, &w, n, &m->clamped);
            put(mean, f->test, J, m->first, m->mean);
            put(kn_cols(a.var, 0, n), f->test, J, m->first, m->var);
        }
    }
out:
    ahead_clear(&a);
    kn_mat_clear(&Xs);
    kn_cell_work_clear(&w);
    kn_pairs_clear(&cross);
    kn_pairs_clear(&train);
    return status;
}

static kn_status cv_panel(kn_ctx *ctx, const job *b, int folds)
{
    kn_status status = KN_OK;
    kn_fold f = {0};
    double *mu = NULL;
    KN_TRY(kn_alloc_d(ctx, b->width, &mu));
    for (int k = 0; k < folds; k++) {
        KN_TRY(kn_fold_rows(ctx, b->gp->N, b->m->fold, k, &f));
        if (f.n_test > 0)
            KN_TRY(cv_fold(ctx, b, &f, mu));
        kn_fold_clear(&f);
        kn_tell(ctx, "cross-validation", k + 1, folds, NAN);
    }
out:
    kn_fold_clear(&f);
    kn_free(mu);
    return status;
}

static ptrdiff_t panel_width(ptrdiff_t n, ptrdiff_t least)
{
    ptrdiff_t wide = (ptrdiff_t)(PANEL_BYTES / (16 * (double)n));
    return wide > least ? wide : least;
}

/* Makes the panel that holds responses first .. first + count - 1, if it is not the one at hand. */
static kn_status panel(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, ptrdiff_t count,
                       bool mean, bool var)
{
    kn_status status = KN_OK;
    stgpr_maps *m = maps->own;
    job b = {.gp = maps->gp, .Y = &maps->Y, .m = m};
    bool inside = first >= m->first && first + count <= m->first + m->count;
    if (inside && (!mean || m->has_mean) && (!var || m->has_var))
        return KN_OK;
    if (!inside) {
        m->first = first;
        m->count = kn_at_most(maps->gp->T - first, panel_width(maps->n, count));
        m->has_mean = m->has_var = false;
        kn_mat_clear(&m->mean);
        kn_mat_clear(&m->var);
    }
    if (m->kind == KN_MAPS_CV)
        mean = var = true; /* one costs as much as both */
    if (mean && !m->mean.data)
        KN_TRY(kn_mat_new(ctx, maps->n, m->count, &m->mean));
    if (var && !m->var.data)
        KN_TRY(kn_mat_new(ctx, maps->n, m->count, &m->var));
    b.mean = mean && !m->has_mean;
    b.var = var && !m->has_var;
    b.width = kn_at_most(m->count, KN_BLOCK);
    KN_TRY(kn_cell_groups_new(ctx, maps->gp->own, m->first, m->count, &b.g));
    if (m->kind == KN_MAPS_PREDICT)
        KN_TRY(predict_panel(ctx, &b));
    else if (m->kind == KN_MAPS_LOO)
        KN_TRY(loo_panel(ctx, &b));
    else
        KN_TRY(cv_panel(ctx, &b, maps->folds));
    m->has_mean = m->has_mean || mean;
    m->has_var = m->has_var || var;
out:
    kn_cell_groups_clear(&b.g);
    if (status != KN_OK)
        m->count = 0; /* nothing to be read from */
    return status;
}

kn_status kn_stgpr_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y,
                              kn_mat mean, kn_mat var)
{
    (void)y; /* a panel has its own */
    const stgpr_maps *m = maps->own;
    ptrdiff_t count = mean.data ? mean.cols : var.cols;
    kn_status status = panel(ctx, maps, first, count, mean.data != NULL, var.data != NULL);
    if (status != KN_OK)
        return status;
    ptrdiff_t from = first - m->first;
    if (mean.data)
        kn_mat_set(mean, kn_cols(m->mean, from, count));
    if (var.data)
        kn_mat_set(var, kn_cols(m->var, from, count));
    return KN_OK;
}

void kn_stgpr_maps_need(kn_rehearsal *r, const kn_need_shape *s, kn_maps_kind kind, ptrdiff_t n)
{
    kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
    if (kind == KN_MAPS_PREDICT)
        kn_hold_d(r, KN_NEED_WORK, n, s->F);
}

/* n samples before a cell of N, their pairs included */
static void ahead_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t n, ptrdiff_t N,
                       ptrdiff_t width)
{
    kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, n, N);
    kn_hold_d(r, KN_NEED_SAMPLES, n, 2 * N + 2);
    kn_hold_d(r, KN_NEED_WORK, 2 * n + N, width);
}

void kn_stgpr_block_need(kn_rehearsal *r, const kn_need_shape *s, kn_maps_kind kind, ptrdiff_t n)
{
    ptrdiff_t width = kn_at_most(s->T, KN_BLOCK), count = kn_at_most(s->T, panel_width(n, width));
    kn_hold_d(r, KN_NEED_WORK, n, 2 * count);
    kn_held mark = r->now;
    kn_hold_d(r, KN_NEED_WORK, count, 1); /* groups */
    if (kind == KN_MAPS_CV) {
        ptrdiff_t h = (s->N + s->folds - 1) / s->folds, train = s->N - s->N / s->folds;
        kn_hold_d(r, KN_NEED_WORK, 2 * s->N + width + h * s->F, 1);
        kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, train, train);
        ahead_need(r, s, h, train, width);
        kn_cell_work_need(r, train, width);
    } else {
        if (kind == KN_MAPS_LOO)
            kn_hold_d(r, KN_NEED_SAMPLES, s->N, s->N); /* U2 */
        else
            ahead_need(r, s, kn_at_most(n, ROWS), s->N, width);
        kn_cell_work_need(r, s->N, width);
    }
    kn_let_go(r, mark);
}
