/* Implements gram.h: a block visitor sums the products; root solves the eigenproblem. */
#include "gp/basis/gram.h"

#include <float.h>
#include <math.h>

#include "base/sum/reduce.h"
#include "gp/block_visitor.h"
#include "gp/likelihood/eig_broadcast.h"
#include "la/la.h"

/* N^2 T above which float32 responses are multiplied in float32: about a second of double products
 * on two cores, half of which is saved. Below, the double Gram matrix takes no noticeable time. */
static const double LONG_WORK = 1e11;

void kn_gram_clear(kn_gram *g)
{
    kn_mat_clear(&g->G);
    kn_mat_clear(&g->U);
    kn_free(g->s2);
    *g = (kn_gram){0};
}

typedef struct products {
    kn_sum sum;
    kn_mat part; /* N x N  of one block; either this or part_f32 is used */
    kn_fmat part_f32;
} products;

/* G += Y_b Y_b', lower triangle. N^2 T flops, in double, or in float32 with the sum over blocks in
 * double [METHOD 6b]: a sum of 2048 products is rounded to some 3e-7, and the errors of T/2048
 * blocks cancel. */
static kn_status add_block(kn_ctx *ctx, void *self, kn_block *b)
{
    products *p = self;
    if (p->part_f32.data) {
        kn_syrk_f32(ctx, 1, KN_T, b->strip_f32, 0, p->part_f32);
        kn_sum_add_f32(ctx, &p->sum, p->part_f32);
    } else {
        kn_syrk(ctx, 1, KN_N, b->y, 0, p->part);
        kn_sum_add(ctx, &p->sum, p->part);
    }
    return KN_OK;
}

static kn_status make_products(kn_ctx *ctx, const kn_responses *Y, bool single, kn_mat *G)
{
    kn_status status;
    products p = {0};
    kn_block_loop walk = {.Y = *Y, .stage = "basis"};
    kn_visitor visitor = {&p, single ? KN_WALK_STRIP_F32 : KN_WALK_Y, NULL, add_block, NULL};
    KN_TRY(kn_sum_new_lower(ctx, Y->N, kn_responses_energy(Y), single ? 1 : 2, &p.sum));
    KN_TRY(single ? kn_fmat_new(ctx, Y->N, Y->N, &p.part_f32)
                  : kn_mat_new(ctx, Y->N, Y->N, &p.part));
    KN_TRY(kn_block_loop_run(ctx, &walk, &visitor, 1));
    kn_fmat_clear(&p.part_f32);
    if (single)
        KN_TRY(kn_mat_new(ctx, Y->N, Y->N, &p.part));
    KN_TRY(kn_sum_value(ctx, &p.sum, p.part));
    kn_mirror(p.part);
    *G = p.part;
    p.part = kn_mat_none();
out:
    kn_mat_clear(&p.part);
    kn_fmat_clear(&p.part_f32);
    kn_sum_clear(&p.sum);
    return status;
}

/* The rounding error of the eigenvalues of G. Double: that of the eigenproblem. Float32: entries
 * with random errors e of the diagonal form a matrix of norm 2 e sqrt(N) diagonals (Wigner). */
static double rounding(const kn_gram *g)
{
    double N = (double)g->G.rows, diagonal = 0;
    double eig = g->s2[0] * DBL_EPSILON * fmax(N, 8);
    if (g->made == KN_F64)
        return eig;
    for (ptrdiff_t i = 0; i < g->G.rows; i++)
        diagonal = fmax(diagonal, kn_at(g->G, i, i));
    return fmax(eig, 2 * FLT_EPSILON * sqrt(N) * diagonal);
}

kn_status kn_gram_made(kn_ctx *ctx, const kn_responses *Y, kn_type made, kn_gram *out)
{
    kn_status status;
    kn_mat reversed = {0};
    double *w = NULL;
    ptrdiff_t N = Y->N;
    *out = (kn_gram){.made = made};
    KN_TRY(make_products(ctx, Y, made == KN_F32, &out->G));
    KN_TRY(kn_mat_new(ctx, N, N, &out->U));
    KN_TRY(kn_alloc_d(ctx, N, &out->s2));
    KN_TRY(kn_mat_copy(ctx, out->G, &reversed));
    KN_TRY(kn_alloc_d(ctx, N, &w));
    KN_TRY(kn_eig_shared(ctx, reversed, w));
    for (ptrdiff_t p = 0; p < N; p++) { /* LAPACK's order is ascending */
        kn_mat_set(kn_cols(out->U, p, 1), kn_cols(reversed, N - 1 - p, 1));
        out->s2[p] = w[N - 1 - p] > 0 ? w[N - 1 - p] : 0;
    }
    out->noise = rounding(out);
    while (out->rank < N && out->rank < Y->T && out->s2[out->rank] > out->noise)
        out->rank++;
out:
    kn_free(w);
    kn_mat_clear(&reversed);
    if (status != KN_OK)
        kn_gram_clear(out);
    return status;
}

static bool is_long(ptrdiff_t N, ptrdiff_t T)
{
    return (double)N * (double)N * (double)T > LONG_WORK;
}

kn_type kn_gram_precision(const kn_responses *Y)
{
    return Y->Y.type == KN_F32 && is_long(Y->N, Y->T) ? KN_F32 : KN_F64;
}

kn_status kn_gram_new(kn_ctx *ctx, const kn_responses *Y, kn_gram *out)
{
    return kn_gram_made(ctx, Y, kn_gram_precision(Y), out);
}

kn_status kn_gram_coordinates(kn_ctx *ctx, const kn_gram *gram, ptrdiff_t P, kn_mat *Z)
{
    kn_status status = kn_mat_new(ctx, gram->U.rows, P, Z);
    for (ptrdiff_t p = 0; status == KN_OK && p < P; p++)
        for (ptrdiff_t i = 0; i < Z->rows; i++)
            kn_col(*Z, p)[i] = kn_at(gram->U, i, p) * sqrt(gram->s2[p]);
    return status;
}

bool kn_gram_long(const kn_problem_size *s)
{
    return is_long(s->N, s->T);
}

void kn_gram_need(kn_mem_plan *r, const kn_problem_size *s)
{
    const kn_mem_category S = KN_NEED_SAMPLES;
    bool single = s->value == sizeof(float) && is_long(s->N, s->T);
    kn_mem_usage mark = r->now;
    kn_sum_need(r, S, (kn_sum){s->N, s->N, true, {0}}, single ? 1 : 2);
    kn_mem_usage sum = r->now;
    kn_block_loop_need(r, s->N, kn_block_loop_width(0, s->T),
                       single ? KN_WALK_STRIP_F32 : KN_WALK_Y);
    single ? kn_plan_alloc_f(r, S, s->N, s->N) : kn_plan_alloc_d(r, S, s->N, s->N);
    kn_plan_free_to(r, sum);
    kn_plan_alloc_d(r, S, s->N, s->N);
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, S, 2 * s->N, s->N); /* G, U */
    kn_plan_alloc_d(r, S, s->N, 1);
    mark = r->now;
    kn_plan_alloc_d(r, S, s->N, s->N + 1);
    kn_eig_need(r, S, s->N);
    kn_plan_free_to(r, mark);
}
