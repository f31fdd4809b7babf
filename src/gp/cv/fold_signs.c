/* Implements fold_signs.h as a block visitor that finds the largest entry of each column of B_f. */
#include "gp/cv/fold_signs.h"

#include <math.h>

#include "cov/spectral_task.h"
#include "data/mpi/partition_responses.h"
#include "gp/block_visitor.h"
#include "la/la.h"

typedef struct sign_search {
    const kn_fold *f;
    kn_mat B;    /* width x P */
    double *top; /* P  entry of largest absolute value so far */
} sign_search;

static kn_status begin_signs(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    sign_search *s = self;
    return kn_mat_new(ctx, plan->width, s->f->US.cols, &s->B);
}

static kn_status look_at_signs(kn_ctx *ctx, void *self, kn_block *b)
{
    sign_search *s = self;
    kn_mat B = kn_sub(s->B, 0, 0, b->count, s->B.cols);
    kn_gemm(ctx, 1, KN_T, b->y, KN_N, s->f->US, 0, B); /* columns of US sum to zero: no centring */
    for (ptrdiff_t p = 0; p < B.cols; p++)
        for (ptrdiff_t j = 0; j < B.rows; j++)
            if (fabs(kn_at(B, j, p)) > fabs(s->top[p]))
                s->top[p] = kn_at(B, j, p);
    return KN_OK;
}

kn_status kn_fold_signs(kn_ctx *ctx, const kn_responses *Y, kn_fold *f)
{
    kn_status status;
    sign_search s = {.f = f};
    kn_visitor visitor = {&s, KN_WALK_Y, begin_signs, look_at_signs, NULL};
    kn_block_loop walk = {.Y = kn_responses_rows(Y, f->train, f->n_train)};
    KN_TRY(kn_alloc_d(ctx, f->US.cols, &s.top));
    KN_TRY(kn_block_loop_run(ctx, &walk, &visitor, 1));
    KN_TRY(kn_allreduce_largest(ctx, s.top, f->US.cols));
    for (ptrdiff_t p = 0; p < f->US.cols; p++)
        for (ptrdiff_t i = 0; s.top[p] < 0 && i < f->n_train; i++) {
            kn_col(f->US, p)[i] *= -1;
            kn_col(f->Z_train, p)[i] *= -1;
        }
out:
    kn_free(s.top);
    kn_mat_clear(&s.B);
    return status;
}

bool kn_sees_signs(const kn_gp *gp)
{
    return gp->spec.noise == KN_NOISE_ISO && !kn_cov_is_spectral(&gp->spec.task);
}
