/* Decomposition, profile and predictive weights of cells, and one work space per worker for cells
 * in parallel [METHOD 7]. Formulas and contracts are in weight_cells.h. */
#include "gp/methods/stgpr/weight_cells.h"

#include "gp/block_visitor.h"
#include "gp/likelihood/profile_1d.h"
#include "gp/methods/stgpr/internal.h"
#include "la/la.h"

/* Low rank: proportion of the trace of R0 that may be neglected, and the factor above it at which
 * the cell becomes dense. */
static const double RESIDUAL = 1e-12, FAR = 10;

void kn_stgpr_clear(kn_stgpr *s)
{
    kn_stgpr_shared_clear(s);
    kn_mat_clear(&s->cells);
    kn_mat_clear(&s->alpha);
    kn_free(s->cell);
    kn_free(s->c);
    kn_free(s->delta);
    kn_free(s->d);
    kn_free(s->lml);
    kn_free(s->gamma);
    kn_mat_clear(&s->effect);
    *s = (kn_stgpr){0};
}

kn_status kn_stgpr_new(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t T, kn_stgpr *out)
{
    kn_status status;
    *out = (kn_stgpr){0};
    KN_TRY(kn_alloc_d(ctx, T, &out->cell));
    KN_TRY(kn_alloc_d(ctx, T, &out->c));
    KN_TRY(kn_alloc_d(ctx, T, &out->delta));
    KN_TRY(kn_alloc_d(ctx, T, &out->d));
    KN_TRY(kn_alloc_d(ctx, T, &out->lml));
    KN_TRY(kn_mat_new(ctx, N, T, &out->alpha));
out:
    if (status != KN_OK)
        kn_stgpr_clear(out);
    return status;
}

kn_cov_point kn_cell_point(const kn_cov *cov, kn_mat cells, ptrdiff_t row)
{
    kn_cov_point p = {0};
    for (int k = 0; k < cov->n; k++)
        p.w[k] = kn_at(cells, row, k);
    for (int i = 0; i < cov->n_shapes; i++)
        p.shape[i] = kn_at(cells, row, cov->n + i);
    return p;
}

void kn_cell_write(const kn_cov *cov, const kn_cov_point *point, kn_mat cells, ptrdiff_t row)
{
    for (int k = 0; k < cov->n; k++)
        kn_col(cells, k)[row] = point->w[k];
    for (int i = 0; i < cov->n_shapes; i++)
        kn_col(cells, cov->n + i)[row] = point->shape[i];
}

kn_status kn_stgpr_add_cells(kn_ctx *ctx, kn_stgpr *s, kn_mat added, ptrdiff_t n)
{
    kn_mat all;
    ptrdiff_t had = s->cells.rows;
    kn_status status = kn_mat_new(ctx, had + n, added.cols, &all);
    if (status != KN_OK)
        return status;
    if (had > 0)
        kn_mat_set(kn_sub(all, 0, 0, had, added.cols), s->cells);
    kn_mat_set(kn_sub(all, had, 0, n, added.cols), kn_sub(added, 0, 0, n, added.cols));
    kn_mat_clear(&s->cells);
    s->cells = all;
    return KN_OK;
}

void kn_cell_groups_clear(kn_cell_groups *g)
{
    kn_free(g->order);
    kn_free(g->start);
    *g = (kn_cell_groups){0};
}

kn_status kn_cell_groups_new(kn_ctx *ctx, const kn_stgpr *s, ptrdiff_t first, ptrdiff_t count,
                             kn_cell_groups *out)
{
    kn_status status;
    ptrdiff_t n = s->cells.rows;
    *out = (kn_cell_groups){0};
    KN_TRY(kn_alloc_i(ctx, count, &out->order));
    KN_TRY(kn_alloc_i(ctx, n + 2, &out->start));
    for (ptrdiff_t j = first; j < first + count; j++) /* counting sort, stable */
        out->start[(ptrdiff_t)s->cell[j] + 2]++;
    for (ptrdiff_t k = 2; k < n + 2; k++)
        out->start[k] += out->start[k - 1];
    for (ptrdiff_t j = first; j < first + count; j++)
        out->order[out->start[(ptrdiff_t)s->cell[j] + 1]++] = j;
out:
    if (status != KN_OK)
        kn_cell_groups_clear(out);
    return status;
}

ptrdiff_t kn_cell_block_count(const kn_cell_samples *samples, const ptrdiff_t *J, ptrdiff_t n)
{
    ptrdiff_t count = 1, end = samples->Y ? kn_block_end(samples->Y, KN_BLOCK, J[0])
                                          : (J[0] / KN_BLOCK + 1) * KN_BLOCK;
    while (count < n && J[count] < end)
        count++;
    return count;
}

void kn_cell_work_clear(kn_cell_work *w)
{
    kn_decomp_clear(&w->full);
    kn_decomp_clear(&w->thin);
    kn_mat_clear(&w->vectors);
    kn_lowrank_clear(&w->low);
    kn_mat_clear(&w->Y);
    kn_mat_clear(&w->A);
    kn_mat_clear(&w->A2);
    kn_free(w->c);
    kn_free(w->d);
    kn_free(w->lml);
    kn_free(w->outside);
    *w = (kn_cell_work){0};
}

kn_status kn_cell_work_new(kn_ctx *ctx, ptrdiff_t N, const kn_cell_samples *samples,
                           ptrdiff_t width, kn_cell_work *out)
{
    kn_status status;
    *out = (kn_cell_work){.samples = samples, .N = N, .width = width};
    KN_TRY(kn_mat_new(ctx, N, width, &out->Y));
    KN_TRY(kn_mat_new(ctx, N, width, &out->A));
    KN_TRY(kn_mat_new(ctx, N, width, &out->A2));
    KN_TRY(kn_alloc_d(ctx, width, &out->c));
    KN_TRY(kn_alloc_d(ctx, width, &out->d));
    KN_TRY(kn_alloc_d(ctx, width, &out->lml));
    KN_TRY(kn_alloc_d(ctx, width, &out->outside));
    if (samples->rank > kn_features_of(samples->cov).columns) {
        kn_mat nothing = kn_cols(samples->X, 0, 0); /* no columns: projections are computed here */
        KN_TRY(kn_lowrank_new(ctx, samples->X, nothing, samples->groups, samples->cov,
                              samples->rank, &out->low));
        out->low.tol = RESIDUAL;
        out->rank = samples->rank;
        out->thin.N = N;
        out->thin.cov = *samples->cov;
    }
out:
    if (status != KN_OK)
        kn_cell_work_clear(out);
    return status;
}

/* Computes all N eigenvalues r and eigenvectors U of R0 (covariance between participants) with
 * group noise variance gamma, at w->theta into w->full, on one thread; m = N. 9 N^3 flops. */
static kn_status decompose_full(kn_ctx *ctx, kn_cell_work *w)
{
    kn_status status = KN_OK;
    const kn_cell_samples *s = w->samples;
    if (!w->full.U.data)
        KN_TRY(kn_decomp_new(ctx, w->N, s->cov, &w->full));
    w->full.steady = true;
    w->full.gamma = w->gamma;
    KN_TRY(kn_decomp_compute(ctx, &w->full, s->pairs, s->groups, w->theta));
    w->m = w->N;
    w->U = w->full.U;
    w->r = w->full.r;
out:
    return status;
}

/* Computes a low-rank decomposition at w->theta and sets U, r and m; *enough = false if it does
 * not represent R0 well. Pivots are chosen for each cell (responses that share hyperparameters)
 * afresh, so that the result does not depend on the cells before it. */
static kn_status decompose_low(kn_ctx *ctx, kn_cell_work *w, bool *enough)
{
    kn_status status;
    kn_lowrank *low = &w->low;
    low->n_set = 0;
    KN_TRY(kn_lowrank_at(ctx, low, w->theta));
    *enough = low->residual_used <= FAR * RESIDUAL && low->m0 <= w->rank;
    if (!*enough)
        goto out;
    w->thin.gamma = w->gamma;
    KN_TRY(kn_lowrank_decompose(ctx, low, &w->thin));
    w->m = w->thin.m;
    if (w->vectors.cols < w->m) {
        kn_mat_clear(&w->vectors);
        KN_TRY(kn_mat_new(ctx, w->N, low->m0, &w->vectors));
    }
    w->U = kn_cols(w->vectors, 0, w->m);
    w->r = w->thin.r;
    kn_lowrank_times(ctx, low, 0, 1, w->thin.rotation, 0, w->U);
    if (w->samples->groups) /* U = H^-1 Phi rotation */
        kn_groups_inverse(w->samples->groups, w->gamma, w->U);
out:
    return status;
}

kn_status kn_cell_decompose(kn_ctx *ctx, kn_cell_work *w, const kn_cov_point *at, double gamma)
{
    kn_status status = KN_OK;
    bool enough = false;
    kn_cov_theta(w->samples->cov, at, w->theta);
    w->gamma = gamma;
    w->logdet = w->samples->groups ? kn_groups_logdet(w->samples->groups, gamma) : 0;
    if (w->rank > 0)
        KN_TRY(decompose_low(ctx, w, &enough));
    if (!enough)
        KN_TRY(decompose_full(ctx, w));
out:
    return status;
}

/* Returns the leading rows x cols block of M, a view. */
static kn_mat view_block(kn_mat M, ptrdiff_t rows, ptrdiff_t cols)
{
    return kn_sub(M, 0, 0, rows, cols);
}

void kn_cell_project(kn_ctx *ctx, kn_cell_work *w, kn_mat Y)
{
    kn_gemm(ctx, 1, KN_T, w->U, KN_N, Y, 0, view_block(w->A, w->m, Y.cols)); /* A = U'Y   m x n */
}

/* Returns y'H^-1 y - |A|^2 (at least 0), the energy of response y (N x 1) in the directions
 * outside U; inside: |A|^2. */
static double compute_energy_outside(const kn_cell_work *w, kn_mat y, double inside)
{
    const kn_groups *g = w->samples->groups;
    double sum = kn_sumsq(y) - inside;
    for (ptrdiff_t k = 0; g && w->gamma > 0 && k < g->n; k++) {
        double total = 0;
        for (ptrdiff_t i = g->start[k]; i < g->start[k + 1]; i++)
            total += y.data[g->row[i]];
        sum -= kn_groups_less(g, w->gamma, k) * total * total;
    }
    return sum > 0 ? sum : 0;
}

kn_status kn_cell_fit(kn_ctx *ctx, kn_cell_work *w, kn_mat Y, double nats)
{
    kn_mat A = view_block(w->A, w->m, Y.cols), A2 = view_block(w->A2, w->m, Y.cols);
    kn_cell_project(ctx, w, Y);
    for (ptrdiff_t j = 0; j < Y.cols; j++) {
        double inside = 0;
        for (ptrdiff_t i = 0; i < w->m; i++) {
            kn_col(A2, j)[i] = kn_at(A, i, j) * kn_at(A, i, j);
            inside += kn_at(A2, i, j);
        }
        w->outside[j] = kn_cell_is_low(w) ? compute_energy_outside(w, kn_cols(Y, j, 1), inside) : 0;
    }
    kn_status status = kn_profile_within(ctx, nats, w->m, w->r, w->N - w->m, A2,
                                         kn_cell_is_low(w) ? w->outside : NULL, w->c, w->d, w->lml);
    for (ptrdiff_t j = 0; w->gamma > 0 && j < Y.cols; j++)
        w->lml[j] -= 0.5 * w->logdet;
    return status;
}

void kn_cell_weights(const kn_cell_work *w, kn_mat weight)
{
    bool low = kn_cell_is_low(w);
    for (ptrdiff_t j = 0; j < weight.cols; j++) {
        double c = w->c[j], d = w->d[j];
        for (ptrdiff_t i = 0; i < w->m; i++) {
            double v = 1 / (c * w->r[i] + d);
            kn_col(weight, j)[i] = low ? -c * w->r[i] * v / d : v; /* 1/k - 1/d */
        }
    }
}

void kn_cell_alpha(kn_ctx *ctx, kn_cell_work *w, kn_mat alpha)
{
    ptrdiff_t n = alpha.cols;
    kn_mat A = view_block(w->A, w->m, n);
    bool low = kn_cell_is_low(w);
    for (ptrdiff_t j = 0; j < n; j++) {
        double c = w->c[j], d = w->d[j];
        for (ptrdiff_t i = 0; i < w->m; i++) {
            double v = c > 0 ? c / (c * w->r[i] + d) : 0;
            kn_col(A, j)[i] *= low && c > 0 ? -c * w->r[i] * v / d : v;
        }
        for (ptrdiff_t i = 0; low && i < w->N; i++)
            kn_col(alpha, j)[i] *= c > 0 ? c / d : 0;
    }
    if (low && w->samples->groups)
        kn_groups_inverse(w->samples->groups, w->gamma, alpha);
    kn_gemm(ctx, 1, KN_N, w->U, KN_N, A, low ? 1 : 0, alpha);
}

void kn_cell_work_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t width)
{
    for (int k = 0; k < 3; k++)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, width);
    kn_plan_alloc_d(r, KN_NEED_WORK, width, 4);
    kn_problem_size low = *s; /* tried first */
    low.N = n;
    low.P = 0;
    low.M = s->N / KN_CELL_RANK_RATIO;
    kn_lowrank_need(r, &low);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, n, low.M);
    kn_decomp_need(r, n);
    kn_profile_need(r, n, width);
}

/* ---- cells in parallel --------------------------------------------------------------- */

int kn_cell_workers(int threads, double memory, ptrdiff_t cells, ptrdiff_t N, double extra)
{
    static const double MEMORY_PROPORTION = 0.25;
    /* vectors, work space of the eigenproblem, features; Y, A and squares of a block */
    double each = 8 * ((double)N * (4 * (double)N + 3 * KN_BLOCK) + extra);
    ptrdiff_t n = kn_workers_of(threads, cells, 1),
              limit = (ptrdiff_t)(MEMORY_PROPORTION * memory / each);
    n = memory > 0 ? kn_min_size(n, limit) : n;
    return n > 1 ? (int)n : 1;
}

void kn_cell_workspaces_clear(kn_cell_workspaces *c)
{
    for (int k = 0; c->w && k < c->n; k++)
        kn_cell_work_clear(&c->w[k]);
    kn_free(c->w);
    *c = (kn_cell_workspaces){0};
}

kn_status kn_cell_workspaces_new(kn_ctx *ctx, int n, ptrdiff_t N, const kn_cell_samples *samples,
                                 ptrdiff_t width, kn_cell_workspaces *out)
{
    kn_status status;
    void *memory;
    *out = (kn_cell_workspaces){.n = n};
    KN_TRY(kn_alloc(ctx, n, sizeof *out->w, &memory));
    out->w = memory;
    for (int k = 0; k < n; k++)
        KN_TRY(kn_cell_work_new(ctx, N, samples, width, &out->w[k]));
out:
    if (status != KN_OK)
        kn_cell_workspaces_clear(out);
    return status;
}

void kn_cell_workspaces_need(kn_mem_plan *r, int n, const kn_mem_plan *one)
{
    kn_mem_usage mark = r->now;
    for (int k = 0; k < KN_NEED_CATEGORIES; k++)
        kn_plan_alloc_bytes(r, (kn_mem_category)k, n * one->peak.bytes[k]);
    kn_plan_free_to(r, mark);
}
