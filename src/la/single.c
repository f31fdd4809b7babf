#include "la/single.h"

#include <assert.h>
#include <cblas.h>

enum { WIDEST = 1 << 30 };

static int narrow(ptrdiff_t n)
{
    assert(n >= 0 && n <= WIDEST);
    return (int)n;
}

static int lead(kn_matf A)
{
    return narrow(A.ld > 0 ? A.ld : 1);
}

static CBLAS_TRANSPOSE op(kn_trans t)
{
    return t == KN_N ? CblasNoTrans : CblasTrans;
}

kn_status kn_matf_new(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t cols, kn_matf *out)
{
    *out = (kn_matf){0};
    if (rows < 0 || cols < 0 || (cols > 0 && rows > PTRDIFF_MAX / 16 / cols))
        return kn_fail(ctx, KN_ERR_MEMORY, "a %td x %td matrix cannot exist", rows, cols);
    float *data;
    kn_status status = kn_alloc_f(ctx, rows * cols, &data);
    if (status == KN_OK)
        *out = (kn_matf){data, rows, cols, rows > 0 ? rows : 1};
    return status;
}

void kn_matf_clear(kn_matf *m)
{
    kn_free(m->data);
    *m = (kn_matf){0};
}

void kn_gemmf(float alpha, kn_trans ta, kn_matf A, kn_trans tb, kn_matf B, float beta, kn_matf C)
{
    ptrdiff_t k = ta == KN_N ? A.cols : A.rows;
    assert((ta == KN_N ? A.rows : A.cols) == C.rows && (tb == KN_N ? B.cols : B.rows) == C.cols);
    assert((tb == KN_N ? B.rows : B.cols) == k);
    if (C.rows > 0 && C.cols > 0)
        cblas_sgemm(CblasColMajor, op(ta), op(tb), narrow(C.rows), narrow(C.cols), narrow(k), alpha,
                    A.data, lead(A), B.data, lead(B), beta, C.data, lead(C));
}

void kn_syrkf(float alpha, kn_trans ta, kn_matf A, float beta, kn_matf C)
{
    ptrdiff_t n = ta == KN_N ? A.rows : A.cols, k = ta == KN_N ? A.cols : A.rows;
    assert(C.rows == n && C.cols == n);
    cblas_ssyrk(CblasColMajor, CblasLower, op(ta), narrow(n), narrow(k), alpha, A.data, lead(A),
                beta, C.data, lead(C));
}
