/* The two passes of a deviance fit over blocks of responses; see internal.h.
 *
 * Work is distributed in whole units, tiles of G in pass 1 and folds in pass 2, so that each
 * BLAS call runs on one thread and results do not depend on the number of threads. Within a
 * block, C is computed 256 KB at a time, which keeps it in cache for everything that follows
 * from it. */
#include "norm/deviance/internal.h"

#include <math.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "la/la.h"
#include "la/vec.h"

#define REAL    double
#define MAT     kn_mat
#define NAME(x) x##_d
#define NEW     kn_mat_new
#define CLEAR   kn_mat_clear
#define COL     kn_col
#define SUB     kn_sub
#define GEMM    kn_gemm
#define SYRK    kn_syrk
#define ADD     kn_sum_add
#define EXACT   kn_exact_sum_add
#include "norm/deviance/products_template.h"
#undef REAL
#undef MAT
#undef NAME
#undef NEW
#undef CLEAR
#undef COL
#undef SUB
#undef GEMM
#undef SYRK
#undef ADD
#undef EXACT
#define REAL    float
#define MAT     kn_fmat
#define NAME(x) x##_f
#define NEW     kn_fmat_new
#define CLEAR   kn_fmat_clear
#define COL     kn_fcol
#define SUB     kn_fsub
#define GEMM    kn_gemm_f32
#define SYRK    kn_syrk_f32
#define ADD     kn_sum_add_f32
#define EXACT   kn_exact_sum_add_f32
#include "norm/deviance/products_template.h"

ptrdiff_t kn_deviance_largest_fold(const kn_deviance_fitter *f)
{
    ptrdiff_t most = 0;
    for (int p = 0; p < f->folds; p++)
        most = f->fold_fits[p].count > most ? f->fold_fits[p].count : most;
    return most;
}

kn_status kn_deviance_pass_new(kn_ctx *ctx, kn_deviance_fitter *f)
{
    return f->single ? space_new_f(ctx, f) : space_new_d(ctx, f);
}

void kn_deviance_pass_gram_need(kn_mem_plan *r, const kn_deviance_fitter *f)
{
    if (!f->by_responses)
        kn_plan_alloc(r, KN_NEED_SAMPLES, f->N * f->N, f->single ? sizeof(float) : sizeof(double));
}

void kn_deviance_pass_need(kn_mem_plan *r, const kn_deviance_fitter *f, ptrdiff_t limit)
{
    f->single ? space_need_f(r, f, limit) : space_need_d(r, f, limit);
    kn_deviance_pass_gram_need(r, f);
}

void kn_deviance_pass_free(kn_deviance_fitter *f)
{
    f->single ? space_free_f(f) : space_free_d(f);
}

void kn_deviance_pass_gram(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z)
{
    f->single ? gram_f(ctx, f, first, z) : gram_d(ctx, f, first, z);
}

void kn_deviance_pass_gram_end(kn_deviance_fitter *f)
{
    f->single ? end_gram_f(f) : end_gram_d(f);
}

void kn_deviance_pass_vectors(kn_deviance_fitter *f, int fold_fit, kn_mat V)
{
    f->single ? put_vectors_f(f, fold_fit, V) : put_vectors_d(f, fold_fit, V);
}

kn_status kn_deviance_pass_broadcast(kn_ctx *ctx, kn_deviance_fitter *f, int fold_fit, int root)
{
    return f->single ? broadcast_vectors_f(ctx, f, fold_fit, root)
                     : broadcast_vectors_d(ctx, f, fold_fit, root);
}

kn_status kn_deviance_pass_gather(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z)
{
    return f->single ? gather_f(ctx, f, first, z) : gather_d(ctx, f, first, z);
}
