/* Maps of STGPR, cell by cell                                                     [METHOD 5, 5b, 7]
 *
 * A cell costs an eigenproblem whatever the number of its responses, and blocks cut across cells.
 * So maps are made for a panel of many responses at once, as wide as memory allows, and blocks are
 * read from it. */
#include "gp/stgpr_predict.h"

#include <math.h>

#include "gp/completion.h"
#include "gp/cv_fold.h"
#include "gp/stgpr.h"
#include "la/la.h"

enum { ROWS = 4096 };                  /* new samples at a time */
static const double PANEL_BYTES = 1e9; /* of means and variances held */

typedef struct stgpr_maps {
    kn_maps_kind kind;
    kn_mat Xs;        /* PREDICT */
    ptrdiff_t *group; /* PREDICT: the known one of each, or -1; NULL: all are in new ones */
    kn_pairs pairs;   /* of the training samples */
    int *fold;        /* CV */
    kn_mat X_alone;   /* CV: see kn_cv_problem, or none */
    int n_filled;     /* CV of missing responses: folds ... */
    double **filled;  /* ... and what each has filled in by itself [METHOD 0b] */
    /* the panel: responses first .. first + count - 1 */
    ptrdiff_t first, count;
    bool has_mean, has_var;
    bool alone;       /* means of it are as if people were of no batch */
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
    kn_free(m->group);
    kn_pairs_clear(&m->pairs);
    kn_free(m->fold);
    kn_mat_clear(&m->X_alone);
    for (int k = 0; k < m->n_filled; k++)
        kn_free(m->filled[k]);
    kn_free(m->filled);
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
    stgpr_maps *m = out->own;
    KN_TRY(kn_mat_copy(ctx, who->X, &m->Xs));
    if (who->group && gp->latent.groups.n > 0) {
        void *known;
        KN_TRY(kn_alloc_i(ctx, out->n, &m->group));
        KN_TRY(kn_alloc(ctx, out->n, sizeof *out->known, &known));
        out->known = known;
        for (ptrdiff_t i = 0; i < out->n; i++) {
            m->group[i] = who->group[i];
            out->known[i] = who->group[i] >= 0;
        }
    }
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

/* Every fold's own rows, filled in by themselves. */
static kn_status fill_folds(kn_ctx *ctx, const kn_cv_problem *problem, ptrdiff_t N, stgpr_maps *m)
{
    kn_status status;
    void *memory;
    kn_fold f = {0};
    kn_responses Y;
    KN_TRY(kn_alloc(ctx, problem->folds, sizeof *m->filled, &memory));
    m->filled = memory;
    m->n_filled = problem->folds;
    for (int k = 0; k < problem->folds; k++) {
        KN_TRY(kn_fold_rows(ctx, N, problem->fold, k, &f));
        KN_TRY(kn_completion_fold(ctx, problem->completion, f.train, f.n_train, &m->filled[k], &Y));
        kn_fold_clear(&f);
    }
out:
    kn_fold_clear(&f);
    return status;
}

kn_status kn_stgpr_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out)
{
    kn_status status;
    void *p;
    KN_TRY(begin(ctx, gp, KN_MAPS_CV, gp->N, out));
    stgpr_maps *m = out->own;
    out->Y = kn_responses_as_given(problem->Y);
    out->folds = problem->folds;
    KN_TRY(kn_alloc(ctx, gp->N, sizeof(int), &p));
    m->fold = p;
    for (ptrdiff_t i = 0; i < gp->N; i++)
        m->fold[i] = problem->fold[i];
    if (problem->X_alone.data)
        KN_TRY(kn_mat_copy(ctx, problem->X_alone, &m->X_alone));
    if (problem->completion)
        KN_TRY(fill_folds(ctx, problem, gp->N, m));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* Some samples before a cell: R0*, R0* U, and results for as many responses as the work space. */
typedef struct ahead {
    kn_pairs pairs; /* samples x training */
    kn_mat Xs, Rs, RU, RU2;
    const ptrdiff_t *group; /* known ones; NULL: none */
    kn_mat sums;            /* groups x m  of U, where there are */
    double *self, *sq;
    kn_mat mean, var, inverse;
} ahead;

static void ahead_clear(ahead *a)
{
    kn_pairs_clear(&a->pairs);
    kn_mat_clear(&a->Rs);
    kn_mat_clear(&a->RU);
    kn_mat_clear(&a->RU2);
    kn_mat_clear(&a->sums);
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

/* Some samples are in known groups. */
static kn_status ahead_know(kn_ctx *ctx, ahead *a, const ptrdiff_t *group, ptrdiff_t groups,
                            bool variances)
{
    kn_status status = KN_OK;
    a->group = group;
    if (variances) {
        KN_TRY(kn_mat_new(ctx, a->RU.rows, a->RU.cols, &a->RU2));
        KN_TRY(kn_mat_new(ctx, groups, a->RU.cols, &a->sums));
    }
out:
    return status;
}

/* Faces a cell, whose decomposition is at hand where variances are wanted. */
static void ahead_face(kn_ctx *ctx, ahead *a, const kn_cell_work *w, const kn_cov_point *at,
                       bool variances)
{
    const kn_cov *cov = w->samples->cov;
    double theta[KN_COV_THETA];
    kn_cov_theta(cov, at, theta);
    kn_cov_fill(cov, theta, &a->pairs, a->Rs);
    if (!variances)
        return;
    kn_cov_self(cov, theta, a->Xs, a->sq, a->self);
    kn_mat RU = kn_cols(a->RU, 0, w->m);
    kn_gemm(ctx, 1, KN_N, a->Rs, KN_N, w->U, 0, RU);
    if (a->group) { /* RU itself is wanted too */
        kn_groups_sums(w->samples->groups, w->U, kn_cols(a->sums, 0, w->m));
        return;
    }
    kn_latent_square(RU);
}

/* Response j of sample i, of whose group are training samples:
 *     Q = (c R0* + gamma d G*) U,  var = c R0** + gamma d - Q.^2 (1/(c r + d))
 * less, of low rank, gamma^2 d (n/(1 + n gamma) - |G* U|^2)                          [METHOD 4] */
static double within_group(const ahead *a, const kn_cell_work *w, ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t g = a->group[i];
    double c = w->c[j], d = w->d[j], gamma = w->gamma, n = w->samples->groups->size[g];
    double square = 0, left = n / (1 + n * gamma);
    for (ptrdiff_t k = 0; k < w->m; k++) {
        double s = kn_at(a->sums, g, k), q = c * kn_at(a->RU, i, k) + gamma * d * s;
        square += q * q / (c * w->r[k] + d);
        left -= s * s;
    }
    return c * a->self[i] + gamma * d - square - (kn_cell_is_low(w) ? gamma * gamma * d * left : 0);
}

/* var = c (R0** - (R0* U).^2 (1/(r + delta))) for n responses, c and d in the work space. */
static void ahead_variances(kn_ctx *ctx, ahead *a, const kn_cell_work *w, ptrdiff_t n,
                            double *clamped)
{
    kn_mat v = kn_cols(a->var, 0, n), inverse = kn_sub(a->inverse, 0, 0, w->m, n);
    kn_mat RU2 = kn_cols(a->group ? a->RU2 : a->RU, 0, w->m);
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < w->m; i++)
            kn_col(inverse, j)[i] = w->c[j] > 0 ? 1 / (w->c[j] * w->r[i] + w->d[j]) : 0;
    if (a->group) {
        kn_mat_set(RU2, kn_cols(a->RU, 0, w->m));
        kn_latent_square(RU2);
    }
    kn_gemm(ctx, 1, KN_N, RU2, KN_N, inverse, 0, v);
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < v.rows; i++) {
            double c = w->c[j], prior = c * a->self[i], left = prior - c * c * kn_at(v, i, j);
            if (a->group && a->group[i] >= 0 && w->gamma > 0) {
                prior += w->gamma * w->d[j];
                left = within_group(a, w, i, j);
            }
            kn_col(v, j)[i] = kn_at_least_zero(left, prior, clamped);
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
    kn_cell_samples samples;
    const kn_responses *Y;
    stgpr_maps *m;
    kn_cell_groups g;
    ptrdiff_t width;
    bool mean, var;       /* to be made */
    const double *filled; /* of the fold at hand; NULL: nothing is missing */
} job;

/* The point of a cell, and its gamma; there is at least one response in it. */
static kn_cov_point cell_of(const job *b, ptrdiff_t cell, double *gamma)
{
    const kn_stgpr *s = b->gp->own;
    *gamma = kn_stgpr_gamma(s, b->g.order[b->g.start[cell]]);
    return kn_cell_point(b->samples.cov, s->cells, cell);
}

/* What the mean has more in known groups. */
static void add_effects(const ahead *a, const kn_stgpr *s, const ptrdiff_t *J, kn_mat mean)
{
    for (ptrdiff_t j = 0; a->group && j < mean.cols; j++)
        for (ptrdiff_t i = 0; i < mean.rows; i++)
            if (a->group[i] >= 0)
                kn_col(mean, j)[i] += kn_at(s->effect, a->group[i], J[j]);
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
    KN_TRY(kn_pairs_between(ctx, Xs, b->gp->latent.X, &b->samples.cov->stats, &pairs));
    KN_TRY(ahead_new(ctx, Xs, b->gp->N, &pairs, b->width, &a));
    if (m->group)
        KN_TRY(ahead_know(ctx, &a, m->group + row, b->gp->latent.groups.n, b->var));
    for (ptrdiff_t cell = 0; cell < s->cells.rows; cell++) {
        double gamma;
        if (b->g.start[cell] == b->g.start[cell + 1])
            continue;
        KN_TRY(kn_check_cancel(ctx));
        kn_cov_point at = cell_of(b, cell, &gamma);
        if (b->var)
            KN_TRY(kn_cell_decompose(ctx, w, &at, gamma));
        ahead_face(ctx, &a, w, &at, b->var);
        for (ptrdiff_t k = b->g.start[cell]; k < b->g.start[cell + 1]; k += b->width) {
            const ptrdiff_t *J = b->g.order + k, c = kn_at_most(b->g.start[cell + 1] - k, b->width);
            if (b->mean) {
                kn_mat alpha = kn_cols(w->Y, 0, c), mean = kn_cols(a.mean, 0, c);
                for (ptrdiff_t j = 0; j < c; j++)
                    kn_mat_set(kn_cols(alpha, j, 1), kn_cols(s->alpha, J[j], 1));
                kn_gemm(ctx, 1, KN_N, a.Rs, KN_N, alpha, 0, mean);
                add_effects(&a, s, J, mean);
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
    KN_TRY(kn_cell_work_new(ctx, b->gp->N, &b->samples, b->width, &w));
    for (ptrdiff_t row = 0; row < n; row += ROWS)
        KN_TRY(predict_rows(ctx, b, row, kn_at_most(n - row, ROWS), &w));
out:
    kn_cell_work_clear(&w);
    return status;
}

/* Work of leaving out: the products of rows of U, and a group's part of K^-1. */
typedef struct leaving {
    kn_mat rows; /* N x N  products of two rows of U, so many pairs at a time */
    kn_mat M, I; /* n x n, n x (n + 1) of the largest group */
    kn_mat k;    /* its pairs x 1, where these are more than the work space has room for */
} leaving;

static void leaving_clear(leaving *v)
{
    kn_mat_clear(&v->rows);
    kn_mat_clear(&v->M);
    kn_mat_clear(&v->I);
    kn_mat_clear(&v->k);
}

static kn_status leaving_new(kn_ctx *ctx, const kn_gp *gp, leaving *v)
{
    kn_status status;
    const kn_groups *g = &gp->latent.groups;
    ptrdiff_t most = 0;
    for (ptrdiff_t k = 0; k < g->n; k++)
        if (g->start[k + 1] - g->start[k] > most)
            most = g->start[k + 1] - g->start[k];
    KN_TRY(kn_mat_new(ctx, gp->N, gp->N, &v->rows));
    KN_TRY(kn_mat_new(ctx, most, most, &v->M));
    KN_TRY(kn_mat_new(ctx, most, most + 1, &v->I));
    KN_TRY(kn_mat_new(ctx, most * (most + 1) / 2, 1, &v->k));
out:
    return status;
}

/* Left out: residual, and variance with noise and with what of it is noise. */
static void put_left(const job *b, ptrdiff_t i, ptrdiff_t j, double y, double residual, double v,
                     double noise)
{
    stgpr_maps *m = b->m;
    if (b->mean)
        kn_col(m->mean, j - m->first)[i] = y - residual;
    if (b->var)
        kn_col(m->var, j - m->first)[i] = kn_at_least_zero(v - noise, v, &m->clamped);
}

/* k_i = (K^-1)_ii = sum_n U_in^2/(c r_n + d); residual (K^-1 y)_i/k_i, variance with noise 1/k_i
 * [METHOD 5] */
static void leave_rows(kn_ctx *ctx, const job *b, const kn_cell_work *w, const leaving *v,
                       const ptrdiff_t *J, ptrdiff_t n)
{
    const kn_stgpr *s = b->gp->own;
    kn_mat weight = kn_sub(w->A, 0, 0, w->m, n), k = kn_cols(w->A2, 0, n);
    kn_mat U2 = kn_cols(v->rows, 0, w->m);
    kn_cell_weights(w, weight);
    kn_mat_set(U2, w->U);
    kn_latent_square(U2);
    kn_gemm(ctx, 1, KN_N, U2, KN_N, weight, 0, k);
    for (ptrdiff_t j = 0; j < n; j++) {
        double c = w->c[j], d = w->d[j];
        for (ptrdiff_t i = 0; i < k.rows; i++) {
            double one = 1 / (kn_at(k, i, j) + (kn_cell_is_low(w) ? 1 / d : 0));
            double y = kn_at(w->Y, i, j);
            if (c > 0)
                put_left(b, i, J[j], y, kn_at(s->alpha, i, J[j]) / c * one, one, d);
            else
                put_left(b, i, J[j], y, y, 0, 0);
        }
    }
}

/* M^-1 q and the diagonal of M^-1 from M = (K^-1)_gg in v->M and q = (K^-1 y)_g */
static kn_status put_group(kn_ctx *ctx, const job *b, const kn_cell_work *w, leaving *v,
                           ptrdiff_t g, ptrdiff_t j, ptrdiff_t response)
{
    kn_status status;
    const kn_stgpr *s = b->gp->own;
    const kn_groups *groups = w->samples->groups;
    const ptrdiff_t *row = groups->row + groups->start[g];
    ptrdiff_t n = groups->start[g + 1] - groups->start[g];
    kn_mat M = kn_sub(v->M, 0, 0, n, n), I = kn_sub(v->I, 0, 0, n, n + 1);
    double c = w->c[j], noise = w->d[j] * (1 + w->gamma);
    KN_TRY(kn_chol(ctx, M, "what a group has of the inverse covariance"));
    kn_mat_zero(I);
    for (ptrdiff_t a = 0; a < n; a++) {
        kn_col(I, a)[a] = 1;
        kn_col(I, n)[a] = kn_at(s->alpha, row[a], response) / c;
    }
    kn_trsm_left(ctx, KN_N, M, I);
    kn_trsm_left(ctx, KN_T, M, I); /* M^-1 [I q] */
    for (ptrdiff_t a = 0; a < n; a++)
        put_left(b, row[a], response, kn_at(w->Y, row[a], j), kn_at(I, a, n), kn_at(I, a, a),
                 noise);
out:
    return status;
}

/* Group g, all members at once, for n responses: M = (K^-1)_gg = sum_i U_ai U_bi weight_i, the
 * products of rows for some pairs (a, b) at a time                                   [METHOD 5] */
static kn_status leave_group(kn_ctx *ctx, const job *b, const kn_cell_work *w, leaving *v,
                             ptrdiff_t g, const ptrdiff_t *J, ptrdiff_t n)
{
    kn_status status = KN_OK;
    const kn_groups *groups = w->samples->groups;
    const ptrdiff_t *row = groups->row + groups->start[g];
    ptrdiff_t size = groups->start[g + 1] - groups->start[g], pairs = size * (size + 1) / 2;
    ptrdiff_t most = w->A2.rows * w->A2.cols / pairs, some = most < 1 ? 1 : kn_at_most(n, most);
    double less = kn_groups_less(groups, w->gamma, g);
    for (ptrdiff_t j = 0; j < n; j += some) {
        ptrdiff_t here = kn_at_most(n - j, some), at = 0, done = 0;
        kn_mat k = kn_mat_cols(most < 1 ? v->k.data : w->A2.data, pairs, here);
        for (ptrdiff_t p = 0; p < size; p++)
            for (ptrdiff_t q = p; q < size; q++) {
                for (ptrdiff_t i = 0; i < w->m; i++)
                    kn_col(v->rows, i)[at] = kn_at(w->U, row[p], i) * kn_at(w->U, row[q], i);
                if (++at == v->rows.rows || done + at == pairs) {
                    kn_gemm(ctx, 1, KN_N, kn_sub(v->rows, 0, 0, at, w->m), KN_N,
                            kn_sub(w->A, 0, j, w->m, here), 0, kn_sub(k, done, 0, at, here));
                    done += at;
                    at = 0;
                }
            }
        for (ptrdiff_t t = 0; t < here; t++) {
            ptrdiff_t pair = 0;
            if (!(w->c[j + t] > 0)) {
                for (ptrdiff_t p = 0; p < size; p++) {
                    double y = kn_at(w->Y, row[p], j + t);
                    put_left(b, row[p], J[j + t], y, y, 0, 0);
                }
                continue;
            }
            for (ptrdiff_t p = 0; p < size; p++)
                for (ptrdiff_t q = p; q < size; q++)
                    kn_col(v->M, p)[q] = kn_at(k, pair++, t) +
                                         (kn_cell_is_low(w) ? ((p == q) - less) / w->d[j + t] : 0);
            KN_TRY(put_group(ctx, b, w, v, g, j + t, J[j + t]));
        }
    }
out:
    return status;
}

static kn_status leave_groups(kn_ctx *ctx, const job *b, const kn_cell_work *w, leaving *v,
                              const ptrdiff_t *J, ptrdiff_t n)
{
    kn_status status = KN_OK;
    kn_cell_weights(w, kn_sub(w->A, 0, 0, w->m, n));
    for (ptrdiff_t g = 0; g < w->samples->groups->n; g++)
        KN_TRY(leave_group(ctx, b, w, v, g, J, n));
out:
    return status;
}

static kn_status loo_panel(kn_ctx *ctx, const job *b)
{
    kn_status status;
    const kn_stgpr *s = b->gp->own;
    kn_cell_work w = {0};
    leaving v = {0};
    KN_TRY(kn_cell_work_new(ctx, b->gp->N, &b->samples, b->width, &w));
    KN_TRY(leaving_new(ctx, b->gp, &v));
    for (ptrdiff_t cell = 0; cell < s->cells.rows; cell++) {
        double gamma;
        if (b->g.start[cell] == b->g.start[cell + 1])
            continue;
        KN_TRY(kn_check_cancel(ctx));
        kn_cov_point at = cell_of(b, cell, &gamma);
        KN_TRY(kn_cell_decompose(ctx, &w, &at, gamma));
        for (ptrdiff_t k = b->g.start[cell]; k < b->g.start[cell + 1]; k += b->width) {
            const ptrdiff_t *J = b->g.order + k, n = kn_at_most(b->g.start[cell + 1] - k, b->width);
            kn_responses_columns(ctx, b->Y, J, kn_cols(w.Y, 0, n));
            load_parameters(s, J, n, &w);
            if (b->samples.groups)
                KN_TRY(leave_groups(ctx, b, &w, &v, J, n));
            else
                leave_rows(ctx, b, &w, &v, J, n);
        }
    }
out:
    leaving_clear(&v);
    kn_cell_work_clear(&w);
    return status;
}

/* Y (n_train x n) = training rows of the responses J, centred; the means in mu. */
static void fold_responses(kn_ctx *ctx, const job *b, const kn_fold *f, const ptrdiff_t *J,
                           kn_mat Y, double *mu)
{
    kn_responses train = kn_responses_rows(b->Y, f->train, f->n_train);
    train.filled = b->filled;
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

/* One fold: mean, c and d again from its training rows, cell and gamma held             [METHOD 5b]
 */
static kn_status cv_fold(kn_ctx *ctx, const job *b, const kn_fold *f, double *mu)
{
    kn_status status;
    const kn_stgpr *s = b->gp->own;
    stgpr_maps *m = b->m;
    kn_pairs train = {0}, cross = {0};
    kn_cell_work w = {0};
    kn_mat Xs = {0}, Xt = {0};
    kn_groups groups = {0};
    kn_cell_samples samples = b->samples;
    ahead a = {0};
    KN_TRY(kn_mat_new(ctx, f->n_test, b->gp->F, &Xs));
    kn_mat_rows(m->alone ? m->X_alone : b->gp->latent.X, f->test, Xs);
    KN_TRY(kn_mat_new(ctx, f->n_train, b->gp->F, &Xt));
    kn_mat_rows(b->gp->latent.X, f->train, Xt);
    KN_TRY(kn_groups_subset(ctx, &b->gp->latent.groups, f->train, f->n_train, &groups));
    samples.pairs = &train;
    samples.X = Xt;
    samples.groups = groups.n > 0 ? &groups : NULL;
    KN_TRY(kn_pairs_subset(ctx, &m->pairs, f->train, f->n_train, &train));
    KN_TRY(m->alone
               ? kn_pairs_between(ctx, Xs, Xt, &b->gp->spec.sample.stats, &cross)
               : kn_pairs_cross(ctx, &m->pairs, f->test, f->n_test, f->train, f->n_train, &cross));
    KN_TRY(kn_cell_work_new(ctx, f->n_train, &samples, b->width, &w));
    KN_TRY(ahead_new(ctx, Xs, f->n_train, &cross, b->width, &a));
    for (ptrdiff_t cell = 0; cell < s->cells.rows; cell++) {
        double gamma;
        if (b->g.start[cell] == b->g.start[cell + 1])
            continue;
        KN_TRY(kn_check_cancel(ctx));
        kn_cov_point at = cell_of(b, cell, &gamma);
        KN_TRY(kn_cell_decompose(ctx, &w, &at, gamma));
        ahead_face(ctx, &a, &w, &at, true);
        for (ptrdiff_t k = b->g.start[cell]; k < b->g.start[cell + 1]; k += b->width) {
            const ptrdiff_t *J = b->g.order + k, n = kn_at_most(b->g.start[cell + 1] - k, b->width);
            kn_mat Y = kn_cols(w.Y, 0, n), mean = kn_cols(a.mean, 0, n);
            fold_responses(ctx, b, f, J, Y, mu);
            KN_TRY(kn_cell_fit(ctx, &w, Y, 0));
            kn_cell_alpha(ctx, &w, Y);
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
    kn_mat_clear(&Xt);
    kn_groups_clear(&groups);
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
        job this = *b;
        this.filled = b->m->filled ? b->m->filled[k] : NULL;
        if (f.n_test > 0)
            KN_TRY(cv_fold(ctx, &this, &f, mu));
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
    const kn_gp *gp = maps->gp;
    job b = {.gp = gp,
             .samples = {.cov = &gp->spec.sample,
                         .pairs = &m->pairs,
                         .X = gp->latent.X,
                         .groups = gp->latent.groups.n > 0 ? &gp->latent.groups : NULL,
                         .rank = gp->spec.rank},
             .Y = &maps->Y,
             .m = m};
    bool inside =
        first >= m->first && first + count <= m->first + m->count && m->alone == maps->alone;
    m->alone = maps->alone;
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
        kn_hold_d(r, KN_NEED_WORK, n, s->F + 1);
}

/* n samples before a cell of N, their pairs included */
static void ahead_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t n, ptrdiff_t N,
                       ptrdiff_t width)
{
    kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, n, N);
    kn_hold_d(r, KN_NEED_SAMPLES, n, (s->groups > 0 ? 3 : 2) * N + 2);
    kn_hold_d(r, KN_NEED_SAMPLES, s->groups, N);
    kn_hold_d(r, KN_NEED_WORK, 2 * n + N, width);
}

static void leaving_need(kn_rehearsal *r, const kn_need_shape *s)
{
    ptrdiff_t most = s->groups > 0 ? s->N - s->groups + 1 : 0;
    kn_hold_d(r, KN_NEED_SAMPLES, s->N, s->N);
    kn_hold_d(r, KN_NEED_SAMPLES, most, 3 * most + 1);
}

void kn_stgpr_block_need(kn_rehearsal *r, const kn_need_shape *s, kn_maps_kind kind, ptrdiff_t n)
{
    ptrdiff_t width = kn_at_most(s->T, KN_BLOCK), count = kn_at_most(s->T, panel_width(n, width));
    /* and the variance of people whose covariates were held, as if they were not */
    kn_hold_d(r, KN_NEED_WORK, n, (kind == KN_MAPS_PREDICT ? 3 : 2) * count);
    kn_held mark = r->now;
    kn_hold_d(r, KN_NEED_WORK, count, 1); /* groups */
    if (kind == KN_MAPS_CV) {
        ptrdiff_t h = (s->N + s->folds - 1) / s->folds, train = s->N - s->N / s->folds;
        kn_hold_d(r, KN_NEED_WORK, 6 * s->N + width + s->N * s->F, 1);
        kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, train, train);
        ahead_need(r, s, h, train, width);
        kn_cell_work_need(r, s, train, width);
    } else {
        if (kind == KN_MAPS_LOO)
            leaving_need(r, s);
        else
            ahead_need(r, s, kn_at_most(n, ROWS), s->N, width);
        kn_cell_work_need(r, s, s->N, width);
    }
    kn_let_go(r, mark);
}
