#include "gp/basis_gram.h"

#include <float.h>
#include <math.h>

#include "base/parallel.h"
#include "la/la.h"

/* N^2 T from which float32 responses are multiplied in float32: about a second of double products
 * on two cores, of which half is saved. Below, the double Gram matrix costs nothing that shows. */
static const double LONG_WORK = 1e11;

void kn_gram_clear(kn_gram *g)
{
    kn_mat_clear(&g->G);
    kn_mat_clear(&g->U);
    kn_free(g->s2);
    *g = (kn_gram){0};
}

static ptrdiff_t block_width(ptrdiff_t left)
{
    return left < KN_BLOCK ? left : KN_BLOCK;
}

/* G += sum_j Y_j Y_j', lower triangle. N^2 T flops, double. */
static kn_status add_products(kn_ctx *ctx, const kn_responses *Y, kn_mat G)
{
    kn_status status;
    kn_mat block = {0};
    KN_TRY(kn_mat_new(ctx, Y->N, block_width(Y->T), &block));
    for (ptrdiff_t j = 0; j < Y->T; j += KN_BLOCK) {
        kn_mat b = kn_cols(block, 0, block_width(Y->T - j));
        KN_TRY(kn_check_cancel(ctx));
        kn_responses_block(ctx, Y, j, b);
        kn_syrk(ctx, 1, KN_N, b, 1, G);
        kn_tell(ctx, "basis", j + b.cols, Y->T, NAN);
    }
out:
    kn_mat_clear(&block);
    return status;
}

typedef struct add_job {
    kn_fmat part;
    kn_mat G;
} add_job;

static void add_part(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const add_job *job = self;
    for (ptrdiff_t j = from; j < to; j++) {
        const float *restrict p = kn_fcol(job->part, j);
        double *restrict g = kn_col(job->G, j);
        for (ptrdiff_t i = j; i < job->G.rows; i++)
            g[i] += p[i];
    }
}

/* The same with Y_j and Y_j Y_j' in float32 and the sum over blocks in double [SCALE 4]: a sum of
 * 2048 products is rounded to some 3e-7, and the errors of T/2048 blocks cancel. */
static kn_status add_products_f32(kn_ctx *ctx, const kn_responses *Y, kn_mat G)
{
    kn_status status;
    kn_fmat strip = {0}, part = {0};
    KN_TRY(kn_fmat_new(ctx, block_width(Y->T), Y->N, &strip));
    KN_TRY(kn_fmat_new(ctx, Y->N, Y->N, &part));
    for (ptrdiff_t j = 0; j < Y->T; j += KN_BLOCK) {
        kn_fmat s = kn_fsub(strip, 0, 0, block_width(Y->T - j), Y->N);
        KN_TRY(kn_check_cancel(ctx));
        kn_responses_strip_f32(ctx, Y, j, s);
        kn_syrk_f32(ctx, 1, KN_T, s, 0, part);
        kn_parallel(ctx, Y->N, 1 + 100000 / Y->N, add_part, &(add_job){part, G});
        kn_tell(ctx, "basis", j + s.rows, Y->T, NAN);
    }
out:
    kn_fmat_clear(&part);
    kn_fmat_clear(&strip);
    return status;
}

/* What rounding does to the eigenvalues of G. Double: the eigenproblem's own. Float32: entries off
 * by e of the diagonal at random make a matrix of norm 2 e sqrt(N) diagonals (Wigner). */
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
    KN_TRY(kn_mat_new(ctx, N, N, &out->G));
    KN_TRY(kn_mat_new(ctx, N, N, &out->U));
    KN_TRY(kn_alloc_d(ctx, N, &out->s2));
    KN_TRY((made == KN_F32 ? add_products_f32 : add_products)(ctx, Y, out->G));
    kn_mirror(out->G);

    KN_TRY(kn_mat_copy(ctx, out->G, &reversed));
    KN_TRY(kn_alloc_d(ctx, N, &w));
    KN_TRY(kn_eig(ctx, reversed, w));
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

kn_type kn_gram_precision(const kn_responses *Y)
{
    double flops = (double)Y->N * (double)Y->N * (double)Y->T;
    return Y->Y.type == KN_F32 && flops > LONG_WORK ? KN_F32 : KN_F64;
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
