/* Implements banded.h. */
#include "la/banded.h"

#include <lapacke.h>
#include <limits.h>

#include "la/blas_threads.h"

double kn_band_bytes(ptrdiff_t n, ptrdiff_t width)
{
    return kn_alloc_bytes((double)n * ((double)width + 1) * sizeof(double));
}

kn_status kn_band_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t width, kn_band *out)
{
    *out = (kn_band){.n = n, .width = width};
    if (n > INT_MAX || width >= n || (width + 1) > PTRDIFF_MAX / 16 / (n > 0 ? n : 1))
        return kn_fail(ctx, KN_ERR_SHAPE, "a band of %td below the diagonal of %td rows", width, n);
    return kn_alloc_d(ctx, n * (width + 1), &out->data);
}

void kn_band_clear(kn_band *band)
{
    kn_free(band->data);
    *band = (kn_band){0};
}

kn_status kn_band_chol(kn_ctx *ctx, kn_band *band, const char *what)
{
    kn_blas_begin(1);
    lapack_int info =
        LAPACKE_dpbtrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)band->n, (lapack_int)band->width,
                            band->data, (lapack_int)(band->width + 1));
    kn_blas_end();
    return info == 0 ? KN_OK
                     : kn_fail(ctx, KN_ERR_NUMERIC, "%s is not positive definite (pivot %d of %td)",
                               what, (int)info, band->n);
}

typedef struct solving {
    const kn_band *factor;
    kn_mat B;
} solving;

static void solve_columns(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    const solving *s = self;
    const kn_band *f = s->factor;
    (void)worker;
    LAPACKE_dpbtrs_work(LAPACK_COL_MAJOR, 'L', (lapack_int)f->n, (lapack_int)f->width,
                        (lapack_int)(to - from), f->data, (lapack_int)(f->width + 1),
                        kn_col(s->B, from), (lapack_int)s->B.ld);
}

void kn_band_solve(kn_ctx *ctx, const kn_band *factor, kn_mat B)
{
    solving s = {factor, B};
    kn_la_parallel(ctx, B.cols, 1, solve_columns, &s);
}
