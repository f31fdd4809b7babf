#include "gp/complement.h"

#include <math.h>

#include "gp/walk.h"
#include "la/la.h"

static const double KEPT = 1e-6; /* share of signal in a direction below which nothing is told */

bool kn_complement_keeps(const kn_latent *l, ptrdiff_t direction)
{
    double c0 = l->c[l->P - 1], d0 = l->d[l->P - 1], signal = c0 * l->cell[0].R0.r[direction];
    return signal > KEPT * (signal + d0);
}

ptrdiff_t kn_complement_count(const kn_latent *l)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < l->cell[0].R0.m; i++)
        count += kn_complement_keeps(l, i);
    return count;
}

void kn_complement_take(const kn_latent *l, kn_mat RU, kn_mat to)
{
    for (ptrdiff_t i = 0, k = 0; i < RU.cols; i++)
        if (kn_complement_keeps(l, i))
            kn_mat_set(kn_cols(to, k++, 1), kn_cols(RU, i, 1));
}

typedef struct maker {
    const kn_complement_of *of;
    kn_mat U, A;          /* N x kept, kept x k */
    double *weight, *sum; /* kept: c0/(c0 r + d0), 1'U */
    kn_mat D0;
} maker;

static void maker_clear(maker *m)
{
    kn_mat_clear(&m->U);
    kn_mat_clear(&m->A);
    kn_free(m->weight);
    kn_free(m->sum);
}

static kn_status prepare(kn_ctx *ctx, const kn_latent *l, maker *m)
{
    kn_status status;
    const kn_decomp *R0 = &l->cell[0].R0;
    kn_mat own = {0}, U = R0->U;
    ptrdiff_t kept = kn_complement_count(l), N = l->X.rows;
    if (kn_decomp_is_low(R0)) {
        KN_TRY(kn_mat_new(ctx, N, R0->m, &own));
        KN_TRY(kn_decomp_vectors(ctx, R0, NULL, l->X, own));
        U = own;
    }
    KN_TRY(kn_mat_new(ctx, N, kept, &m->U));
    kn_complement_take(l, U, m->U);
    KN_TRY(kn_mat_new(ctx, kept, m->of->AV.cols, &m->A));
    KN_TRY(kn_alloc_d(ctx, kept, &m->weight));
    KN_TRY(kn_alloc_d(ctx, kept, &m->sum));
    double c0 = l->c[l->P - 1], d0 = l->d[l->P - 1];
    for (ptrdiff_t i = 0, k = 0; i < R0->m; i++) {
        if (!kn_complement_keeps(l, i))
            continue;
        m->weight[k] = c0 / (c0 * R0->r[i] + d0);
        for (ptrdiff_t q = 0; q < m->A.cols; q++)
            kn_col(m->A, q)[k] = kn_at(m->of->AV, i, q);
        for (ptrdiff_t n = 0; n < N; n++)
            m->sum[k] += kn_at(m->U, n, k);
        k++;
    }
out:
    kn_mat_clear(&own);
    return status;
}

static kn_status make_block(kn_ctx *ctx, void *self, kn_block *b)
{
    maker *m = self;
    const kn_complement_of *of = m->of;
    kn_mat D0 = kn_cols(m->D0, b->first, b->count);
    kn_gemm(ctx, 1, KN_T, m->U, KN_N, b->y, 0, D0);
    for (ptrdiff_t j = 0; j < b->count; j++) {
        double unit = of->psi ? sqrt(of->psi[b->first + j]) : 1;
        double mean = of->mean ? of->mean[b->first + j] : 0;
        for (ptrdiff_t k = 0; k < D0.rows; k++)
            kn_col(D0, j)[k] = (kn_at(D0, k, j) - m->sum[k] * mean) / unit;
    }
    kn_gemm(ctx, -1, KN_N, m->A, KN_T, kn_sub(of->V, b->first, 0, b->count, of->V.cols), 1, D0);
    for (ptrdiff_t j = 0; j < b->count; j++)
        for (ptrdiff_t k = 0; k < D0.rows; k++)
            kn_col(D0, j)[k] = (float)(m->weight[k] * kn_at(D0, k, j));
    return KN_OK;
}

kn_status kn_complement_make(kn_ctx *ctx, const kn_latent *l, const kn_complement_of *of,
                             kn_mat *D0)
{
    kn_status status;
    maker m = {.of = of};
    *D0 = kn_mat_none();
    KN_TRY(prepare(ctx, l, &m));
    KN_TRY(kn_mat_new(ctx, m.U.cols, of->Y->T, &m.D0));
    if (m.U.cols > 0)
        KN_TRY(kn_walk_run(ctx, &(kn_walk){.Y = *of->Y},
                           &(kn_visitor){&m, KN_WALK_Y, NULL, make_block, NULL}, 1));
    *D0 = m.D0;
    m.D0 = kn_mat_none();
out:
    kn_mat_clear(&m.D0);
    maker_clear(&m);
    return status;
}

void kn_complement_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t kept)
{
    kn_held mark = r->now;
    if (s->M < s->N) {
        kn_hold_d(r, KN_NEED_SAMPLES, s->N, s->M);
        kn_lowrank_vectors_need(r, s);
    }
    kn_hold_d(r, KN_NEED_SAMPLES, s->N, kept);
    kn_hold_d(r, KN_NEED_WORK, kept, s->P + 2);
    kn_walk_need(r, s->N, kn_walk_width(0, s->T), KN_WALK_Y);
    kn_let_go(r, mark);
    kn_hold_d(r, KN_NEED_BASIS, kept, s->T);
}
