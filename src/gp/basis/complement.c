/* Implements complement.h: one block visitor computes either the energies or D0. The complement is
 * what the components leave of the responses. */
#include "gp/basis/complement.h"

#include <math.h>

#include "base/sum/block_sums.h"
#include "gp/block_visitor.h"
#include "la/la.h"

/* Directions with at most this proportion of signal are omitted from the mean. The contribution of
 * a direction to the mean of a new participant is at most the root of its proportion times the
 * prior standard deviation times the norm of the whitened responses: 2^-24, the rounding of
 * float32. */
static const double KEPT = 0x1p-48;

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

/* U, AV and weights of all directions, or of the kept ones. */
typedef struct directions {
    kn_mat U, A;    /* N x n, n x k */
    double *weight; /* n  c0/(c0 r + d0); 1 if all directions */
} directions;

static void directions_clear(directions *d)
{
    kn_mat_clear(&d->U);
    kn_mat_clear(&d->A);
    kn_free(d->weight);
}

/* Selects the eigenvectors of R0 (covariance between participants) that serve the complement
 * (the response space outside the basis): all, or those that kn_complement_keeps. AV: m x P,
 * projected coordinates. Sets d->U (N x n), d->A (n x P) and d->weight = c0 / (c0 r + d0), or 1
 * with `all`. On error d is partly filled; the caller clears it. */
static kn_status directions_new(kn_ctx *ctx, const kn_latent *l, bool all, kn_mat AV, directions *d)
{
    kn_status status;
    const kn_decomp *R0 = &l->cell[0].R0;
    kn_mat own = {0}, U = R0->U;
    ptrdiff_t n = all ? R0->m : kn_complement_count(l), N = l->X.rows;
    double c0 = l->c[l->P - 1], d0 = l->d[l->P - 1];
    if (kn_decomp_is_low(R0)) {
        KN_TRY(kn_mat_new(ctx, N, R0->m, &own));
        KN_TRY(kn_decomp_vectors(ctx, R0, NULL, l->X, own));
        U = own;
    }
    KN_TRY(kn_mat_new(ctx, N, n, &d->U));
    KN_TRY(kn_mat_new(ctx, n, AV.cols, &d->A));
    KN_TRY(kn_alloc_d(ctx, n, &d->weight));
    for (ptrdiff_t i = 0, k = 0; i < R0->m; i++) {
        if (!all && !kn_complement_keeps(l, i))
            continue;
        kn_mat_set(kn_cols(d->U, k, 1), kn_cols(U, i, 1));
        d->weight[k] = all ? 1 : c0 / (c0 * R0->r[i] + d0);
        for (ptrdiff_t q = 0; q < AV.cols; q++)
            kn_col(d->A, q)[k] = kn_at(AV, i, q);
        k++;
    }
out:
    kn_mat_clear(&own);
    return status;
}

typedef struct complement_pass {
    const kn_complement_input *input;
    directions d;
    double *sum;    /* n  1'U */
    kn_mat D;       /* n x width of a block; for D0 n x T */
    kn_slots slots; /* energies: n per block */
    bool energies;
} complement_pass;

static void complement_pass_clear(complement_pass *m)
{
    directions_clear(&m->d);
    kn_free(m->sum);
    kn_mat_clear(&m->D);
    kn_slots_clear(&m->slots);
}

/* Begins the loop over the responses (self: complement_pass): column sums of the chosen
 * eigenvectors U (N x n), and D, n x width of one block if energies are wanted, else n x T. */
static kn_status begin_complement(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    complement_pass *m = self;
    kn_status status;
    ptrdiff_t n = m->d.U.cols;
    KN_TRY(kn_alloc_d(ctx, n, &m->sum));
    for (ptrdiff_t k = 0; k < n; k++)
        for (ptrdiff_t i = 0; i < m->d.U.rows; i++)
            m->sum[k] += kn_at(m->d.U, i, k);
    KN_TRY(kn_mat_new(ctx, n, m->energies ? plan->width : plan->T, &m->D));
    if (m->energies)
        KN_TRY(kn_slots_new(ctx, plan->blocks, n, &m->slots));
out:
    return status;
}

/* Block visitor (self: complement_pass): computes D = U'(Y - 1 mean')/sqrt(psi) - A V' (n x count)
 * for the block's responses, then adds the energy of each row to its slot, or multiplies the rows
 * by their weights for D0. */
static kn_status project_complement_block(kn_ctx *ctx, void *self, kn_block *b)
{
    complement_pass *m = self;
    const kn_complement_input *input = m->input;
    kn_mat D = kn_cols(m->D, m->energies ? 0 : b->first, b->count);
    kn_gemm(ctx, 1, KN_T, m->d.U, KN_N, b->y, 0, D);
    for (ptrdiff_t j = 0; j < b->count; j++) {
        double unit = input->psi ? sqrt(input->psi[b->first + j]) : 1;
        double mean = input->mean ? input->mean[b->first + j] : 0;
        for (ptrdiff_t k = 0; k < D.rows; k++)
            kn_col(D, j)[k] = (kn_at(D, k, j) - m->sum[k] * mean) / unit;
    }
    kn_gemm(ctx, -1, KN_N, m->d.A, KN_T, kn_sub(input->V, b->first, 0, b->count, input->V.cols), 1,
            D);
    for (ptrdiff_t j = 0; j < b->count; j++)
        for (ptrdiff_t k = 0; k < D.rows; k++)
            if (m->energies)
                kn_slot(&m->slots, b->number)[k] += kn_at(D, k, j) * kn_at(D, k, j);
            else
                kn_col(D, j)[k] = (float)(m->d.weight[k] * kn_at(D, k, j));
    return KN_OK;
}

/* Runs the loop over all responses that fills m->D (D0), or m->slots (energies) if m->energies
 * is set by the caller. The caller clears m, also after an error. Collective. */
static kn_status run_complement_loop(kn_ctx *ctx, const kn_latent *l,
                                     const kn_complement_input *input, complement_pass *m)
{
    kn_status status;
    *m = (complement_pass){.input = input, .energies = m->energies};
    KN_TRY(directions_new(ctx, l, m->energies, input->AV, &m->d));
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = *input->Y},
                             &(kn_visitor){m, KN_BLOCK_Y, begin_complement,
                                           project_complement_block, NULL},
                             1));
out:
    return status;
}

kn_status kn_complement_energies(kn_ctx *ctx, const kn_latent *l, const kn_complement_input *input,
                                 double *e)
{
    complement_pass m = {.energies = true};
    kn_status status = run_complement_loop(ctx, l, input, &m);
    if (status == KN_OK)
        status = kn_slots_sum(ctx, &m.slots, e);
    complement_pass_clear(&m);
    return status;
}

kn_status kn_complement_make(kn_ctx *ctx, const kn_latent *l, const kn_complement_input *input,
                             kn_mat *D0)
{
    complement_pass m = {.energies = false};
    *D0 = kn_mat_none();
    if (kn_complement_count(l) == 0)
        return KN_OK;
    kn_status status = run_complement_loop(ctx, l, input, &m);
    if (status == KN_OK) {
        *D0 = m.D;
        m.D = kn_mat_none();
    }
    complement_pass_clear(&m);
    return status;
}

kn_status kn_complement_smoother(kn_ctx *ctx, const kn_latent *l, kn_mat RU, kn_mat AV,
                                 kn_mat smooth, kn_mat explained)
{
    kn_status status;
    directions d = {0};
    KN_TRY(directions_new(ctx, l, false, AV, &d));
    for (ptrdiff_t k = 0; k < d.U.cols; k++) {
        for (ptrdiff_t i = 0; i < d.U.rows; i++)
            kn_col(d.U, k)[i] *= d.weight[k];
        for (ptrdiff_t q = 0; q < d.A.cols; q++)
            kn_col(d.A, q)[k] *= d.weight[k];
    }
    kn_gemm(ctx, 1, KN_N, RU, KN_T, d.U, 0, smooth);
    kn_gemm(ctx, 1, KN_N, RU, KN_N, d.A, 0, explained);
out:
    directions_clear(&d);
    return status;
}

/* Adds to the memory plan, and keeps in it, the eigenvectors and coordinates of directions_new
 * (s->N participants, rank s->M) and the buffers of a loop over blocks of `width` responses. */
static void directions_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t width)
{
    if (s->M < s->N) {
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, s->M);
        kn_lowrank_vectors_need(r, s);
    }
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, s->M);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M, s->P + 2);
    kn_block_loop_need(r, s->N, width, KN_BLOCK_Y);
}

void kn_complement_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t kept)
{
    ptrdiff_t width = kn_block_loop_width(0, s->T), blocks = (s->T + KN_BLOCK - 1) / KN_BLOCK;
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M, width + blocks); /* energies */
    directions_need(r, s, width);
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, KN_NEED_BASIS, kept, s->T); /* D0 */
    mark = r->now;
    directions_need(r, s, width);
    kn_plan_free_to(r, mark);
}
