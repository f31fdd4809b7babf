/* Implements gram.h: a block visitor sums the products of participants, strips of participants
 * those of responses; root solves the eigenproblem. All ranks get the same eigenvectors. */
#include "gp/basis/gram.h"

#include <float.h>
#include <math.h>

#include "base/mpi/comm.h"
#include "base/sum/block_sums.h"
#include "data/mpi/gather_responses.h"
#include "gp/basis/basis.h"
#include "gp/basis/internal.h"
#include "gp/block_visitor.h"
#include "la/la.h"

/* N^2 T above which float32 responses are multiplied in float32: about a second of double products
 * on two cores, half of which is saved. Below, the double Gram matrix takes no noticeable time. */
static const double LONG_WORK = 1e11;

void kn_gram_clear(kn_gram *g)
{
    kn_mat_clear(&g->G);
    kn_mat_clear(&g->U);
    kn_free(g->s2);
    kn_free(g->sums);
    *g = (kn_gram){0};
}

typedef struct products {
    kn_sum sum;
    kn_mat part; /* N x N  of one block; either this or part_f32 is used */
    kn_fmat part_f32;
} products;

/* Block visitor (self: products): G += Y_b Y_b' (N x N, lower triangle), N^2 count flops, in
 * double, or in float32 with the sum over blocks in double [METHOD 6b]: a sum of 2048 products
 * is rounded to some 3e-7, and the errors of T/2048 blocks cancel. */
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

/* Computes G = Y Y' (N x N, owned by the caller) as an exact sum over blocks of responses;
 * single: products in float32. N^2 T flops; reads Y once. Collective. */
static kn_status make_products(kn_ctx *ctx, const kn_responses *Y, bool single, kn_mat *G)
{
    kn_status status;
    products p = {0};
    kn_block_loop loop = {.Y = *Y, .stage = "basis"};
    kn_visitor visitor = {&p, single ? KN_BLOCK_STRIP_F32 : KN_BLOCK_Y, NULL, add_block, NULL};
    KN_TRY(kn_sum_new_lower(ctx, Y->N, kn_responses_energy(Y), single ? 1 : 2, &p.sum));
    KN_TRY(single ? kn_fmat_new(ctx, Y->N, Y->N, &p.part_f32)
                  : kn_mat_new(ctx, Y->N, Y->N, &p.part));
    KN_TRY(kn_block_loop_run(ctx, &loop, &visitor, 1));
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

/* ---- products of responses ------------------------------------------------------------------- */

enum { STRIP = 1024 }; /* participants at a time */

/* Fills strip (rows x T) with the participants first .. first + rows - 1 of Y, including the
 * responses of other MPI ranks; rows[] receives their row indices in the data. Collective. */
static kn_status read_strip(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t first, ptrdiff_t *rows,
                            kn_mat strip)
{
    kn_index_range own = kn_response_range(ctx, Y);
    for (ptrdiff_t i = 0; i < strip.rows; i++)
        rows[i] = Y->rows ? Y->rows[first + i] : first + i;
    kn_responses subset = kn_responses_rows(Y, rows, strip.rows);
    if (own.last > own.first)
        kn_responses_block(ctx, &subset, own.first,
                           kn_cols(strip, own.first, own.last - own.first));
    return kn_allgather_response_cols(ctx, Y, strip);
}

kn_status kn_response_products(kn_ctx *ctx, const kn_responses *Y, const char *stage, kn_mat S,
                               double *sums)
{
    kn_status status;
    kn_mat memory = {0};
    ptrdiff_t *rows = NULL;
    KN_TRY(kn_mat_new(ctx, kn_min_size(Y->N, STRIP), Y->T, &memory));
    KN_TRY(kn_alloc_i(ctx, memory.rows, &rows));
    kn_mat_zero(S);
    for (ptrdiff_t j = 0; j < Y->T; j++)
        sums[j] = 0;
    for (ptrdiff_t first = 0; first < Y->N; first += STRIP) {
        kn_mat strip = memory;
        strip.rows = strip.ld = kn_min_size(Y->N - first, STRIP);
        KN_TRY(kn_comm_agree_status(ctx, kn_check_cancel(ctx)));
        KN_TRY(read_strip(ctx, Y, first, rows, strip));
        kn_syrk(ctx, 1, KN_T, strip, 1, S);
        for (ptrdiff_t j = 0; j < Y->T; j++)
            for (ptrdiff_t i = 0; i < strip.rows; i++)
                sums[j] += kn_at(strip, i, j);
        if (stage)
            kn_report_progress(ctx, stage, first + strip.rows, Y->N, NAN);
    }
    KN_TRY(kn_comm_agree_status(ctx, kn_check_cancel(ctx)));
out:
    kn_free(rows);
    kn_mat_clear(&memory);
    return status;
}

void kn_response_products_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, kn_min_size(s->N, STRIP), s->T + 1);
    kn_plan_free_to(r, mark);
}

/* ---- eigenvectors ---------------------------------------------------------------------------- */

/* Returns the rounding error of the eigenvalues of G, up to which they count as 0. Double: that
 * of the eigenproblem. Float32 products: entries with random errors e of the diagonal form a
 * matrix of norm 2 e sqrt(N) diagonals (Wigner). N: number of participants. */
static double gram_rounding(const kn_gram *g, double N)
{
    double diagonal = 0;
    double eig = g->s2[0] * DBL_EPSILON * fmax(N, 8);
    if (g->made == KN_F64)
        return eig;
    for (ptrdiff_t i = 0; i < g->G.rows; i++)
        diagonal = fmax(diagonal, kn_at(g->G, i, i));
    return fmax(eig, 2 * FLT_EPSILON * sqrt(N) * diagonal);
}

/* Sets U, s2 (descending), noise and rank of out from out->G; root solves the eigenproblem, for
 * up to KN_BLOCK responses on one thread, so that the bits do not depend on the number of
 * threads. Collective. */
static kn_status decompose_gram(kn_ctx *ctx, const kn_responses *Y, kn_gram *out)
{
    kn_status status;
    kn_mat reversed = {0};
    double *w = NULL;
    ptrdiff_t n = out->G.rows, largest_rank = kn_min_size(Y->N, Y->T);
    KN_TRY(kn_mat_new(ctx, n, n, &out->U));
    KN_TRY(kn_alloc_d(ctx, n, &out->s2));
    KN_TRY(kn_mat_copy(ctx, out->G, &reversed));
    KN_TRY(kn_alloc_d(ctx, n, &w));
    KN_TRY((out->by_responses && n <= KN_BLOCK ? kn_eig_reproducible_on_root
                                               : kn_eig_on_root)(ctx, reversed, w));
    for (ptrdiff_t p = 0; p < n; p++) { /* LAPACK's order is ascending */
        kn_mat_set(kn_cols(out->U, p, 1), kn_cols(reversed, n - 1 - p, 1));
        out->s2[p] = w[n - 1 - p] > 0 ? w[n - 1 - p] : 0;
    }
    out->noise = gram_rounding(out, (double)Y->N);
    while (out->rank < largest_rank && out->s2[out->rank] > out->noise)
        out->rank++;
out:
    kn_free(w);
    kn_mat_clear(&reversed);
    return status;
}

kn_status kn_gram_made(kn_ctx *ctx, const kn_responses *Y, kn_type made, kn_gram *out)
{
    kn_status status;
    *out = (kn_gram){.made = made};
    KN_TRY(make_products(ctx, Y, made == KN_F32, &out->G));
    KN_TRY(decompose_gram(ctx, Y, out));
out:
    if (status != KN_OK)
        kn_gram_clear(out);
    return status;
}

kn_status kn_gram_of_responses(kn_ctx *ctx, const kn_responses *Y, kn_gram *out)
{
    kn_status status;
    *out = (kn_gram){.made = KN_F64, .by_responses = true};
    KN_TRY(kn_mat_new(ctx, Y->T, Y->T, &out->G));
    KN_TRY(kn_alloc_d(ctx, Y->T, &out->sums));
    KN_TRY(kn_response_products(ctx, Y, "basis", out->G, out->sums));
    kn_mirror(out->G);
    KN_TRY(decompose_gram(ctx, Y, out));
out:
    if (status != KN_OK)
        kn_gram_clear(out);
    return status;
}

/* True if the products of N participants with T responses take N^2 T > LONG_WORK flops. */
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
    return kn_by_responses(Y->side, Y->N, Y->T) ? kn_gram_of_responses(ctx, Y, out)
                                                : kn_gram_made(ctx, Y, kn_gram_precision(Y), out);
}

kn_status kn_gram_coordinates(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram, ptrdiff_t P,
                              kn_mat *Z)
{
    double total;
    kn_status status = kn_mat_new(ctx, Y->N, P, Z);
    if (status == KN_OK && gram->by_responses)
        return kn_project(ctx, Y, NULL, kn_cols(gram->U, 0, P), *Z, &total);
    for (ptrdiff_t p = 0; status == KN_OK && p < P; p++)
        for (ptrdiff_t i = 0; i < Z->rows; i++)
            kn_col(*Z, p)[i] = kn_at(gram->U, i, p) * sqrt(gram->s2[p]);
    return status;
}

bool kn_gram_long(const kn_problem_size *s)
{
    return is_long(s->N, s->T);
}

/* Predicts in plan r the memory of computing G = YY' (N x N) without its decomposition
 * (make_products): only the peak rises. */
static void sample_products_need(kn_mem_plan *r, const kn_problem_size *s)
{
    const kn_mem_category S = KN_NEED_SAMPLES;
    bool single = s->value == sizeof(float) && is_long(s->N, s->T);
    kn_mem_usage mark = r->now;
    kn_sum_need(r, S, (kn_sum){s->N, s->N, true, {0}}, single ? 1 : 2);
    kn_mem_usage sum = r->now;
    kn_block_loop_need(r, s->N, kn_block_loop_width(0, s->T),
                       single ? KN_BLOCK_STRIP_F32 : KN_BLOCK_Y);
    single ? kn_plan_alloc_f(r, S, s->N, s->N) : kn_plan_alloc_d(r, S, s->N, s->N);
    kn_plan_free_to(r, sum);
    kn_plan_alloc_d(r, S, s->N, s->N);
    kn_plan_free_to(r, mark);
}

void kn_gram_need(kn_mem_plan *r, const kn_problem_size *s)
{
    bool by_responses = kn_by_responses(KN_SIDE_BY_SIZE, s->N, s->T);
    const kn_mem_category S = by_responses ? KN_NEED_BASIS : KN_NEED_SAMPLES;
    ptrdiff_t n = by_responses ? s->T : s->N;
    if (!by_responses)
        sample_products_need(r, s);
    kn_plan_alloc_d(r, S, 2 * n, n); /* G, U */
    kn_plan_alloc_d(r, S, n, 2);
    if (by_responses)
        kn_response_products_need(r, s);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, S, n, n + 1);
    kn_eig_need(r, S, n);
    kn_plan_free_to(r, mark);
}
