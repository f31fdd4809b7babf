/* Implements lowrank.h except the gradient (lowrank_gradient.c): choice of pivots, features,
 * eigendecomposition of their Gram matrix, projection. It replaces the dense decomposition
 * (eigen_dense.h) when a few features reproduce R0. */
#include "cov/lowrank.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "la/la.h"

enum { FIRST_CAP = 256 };       /* initial limit of the number of pivots; quadrupled if too small */
enum { GRADIENT_ROWS = 16384 }; /* rows of F computed at a time in kn_decomp_vectors */

static const double DEPENDENT =
    1e-14; /* share of K_mm's trace below which further pivots depend on the others */
static const double SLACK =
    3; /* pivots are kept while the residual is below SLACK tol, so that they change rarely */

kn_status kn_lowrank_new(kn_ctx *ctx, kn_mat X, kn_mat Z, const kn_groups *groups,
                         const kn_cov *cov, ptrdiff_t max_rank, kn_lowrank *out)
{
    kn_status status;
    *out = (kn_lowrank){.X = X, .Z = Z, .groups = groups, .features = kn_features_of(cov)};
    ptrdiff_t limit = max_rank - out->features.columns;
    limit = limit < 1 ? 1 : limit < X.rows ? limit : X.rows;
    out->max_rank = out->features.rest.n > 0 ? limit : 0;
    KN_TRY(kn_alloc_d(ctx, X.rows, &out->self));
    KN_TRY(kn_alloc_i(ctx, X.rows, &out->place));
    KN_TRY(kn_row_places(ctx, X, out->place));
    KN_TRY(kn_alloc_i(ctx, out->max_rank, &out->set));
    KN_TRY(kn_alloc_i(ctx, out->max_rank, &out->used));
    KN_TRY(kn_alloc_d(ctx, out->features.columns, &out->root));
    if (groups) {
        KN_TRY(kn_mat_new(ctx, groups->n, Z.cols, &out->z_sums));
        kn_groups_sums(groups, Z, out->z_sums);
    }
    KN_TRY(kn_lowrank_block(ctx, out, KN_INDICATORS_FROM));
out:
    if (status != KN_OK)
        kn_lowrank_clear(out);
    return status;
}

/* ---- block of a category -------------------------------------------------------------------- */

static void clear_block(kn_lowrank *w)
{
    kn_free(w->level);
    kn_free(w->group_level);
    kn_free(w->sizes);
    w->level = w->group_level = w->sizes = NULL;
    w->block = (kn_indicators){0};
}

/* Returns the number of exact feature columns that Phi holds: all but those of the category
 * whose columns are stored as levels. */
static ptrdiff_t count_thin(const kn_lowrank *w)
{
    return w->features.columns - w->block.count;
}

/* Sets w->group_level[k], the level of the category that the rows of noise group k have; false
 * if the rows of some group differ. */
static bool find_group_levels(kn_lowrank *w)
{
    const kn_groups *g = w->groups;
    for (ptrdiff_t k = 0; k < g->n; k++) {
        w->group_level[k] = w->level[g->row[g->start[k]]];
        for (ptrdiff_t i = g->start[k]; i < g->start[k + 1]; i++)
            if (w->level[g->row[i]] != w->group_level[k])
                return false;
    }
    return true;
}

kn_status kn_lowrank_block(kn_ctx *ctx, kn_lowrank *w, ptrdiff_t least)
{
    kn_status status = KN_OK;
    clear_block(w);
    kn_mat_clear(&w->Phi);
    w->block = kn_indicators_of(&w->features, least);
    if (w->block.count == 0)
        return KN_OK;
    KN_TRY(kn_alloc_d(ctx, w->X.rows, &w->level));
    KN_TRY(kn_alloc_d(ctx, w->block.count, &w->sizes));
    if (w->groups)
        KN_TRY(kn_alloc_d(ctx, w->groups->n, &w->group_level));
    if (!kn_indicator_levels(&w->block, w->X, 1, w->level) || (w->groups && !find_group_levels(w)))
        clear_block(w);
out:
    return status;
}

/* Copies the exact feature columns of X to `out`, without those of the category b that is stored
 * as levels, if there is one. */
static void copy_columns(const kn_features *f, const kn_indicators *b, kn_mat X, kn_mat out)
{
    ptrdiff_t at = 0, exact = 0;
    for (int k = 0; k < f->cov.n; k++) {
        const kn_term *t = &f->cov.term[k];
        if (!f->exact[k])
            continue;
        if (b->count == 0 || exact != b->first) {
            kn_mat_set(kn_cols(out, at, t->count), kn_cols(X, t->first, t->count));
            at += t->count;
        }
        exact += t->count;
    }
}

/* Returns the row in w->PhiZ, or the index in w->root, of thin feature j. */
static ptrdiff_t feature_of(const kn_lowrank *w, ptrdiff_t j)
{
    return w->block.count > 0 && j >= w->block.first ? j + w->block.count : j;
}

/* Computes the products of the category stored as levels (columns root E): with itself, w->sizes
 * (count), with the features in Phi, w->cross (count x features), and with Z, its rows of
 * w->PhiZ. O(N (features + P)). */
static void block_products(const kn_lowrank *w)
{
    double root = w->root[w->block.first];
    for (ptrdiff_t l = 0; l < w->block.count; l++)
        w->sizes[l] = 0;
    for (ptrdiff_t i = 0; i < w->X.rows; i++)
        w->sizes[(ptrdiff_t)w->level[i]]++;
    for (ptrdiff_t l = 0; l < w->block.count; l++)
        w->sizes[l] *= root * root;
    kn_mat_zero(w->cross);
    for (ptrdiff_t j = 0; j < w->cross.cols; j++)
        for (ptrdiff_t i = 0; i < w->X.rows; i++)
            kn_col(w->cross, j)[(ptrdiff_t)w->level[i]] += root * kn_at(w->Phi, i, j);
    for (ptrdiff_t p = 0; p < w->Z.cols; p++) {
        double *to = kn_col(w->PhiZ, p) + w->block.first;
        for (ptrdiff_t l = 0; l < w->block.count; l++)
            to[l] = 0;
        for (ptrdiff_t i = 0; i < w->X.rows; i++)
            to[(ptrdiff_t)w->level[i]] += root * kn_at(w->Z, i, p);
    }
}

void kn_lowrank_times(kn_ctx *ctx, const kn_lowrank *w, ptrdiff_t first, double alpha, kn_mat R,
                      double beta, kn_mat out)
{
    ptrdiff_t n = out.rows, before = w->block.first;
    kn_mat thin = kn_sub(w->Phi, first, 0, n, w->m0 - w->block.count);
    if (w->block.count == 0) {
        kn_gemm(ctx, alpha, KN_N, thin, KN_N, R, beta, out);
        return;
    }
    kn_indicator_product(ctx, &w->block, alpha, thin, w->level + first, w->root[before], NULL, R,
                         beta, out);
}

void kn_lowrank_copy(const kn_lowrank *w, kn_mat out)
{
    for (ptrdiff_t j = 0; j < w->m0 - w->block.count; j++)
        memcpy(kn_col(out, feature_of(w, j)), kn_col(w->Phi, j),
               (size_t)out.rows * sizeof *out.data);
    for (ptrdiff_t l = 0; l < w->block.count; l++)
        for (ptrdiff_t i = 0; i < out.rows; i++)
            kn_col(out, w->block.first + l)[i] =
                w->level[i] == (double)l ? w->root[w->block.first] : 0;
}

void kn_lowrank_clear(kn_lowrank *w)
{
    kn_mat *m[] = {&w->base, &w->Lm, &w->Phi, &w->gram, &w->cross, &w->PhiZ, &w->sums, &w->z_sums};
    for (size_t k = 0; k < sizeof m / sizeof *m; k++)
        kn_mat_clear(m[k]);
    clear_block(w);
    kn_free(w->set);
    kn_free(w->used);
    kn_free(w->root);
    kn_free(w->self);
    kn_free(w->place);
    kn_pairs_clear(&w->set_pairs);
    kn_pairs_clear(&w->pairs);
    *w = (kn_lowrank){0};
}

/* ---- pivots -------------------------------------------------------------------------------- */

typedef struct column_job {
    kn_ctx *ctx;
    const kn_lowrank *w;
    kn_mat row; /* 1 x F */
} column_job;

/* Column function of the pivot search (self: column_job): covariance (N) of all participants
 * with participant j, without the exact features. */
static void compute_kernel_column(void *self, ptrdiff_t j, double *column)
{
    column_job *job = self;
    const kn_lowrank *w = job->w;
    kn_mat_rows(w->X, &j, job->row);
    kn_features_fill(job->ctx, &w->features.rest, w->rest, w->X, job->row,
                     kn_mat_cols(column, w->X.rows, 1));
}

/* Makes w->Phi (N rows) wide enough for the exact columns and this many pivots; its contents are
 * lost if it grows. */
static kn_status reserve_columns(kn_ctx *ctx, kn_lowrank *w, ptrdiff_t pivots)
{
    if (w->Phi.cols >= count_thin(w) + pivots && w->Phi.data)
        return KN_OK;
    kn_mat_clear(&w->Phi);
    return kn_mat_new(ctx, w->X.rows, count_thin(w) + pivots, &w->Phi);
}

/* Computes the pair statistics (distances of covariates) between the pivots, w->set_pairs, for
 * those covariance terms that have no exact features. KN_ERR_MEMORY. */
static kn_status pair_pivots(kn_ctx *ctx, kn_lowrank *w)
{
    kn_status status;
    kn_mat rows = {0};
    KN_TRY(kn_mat_new(ctx, w->n_set, w->X.cols, &rows));
    kn_mat_rows(w->X, w->set, rows);
    kn_pairs_clear(&w->set_pairs);
    KN_TRY(kn_pairs_within(ctx, rows, &w->features.rest.stats, &w->set_pairs));
out:
    kn_mat_clear(&rows);
    return status;
}

kn_status kn_lowrank_set_pivots(kn_ctx *ctx, kn_lowrank *w, ptrdiff_t n, const ptrdiff_t *set,
                                double residual)
{
    size_t size = (size_t)n * sizeof *set;
    w->residual = residual;
    if (n == w->n_set && (n == 0 || memcmp(w->set, set, size) == 0))
        return KN_OK;
    w->n_set = n;
    memcpy(w->set, set, size);
    return pair_pivots(ctx, w);
}

/* Chooses the pivots w->set, participants by whom R0 is approximated, by pivoted Cholesky of the
 * terms without exact features at the current theta, until the residual trace is at most w->tol.
 * Phi serves as work space and grows if needed. KN_ERR_CANCELLED. */
static kn_status choose_pivots(kn_ctx *ctx, kn_lowrank *w)
{
    kn_status status;
    double *diag = NULL;
    column_job job = {.ctx = ctx, .w = w};
    ptrdiff_t columns = count_thin(w), cap = w->Phi.cols - columns;
    cap = cap > FIRST_CAP ? cap : FIRST_CAP;
    KN_TRY(kn_alloc_d(ctx, w->X.rows, &diag));
    KN_TRY(kn_mat_new(ctx, 1, w->X.cols, &job.row));
    for (;; cap *= 4) {
        cap = cap < w->max_rank ? cap : w->max_rank;
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(reserve_columns(ctx, w, cap));
        memcpy(diag, w->self, (size_t)w->X.rows * sizeof *diag);
        KN_TRY(kn_pivoted_chol(ctx, diag, w->place, compute_kernel_column, &job, w->tol,
                               kn_cols(w->Phi, columns, cap), w->set, &w->n_set, &w->residual));
        if (w->n_set < cap || w->residual <= w->tol || cap == w->max_rank)
            break;
    }
    KN_TRY(pair_pivots(ctx, w));
out:
    kn_mat_clear(&job.row);
    kn_free(diag);
    return status;
}

/* Column function of a pivoted Cholesky factor (self: kn_mat): copies column j. */
static void copy_matrix_column(void *self, ptrdiff_t j, double *column)
{
    const kn_mat *K = self;
    memcpy(column, kn_col(*K, j), (size_t)K->rows * sizeof *column);
}

/* Computes the Cholesky factor w->Lm of the covariance between the pivots (participants by whom
 * R0 is approximated), without those that depend on the others at this theta; the pivots in use
 * are w->used, their design rows w->base. */
static kn_status factor_pivots(kn_ctx *ctx, kn_lowrank *w)
{
    kn_status status;
    kn_mat K = {0}, L = {0};
    double *diag = NULL, residual;
    ptrdiff_t n = w->n_set, *order = NULL;
    KN_TRY(kn_mat_new(ctx, n, n, &K));
    KN_TRY(kn_mat_new(ctx, n, n, &L));
    KN_TRY(kn_alloc_d(ctx, n, &diag));
    KN_TRY(kn_alloc_i(ctx, n, &order));
    kn_cov_fill(&w->features.rest, w->rest, &w->set_pairs, K);
    kn_mirror(K);
    for (ptrdiff_t i = 0; i < n; i++)
        diag[i] = kn_at(K, i, i);
    KN_TRY(kn_pivoted_chol(ctx, diag, NULL, copy_matrix_column, &K, DEPENDENT, L, order, &w->n_used,
                           &residual));
    kn_mat_clear(&w->Lm);
    KN_TRY(kn_mat_new(ctx, w->n_used, w->n_used, &w->Lm));
    kn_mat_rows(kn_cols(L, 0, w->n_used), order, w->Lm);
    kn_pairs_clear(&w->pairs);
    KN_TRY(kn_pairs_subset(ctx, &w->set_pairs, order, w->n_used, &w->pairs));
    for (ptrdiff_t k = 0; k < w->n_used; k++)
        w->used[k] = w->set[order[k]];
    kn_mat_clear(&w->base);
    KN_TRY(kn_mat_new(ctx, w->n_used, w->X.cols, &w->base));
    kn_mat_rows(w->X, w->used, w->base);
out:
    kn_free(order);
    kn_free(diag);
    kn_mat_clear(&L);
    kn_mat_clear(&K);
    return status;
}

/* ---- features ------------------------------------------------------------------------------ */

/* Computes the Nystroem features L = K_nm Lm^-T (N x pivots in use) of those covariance terms
 * that have no exact features, into the last columns of w->Phi, and the proportion of their
 * trace that L leaves out, w->residual_used. No columns if the terms have no weight at this
 * theta. */
static kn_status compute_L(kn_ctx *ctx, kn_lowrank *w)
{
    kn_status status;
    double trace = 0;
    KN_TRY(factor_pivots(ctx, w));
    KN_TRY(reserve_columns(ctx, w, w->n_used));
    if (w->n_used == 0) /* the rest has no weight at this theta */
        goto out;
    kn_mat L = kn_cols(w->Phi, count_thin(w), w->n_used);
    kn_features_fill(ctx, &w->features.rest, w->rest, w->X, w->base, L);
    kn_trsm_right(ctx, KN_T, w->Lm, L);
    for (ptrdiff_t i = 0; i < w->X.rows; i++)
        trace += w->self[i];
    w->residual_used = trace > 0 ? fmax(trace - kn_sumsq(L), 0) / trace : 0;
out:
    return status;
}

/* Computes the features of those covariance terms that have no exact features (the rest, N x
 * pivots) at the current theta. Pivots (base participants) are chosen anew if there are none
 * yet, or if those there leave too large a residual trace. */
static kn_status compute_rest(kn_ctx *ctx, kn_lowrank *w)
{
    kn_status status = KN_OK;
    bool fresh = w->n_set == 0;
    double chosen = w->residual, *sq = NULL;
    KN_TRY(kn_alloc_d(ctx, w->X.rows, &sq));
    kn_cov_self(&w->features.rest, w->rest, w->X, sq, w->self);
    if (fresh)
        KN_TRY(choose_pivots(ctx, w));
    KN_TRY(compute_L(ctx, w));
    /* The pivots come from another theta. Choose again here, unless max_rank pivots were hardly
     * better there. */
    bool limit = w->n_set == w->max_rank && w->residual_used <= SLACK * chosen;
    if (!fresh && w->residual_used > SLACK * w->tol && !limit) {
        KN_TRY(choose_pivots(ctx, w));
        KN_TRY(compute_L(ctx, w));
    }
out:
    kn_free(sq);
    return status;
}

/* Allocates *m (rows x cols), unless it has this shape already. */
static kn_status reuse_matrix(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, kn_mat *m)
{
    if (m->data && m->rows == rows && m->cols == cols)
        return KN_OK;
    kn_mat_clear(m);
    return kn_mat_new(ctx, rows, cols, m);
}

/* Computes the Gram matrix w->gram of the features Phi and their products with Z (w->PhiZ, m0 x
 * P) and with the noise groups, and those of the category stored as levels. */
static kn_status multiply_features(kn_ctx *ctx, kn_lowrank *w, kn_mat Phi)
{
    kn_status status;
    ptrdiff_t before = w->block.first, after = Phi.cols - before, P = w->Z.cols;
    KN_TRY(reuse_matrix(ctx, Phi.cols, Phi.cols, &w->gram));
    KN_TRY(reuse_matrix(ctx, w->m0, P, &w->PhiZ));
    kn_syrk(ctx, 1, KN_T, Phi, 0, w->gram);
    if (w->block.count == 0) {
        kn_gemm(ctx, 1, KN_T, Phi, KN_N, w->Z, 0, w->PhiZ);
    } else {
        KN_TRY(reuse_matrix(ctx, w->block.count, Phi.cols, &w->cross));
        kn_gemm(ctx, 1, KN_T, kn_cols(Phi, 0, before), KN_N, w->Z, 0,
                kn_sub(w->PhiZ, 0, 0, before, P));
        kn_gemm(ctx, 1, KN_T, kn_cols(Phi, before, after), KN_N, w->Z, 0,
                kn_sub(w->PhiZ, before + w->block.count, 0, after, P));
        block_products(w);
    }
    if (w->groups) {
        KN_TRY(reuse_matrix(ctx, w->groups->n, Phi.cols, &w->sums));
        kn_groups_sums(w->groups, Phi, w->sums);
    }
out:
    return status;
}

kn_status kn_lowrank_at(kn_ctx *ctx, kn_lowrank *w, const double *theta)
{
    kn_status status = KN_OK;
    const kn_features *f = &w->features;
    memcpy(w->theta, theta, (size_t)f->cov.n_theta * sizeof *theta);
    kn_features_rest(f, theta, w->rest);
    kn_features_roots(f, theta, w->root);
    w->n_used = 0;
    w->residual_used = 0;
    if (f->rest.n > 0)
        KN_TRY(compute_rest(ctx, w));
    else
        KN_TRY(reserve_columns(ctx, w, 0));
    w->m0 = f->columns + w->n_used;
    if (w->m0 == 0) {
        status = kn_fail(ctx, KN_ERR_NUMERIC, "the sample covariance is zero");
        goto out;
    }
    kn_mat Phi = kn_cols(w->Phi, 0, w->m0 - w->block.count);
    copy_columns(f, &w->block, w->X, kn_cols(Phi, 0, count_thin(w)));
    for (ptrdiff_t j = 0; j < count_thin(w); j++)
        for (ptrdiff_t i = 0; i < Phi.rows; i++)
            kn_col(Phi, j)[i] *= w->root[feature_of(w, j)];
    KN_TRY(multiply_features(ctx, w, Phi));
out:
    return status;
}

/* ---- decomposition ------------------------------------------------------------------------- */

/* Copies sums (groups x k) to *out (owned by the caller), row of group k times gamma/(1 + n
 * gamma), or times its square root if `root`. */
static kn_status weight_sums(kn_ctx *ctx, const kn_lowrank *w, double gamma, bool root, kn_mat sums,
                             kn_mat *out)
{
    kn_status status = kn_mat_copy(ctx, sums, out);
    for (ptrdiff_t j = 0; status == KN_OK && j < sums.cols; j++)
        for (ptrdiff_t k = 0; k < sums.rows; k++) {
            double less = kn_groups_less(w->groups, gamma, k);
            kn_col(*out, j)[k] *= root ? sqrt(less) : less;
        }
    return status;
}

/* Computes *S = Phi'H^-1 Phi (owned by the caller), from the Gram matrix and the sums over
 * groups. */
static kn_status compute_inner_products(kn_ctx *ctx, const kn_lowrank *w, double gamma, kn_mat *S)
{
    kn_status status;
    kn_mat less = {0};
    KN_TRY(kn_mat_copy(ctx, w->gram, S));
    if (kn_lowrank_grouped(w, gamma)) {
        KN_TRY(weight_sums(ctx, w, gamma, true, w->sums, &less));
        kn_syrk(ctx, -1, KN_T, less, 1, *S);
    }
out:
    kn_mat_clear(&less);
    return status;
}

/* Computes Phi'H^-1 Phi of the category stored as levels: its diagonal D (count) and *C (count x
 * other features, owned by the caller); H: group noise I + gamma G. KN_ERR_MEMORY. */
static kn_status compute_block_products(kn_ctx *ctx, const kn_lowrank *w, double gamma, double *D,
                                        kn_mat *C)
{
    double root = w->root[w->block.first];
    kn_status status = kn_mat_copy(ctx, w->cross, C);
    memcpy(D, w->sizes, (size_t)w->block.count * sizeof *D);
    for (ptrdiff_t k = 0; status == KN_OK && kn_lowrank_grouped(w, gamma) && k < w->groups->n;
         k++) {
        ptrdiff_t l = (ptrdiff_t)w->group_level[k];
        double sum = root * w->groups->size[k], less = kn_groups_less(w->groups, gamma, k);
        D[l] -= less * sum * sum;
        for (ptrdiff_t j = 0; j < C->cols; j++)
            kn_col(*C, j)[l] -= less * sum * kn_at(w->sums, k, j);
    }
    return status;
}

/* Computes eigenvalues lam (m0, ascending) and eigenvectors *S (m0 x m0, owned by the caller) of
 * Phi'H^-1 Phi over all features, reduced if a category is stored as levels. KN_ERR_MEMORY,
 * KN_ERR_NUMERIC. */
static kn_status decompose_features(kn_ctx *ctx, const kn_lowrank *w, double gamma, kn_mat *S,
                                    double *lam)
{
    kn_status status;
    kn_mat thin = {0}, C = {0};
    double *D = NULL;
    if (w->block.count == 0) {
        KN_TRY(compute_inner_products(ctx, w, gamma, S));
        KN_TRY(kn_eig_reproducible(ctx, *S, lam));
        goto out;
    }
    KN_TRY(compute_inner_products(ctx, w, gamma, &thin));
    KN_TRY(kn_alloc_d(ctx, w->block.count, &D));
    KN_TRY(compute_block_products(ctx, w, gamma, D, &C));
    KN_TRY(kn_mat_new(ctx, w->m0, w->m0, S));
    KN_TRY(kn_indicator_eig(ctx, &w->block, D, C, thin, *S, lam));
out:
    kn_free(D);
    kn_mat_clear(&C);
    kn_mat_clear(&thin);
    return status;
}

/* Copies the pivots in use, their design rows and the residual to the decomposition d. */
static kn_status keep_pivots(kn_ctx *ctx, const kn_lowrank *w, kn_decomp *d)
{
    kn_status status;
    kn_free(d->pivot);
    d->pivot = NULL;
    d->n_pivots = w->n_used;
    KN_TRY(kn_alloc_i(ctx, w->n_used, &d->pivot));
    if (w->n_used > 0)
        memcpy(d->pivot, w->used, (size_t)w->n_used * sizeof *d->pivot);
    kn_mat_clear(&d->base);
    KN_TRY(kn_mat_new(ctx, w->n_used, w->X.cols, &d->base));
    if (w->n_used > 0)
        kn_mat_set(d->base, w->base);
    d->residual = w->residual_used;
out:
    return status;
}

kn_status kn_lowrank_decompose(kn_ctx *ctx, kn_lowrank *w, kn_decomp *d)
{
    kn_status status;
    kn_mat S = {0};
    double *lam = NULL;
    ptrdiff_t m0 = w->m0, columns = w->features.columns, drop = 0;
    memcpy(d->theta, w->theta, sizeof d->theta);
    KN_TRY(kn_alloc_d(ctx, m0, &lam));
    KN_TRY(decompose_features(ctx, w, d->gamma, &S, lam));
    while (drop < m0 - 1 && lam[drop] < (double)m0 * DBL_EPSILON * lam[m0 - 1])
        drop++;
    d->m = m0 - drop;
    kn_free(d->r);
    d->r = NULL;
    KN_TRY(kn_alloc_d(ctx, d->m, &d->r));
    KN_TRY(reuse_matrix(ctx, m0, d->m, &d->map));
    KN_TRY(reuse_matrix(ctx, m0, d->m, &d->rotation));
    for (ptrdiff_t k = 0; k < d->m; k++) {
        double r = fmax(lam[drop + k], 0), root = sqrt(r);
        const double *v = kn_col(S, drop + k);
        d->r[k] = r;
        for (ptrdiff_t i = 0; i < m0; i++) {
            kn_col(d->map, k)[i] = v[i] * root * (i < columns ? w->root[i] : 1);
            kn_col(d->rotation, k)[i] = r > 0 ? v[i] / root : 0;
        }
    }
    if (w->n_used > 0)
        kn_trsm_left(ctx, KN_T, w->Lm, kn_sub(d->map, columns, 0, w->n_used, d->m));
    KN_TRY(keep_pivots(ctx, w, d));
out:
    kn_free(lam);
    kn_mat_clear(&S);
    return status;
}

/* Computes PhiZ -= (sums of the features over noise groups)' less, with less groups x P, the
 * products that H^-1 takes away; the category stored as levels is included. */
static void subtract_sums(kn_ctx *ctx, const kn_lowrank *w, kn_mat less, kn_mat PhiZ)
{
    ptrdiff_t before = w->block.first, after = w->sums.cols - before, count = w->block.count;
    if (count == 0) {
        kn_gemm(ctx, -1, KN_T, w->sums, KN_N, less, 1, PhiZ);
        return;
    }
    kn_gemm(ctx, -1, KN_T, kn_cols(w->sums, 0, before), KN_N, less, 1,
            kn_sub(PhiZ, 0, 0, before, PhiZ.cols));
    kn_gemm(ctx, -1, KN_T, kn_cols(w->sums, before, after), KN_N, less, 1,
            kn_sub(PhiZ, before + count, 0, after, PhiZ.cols));
    for (ptrdiff_t p = 0; p < PhiZ.cols; p++)
        for (ptrdiff_t k = 0; k < less.rows; k++)
            kn_col(PhiZ, p)[before + (ptrdiff_t)w->group_level[k]] -=
                w->root[before] * w->groups->size[k] * kn_at(less, k, p);
}

kn_status kn_lowrank_project(kn_ctx *ctx, const kn_lowrank *w, const kn_decomp *d, kn_mat A)
{
    kn_status status;
    kn_mat PhiZ = {0}, less = {0};
    KN_TRY(kn_mat_copy(ctx, w->PhiZ, &PhiZ));
    if (kn_lowrank_grouped(w, d->gamma)) { /* Phi'H^-1 Z */
        KN_TRY(weight_sums(ctx, w, d->gamma, false, w->z_sums, &less));
        subtract_sums(ctx, w, less, PhiZ);
    }
    kn_gemm(ctx, 1, KN_T, d->rotation, KN_N, PhiZ, 0, A);
out:
    kn_mat_clear(&less);
    kn_mat_clear(&PhiZ);
    return status;
}

void kn_lowrank_rest(const kn_lowrank *w, double gamma, kn_mat A, double *rest)
{
    for (ptrdiff_t p = 0; p < A.cols; p++) {
        rest[p] = kn_sumsq(kn_cols(w->Z, p, 1));
        for (ptrdiff_t k = 0; kn_lowrank_grouped(w, gamma) && k < w->groups->n; k++)
            rest[p] -= kn_groups_less(w->groups, gamma, k) * kn_at(w->z_sums, k, p) *
                       kn_at(w->z_sums, k, p);
        rest[p] -= kn_sumsq(kn_cols(A, p, 1));
    }
}

/* ---- for any rows -----------------------------------------------------------------------------
 */

ptrdiff_t kn_decomp_cross_columns(const kn_decomp *d)
{
    kn_features f = kn_features_of(&d->cov);
    kn_indicators b = kn_indicators_of(&f, KN_INDICATORS_FROM);
    return b.count > 0 ? d->map.rows - b.count + 1 : d->map.rows;
}

/* Adds the block's part of R0* U for rows without a level: new participants whose category is
 * missing. */
static void add_mixed_rows(kn_ctx *ctx, const kn_indicators *b, const kn_decomp *d, kn_mat Xs,
                           const double *level, kn_mat RU)
{
    for (ptrdiff_t i = 0; i < Xs.rows; i++)
        if (level[i] < 0)
            kn_gemm(ctx, 1, KN_N, kn_sub(Xs, i, b->column, 1, b->count), KN_N,
                    kn_sub(d->map, b->first, 0, b->count, d->m), 1, kn_sub(RU, i, 0, 1, d->m));
}

void kn_decomp_cross(kn_ctx *ctx, const kn_decomp *d, kn_mat Xs, kn_mat F, kn_mat RU)
{
    double rest[KN_COV_THETA];
    kn_features f = kn_features_of(&d->cov);
    kn_indicators b = kn_indicators_of(&f, KN_INDICATORS_FROM);
    ptrdiff_t thin = f.columns - b.count;
    kn_features_rest(&f, d->theta, rest);
    copy_columns(&f, &b, Xs, kn_cols(F, 0, thin));
    if (d->n_pivots > 0)
        kn_features_fill(ctx, &f.rest, rest, Xs, d->base, kn_cols(F, thin, d->n_pivots));
    if (b.count == 0) {
        kn_gemm(ctx, 1, KN_N, F, KN_N, d->map, 0, RU);
        return;
    }
    double *level = kn_col(F, thin + d->n_pivots);
    bool all = kn_indicator_levels(&b, Xs, 1, level);
    kn_indicator_product(ctx, &b, 1, kn_cols(F, 0, thin + d->n_pivots), level, 1, NULL, d->map, 0,
                         RU);
    if (!all)
        add_mixed_rows(ctx, &b, d, Xs, level, RU);
}

kn_status kn_decomp_vectors(kn_ctx *ctx, const kn_decomp *d, const kn_groups *groups, kn_mat X,
                            kn_mat U)
{
    kn_status status;
    kn_mat F = {0};
    ptrdiff_t limit = X.rows < GRADIENT_ROWS ? X.rows : GRADIENT_ROWS;
    KN_TRY(kn_mat_new(ctx, limit, kn_decomp_cross_columns(d), &F));
    for (ptrdiff_t i = 0; i < X.rows; i += limit) {
        ptrdiff_t n = X.rows - i < limit ? X.rows - i : limit;
        kn_decomp_cross(ctx, d, kn_sub(X, i, 0, n, X.cols), kn_sub(F, 0, 0, n, F.cols),
                        kn_sub(U, i, 0, n, d->m));
    }
    for (ptrdiff_t k = 0; k < d->m; k++)
        for (ptrdiff_t i = 0; i < X.rows; i++)
            kn_col(U, k)[i] = d->r[k] > 0 ? kn_at(U, i, k) / d->r[k] : 0;
    if (groups)
        kn_groups_inverse(groups, d->gamma, U);
out:
    kn_mat_clear(&F);
    return status;
}

void kn_lowrank_vectors_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, kn_min_size(s->N, GRADIENT_ROWS), s->M);
    kn_plan_free_to(r, mark);
}

void kn_lowrank_kept_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->M, s->M); /* map */
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->M, s->F + 2);
}

void kn_lowrank_need(kn_mem_plan *r, const kn_problem_size *s)
{
    const kn_mem_category S = KN_NEED_SAMPLES;
    int cells = s->groups > 0 ? KN_GAMMAS : 1;
    kn_plan_alloc_d(r, S, s->N, 2); /* self, place */
    kn_plan_alloc_d(r, S, s->M, 3);
    kn_plan_alloc_d(r, S, s->N, s->M); /* Phi */
    kn_pairs_need(r, S, 2 * s->stats, s->M, s->M);
    kn_plan_alloc_d(r, S, s->M, s->M); /* gram */
    kn_plan_alloc_d(r, S, s->M, s->M); /* Lm */
    kn_plan_alloc_d(r, S, s->M, s->F);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M + s->groups, s->P);
    kn_plan_alloc_d(r, S, s->groups, s->M);
    for (int k = 0; k < cells; k++) {
        kn_lowrank_kept_need(r, s);
        kn_plan_alloc_d(r, S, s->M, s->M); /* rotation */
    }
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, S, s->N, 2);    /* sq, and the diagonal during the choice of pivots */
    kn_plan_alloc_d(r, S, s->M, s->M); /* Phi'H^-1 Phi; before that K_mm */
    kn_eig_need(r, S, s->M);           /* and its factor, which needs less */
    kn_plan_alloc_d(r, S, s->groups, s->M);
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, S, s->M + s->groups, s->P); /* Phi'Z */
    kn_plan_free_to(r, mark);
}
