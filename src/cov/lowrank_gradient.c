/* Gradient of the likelihood for a low-rank R0 (kn_lowrank_gradient of lowrank.h)      [METHOD 6a]
 *
 *     exact terms  dLML/da_k = sum over its columns of |Bf M|^2 - sum_i w_i Bf_i^2
 *                  Bf = rows of W r^1/2
 *     the rest     dLML = 2 <GJ, dK_nm> - <J'GJ, dK_mm>
 *                  J = H U mapR', mapR the pivots' rows of map
 *     GJ    = 1/2 H^-1 (Z U_C diag(c^1/2/d) M' + Phi rotation (N1 M' - diag(w))) mapR'
 *     J'GJ  = 1/2 mapR (M M' - diag(w)) mapR'             N1 = M - A c^1/2/d
 *
 * Directions outside U do not contribute to features. N m (4 pivots + 2 P) flops and nothing
 * N x N. */
#include <math.h>

#include "cov/lowrank.h"
#include "la/la.h"

enum { GRADIENT_ROWS = 16384 }; /* rows of GJ computed at a time */

/* Sums over all parts: GJ = 1/2 (Z E1 + Phi E2 - less of the row's group), and H = J'GJ. */
typedef struct outer {
    kn_mat E1;   /* P x pivots */
    kn_mat E2;   /* m0 x pivots */
    kn_mat less; /* groups x pivots */
    kn_mat H;    /* pivots x pivots, lower triangle */
} outer;

static void outer_clear(outer *o)
{
    kn_mat_clear(&o->E1);
    kn_mat_clear(&o->E2);
    kn_mat_clear(&o->less);
    kn_mat_clear(&o->H);
}

void kn_lowrank_gradient_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M, (s->iso && s->rotated ? 5 : 4) * s->P);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, 5 * s->M, s->M);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, kn_min_size(s->N, GRADIENT_ROWS), s->M);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, 2 * s->groups, s->M);
    kn_plan_free_to(r, mark);
}

/* Adds to g the derivatives of the likelihood by the weights of the exact terms, from one cell
 * (part); Bf = rotation r. */
static kn_status add_exact(kn_ctx *ctx, const kn_lowrank *w, const kn_lowrank_part *part, double *g)
{
    kn_status status;
    const kn_decomp *d = part->R0;
    const kn_features *f = &w->features;
    ptrdiff_t m = d->m, P = part->A.cols;
    kn_mat Bf = {0}, BM = {0};
    KN_TRY(kn_mat_new(ctx, f->columns, m, &Bf));
    KN_TRY(kn_mat_new(ctx, f->columns, P, &BM));
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t k = 0; k < f->columns; k++)
            kn_col(Bf, i)[k] = d->r[i] * kn_at(d->rotation, k, i);
    kn_gemm(ctx, 1, KN_N, Bf, KN_N, part->M, 0, BM);
    for (int t = 0, at = 0; t < f->cov.n; t++)
        for (ptrdiff_t k = 0; f->exact[t] && k < f->cov.term[t].count; k++, at++) {
            double s = 0;
            for (ptrdiff_t p = 0; p < P; p++)
                s += kn_at(BM, at, p) * kn_at(BM, at, p);
            for (ptrdiff_t i = 0; i < m; i++)
                s -= part->weight[i] * kn_at(Bf, at, i) * kn_at(Bf, at, i);
            g[f->cov.term[t].at] += s;
        }
out:
    kn_mat_clear(&BM);
    kn_mat_clear(&Bf);
    return status;
}

/* Work space of one part. */
typedef struct factors {
    kn_mat mapR;         /* pivots x m, borrowed */
    kn_mat mapM, N1, W;  /* pivots x P, m x P, m x pivots */
    kn_mat E1, E2, sums; /* as in outer, for this part */
} factors;

static void factors_clear(factors *f)
{
    kn_mat *m[] = {&f->mapM, &f->N1, &f->W, &f->E1, &f->E2, &f->sums};
    for (size_t k = 0; k < sizeof m / sizeof *m; k++)
        kn_mat_clear(m[k]);
}

/* Allocates the factors of the gradient of one cell (part) for its numbers of pivots and
 * components. On error f is partly filled; the caller clears it. */
static kn_status factors_new(kn_ctx *ctx, const kn_lowrank *w, const kn_lowrank_part *part,
                             factors *f)
{
    kn_status status;
    ptrdiff_t m = part->R0->m, P = part->A.cols, pivots = w->n_used;
    *f = (factors){.mapR = kn_sub(part->R0->map, w->features.columns, 0, pivots, m)};
    KN_TRY(kn_mat_new(ctx, pivots, P, &f->mapM));
    KN_TRY(kn_mat_new(ctx, m, P, &f->N1));
    KN_TRY(kn_mat_new(ctx, m, pivots, &f->W));
    KN_TRY(kn_mat_new(ctx, P, pivots, &f->E1));
    KN_TRY(kn_mat_new(ctx, part->R0->rotation.rows, pivots, &f->E2));
    if (kn_lowrank_grouped(w, part->R0->gamma))
        KN_TRY(kn_mat_new(ctx, w->groups->n, pivots, &f->sums));
out:
    return status;
}

/* Computes, for the derivative of the likelihood by the covariance between participants and
 * pivots, the factors of one cell that come from its coordinates: E1 = diag(c^1/2/d) M' mapR' (P
 * x pivots) and N1 (m x P); components without signal (c = 0) do not contribute. */
static kn_status compute_first_factors(kn_ctx *ctx, const kn_lowrank_part *part, factors *f)
{
    kn_status status = KN_OK;
    kn_mat turned = {0};
    kn_gemm(ctx, 1, KN_N, f->mapR, KN_N, part->M, 0, f->mapM);
    for (ptrdiff_t p = 0; p < part->A.cols; p++) {
        double c = part->c[p], d = part->d[p], root = sqrt(c);
        if (!(c > 0))
            continue;
        for (ptrdiff_t j = 0; j < f->mapM.rows; j++)
            kn_col(f->E1, j)[p] = root / d * kn_at(f->mapM, j, p);
        for (ptrdiff_t i = 0; i < f->N1.rows;
             i++) { /* (1/(cr + d) - 1/d) A c^1/2, without cancellation */
            double cr = c * part->R0->r[i];
            kn_col(f->N1, p)[i] = -kn_at(part->A, i, p) * root * cr / ((cr + d) * d);
        }
    }
    if (part->UC.data) {
        KN_TRY(kn_mat_copy(ctx, f->E1, &turned));
        kn_gemm(ctx, 1, KN_N, part->UC, KN_N, turned, 0, f->E1);
    }
out:
    kn_mat_clear(&turned);
    return status;
}

/* Adds `more` to sum, element by element. */
static void add_matrix(kn_mat sum, kn_mat more)
{
    for (ptrdiff_t j = 0; j < sum.cols; j++)
        for (ptrdiff_t i = 0; i < sum.rows; i++)
            kn_col(sum, j)[i] += kn_at(more, i, j);
}

/* Adds to *o what one cell (part) contributes to the gradient by the covariance terms without
 * exact features, as the factors of GJ = 1/2 (Z E1 + Phi E2 - less) and of H = J'GJ. */
static kn_status add_rest(kn_ctx *ctx, const kn_lowrank *w, const kn_lowrank_part *part, outer *o)
{
    kn_status status;
    factors f = {0};
    const kn_decomp *d = part->R0;
    KN_TRY(factors_new(ctx, w, part, &f));
    KN_TRY(compute_first_factors(ctx, part, &f));
    for (ptrdiff_t j = 0; j < f.W.cols; j++)
        for (ptrdiff_t i = 0; i < f.W.rows; i++)
            kn_col(f.W, j)[i] = -part->weight[i] * kn_at(f.mapR, j, i);
    kn_gemm(ctx, 0.5, KN_N, f.mapR, KN_N, f.W, 1, o->H); /* -1/2 mapR diag(w) mapR' */
    kn_syrk(ctx, 0.5, KN_N, f.mapM, 1, o->H);
    kn_gemm(ctx, 1, KN_N, f.N1, KN_T, f.mapM, 1, f.W); /* (N1 M' - diag(w)) mapR' */
    kn_gemm(ctx, 1, KN_N, d->rotation, KN_N, f.W, 0, f.E2);
    if (f.sums.data) { /* weighted sums per group, from H^-1 */
        kn_gemm(ctx, 1, KN_N, w->z_sums, KN_N, f.E1, 0, f.sums);
        if (w->block.count == 0)
            kn_gemm(ctx, 1, KN_N, w->sums, KN_N, f.E2, 1, f.sums);
        else
            kn_indicator_product(ctx, &w->block, 1, w->sums, w->group_level,
                                 w->root[w->block.first], w->groups->size, f.E2, 1, f.sums);
        for (ptrdiff_t j = 0; j < f.sums.cols; j++)
            for (ptrdiff_t k = 0; k < f.sums.rows; k++)
                kn_col(f.sums, j)[k] *= kn_groups_less(w->groups, d->gamma, k);
        add_matrix(o->less, f.sums);
    }
    add_matrix(o->E1, f.E1);
    add_matrix(o->E2, f.E2);
out:
    factors_clear(&f);
    return status;
}

/* Adds 2 <GJ, dK_nm/dtheta> to g, GJ (N x pivots) being the derivative of the likelihood by
 * K_nm, in chunks of rows. */
static kn_status add_cross(kn_ctx *ctx, const kn_lowrank *w, const outer *o, double *g)
{
    kn_status status;
    ptrdiff_t N = w->X.rows, limit = N < GRADIENT_ROWS ? N : GRADIENT_ROWS;
    ptrdiff_t pivots = o->E2.cols;
    kn_mat GJ = {0};
    KN_TRY(kn_mat_new(ctx, limit, pivots, &GJ));
    for (ptrdiff_t i = 0; i < N; i += limit) {
        ptrdiff_t n = N - i < limit ? N - i : limit;
        kn_mat rows = kn_sub(GJ, 0, 0, n, pivots);
        kn_gemm(ctx, 0.5, KN_N, kn_sub(w->Z, i, 0, n, w->Z.cols), KN_N, o->E1, 0, rows);
        kn_lowrank_times(ctx, w, i, 0.5, o->E2, 1, rows);
        for (ptrdiff_t j = 0; o->less.data && j < pivots; j++)
            for (ptrdiff_t k = 0; k < n; k++)
                kn_col(rows, j)[k] -= 0.5 * kn_at(o->less, w->groups->of[i + k], j);
        KN_TRY(kn_features_gradient(ctx, &w->features.rest, w->rest,
                                    kn_sub(w->X, i, 0, n, w->X.cols), w->base, rows, g));
    }
out:
    kn_mat_clear(&GJ);
    return status;
}

kn_status kn_lowrank_gradient(kn_ctx *ctx, const kn_lowrank *w, const kn_lowrank_part *part, int n,
                              double *g)
{
    kn_status status = KN_OK;
    outer o = {0};
    double cross[KN_COV_THETA] = {0}, own[KN_COV_THETA] = {0};
    ptrdiff_t pivots = w->n_used;
    for (int k = 0; k < w->features.cov.n_theta; k++)
        g[k] = 0;
    if (pivots > 0) {
        KN_TRY(kn_mat_new(ctx, w->Z.cols, pivots, &o.E1));
        KN_TRY(kn_mat_new(ctx, w->m0, pivots, &o.E2));
        KN_TRY(kn_mat_new(ctx, pivots, pivots, &o.H));
        if (w->groups)
            KN_TRY(kn_mat_new(ctx, w->groups->n, pivots, &o.less));
    }
    for (int k = 0; k < n; k++) {
        KN_TRY(add_exact(ctx, w, &part[k], g));
        if (pivots > 0)
            KN_TRY(add_rest(ctx, w, &part[k], &o));
    }
    if (pivots == 0)
        goto out;
    KN_TRY(add_cross(ctx, w, &o, cross));
    kn_cov_gradient(&w->features.rest, w->rest, &w->pairs, o.H, own);
    for (int i = 0; i < w->features.rest.n_theta; i++)
        g[w->features.at[i]] = cross[i] - own[i];
out:
    outer_clear(&o);
    return status;
}
