/* Leave-one-out maps of a panel of responses (map_panels.c); whole groups are held out together
 * [METHOD 5, 7]. Cells run in parallel, each from its decomposition. */
#include "gp/methods/stgpr/internal.h"

#include "gp/latent.h"
#include "la/la.h"

/* Work space of one worker: products of rows of U, and the block of K^-1 of one group. */
typedef struct loo_work {
    kn_mat rows; /* N x N  products of two rows of U, up to N pairs at a time */
    kn_mat M, I; /* n x n, n x (n + 1) for the largest group */
    kn_mat k;    /* pairs x 1 for the largest group, if they exceed w->A2 */
} loo_work;

static void loo_work_clear(loo_work *v)
{
    kn_mat_clear(&v->rows);
    kn_mat_clear(&v->M);
    kn_mat_clear(&v->I);
    kn_mat_clear(&v->k);
}

/* Allocates the work space of one worker: N x N products, and M and I as large as the largest
 * group of gp. The caller clears v, also after an error. */
static kn_status loo_work_new(kn_ctx *ctx, const kn_gp *gp, loo_work *v)
{
    kn_status status;
    const kn_groups *g = &gp->latent.groups;
    ptrdiff_t limit = 0;
    for (ptrdiff_t k = 0; k < g->n; k++)
        if (g->start[k + 1] - g->start[k] > limit)
            limit = g->start[k + 1] - g->start[k];
    KN_TRY(kn_mat_new(ctx, gp->N, gp->N, &v->rows));
    KN_TRY(kn_mat_new(ctx, limit, limit, &v->M));
    KN_TRY(kn_mat_new(ctx, limit, limit + 1, &v->I));
    KN_TRY(kn_mat_new(ctx, limit * (limit + 1) / 2, 1, &v->k));
out:
    return status;
}

/* Writes to the panel (predictions of a range of responses; row i, response j) the leave-one-out
 * mean y - residual and the model variance v - noise, v including noise; each only if requested. */
static void write_loo(const kn_stgpr_panel *b, ptrdiff_t i, ptrdiff_t j, double y, double residual,
                      double v, double noise)
{
    kn_stgpr_maps *m = b->m;
    double clamped = 0; /* not reported */
    if (b->mean)
        kn_col(m->mean, j - m->first)[i] = y - residual;
    if (b->var)
        kn_col(m->var, j - m->first)[i] = kn_clamp_nonnegative(v - noise, v, &clamped);
}

/* Leave-one-out of single participants for n responses J of the cell (responses that share
 * hyperparameters) in *w, which has their Y, c and d: k_i = (K^-1)_ii = sum_n U_in^2/(c r_n +
 * d); residual (K^-1 y)_i/k_i, variance with noise 1/k_i [METHOD 5]. */
static void loo_rows(kn_ctx *ctx, const kn_stgpr_panel *b, const kn_cell_work *w, const loo_work *v,
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
                write_loo(b, i, J[j], y, kn_stgpr_alpha(s, J[j]).data[i] / c * one, one, d);
            else
                write_loo(b, i, J[j], y, y, 0, 0);
        }
    }
}

/* Holds out group g for one response (column j of *w): with M = (K^-1)_gg in v->M and q = (K^-1
 * y)_g, residuals M^-1 q and variances diag(M^-1) go to the panel. KN_ERR_NUMERIC if M is not
 * positive definite. */
static kn_status loo_group_response(kn_ctx *ctx, const kn_stgpr_panel *b, const kn_cell_work *w,
                                    loo_work *v, ptrdiff_t g, ptrdiff_t j, ptrdiff_t response)
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
        kn_col(I, n)[a] = kn_stgpr_alpha(s, response).data[row[a]] / c;
    }
    kn_trsm_left(ctx, KN_N, M, I);
    kn_trsm_left(ctx, KN_T, M, I); /* M^-1 [I q] */
    for (ptrdiff_t a = 0; a < n; a++)
        write_loo(b, row[a], response, kn_at(w->Y, row[a], j), kn_at(I, a, n), kn_at(I, a, a),
                  noise);
out:
    return status;
}

/* Holds out group g for n responses J: M = (K^-1)_gg = sum_i U_ai U_bi weight_i, with the
 * products of rows for some pairs (a, b) at a time, then loo_group_response [METHOD 5]. */
static kn_status loo_group(kn_ctx *ctx, const kn_stgpr_panel *b, const kn_cell_work *w, loo_work *v,
                           ptrdiff_t g, const ptrdiff_t *J, ptrdiff_t n)
{
    kn_status status = KN_OK;
    const kn_groups *groups = w->samples->groups;
    const ptrdiff_t *row = groups->row + groups->start[g];
    ptrdiff_t size = groups->start[g + 1] - groups->start[g], pairs = size * (size + 1) / 2;
    ptrdiff_t limit = w->A2.rows * w->A2.cols / pairs,
              chunk = limit < 1 ? 1 : kn_min_size(n, limit);
    double less = kn_groups_less(groups, w->gamma, g);
    for (ptrdiff_t j = 0; j < n; j += chunk) {
        ptrdiff_t here = kn_min_size(n - j, chunk), at = 0, done = 0;
        kn_mat k = kn_mat_cols(limit < 1 ? v->k.data : w->A2.data, pairs, here);
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
                    write_loo(b, row[p], J[j + t], y, y, 0, 0);
                }
                continue;
            }
            for (ptrdiff_t p = 0; p < size; p++)
                for (ptrdiff_t q = p; q < size; q++)
                    kn_col(v->M, p)[q] = kn_at(k, pair++, t) +
                                         (kn_cell_is_low(w) ? ((p == q) - less) / w->d[j + t] : 0);
            KN_TRY(loo_group_response(ctx, b, w, v, g, j + t, J[j + t]));
        }
    }
out:
    return status;
}

/* Holds out every group in turn for n responses J of the cell (responses that share
 * hyperparameters) in *w. */
static kn_status loo_groups(kn_ctx *ctx, const kn_stgpr_panel *b, const kn_cell_work *w,
                            loo_work *v, const ptrdiff_t *J, ptrdiff_t n)
{
    kn_status status = KN_OK;
    kn_cell_weights(w, kn_sub(w->A, 0, 0, w->m, n));
    for (ptrdiff_t g = 0; g < w->samples->groups->n; g++)
        KN_TRY(loo_group(ctx, b, w, v, g, J, n));
out:
    return status;
}

/* Work space of all workers. */
typedef struct loo_panel {
    const kn_stgpr_panel *b;
    kn_cell_workspaces workspaces;
    loo_work *loo_work;
} loo_panel;

/* Task of kn_panel_run for one cell (self: loo_panel): decomposes R0 (covariance between
 * participants) and holds out rows, or groups, for each block of its responses. */
static kn_status loo_cell(kn_ctx *ctx, void *self, int worker, ptrdiff_t cell)
{
    kn_status status = KN_OK;
    const loo_panel *l = self;
    const kn_stgpr_panel *b = l->b;
    kn_cell_work *w = &l->workspaces.w[worker];
    loo_work *v = &l->loo_work[worker];
    kn_panel_cell c;
    if (!kn_panel_find_cell(b, cell, &c))
        return KN_OK;
    KN_TRY(kn_cell_decompose(ctx, w, &c.at, c.gamma));
    for (ptrdiff_t n; c.n > 0; c.J += n, c.n -= n) {
        n = kn_cell_block_count(&b->samples, c.J, c.n);
        kn_responses_columns(ctx, b->Y, c.J, kn_cols(w->Y, 0, n));
        kn_panel_load(b->gp->own, c.J, n, w);
        if (b->samples.groups)
            KN_TRY(loo_groups(ctx, b, w, v, c.J, n));
        else
            loo_rows(ctx, b, w, v, c.J, n);
    }
out:
    return status;
}

/* Returns the number of cells to process at a time, by threads and memory; each needs a further
 * N x N doubles. */
static int count_workers(int threads, double memory, ptrdiff_t cells, ptrdiff_t N)
{
    return kn_cell_workers(threads, memory, cells, N, (double)N * (double)N);
}

kn_status kn_stgpr_loo_panel(kn_ctx *ctx, const kn_stgpr_panel *b)
{
    kn_status status;
    void *memory = NULL;
    loo_panel l = {.b = b};
    int workers = count_workers(kn_threads(ctx), (double)kn_memory(ctx),
                                ((const kn_stgpr *)b->gp->own)->cells.rows, b->gp->N);
    KN_TRY(kn_cell_workspaces_new(ctx, workers, b->gp->N, &b->samples, b->width, &l.workspaces));
    KN_TRY(kn_alloc(ctx, workers, sizeof *l.loo_work, &memory));
    l.loo_work = memory;
    for (int k = 0; k < workers; k++)
        KN_TRY(loo_work_new(ctx, b->gp, &l.loo_work[k]));
    KN_TRY(kn_panel_run(ctx, b, workers, loo_cell, &l));
out:
    for (int k = 0; l.loo_work && k < workers; k++)
        loo_work_clear(&l.loo_work[k]);
    kn_free(memory);
    kn_cell_workspaces_clear(&l.workspaces);
    return status;
}

void kn_stgpr_loo_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_plan one = {0};
    ptrdiff_t limit = s->groups > 0 ? s->N - s->groups + 1 : 0;
    kn_plan_alloc_d(&one, KN_NEED_SAMPLES, s->N, s->N);
    kn_plan_alloc_d(&one, KN_NEED_SAMPLES, limit, 3 * limit + 1);
    kn_cell_work_need(&one, s, s->N, kn_min_size(s->T, KN_BLOCK));
    kn_cell_workspaces_need(r, count_workers(s->threads, s->memory, s->threads, s->N), &one);
}
