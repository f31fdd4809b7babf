#include "la/la.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>

enum { WIDEST = 1 << 30 }; /* one BLAS call; longer products are split */

static int narrow(ptrdiff_t n)
{
    assert(n >= 0 && n <= WIDEST);
    return (int)n;
}

static int lead(kn_mat A)
{
    return narrow(A.ld > 0 ? A.ld : 1);
}

void kn_la_use_threads(const kn_ctx *ctx)
{
    openblas_set_num_threads(kn_threads(ctx));
}

static CBLAS_TRANSPOSE op(kn_trans t)
{
    return t == KN_N ? CblasNoTrans : CblasTrans;
}

static kn_mat op_rows(kn_trans t, kn_mat A, ptrdiff_t i, ptrdiff_t n)
{
    return t == KN_N ? kn_sub(A, i, 0, n, A.cols) : kn_sub(A, 0, i, A.rows, n);
}

void kn_gemm(double alpha, kn_trans ta, kn_mat A, kn_trans tb, kn_mat B, double beta, kn_mat C)
{
    ptrdiff_t k = ta == KN_N ? A.cols : A.rows;
    assert((ta == KN_N ? A.rows : A.cols) == C.rows && (tb == KN_N ? B.cols : B.rows) == C.cols);
    assert((tb == KN_N ? B.rows : B.cols) == k);
    if (C.rows == 0 || C.cols == 0)
        return;
    for (ptrdiff_t i = 0; i < C.rows; i += WIDEST)
        for (ptrdiff_t j = 0; j < C.cols; j += WIDEST) {
            ptrdiff_t ni = C.rows - i < WIDEST ? C.rows - i : WIDEST;
            ptrdiff_t nj = C.cols - j < WIDEST ? C.cols - j : WIDEST;
            kn_mat Ai = op_rows(ta, A, i, ni);
            kn_mat Bj = tb == KN_N ? kn_sub(B, 0, j, B.rows, nj) : kn_sub(B, j, 0, nj, B.cols);
            ptrdiff_t l = 0;
            do { /* once even for k = 0, so that beta is applied */
                ptrdiff_t nl = k - l < WIDEST ? k - l : WIDEST;
                const double *a = Ai.data + (ta == KN_N ? l * A.ld : l);
                const double *b = Bj.data + (tb == KN_N ? l : l * B.ld);
                cblas_dgemm(CblasColMajor, op(ta), op(tb), narrow(ni), narrow(nj), narrow(nl),
                            alpha, a, lead(A), b, lead(B), l == 0 ? beta : 1.0,
                            C.data + i + j * C.ld, lead(C));
                l += WIDEST;
            } while (l < k);
        }
}

void kn_syrk(double alpha, kn_trans ta, kn_mat A, double beta, kn_mat C)
{
    ptrdiff_t n = ta == KN_N ? A.rows : A.cols, k = ta == KN_N ? A.cols : A.rows;
    assert(C.rows == n && C.cols == n);
    ptrdiff_t l = 0;
    do {
        ptrdiff_t nl = k - l < WIDEST ? k - l : WIDEST;
        cblas_dsyrk(CblasColMajor, CblasLower, op(ta), narrow(n), narrow(nl), alpha,
                    A.data + (ta == KN_N ? l * A.ld : l), lead(A), l == 0 ? beta : 1.0, C.data,
                    lead(C));
        l += WIDEST;
    } while (l < k);
}

static int lead_f32(kn_fmat A)
{
    return narrow(A.ld > 0 ? A.ld : 1);
}

void kn_gemm_f32(float alpha, kn_trans ta, kn_fmat A, kn_trans tb, kn_fmat B, float beta, kn_fmat C)
{
    ptrdiff_t k = ta == KN_N ? A.cols : A.rows;
    assert((ta == KN_N ? A.rows : A.cols) == C.rows && (tb == KN_N ? B.cols : B.rows) == C.cols);
    assert((tb == KN_N ? B.rows : B.cols) == k);
    if (C.rows == 0 || C.cols == 0)
        return;
    cblas_sgemm(CblasColMajor, op(ta), op(tb), narrow(C.rows), narrow(C.cols), narrow(k), alpha,
                A.data, lead_f32(A), B.data, lead_f32(B), beta, C.data, lead_f32(C));
}

void kn_syrk_f32(float alpha, kn_trans ta, kn_fmat A, float beta, kn_fmat C)
{
    ptrdiff_t n = ta == KN_N ? A.rows : A.cols, k = ta == KN_N ? A.cols : A.rows;
    assert(C.rows == n && C.cols == n);
    cblas_ssyrk(CblasColMajor, CblasLower, op(ta), narrow(n), narrow(k), alpha, A.data, lead_f32(A),
                beta, C.data, lead_f32(C));
}

void kn_mirror(kn_mat A)
{
    enum { TILE = 32 };
    for (ptrdiff_t j0 = 0; j0 < A.cols; j0 += TILE)
        for (ptrdiff_t i0 = j0; i0 < A.rows; i0 += TILE)
            for (ptrdiff_t j = j0; j < j0 + TILE && j < A.cols; j++)
                for (ptrdiff_t i = i0 > j ? i0 : j + 1; i < i0 + TILE && i < A.rows; i++)
                    A.data[j + i * A.ld] = A.data[i + j * A.ld];
}

static void trsm(CBLAS_SIDE side, kn_trans t, kn_mat L, kn_mat B)
{
    assert(L.rows == (side == CblasRight ? B.cols : B.rows));
    cblas_dtrsm(CblasColMajor, side, CblasLower, op(t), CblasNonUnit, narrow(B.rows),
                narrow(B.cols), 1.0, L.data, lead(L), B.data, lead(B));
}

void kn_trsm_right(kn_trans t, kn_mat L, kn_mat B)
{
    trsm(CblasRight, t, L, B);
}

void kn_trsm_left(kn_trans t, kn_mat L, kn_mat B)
{
    trsm(CblasLeft, t, L, B);
}
