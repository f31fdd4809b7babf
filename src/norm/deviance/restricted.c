/* Implements restricted.h: two passes over z for the covariances, one for each set of responses.
 * It serves the p-values of participants who lack responses. */
#include "norm/deviance/restricted.h"

#include <math.h>

#include "la/eig_leading.h"
#include "la/la.h"

enum { WIDTH = 512 };             /* responses per block */
static const double FLOOR = 1e-6; /* of psi, relative to the mean square of all z */

void kn_restricted_deviance_clear(kn_restricted_deviance *w)
{
    for (int f = 0; w->V && f < w->of.folds; f++)
        kn_mat_clear(&w->V[f]);
    kn_free(w->V);
    kn_mat_clear(&w->psi);
    kn_mat_clear(&w->w);
    kn_free(w->all);
    kn_free(w->learn);
    *w = (kn_restricted_deviance){0};
}

/* block (n x count) = z of the responses from `first` on, 0 if missing. */
static void read_block(const kn_restricted_deviance *w, ptrdiff_t first, kn_mat block)
{
    for (ptrdiff_t i = 0; i < w->of.n; i++)
        for (ptrdiff_t j = 0; j < block.cols; j++) {
            float z = w->of.z[i * w->of.T + first + j];
            kn_col(block, j)[i] = isfinite(z) ? (double)z : 0;
        }
}

/* ---- covariances ---- */

/* G = zz' (m x m, lower triangle) of the m rows that covariances are learned from; row (m): their
 * indices. block: n x WIDTH of work. Can be cancelled. */
static kn_status multiply_rows(kn_ctx *ctx, const kn_restricted_deviance *w, const ptrdiff_t *row,
                               kn_mat block, kn_mat G)
{
    kn_status status;
    kn_mat learned = {0};
    KN_TRY(kn_mat_new(ctx, G.rows, block.cols, &learned));
    for (ptrdiff_t first = 0; first < w->of.T; first += WIDTH) {
        kn_mat b = kn_cols(block, 0, kn_min_size(WIDTH, w->of.T - first));
        KN_TRY(kn_check_cancel(ctx));
        read_block(w, first, b);
        kn_mat_rows(b, row, kn_cols(learned, 0, b.cols));
        kn_syrk(ctx, 1, KN_N, kn_cols(learned, 0, b.cols), first > 0, G);
    }
out:
    kn_mat_clear(&learned);
    return status;
}

/* Set w->V[f] = V diag(s)^-1/2 of the K leading eigenpairs of zz' over the rows outside fold f, so
 * that z'V_f is orthonormal; lam (K) = s/rows. G = zz' of the rows `row`. KN_ERR_NUMERIC without
 * convergence. */
static kn_status decompose_fold(kn_ctx *ctx, kn_restricted_deviance *w, int f, kn_mat G,
                                const ptrdiff_t *row, kn_eig_leading_work *work, double *lam)
{
    kn_status status;
    kn_mat V = {0};
    ptrdiff_t *at = NULL, m = 0; /* rows of G outside the fold */
    KN_TRY(kn_alloc_i(ctx, G.rows, &at));
    for (ptrdiff_t k = 0; k < G.rows; k++)
        if (w->of.fold[row[k]] != f)
            at[m++] = k;
    for (ptrdiff_t k = 0; k < m; k++)
        for (ptrdiff_t i = k; i < m; i++)
            kn_col(work->A, k)[i] = kn_at(G, at[i], at[k]);
    KN_TRY(kn_mat_new(ctx, m, w->of.K, &V));
    if (w->of.K > 0 && kn_eig_leading(work, m, w->of.K, lam, V) != 0) {
        status = kn_fail(ctx, KN_ERR_NUMERIC,
                         "the covariance of the reference z-scores could not be decomposed");
        goto out;
    }
    for (ptrdiff_t k = 0; k < w->of.K; k++) {
        for (ptrdiff_t i = 0; i < m; i++) /* a component without energy stays 0 */
            kn_col(w->V[f], k)[row[at[i]]] = lam[k] > 0 ? kn_at(V, i, k) / sqrt(lam[k]) : 0;
        lam[k] = fmax(lam[k], 0) / (double)m;
    }
out:
    kn_mat_clear(&V);
    kn_free(at);
    return status;
}

/* For the responses of a block (n x count) and the covariance without fold f: set the residual
 * variances psi, at least `floor`, and subtract sum_j Q_jk^2 psi_j from w_k^2. Q: count x K. */
static void add_residuals(kn_restricted_deviance *w, int f, ptrdiff_t first, kn_mat block, kn_mat Q,
                          const double *lam, double floor)
{
    for (ptrdiff_t j = 0; j < block.cols; j++) {
        double sum = 0, rows = 0, cells = 0;
        for (ptrdiff_t i = 0; i < w->of.n; i++) {
            bool in = w->learn[i] && w->of.fold[i] != f;
            rows += in;
            cells += in && isfinite(w->of.z[i * w->of.T + first + j]);
            sum += in ? kn_at(block, i, j) * kn_at(block, i, j) : 0;
        }
        for (ptrdiff_t k = 0; k < w->of.K; k++)
            sum -= rows * lam[k] * kn_at(Q, j, k) * kn_at(Q, j, k);
        cells *= 1 - (double)w->of.K / rows;
        double psi = fmax(cells > 0 ? sum / cells : 0, floor);
        kn_col(w->psi, f)[first + j] = psi;
        for (ptrdiff_t k = 0; k < w->of.K; k++)
            kn_col(w->w, f)[k] -= kn_at(Q, j, k) * kn_at(Q, j, k) * psi;
    }
}

/* Set residual variances psi (T x folds) and component weights w (K x folds) of the covariance
 * without each fold, one block at a time; lam: K x folds. block and Q are work. Can be
 * cancelled. */
static kn_status estimate_variances(kn_ctx *ctx, kn_restricted_deviance *w, kn_mat block, kn_mat Q,
                                    kn_mat lam, double floor)
{
    kn_status status = KN_OK;
    kn_mat_set(w->w, lam);
    for (ptrdiff_t first = 0; first < w->of.T; first += WIDTH) {
        kn_mat b = kn_cols(block, 0, kn_min_size(WIDTH, w->of.T - first));
        KN_TRY(kn_check_cancel(ctx));
        read_block(w, first, b);
        for (int f = 0; f < w->of.folds; f++) {
            kn_mat q = kn_sub(Q, 0, 0, b.cols, w->of.K);
            if (w->of.K > 0)
                kn_gemm(ctx, 1, KN_T, b, KN_N, w->V[f], 0, q);
            add_residuals(w, f, first, b, q, kn_col(lam, f), floor);
        }
    }
    for (int f = 0; f < w->of.folds; f++)
        for (ptrdiff_t k = 0; k < w->of.K; k++)
            kn_col(w->w, f)[k] = sqrt(fmax(kn_col(w->w, f)[k], 0));
out:
    return status;
}

/* The requested K, or the largest number that every fold supports with `learned` rows to learn
 * from. */
static ptrdiff_t limit_components(const kn_restricted_deviance *w, ptrdiff_t learned)
{
    ptrdiff_t largest = 0;
    for (int f = 0; f < w->of.folds; f++) {
        ptrdiff_t size = 0;
        for (ptrdiff_t i = 0; i < w->of.n; i++)
            size += w->learn[i] && w->of.fold[i] == f;
        largest = size > largest ? size : largest;
    }
    return kn_min_size(kn_min_size(w->of.K, w->of.T), 4 * (learned - largest) / 5);
}

/* Choose m rows to learn from, the first in the order of the source; row (m): their indices,
 * ascending. */
static void choose_rows(kn_restricted_deviance *w, ptrdiff_t m, ptrdiff_t *row)
{
    for (ptrdiff_t k = 0; k < m; k++)
        w->learn[w->of.order ? w->of.order[k] : k] = true;
    for (ptrdiff_t i = 0, k = 0; i < w->of.n; i++)
        if (w->learn[i])
            row[k++] = i;
}

/* Matrices of kn_restricted_deviance_new. */
typedef struct learning {
    kn_mat G, block, Q, lam; /* m x m, n x WIDTH, WIDTH x K, K x folds */
    kn_eig_leading_work work;
    ptrdiff_t m, *row; /* m: rows to learn from */
} learning;

static void learning_clear(learning *l)
{
    kn_eig_leading_clear(&l->work);
    kn_mat_clear(&l->G);
    kn_mat_clear(&l->block);
    kn_mat_clear(&l->Q);
    kn_mat_clear(&l->lam);
    kn_free(l->row);
    *l = (learning){0};
}

/* Allocate the work of kn_restricted_deviance_new() and the arrays of w, and choose the rows to
 * learn from. On failure the caller clears both. */
static kn_status new_learning(kn_ctx *ctx, kn_restricted_deviance *w, learning *l)
{
    kn_status status;
    void *memory;
    ptrdiff_t width = kn_min_size(WIDTH, w->of.T);
    *l = (learning){.m = kn_min_size(w->of.n, KN_RESTRICTED_LEARN)};
    KN_TRY(kn_alloc_i(ctx, l->m, &l->row));
    KN_TRY(kn_alloc_bool(ctx, w->of.n, &w->learn));
    choose_rows(w, l->m, l->row);
    w->of.K = limit_components(w, l->m);
    KN_TRY(kn_alloc(ctx, w->of.folds, sizeof(kn_mat), &memory));
    w->V = memory;
    for (int f = 0; f < w->of.folds; f++)
        KN_TRY(kn_mat_new(ctx, w->of.n, w->of.K, &w->V[f]));
    KN_TRY(kn_mat_new(ctx, w->of.T, w->of.folds, &w->psi));
    KN_TRY(kn_mat_new(ctx, w->of.K, w->of.folds, &w->w));
    KN_TRY(kn_alloc_d(ctx, w->of.n, &w->all));
    KN_TRY(kn_mat_new(ctx, w->of.K, w->of.folds, &l->lam));
    KN_TRY(kn_mat_new(ctx, l->m, l->m, &l->G));
    KN_TRY(kn_mat_new(ctx, w->of.n, width, &l->block));
    KN_TRY(kn_mat_new(ctx, width, w->of.K, &l->Q));
    KN_TRY(kn_eig_leading_new(ctx, l->m, w->of.K, &l->work));
out:
    return status;
}

kn_status kn_restricted_deviance_new(kn_ctx *ctx, const kn_restricted_source *source,
                                     kn_restricted_deviance *out)
{
    kn_status status;
    learning l;
    double trace = 0;
    *out = (kn_restricted_deviance){.of = *source};
    KN_TRY(new_learning(ctx, out, &l));
    KN_TRY(multiply_rows(ctx, out, l.row, l.block, l.G));
    for (ptrdiff_t i = 0; i < l.m; i++)
        trace += kn_at(l.G, i, i);
    for (int f = 0; f < source->folds; f++)
        KN_TRY(decompose_fold(ctx, out, f, l.G, l.row, &l.work, kn_col(l.lam, f)));
    double floor = FLOOR * trace / ((double)l.m * (double)source->T);
    KN_TRY(estimate_variances(ctx, out, l.block, l.Q, l.lam, floor));
    learning_clear(&l);
    KN_TRY(kn_restricted_deviance_ratio(ctx, out, NULL, out->all));
    return KN_OK;
out:
    learning_clear(&l);
    return status;
}

/* ---- deviances ---- */

/* Sums over the responses of J: A (n x K) = z Psi^-1 W, M (K x K per fold) = I + W'Psi^-1 W, q (n)
 * = sum z^2/psi, count (n) of values. */
typedef struct sums {
    kn_mat A, *M;
    double *q, *count;
    kn_mat block, Q, own, product; /* work: n x WIDTH, WIDTH x K, n x WIDTH, n x K */
    ptrdiff_t *row;                /* n */
} sums;

static void sums_clear(sums *s, int folds)
{
    for (int f = 0; s->M && f < folds; f++)
        kn_mat_clear(&s->M[f]);
    kn_free(s->M);
    kn_mat *m[] = {&s->A, &s->block, &s->Q, &s->own, &s->product};
    for (size_t k = 0; k < sizeof m / sizeof *m; k++)
        kn_mat_clear(m[k]);
    kn_free(s->q);
    kn_free(s->count);
    kn_free(s->row);
}

/* Allocate the sums of kn_restricted_deviance_ratio(), with M = I. On failure the caller clears
 * s. */
static kn_status new_sums(kn_ctx *ctx, const kn_restricted_deviance *w, sums *s)
{
    kn_status status;
    void *memory;
    ptrdiff_t width = kn_min_size(WIDTH, w->of.T);
    *s = (sums){0};
    KN_TRY(kn_alloc(ctx, w->of.folds, sizeof(kn_mat), &memory));
    s->M = memory;
    for (int f = 0; f < w->of.folds; f++) {
        KN_TRY(kn_mat_new(ctx, w->of.K, w->of.K, &s->M[f]));
        for (ptrdiff_t k = 0; k < w->of.K; k++)
            kn_col(s->M[f], k)[k] = 1;
    }
    KN_TRY(kn_mat_new(ctx, w->of.n, w->of.K, &s->A));
    KN_TRY(kn_mat_new(ctx, w->of.n, width, &s->block));
    KN_TRY(kn_mat_new(ctx, width, w->of.K, &s->Q));
    KN_TRY(kn_mat_new(ctx, w->of.n, width, &s->own));
    KN_TRY(kn_mat_new(ctx, w->of.n, w->of.K, &s->product));
    KN_TRY(kn_alloc_d(ctx, w->of.n, &s->q));
    KN_TRY(kn_alloc_d(ctx, w->of.n, &s->count));
    KN_TRY(kn_alloc_i(ctx, w->of.n, &s->row));
out:
    return status;
}

/* Write the indices of the participants of fold f to s->row, and return their number. */
static ptrdiff_t list_fold_rows(const kn_restricted_deviance *w, int f, sums *s)
{
    ptrdiff_t m = 0;
    for (ptrdiff_t i = 0; i < w->of.n; i++)
        if (w->of.fold[i] == f)
            s->row[m++] = i;
    return m;
}

/* Add a block of responses, from `first` on, to the sums A, M, q and counts from which the
 * deviances of fold f follow. b (n x count): z of all rows; missing (T; NULL: none): responses that
 * are left out. */
static void add_fold(kn_ctx *ctx, const kn_restricted_deviance *w, sums *s, int f, ptrdiff_t first,
                     kn_mat b, const bool *missing)
{
    ptrdiff_t m = list_fold_rows(w, f, s);
    kn_mat Q = kn_sub(s->Q, 0, 0, b.cols, w->of.K), own = kn_sub(s->own, 0, 0, m, b.cols);
    kn_mat product = kn_sub(s->product, 0, 0, m, w->of.K);
    if (w->of.K > 0)
        kn_gemm(ctx, 1, KN_T, b, KN_N, w->V[f], 0, Q);
    for (ptrdiff_t j = 0; j < b.cols; j++) {
        bool gone = missing && missing[first + j];
        double root = gone ? 0 : 1 / sqrt(kn_at(w->psi, first + j, f));
        for (ptrdiff_t k = 0; k < w->of.K; k++) /* rows of Psi^-1/2 W */
            kn_col(Q, k)[j] *= root * kn_at(w->w, k, f);
        for (ptrdiff_t k = 0; k < m; k++) {
            double z = root * kn_at(b, s->row[k], j);
            kn_col(own, j)[k] = z;
            s->q[s->row[k]] += z * z;
            s->count[s->row[k]] += !gone && isfinite(w->of.z[s->row[k] * w->of.T + first + j]);
        }
    }
    if (w->of.K == 0 || m == 0)
        return;
    kn_syrk(ctx, 1, KN_T, Q, 1, s->M[f]);
    kn_gemm(ctx, 1, KN_N, own, KN_N, Q, 0, product);
    for (ptrdiff_t p = 0; p < w->of.K; p++)
        for (ptrdiff_t k = 0; k < m; k++)
            kn_col(s->A, p)[s->row[k]] += kn_at(product, k, p);
}

/* dev_i = deviance per response, (q_i - a_i M^-1 a_i')/count_i, of the participants of fold f; NaN
 * if they have fewer than half of the J responses. KN_ERR_NUMERIC if M is not positive definite. */
static kn_status finish_fold(kn_ctx *ctx, const kn_restricted_deviance *w, sums *s, int f,
                             ptrdiff_t J, double *dev)
{
    kn_status status = KN_OK;
    ptrdiff_t m = list_fold_rows(w, f, s);
    kn_mat a = kn_sub(s->product, 0, 0, m, w->of.K);
    kn_mat_rows(s->A, s->row, a);
    if (w->of.K > 0) {
        KN_TRY(kn_chol(ctx, s->M[f], "deviance matrix M of the reference"));
        kn_trsm_right(ctx, KN_T, s->M[f], a);
    }
    for (ptrdiff_t k = 0; k < m; k++) {
        double d = s->q[s->row[k]], n = s->count[s->row[k]];
        for (ptrdiff_t p = 0; p < w->of.K; p++)
            d -= kn_at(a, k, p) * kn_at(a, k, p);
        dev[s->row[k]] = n > 0 && 2 * n >= (double)J ? d / n : NAN;
    }
out:
    return status;
}

kn_status kn_restricted_deviance_ratio(kn_ctx *ctx, const kn_restricted_deviance *w,
                                       const bool *missing, double *ratio)
{
    kn_status status;
    sums s;
    ptrdiff_t J = 0;
    KN_TRY(new_sums(ctx, w, &s));
    for (ptrdiff_t j = 0; j < w->of.T; j++)
        J += !(missing && missing[j]);
    for (ptrdiff_t first = 0; first < w->of.T; first += WIDTH) {
        kn_mat b = kn_cols(s.block, 0, kn_min_size(WIDTH, w->of.T - first));
        KN_TRY(kn_check_cancel(ctx));
        read_block(w, first, b);
        for (int f = 0; f < w->of.folds; f++)
            add_fold(ctx, w, &s, f, first, b, missing);
    }
    for (int f = 0; f < w->of.folds; f++)
        KN_TRY(finish_fold(ctx, w, &s, f, J, ratio));
    for (ptrdiff_t i = 0; missing && i < w->of.n; i++)
        ratio[i] /= w->all[i];
out:
    sums_clear(&s, w->of.folds);
    return status;
}

void kn_restricted_deviance_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T, ptrdiff_t K)
{
    const kn_mem_category W = KN_NEED_WORK;
    ptrdiff_t m = kn_min_size(n, KN_RESTRICTED_LEARN), width = kn_min_size(WIDTH, T);
    K = kn_min_size(kn_min_size(K, T), m);
    kn_plan_alloc_d(r, W, n, KN_RESTRICTED_FOLDS * K + 1);
    kn_plan_alloc_d(r, W, T + K, KN_RESTRICTED_FOLDS);
    kn_plan_alloc(r, W, n, sizeof(bool));
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, W, m + width, m);
    kn_plan_alloc_d(r, W, n + K, width);
    kn_plan_alloc_d(r, W, m, K + 3); /* V of a fold, rows */
    kn_plan_alloc_d(r, W, K, KN_RESTRICTED_FOLDS);
    kn_eig_leading_need(r, W, m, K);
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, W, n, 2 * width + 2 * K + 3);
    kn_plan_alloc_d(r, W, K, width + KN_RESTRICTED_FOLDS * K);
    kn_plan_free_to(r, mark);
}
