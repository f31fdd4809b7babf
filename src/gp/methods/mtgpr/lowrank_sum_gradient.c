/* Gradients of the low-rank Kronecker sum, and its EM step [METHOD 1h].
 *
 *     al = (M W' - Z/l0) V' + Yw/l0   N x T          al G = M W'K_G, al H = M W'K_H:  N x (P + Q)
 *     dG = al' diag(r) (al G) - VW diag(b) (VW)'G    dH = al' (al H) - VW diag(e) (VW)'H
 *
 * al itself is never computed: al'X = V (M W' - Z/l0)'X + Yw'(X/l0), one product of Y with an N x
 * (P + Q + k) matrix. If l0 = 1, Y is not needed in the coordinates of U. */
#include "gp/methods/mtgpr/internal.h"

#include <assert.h>
#include <math.h>

#include "gp/block_visitor.h"
#include "la/la.h"

/* Sums over all directions, including those outside U, for each column of V. */
typedef struct sums {
    double *rr, *r, *one; /* k  of r^2/L, r/L, 1/L */
} sums;

/* Computes, for each of the k columns of V, the sums of r^2/L, r/L and 1/L over all N
 * directions, including those outside U, at the last point. */
static void compute_sums(const kn_lowrank_sum *w, sums *s)
{
    double out = (double)(w->N - w->m), iso = w->iso;
    for (ptrdiff_t q = 0; q < w->k; q++) {
        double c = w->c[q], weight = out / (iso * c + 1);
        s->one[q] = weight;
        s->r[q] = iso * weight;
        s->rr[q] = iso * iso * weight;
        for (ptrdiff_t i = 0; i < w->m; i++) {
            double r = w->s.r[i] + iso, inverse = 1 / (r * c + 1);
            s->one[q] += inverse;
            s->r[q] += r * inverse;
            s->rr[q] += r * r * inverse;
        }
    }
}

typedef struct gradient_work {
    kn_lowrank_sum *w;
    const double *psi;
    kn_mat t;     /* k x (P + Q)   W'K */
    kn_mat x;     /* m x (P + Q)   M t: al [G H] in the coordinates of U ... */
    kn_mat xo;    /* N x (P + Q)   ... and outside U, in rows of participants */
    kn_mat mw, d; /* m x k   M W',  M W' - U'Z/l0 */
    kn_mat mwo;   /* N x k   the same outside U: first M W', then the difference */
    kn_mat X;     /* N x (P + Q [+ k])  factor of Y */
    kn_mat small; /* k x (P + Q) */
    kn_mat YX;    /* width x (P + Q [+ k]) */
    sums sum;
    double *sum_data;
    kn_lowrank_sum_gradient *g;
    /* EM: */
    const double *lowest;
    kn_mat S; /* (P + Q)^2   Cholesky factor of E[XX'] */
    kn_lowrank_sum_point *at;
} gradient_work;

static void gradient_work_clear(gradient_work *v)
{
    kn_mat *m[] = {&v->t, &v->x, &v->xo, &v->mw, &v->d, &v->mwo, &v->X, &v->small, &v->YX, &v->S};
    for (size_t i = 0; i < sizeof m / sizeof *m; i++)
        kn_mat_clear(m[i]);
    kn_free(v->sum_data);
}

/* Prepares a pass over Y for gradient or EM step of the likelihood *w at its last point: the
 * posterior of the latent factors as x = M W'K (m x (P + Q), in eigenvectors of R0; xo outside
 * them), and sums over the eigenvalues. The caller clears v, also after an error. */
static kn_status gradient_work_new(kn_ctx *ctx, kn_lowrank_sum *w, gradient_work *v)
{
    kn_status status;
    ptrdiff_t both = w->P + w->Q;
    v->w = w;
    KN_TRY(kn_mat_new(ctx, w->k, both, &v->t));
    KN_TRY(kn_mat_new(ctx, w->m, both, &v->x));
    KN_TRY(kn_alloc_d(ctx, 3 * w->k, &v->sum_data));
    v->sum = (sums){v->sum_data, v->sum_data + w->k, v->sum_data + 2 * w->k};
    compute_sums(w, &v->sum);
    kn_gemm(ctx, 1, KN_T, w->W, KN_N, w->K, 0, v->t);
    kn_gemm(ctx, 1, KN_N, w->M, KN_N, v->t, 0, v->x);
    if (w->m < w->N) {
        KN_TRY(kn_mat_new(ctx, w->N, both, &v->xo));
        kn_gemm(ctx, 1, KN_N, w->Mo, KN_N, v->t, 0, v->xo);
    }
out:
    return status;
}

/* Multiplies the first P columns (those of G) of x by the eigenvalues r + iso, and of xo
 * (outside U) by iso; the columns of H stay. */
static void scale_by_r(const kn_lowrank_sum *w, kn_mat x, kn_mat xo)
{
    for (ptrdiff_t q = 0; q < w->P; q++) {
        for (ptrdiff_t i = 0; i < x.rows; i++)
            kn_col(x, q)[i] *= w->s.r[i] + w->iso;
        for (ptrdiff_t i = 0; xo.data && i < xo.rows; i++)
            kn_col(xo, q)[i] *= w->iso;
    }
}

/* ---- gradients ----------------------------------------------------------------------- */

/* Computes for the gradient the projected residuals v->mw = M W' and v->d = M W' - U'Z/l0 (m x
 * k) along the eigenvectors U of R0 (covariance between participants), and v->mwo (N x k), M W'
 * outside U. KN_ERR_MEMORY. */
static kn_status compute_differences(kn_ctx *ctx, gradient_work *v)
{
    kn_status status;
    kn_lowrank_sum *w = v->w;
    KN_TRY(kn_mat_new(ctx, w->m, w->k, &v->mw));
    KN_TRY(kn_mat_new(ctx, w->m, w->k, &v->d));
    kn_gemm(ctx, 1, KN_N, w->M, KN_T, w->W, 0, v->mw);
    for (ptrdiff_t q = 0; q < w->k; q++)
        for (ptrdiff_t i = 0; i < w->m; i++)
            kn_col(v->d, q)[i] = kn_at(v->mw, i, q) - kn_at(w->UZ, i, q) / w->l0[i];
    if (w->m < w->N) {
        KN_TRY(kn_mat_new(ctx, w->N, w->k, &v->mwo));
        kn_gemm(ctx, 1, KN_N, w->Mo, KN_T, w->W, 0, v->mwo);
    }
out:
    return status;
}

/* Sets the derivatives of the log likelihood by gamma and iso (v->g):
 *     dgamma = 1/2 [sum r |al|^2 - sum b_p |w_p|^2 - (T-k) sum r/l0]
 *     diso   = 1/2 [sum c M^2 - c/L + gamma (sum e/l0^2 - (T-k) sum 1/l0)] */
static void compute_scalar_slopes(gradient_work *v)
{
    const kn_lowrank_sum *w = v->w;
    double iso = w->iso, out = (double)(w->N - w->m), left = (double)(w->T - w->k);
    double dg = iso * (w->e_out / (w->l0_out * w->l0_out) - left * out / w->l0_out);
    double di = w->gamma * (w->e_out / (w->l0_out * w->l0_out) - left * out / w->l0_out);
    for (ptrdiff_t i = 0; i < w->m; i++) {
        double al = w->e[i] / (w->l0[i] * w->l0[i]), r = w->s.r[i] + iso;
        di += w->gamma * (al - left / w->l0[i]);
        for (ptrdiff_t q = 0; q < w->k; q++)
            al += kn_at(v->mw, i, q) * kn_at(v->mw, i, q);
        dg += r * (al - left / w->l0[i]);
    }
    for (ptrdiff_t q = 0; q < w->k; q++) {
        dg -= v->sum.r[q] * kn_sumsq(kn_cols(w->W, q, 1));
        di += w->c[q] * (kn_sumsq(kn_cols(w->M, q, 1)) - v->sum.one[q]);
        if (w->Mo.data)
            di += w->c[q] * kn_sumsq(kn_cols(w->Mo, q, 1));
    }
    if (v->mwo.data)
        dg += iso * kn_sumsq(v->mwo);
    v->g->gamma = w->squares.data ? 0.5 * dg : NAN;
    v->g->iso = 0.5 * di;
}

/* Computes the factor by which Y is multiplied in the pass of the gradient, X = [r/l0 x_G,
 * x_H/l0, d] in rows of participants (N x (P + Q + k)), and small = d'[r x_G, x_H] - W diag(.) t
 * (k x (P + Q)). Overwrites x and xo. */
static kn_status compute_factors(kn_ctx *ctx, gradient_work *v)
{
    kn_status status;
    kn_lowrank_sum *w = v->w;
    ptrdiff_t both = w->P + w->Q;
    kn_mat xo = v->xo;
    KN_TRY(kn_mat_new(ctx, w->N, both + w->k, &v->X));
    KN_TRY(kn_mat_new(ctx, w->k, both, &v->small));
    kn_mat XY = kn_cols(v->X, 0, both), Xd = kn_cols(v->X, both, w->k);
    scale_by_r(w, v->x, xo);
    for (ptrdiff_t q = 0; v->mwo.data && q < w->k; q++)
        for (ptrdiff_t i = 0; i < w->N; i++)
            kn_col(v->mwo, q)[i] -= kn_at(w->Zo, i, q) / w->l0_out;
    kn_gemm(ctx, 1, KN_T, v->d, KN_N, v->x, 0, v->small);
    if (xo.data)
        kn_gemm(ctx, 1, KN_T, v->mwo, KN_N, xo, 1, v->small);
    for (ptrdiff_t q = 0; q < both; q++) {
        const double *weight = q < w->P ? v->sum.r : v->sum.one;
        for (ptrdiff_t a = 0; a < w->k; a++)
            for (ptrdiff_t b = 0; b < w->k; b++)
                kn_col(v->small, q)[a] -= kn_at(w->W, a, b) * weight[b] * kn_at(v->t, b, q);
        for (ptrdiff_t i = 0; i < w->m; i++)
            kn_col(v->x, q)[i] /= w->l0[i];
    }
    kn_gemm(ctx, 1, KN_N, w->s.U, KN_N, v->x, 0, XY);
    kn_gemm(ctx, 1, KN_N, w->s.U, KN_N, v->d, 0, Xd);
    for (ptrdiff_t q = 0; xo.data && q < both + w->k; q++)
        for (ptrdiff_t i = 0; i < w->N; i++)
            kn_col(v->X, q)[i] +=
                q < both ? kn_at(xo, i, q) / w->l0_out : kn_at(v->mwo, i, q - both);
out:
    return status;
}

/* Begins a pass over Y (self: gradient_work): allocates Y'X of one block. */
static kn_status begin_gradient_pass(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    gradient_work *v = self;
    return kn_mat_new(ctx, plan->width, v->X.cols, &v->YX);
}

/* Returns Y'X (count x columns of X) of a block, after subtracting mu from the block in place; a
 * view of v->YX. */
static kn_mat multiply_block(kn_ctx *ctx, gradient_work *v, kn_block *b)
{
    const double *mu = v->w->mu;
    kn_mat YX = kn_sub(v->YX, 0, 0, b->count, v->YX.cols);
    for (ptrdiff_t j = 0; mu && j < b->count; j++)
        for (ptrdiff_t i = 0; i < b->y.rows; i++)
            kn_col(b->y, j)[i] -= mu[b->first + j];
    kn_gemm(ctx, 1, KN_T, b->y, KN_N, v->X, 0, YX);
    return YX;
}

/* Block visitor of kn_lowrank_sum_slopes (self: gradient_work): derivatives by G, H and ln psi_j
 * of the block's responses. sum_n al_nj Yw_nj is V_j d'Yw_j + y_j' (1/l0) y_j / psi_j. */
static kn_status compute_slopes_block(kn_ctx *ctx, void *self, kn_block *b)
{
    gradient_work *v = self;
    kn_lowrank_sum *w = v->w;
    kn_mat YX = multiply_block(ctx, v, b);
    for (ptrdiff_t j = 0; j < b->count; j++) {
        ptrdiff_t t = b->first + j;
        double unit = sqrt(v->psi[t]), sum = w->y2[t] / w->l0_out;
        for (ptrdiff_t i = 0; w->squares.data && i < w->m; i++)
            sum += kn_at(w->squares, i, t) * (1 / w->l0[i] - 1 / w->l0_out);
        sum /= v->psi[t];
        for (ptrdiff_t q = 0; q < w->k; q++)
            sum += kn_at(w->V, t, q) * kn_at(YX, j, w->P + w->Q + q) / unit;
        v->g->ln_psi[t] = 0.5 * (sum - (double)w->N);
        for (ptrdiff_t q = 0; q < w->P; q++)
            kn_col(v->g->G, q)[t] = kn_at(YX, j, q) / unit;
        for (ptrdiff_t q = 0; q < w->Q; q++)
            kn_col(v->g->H, q)[t] = kn_at(YX, j, w->P + q) / unit;
    }
    return KN_OK;
}

kn_status kn_lowrank_sum_slopes(kn_ctx *ctx, kn_lowrank_sum *w, const kn_lowrank_sum_point *at,
                                kn_lowrank_sum_gradient *g)
{
    kn_status status;
    gradient_work v = {.psi = at->psi, .g = g};
    kn_visitor visitor = {&v, KN_BLOCK_Y, begin_gradient_pass, compute_slopes_block, NULL};
    KN_TRY(gradient_work_new(ctx, w, &v));
    KN_TRY(compute_differences(ctx, &v));
    compute_scalar_slopes(&v);
    KN_TRY(compute_factors(ctx, &v));
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = w->Y, .to_the_end = true}, &visitor, 1));
    if (w->P > 0)
        kn_gemm(ctx, 1, KN_N, w->V, KN_N, kn_cols(v.small, 0, w->P), 1, g->G);
    if (w->Q > 0)
        kn_gemm(ctx, 1, KN_N, w->V, KN_N, kn_cols(v.small, w->P, w->Q), 1, g->H);
out:
    gradient_work_clear(&v);
    return status;
}

/* ---- EM ------------------------------------------------------------------------------ */

/* Computes, for an EM step, the Cholesky factor v->S ((P + Q) x (P + Q)) of the posterior second
 * moment of the P signal and Q noise factors X, E[X]'E[X] + sum over participants of cov(X);
 * blocks of the covariance are prior minus t' diag(sum) t. KN_ERR_NUMERIC if it is not positive
 * definite. */
static kn_status compute_moments(kn_ctx *ctx, gradient_work *v)
{
    kn_status status;
    kn_lowrank_sum *w = v->w;
    ptrdiff_t both = w->P + w->Q;
    double prior = w->iso * (double)w->N;
    for (ptrdiff_t i = 0; i < w->m; i++)
        prior += w->s.r[i];
    KN_TRY(kn_mat_new(ctx, both, both, &v->S));
    kn_syrk(ctx, 1, KN_T, v->x, 0, v->S);
    if (v->xo.data)
        kn_syrk(ctx, 1, KN_T, v->xo, 1, v->S);
    for (ptrdiff_t b = 0; b < both; b++)
        for (ptrdiff_t a = b; a < both; a++) {
            const double *weight = a < w->P ? v->sum.rr : b < w->P ? v->sum.r : v->sum.one;
            double cov = a != b ? 0 : a < w->P ? prior : (double)w->N;
            for (ptrdiff_t q = 0; q < w->k; q++)
                cov -= kn_at(v->t, q, a) * weight[q] * kn_at(v->t, q, b);
            kn_col(v->S, b)[a] += cov;
        }
    KN_TRY(kn_chol(ctx, v->S, "the second moment of the factors"));
out:
    return status;
}

/* Block visitor of kn_lowrank_sum_em (self: gradient_work): new loadings and noise psi_j (at
 * least v->lowest) of the block's responses. */
static kn_status update_block(kn_ctx *ctx, void *self, kn_block *b)
{
    gradient_work *v = self;
    kn_lowrank_sum *w = v->w;
    kn_mat Sxy = multiply_block(ctx, v, b); /* count x (P + Q) */
    /* loadings L = Sxy S^-1 by half = Sxy L^-T: |half_j|^2 is the energy they explain */
    kn_trsm_right(ctx, KN_T, v->S, Sxy);
    for (ptrdiff_t j = 0; j < b->count; j++) {
        ptrdiff_t t = b->first + j;
        double left = w->y2[t];
        for (ptrdiff_t q = 0; q < Sxy.cols; q++)
            left -= kn_at(Sxy, j, q) * kn_at(Sxy, j, q);
        v->at->psi[t] = fmax(left / (double)w->N, v->lowest[t]);
    }
    kn_trsm_right(ctx, KN_N, v->S, Sxy);
    for (ptrdiff_t j = 0; j < b->count; j++) {
        ptrdiff_t t = b->first + j;
        double unit = sqrt(v->at->psi[t]);
        for (ptrdiff_t q = 0; q < Sxy.cols; q++)
            *(q < w->P ? &kn_col(v->at->G, q)[t] : &kn_col(v->at->H, q - w->P)[t]) =
                kn_at(Sxy, j, q) / unit;
    }
    return KN_OK;
}

kn_status kn_lowrank_sum_em(kn_ctx *ctx, kn_lowrank_sum *w, const double *lowest,
                            kn_lowrank_sum_point *at)
{
    kn_status status;
    gradient_work v = {.psi = at->psi, .lowest = lowest, .at = at};
    kn_visitor visitor = {&v, KN_BLOCK_Y, begin_gradient_pass, update_block, NULL};
    assert(w->gamma == 0);
    KN_TRY(gradient_work_new(ctx, w, &v));
    scale_by_r(w, v.x, v.xo);
    KN_TRY(compute_moments(ctx, &v));
    KN_TRY(kn_mat_new(ctx, w->N, w->P + w->Q, &v.X));
    kn_gemm(ctx, 1, KN_N, w->s.U, KN_N, v.x, 0, v.X);
    for (ptrdiff_t q = 0; v.xo.data && q < v.X.cols; q++)
        for (ptrdiff_t i = 0; i < w->N; i++)
            kn_col(v.X, q)[i] += kn_at(v.xo, i, q);
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = w->Y, .to_the_end = true}, &visitor, 1));
out:
    gradient_work_clear(&v);
    return status;
}
