#include "cov/lowrank.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "la/la.h"
#include "la/vec.h"

enum { TILE = 2048 };           /* rows of K_nm made at a time, in cache */
enum { FIRST_CAP = 256 };       /* columns of L to begin with; four times as many when not enough */
enum { GRADIENT_ROWS = 16384 }; /* rows of GJ held at a time */
static const double DEPENDENT = 1e-14; /* of K_mm's trace: pivots beyond it repeat the others */
static const double SLACK =
    3; /* pivots stay while the residual is below SLACK tol: fewer changes */

kn_status kn_lowrank_new(kn_ctx *ctx, kn_mat X, const kn_cov *cov, ptrdiff_t max_rank, double tol,
                         kn_lowrank *out)
{
    kn_status status;
    *out = (kn_lowrank){.X = X,
                        .cov = *cov,
                        .max_rank = max_rank < X.rows ? max_rank : X.rows,
                        .tol = tol};
    KN_TRY(kn_alloc_d(ctx, X.rows, &out->self));
    KN_TRY(kn_alloc_i(ctx, out->max_rank, &out->set));
out:
    if (status != KN_OK)
        kn_lowrank_clear(out);
    return status;
}

void kn_lowrank_clear(kn_lowrank *w)
{
    kn_free(w->set);
    kn_pairs_clear(&w->set_pairs);
    kn_pairs_clear(&w->pairs);
    kn_mat_clear(&w->L);
    kn_mat_clear(&w->VL);
    kn_free(w->self);
    *w = (kn_lowrank){0};
}

/* ---- covariance between all rows and the pivots, tile by tile ---------------------------------
 */

typedef struct tile_job {
    kn_mat X, base, K; /* N x F, m x F, N x m */
    const kn_cov *cov;
    const double *theta;
    ptrdiff_t first; /* row of X that row 0 of K is (gradient) */
    double *part;    /* gradient: KN_COV_THETA sums of each tile */
} tile_job;

/* The statistics (n x 1 each) between rows first.. of X and row j of base */
static kn_pairs tile_pairs(const tile_job *job, ptrdiff_t first, ptrdiff_t n, ptrdiff_t j,
                           double room[][TILE])
{
    const kn_stats *stats = &job->cov->stats;
    kn_pairs pairs = {.n = stats->n};
    for (int k = 0; k < stats->n; k++) {
        pairs.stat[k] = kn_mat_cols(room[k], n, 1);
        kn_stat_column(&stats->at[k], job->X, first, job->base, j, pairs.stat[k]);
    }
    return pairs;
}

static void fill_tiles(void *self, ptrdiff_t from, ptrdiff_t to)
{
    tile_job *job = self;
    double room[KN_MAX_STATS][TILE];
    for (ptrdiff_t i = from * TILE; i < job->K.rows && i < to * TILE; i += TILE) {
        ptrdiff_t n = job->K.rows - i < TILE ? job->K.rows - i : TILE;
        for (ptrdiff_t j = 0; j < job->K.cols; j++) {
            kn_pairs p = tile_pairs(job, i, n, j, room);
            kn_cov_fill(job->cov, job->theta, &p, kn_sub(job->K, i, j, n, 1));
        }
    }
}

/* K = covariance between the rows of X and those of base */
static void fill(kn_ctx *ctx, kn_mat X, kn_mat base, const kn_cov *cov, const double *theta,
                 kn_mat K)
{
    tile_job job = {.X = X, .base = base, .K = K, .cov = cov, .theta = theta};
    kn_parallel(ctx, (K.rows + TILE - 1) / TILE, 1, fill_tiles, &job);
}

/* ---- pivots -------------------------------------------------------------------------------- */

typedef struct column_job {
    kn_ctx *ctx;
    const kn_lowrank *w;
    const double *theta;
    kn_mat row; /* 1 x F */
} column_job;

static void kernel_column(void *self, ptrdiff_t j, double *column)
{
    column_job *job = self;
    kn_mat_rows(job->w->X, &j, job->row);
    fill(job->ctx, job->w->X, job->row, &job->w->cov, job->theta,
         kn_mat_cols(column, job->w->X.rows, 1));
}

static kn_status room(kn_ctx *ctx, kn_lowrank *w, ptrdiff_t cols)
{
    if (w->L.cols >= cols)
        return KN_OK;
    kn_mat_clear(&w->L);
    return kn_mat_new(ctx, w->X.rows, cols, &w->L);
}

static kn_status pair_pivots(kn_ctx *ctx, kn_lowrank *w)
{
    kn_status status;
    kn_mat rows = {0};
    KN_TRY(kn_mat_new(ctx, w->n_set, w->X.cols, &rows));
    kn_mat_rows(w->X, w->set, rows);
    kn_pairs_clear(&w->set_pairs);
    KN_TRY(kn_pairs_within(ctx, rows, &w->cov.stats, &w->set_pairs));
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

static kn_status choose_pivots(kn_ctx *ctx, kn_lowrank *w, const double *theta)
{
    kn_status status;
    double *diag = NULL;
    column_job job = {.ctx = ctx, .w = w, .theta = theta};
    ptrdiff_t cap = w->L.cols > FIRST_CAP ? w->L.cols : FIRST_CAP;
    KN_TRY(kn_alloc_d(ctx, w->X.rows, &diag));
    KN_TRY(kn_mat_new(ctx, 1, w->X.cols, &job.row));
    for (;; cap *= 4) {
        cap = cap < w->max_rank ? cap : w->max_rank;
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(room(ctx, w, cap));
        memcpy(diag, w->self, (size_t)w->X.rows * sizeof *diag);
        KN_TRY(kn_pivoted_chol(ctx, diag, kernel_column, &job, w->tol, kn_cols(w->L, 0, cap),
                               w->set, &w->n_set, &w->residual));
        if (w->n_set < cap || w->residual <= w->tol || cap == w->max_rank)
            break;
    }
    KN_TRY(pair_pivots(ctx, w));
out:
    kn_mat_clear(&job.row);
    kn_free(diag);
    return status;
}

static void matrix_column(void *self, ptrdiff_t j, double *column)
{
    const kn_mat *K = self;
    memcpy(column, kn_col(*K, j), (size_t)K->rows * sizeof *column);
}

/* Lm of the pivots chosen, without those that at this theta repeat the others; order[k] says which
 * of them is the k-th. */
static kn_status factor_pivots(kn_ctx *ctx, kn_lowrank *w, const double *theta, ptrdiff_t *order,
                               kn_mat *Lm)
{
    kn_status status;
    kn_mat K = {0}, L = {0};
    double *diag = NULL, residual;
    ptrdiff_t n = w->n_set, rank;
    KN_TRY(kn_mat_new(ctx, n, n, &K));
    KN_TRY(kn_mat_new(ctx, n, n, &L));
    KN_TRY(kn_alloc_d(ctx, n, &diag));
    kn_cov_fill(&w->cov, theta, &w->set_pairs, K);
    kn_mirror(K);
    for (ptrdiff_t i = 0; i < n; i++)
        diag[i] = kn_at(K, i, i);
    KN_TRY(kn_pivoted_chol(ctx, diag, matrix_column, &K, DEPENDENT, L, order, &rank, &residual));
    if (rank == 0) {
        status = kn_fail(ctx, KN_ERR_NUMERIC, "the sample covariance is zero");
        goto out;
    }
    KN_TRY(kn_mat_new(ctx, rank, rank, Lm));
    kn_mat_rows(kn_cols(L, 0, rank), order, *Lm);
    kn_pairs_clear(&w->pairs);
    KN_TRY(kn_pairs_subset(ctx, &w->set_pairs, order, rank, &w->pairs));
out:
    kn_free(diag);
    kn_mat_clear(&L);
    kn_mat_clear(&K);
    return status;
}

/* ---- decomposition ------------------------------------------------------------------------- */

/* L = K_nm Lm^-T for the pivots in use; the residual of the trace goes to d. */
static kn_status make_L(kn_ctx *ctx, kn_lowrank *w, const double *theta, kn_decomp *d, kn_mat *Lm)
{
    kn_status status;
    ptrdiff_t *order = NULL;
    double trace = 0;
    KN_TRY(kn_alloc_i(ctx, w->n_set, &order));
    kn_mat_clear(Lm);
    KN_TRY(factor_pivots(ctx, w, theta, order, Lm));
    d->n_pivots = Lm->rows;
    kn_free(d->pivot);
    d->pivot = NULL;
    KN_TRY(kn_alloc_i(ctx, d->n_pivots, &d->pivot));
    for (ptrdiff_t k = 0; k < d->n_pivots; k++)
        d->pivot[k] = w->set[order[k]];
    kn_mat_clear(&d->base);
    KN_TRY(kn_mat_new(ctx, d->n_pivots, w->X.cols, &d->base));
    kn_mat_rows(w->X, d->pivot, d->base);
    KN_TRY(room(ctx, w, d->n_pivots));
    kn_mat L = kn_cols(w->L, 0, d->n_pivots);
    fill(ctx, w->X, d->base, &w->cov, theta, L);
    kn_trsm_right(ctx, KN_T, *Lm, L);
    for (ptrdiff_t i = 0; i < w->X.rows; i++)
        trace += w->self[i];
    d->residual = trace > 0 ? fmax(trace - kn_sumsq(L), 0) / trace : 0;
out:
    kn_free(order);
    return status;
}

/* L'L = V diag(r) V', and from it map and VL */
static kn_status decompose(kn_ctx *ctx, kn_lowrank *w, kn_mat Lm, kn_decomp *d)
{
    kn_status status;
    kn_mat S = {0};
    double *lam = NULL;
    ptrdiff_t m0 = d->n_pivots, drop = 0;
    KN_TRY(kn_mat_new(ctx, m0, m0, &S));
    KN_TRY(kn_alloc_d(ctx, m0, &lam));
    kn_syrk(ctx, 1, KN_T, kn_cols(w->L, 0, m0), 0, S);
    KN_TRY(kn_eig_steady(ctx, S, lam));
    while (drop < m0 - 1 && lam[drop] < (double)m0 * DBL_EPSILON * lam[m0 - 1])
        drop++;
    d->m = m0 - drop;
    kn_free(d->r);
    d->r = NULL;
    KN_TRY(kn_alloc_d(ctx, d->m, &d->r));
    kn_mat_clear(&d->map);
    KN_TRY(kn_mat_new(ctx, m0, d->m, &d->map));
    kn_mat_clear(&w->VL);
    KN_TRY(kn_mat_new(ctx, m0, d->m, &w->VL));
    for (ptrdiff_t k = 0; k < d->m; k++) {
        double root = sqrt(lam[drop + k]);
        const double *v = kn_col(S, drop + k);
        d->r[k] = lam[drop + k];
        for (ptrdiff_t i = 0; i < m0; i++) {
            kn_col(d->map, k)[i] = v[i] * root;
            kn_col(w->VL, k)[i] = v[i] / root;
        }
    }
    kn_trsm_left(ctx, KN_T, Lm, d->map);
out:
    kn_free(lam);
    kn_mat_clear(&S);
    return status;
}

void kn_lowrank_kept_need(kn_rehearsal *r, const kn_need_shape *s)
{
    kn_hold_d(r, KN_NEED_SAMPLES, s->M, s->M); /* map */
    kn_hold_d(r, KN_NEED_SAMPLES, s->M, s->F + 2);
}

void kn_lowrank_need(kn_rehearsal *r, const kn_need_shape *s)
{
    const kn_need_part S = KN_NEED_SAMPLES;
    kn_hold_d(r, S, s->N, 1); /* self */
    kn_hold_d(r, S, s->M, 1);
    kn_hold_d(r, S, s->N, s->M); /* L */
    kn_pairs_need(r, S, 2 * s->stats, s->M, s->M);
    kn_lowrank_kept_need(r, s);
    kn_hold_d(r, S, s->M, s->M); /* VL */
    kn_held mark = r->now;
    kn_hold_d(r, S, s->N, 2);    /* sq, and the diagonal while pivots are chosen */
    kn_hold_d(r, S, s->M, s->M); /* Lm */
    kn_hold_d(r, S, s->M, s->M); /* L'L, before that K_mm ... */
    kn_eig_need(r, S, s->M);     /* ... and its factor, which takes less than this */
    kn_let_go(r, mark);
    kn_hold_d(r, S, s->M, s->P); /* L'Z */
    kn_let_go(r, mark);
}

kn_status kn_lowrank_compute(kn_ctx *ctx, kn_lowrank *w, const double *theta, kn_decomp *d)
{
    kn_status status;
    kn_mat Lm = {0};
    double *sq = NULL;
    bool fresh = w->n_set == 0;
    double chosen = w->residual;
    for (int k = 0; k < w->cov.n_theta; k++)
        d->theta[k] = theta[k];
    KN_TRY(kn_alloc_d(ctx, w->X.rows, &sq));
    kn_cov_self(&w->cov, theta, w->X, sq, w->self);
    if (fresh)
        KN_TRY(choose_pivots(ctx, w, theta));
    KN_TRY(make_L(ctx, w, theta, d, &Lm));
    /* chosen elsewhere: choose again here, unless as many as may be were little better there */
    bool most = w->n_set == w->max_rank && d->residual <= SLACK * chosen;
    if (!fresh && d->residual > SLACK * w->tol && !most) {
        KN_TRY(choose_pivots(ctx, w, theta));
        KN_TRY(make_L(ctx, w, theta, d, &Lm));
    }
    KN_TRY(decompose(ctx, w, Lm, d));
out:
    kn_free(sq);
    kn_mat_clear(&Lm);
    return status;
}

kn_status kn_lowrank_project(kn_ctx *ctx, const kn_lowrank *w, kn_mat Z, kn_mat A)
{
    kn_mat LZ;
    kn_status status = kn_mat_new(ctx, w->VL.rows, Z.cols, &LZ);
    if (status != KN_OK)
        return status;
    kn_gemm(ctx, 1, KN_T, kn_cols(w->L, 0, w->VL.rows), KN_N, Z, 0, LZ);
    kn_gemm(ctx, 1, KN_T, w->VL, KN_N, LZ, 0, A);
    kn_mat_clear(&LZ);
    return KN_OK;
}

/* ---- gradient ------------------------------------------------------------------------------ */

static void gradient_tiles(void *self, ptrdiff_t from, ptrdiff_t to)
{
    tile_job *job = self;
    double room[KN_MAX_STATS][TILE], g[KN_COV_THETA];
    for (ptrdiff_t t = from; t < to; t++) {
        ptrdiff_t i = t * TILE, n = job->K.rows - i < TILE ? job->K.rows - i : TILE;
        double *part = job->part + t * KN_COV_THETA;
        memset(part, 0, KN_COV_THETA * sizeof *part);
        for (ptrdiff_t j = 0; j < job->K.cols; j++) {
            kn_pairs p = tile_pairs(job, job->first + i, n, j, room);
            kn_cov_gradient(job->cov, job->theta, &p, kn_sub(job->K, i, j, n, 1), g);
            for (int k = 0; k < job->cov->n_theta; k++)
                part[k] += g[k];
        }
    }
}

/* g += 2 <GJ, dK_nm>,  GJ = 1/2 (Z E1 + L E2), some rows at a time */
static kn_status add_cross(kn_ctx *ctx, const kn_lowrank *w, const kn_decomp *d, kn_mat Z,
                           kn_mat E1, kn_mat E2, double *g)
{
    kn_status status;
    ptrdiff_t N = w->X.rows, m0 = d->n_pivots, most = N < GRADIENT_ROWS ? N : GRADIENT_ROWS;
    kn_mat GJ = {0};
    double *part = NULL;
    KN_TRY(kn_mat_new(ctx, most, m0, &GJ));
    KN_TRY(kn_alloc_d(ctx, (most / TILE + 1) * KN_COV_THETA, &part));
    for (ptrdiff_t i = 0; i < N; i += most) {
        ptrdiff_t n = N - i < most ? N - i : most, tiles = (n + TILE - 1) / TILE;
        kn_mat rows = kn_sub(GJ, 0, 0, n, m0);
        kn_gemm(ctx, 0.5, KN_N, kn_sub(Z, i, 0, n, Z.cols), KN_N, E1, 0, rows);
        kn_gemm(ctx, 0.5, KN_N, kn_sub(w->L, i, 0, n, m0), KN_N, E2, 1, rows);
        tile_job job = {w->X, d->base, rows, &w->cov, d->theta, i, part};
        kn_parallel(ctx, tiles, 1, gradient_tiles, &job);
        for (ptrdiff_t t = 0; t < tiles; t++) /* in order, whoever made them */
            for (int k = 0; k < w->cov.n_theta; k++)
                g[k] += 2 * part[t * KN_COV_THETA + k];
    }
out:
    kn_free(part);
    kn_mat_clear(&GJ);
    return status;
}

void kn_lowrank_gradient_need(kn_rehearsal *r, const kn_need_shape *s)
{
    kn_held mark = r->now;
    kn_hold_d(r, KN_NEED_WORK, s->M, (s->iso && s->rotated ? 4 : 3) * s->P);
    kn_hold_d(r, KN_NEED_SAMPLES, 3 * s->M, s->M);
    kn_hold_d(r, KN_NEED_SAMPLES, kn_at_most(s->N, GRADIENT_ROWS), s->M);
    kn_let_go(r, mark);
}

/* With J = L Lm^-1 = U map':  dLML = 2 <GJ, dK_nm> - <J'GJ, dK_mm>                     [METHOD 6a]
 *     GJ    = 1/2 (Z U_C diag(c^1/2/d) M' + U (N1 M' - diag(w))) map',   N1 = M - A c^1/2/d
 *     J'GJ  = 1/2 map (M M' - diag(w)) map' */
kn_status kn_lowrank_gradient(kn_ctx *ctx, const kn_lowrank *w, const kn_decomp *d, kn_mat Z,
                              kn_mat UC, kn_mat A, const double *c, const double *dd, kn_mat M,
                              const double *weight, double *g)
{
    kn_status status;
    ptrdiff_t m0 = d->n_pivots, m = d->m, P = A.cols;
    kn_mat mapM = {0}, N1 = {0}, E1 = {0}, turned = {0}, W = {0}, E2 = {0}, H = {0};
    double own[KN_COV_THETA] = {0};
    int n_params = w->cov.n_theta;
    KN_TRY(kn_mat_new(ctx, m0, P, &mapM));
    KN_TRY(kn_mat_new(ctx, m, P, &N1));
    KN_TRY(kn_mat_new(ctx, P, m0, &E1));
    KN_TRY(kn_mat_new(ctx, m, m0, &W));
    KN_TRY(kn_mat_new(ctx, m0, m0, &E2));
    KN_TRY(kn_mat_new(ctx, m0, m0, &H));
    kn_gemm(ctx, 1, KN_N, d->map, KN_N, M, 0, mapM); /* map M   m0 x P */
    for (ptrdiff_t p = 0; p < P; p++) {
        double root = sqrt(c[p]);
        for (ptrdiff_t j = 0; j < m0; j++)
            kn_col(E1, j)[p] = root / dd[p] * kn_at(mapM, j, p);
        for (ptrdiff_t i = 0; i < m; i++) { /* (1/k - 1/d) A c^1/2 without cancellation */
            double cr = c[p] * d->r[i];
            kn_col(N1, p)[i] = -kn_at(A, i, p) * root * cr / ((cr + dd[p]) * dd[p]);
        }
    }
    if (UC.data) {
        KN_TRY(kn_mat_copy(ctx, E1, &turned));
        kn_gemm(ctx, 1, KN_N, UC, KN_N, turned, 0, E1);
    }
    for (ptrdiff_t j = 0; j < m0; j++)
        for (ptrdiff_t i = 0; i < m; i++)
            kn_col(W, j)[i] = -weight[i] * kn_at(d->map, j, i);
    kn_gemm(ctx, 0.5, KN_N, d->map, KN_N, W, 0, H); /* H = -1/2 map diag(w) map' */
    kn_syrk(ctx, 0.5, KN_N, mapM, 1, H);
    kn_gemm(ctx, 1, KN_N, N1, KN_T, mapM, 1, W); /* (N1 M' - diag(w)) map' */
    kn_gemm(ctx, 1, KN_N, w->VL, KN_N, W, 0, E2);
    for (int k = 0; k < n_params; k++)
        g[k] = 0;
    KN_TRY(add_cross(ctx, w, d, Z, E1, E2, g));
    kn_cov_gradient(&w->cov, d->theta, &w->pairs, H, own);
    for (int k = 0; k < n_params; k++)
        g[k] -= own[k];
out:
    kn_mat_clear(&H);
    kn_mat_clear(&E2);
    kn_mat_clear(&W);
    kn_mat_clear(&turned);
    kn_mat_clear(&E1);
    kn_mat_clear(&N1);
    kn_mat_clear(&mapM);
    return status;
}

kn_status kn_decomp_vectors(kn_ctx *ctx, const kn_decomp *d, kn_mat X, kn_mat U)
{
    kn_status status;
    kn_mat K = {0}, scaled = {0};
    KN_TRY(kn_mat_new(ctx, X.rows < GRADIENT_ROWS ? X.rows : GRADIENT_ROWS, d->n_pivots, &K));
    KN_TRY(kn_mat_copy(ctx, d->map, &scaled));
    for (ptrdiff_t k = 0; k < d->m; k++)
        for (ptrdiff_t i = 0; i < d->n_pivots; i++)
            kn_col(scaled, k)[i] /= d->r[k];
    for (ptrdiff_t i = 0; i < X.rows; i += GRADIENT_ROWS) {
        ptrdiff_t n = X.rows - i < GRADIENT_ROWS ? X.rows - i : GRADIENT_ROWS;
        kn_mat rows = kn_sub(K, 0, 0, n, d->n_pivots);
        fill(ctx, kn_sub(X, i, 0, n, X.cols), d->base, &d->cov, d->theta, rows);
        kn_gemm(ctx, 1, KN_N, rows, KN_N, scaled, 0, kn_sub(U, i, 0, n, d->m));
    }
out:
    kn_mat_clear(&scaled);
    kn_mat_clear(&K);
    return status;
}

void kn_lowrank_vectors_need(kn_rehearsal *r, const kn_need_shape *s)
{
    kn_held mark = r->now;
    kn_hold_d(r, KN_NEED_SAMPLES, kn_at_most(s->N, GRADIENT_ROWS), s->M);
    kn_hold_d(r, KN_NEED_SAMPLES, s->M, s->M);
    kn_let_go(r, mark);
}
