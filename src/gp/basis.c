#include "gp/basis.h"

#include <math.h>

#include "la/la.h"

/* |B'B - I| above this is repaired; below it is rounding. */
static const double ORTHONORMAL = 1e-12;

static ptrdiff_t block_width(ptrdiff_t left)
{
    return left < KN_BLOCK ? left : KN_BLOCK;
}

void kn_basis_clear(kn_basis *b)
{
    kn_mat_clear(&b->B);
    kn_mat_clear(&b->Z);
    *b = (kn_basis){0};
}

/* out (P x P) = B'B; returns the largest deviation from the identity. */
static double gram_of_columns(kn_ctx *ctx, kn_mat B, kn_mat out)
{
    double worst = 0;
    kn_syrk(ctx, 1, KN_T, B, 0, out);
    for (ptrdiff_t j = 0; j < out.cols; j++)
        for (ptrdiff_t i = j; i < out.rows; i++) {
            double e = fabs(kn_at(out, i, j) - (i == j));
            if (isnan(e))
                return NAN;
            worst = fmax(worst, e);
        }
    return worst;
}

/* B <- B L^-T with LL' = B'B, twice: once loses the square of B's condition, twice is exact
 * (Yamamoto et al. 2015, CholeskyQR2). Columns are scaled first, so only their angles matter. */
static kn_status orthonormalise(kn_ctx *ctx, kn_mat B, kn_mat S)
{
    for (ptrdiff_t j = 0; j < B.cols; j++) {
        double norm = sqrt(kn_sumsq(kn_cols(B, j, 1)));
        if (!(norm > 0 && isfinite(norm)))
            return kn_fail(ctx, KN_ERR_DATA, "column %td of the basis is zero or not finite",
                           j + 1);
        for (ptrdiff_t i = 0; i < B.rows; i++)
            kn_col(B, j)[i] /= norm;
    }
    for (int pass = 0; pass < 2; pass++) {
        gram_of_columns(ctx, B, S);
        kn_status status = kn_chol(ctx, S, "the matrix of basis angles");
        if (status == KN_OK)
            for (ptrdiff_t j = 0; j < S.cols; j++)
                if (kn_at(S, j, j) < 1e-7)
                    status = KN_ERR_NUMERIC;
        if (status != KN_OK)
            return kn_fail(ctx, KN_ERR_DATA,
                           "the columns of the basis are linearly dependent: it has rank below %td",
                           B.cols);
        kn_trsm_right(ctx, KN_T, S, B);
    }
    return KN_OK;
}

kn_status kn_basis_project(kn_ctx *ctx, const kn_responses *Y, const double *mean, kn_basis *b)
{
    kn_status status;
    kn_mat block = {0};
    KN_TRY(kn_mat_new(ctx, Y->N, block_width(Y->T), &block));
    kn_mat_zero(b->Z);
    b->total = 0;
    for (ptrdiff_t j = 0; j < Y->T; j += KN_BLOCK) {
        kn_mat y = kn_cols(block, 0, block_width(Y->T - j));
        KN_TRY(kn_check_cancel(ctx));
        kn_responses_block(ctx, Y, j, y);
        for (ptrdiff_t k = 0; mean && k < y.cols; k++)
            for (ptrdiff_t i = 0; i < y.rows; i++)
                kn_col(y, k)[i] -= mean[j + k];
        kn_gemm(ctx, 1, KN_N, y, KN_N, kn_sub(b->B, j, 0, y.cols, b->B.cols), 1, b->Z);
        b->total += kn_sumsq(y);
    }
    b->E = fmax(b->total - kn_sumsq(b->Z), 0);
out:
    kn_mat_clear(&block);
    return status;
}

void kn_basis_fix_signs(kn_basis *basis)
{
    for (ptrdiff_t p = 0; p < basis->B.cols; p++) {
        double *b = kn_col(basis->B, p), *z = kn_col(basis->Z, p);
        ptrdiff_t top = 0;
        for (ptrdiff_t j = 1; j < basis->B.rows; j++)
            if (fabs(b[j]) > fabs(b[top]))
                top = j;
        if (b[top] >= 0)
            continue;
        for (ptrdiff_t j = 0; j < basis->B.rows; j++)
            b[j] = -b[j];
        for (ptrdiff_t i = 0; i < basis->Z.rows; i++)
            z[i] = -z[i];
    }
}

kn_status kn_rotate(kn_ctx *ctx, kn_mat *M, kn_mat V)
{
    kn_status status;
    kn_mat strip = {0};
    ptrdiff_t rows = block_width(M->rows);
    KN_TRY(kn_mat_new(ctx, rows, M->cols, &strip));
    for (ptrdiff_t i = 0; i < M->rows; i += rows) {
        kn_mat m = kn_sub(*M, i, 0, block_width(M->rows - i), M->cols);
        kn_mat s = kn_sub(strip, 0, 0, m.rows, m.cols);
        kn_mat_set(s, m);
        kn_gemm(ctx, 1, KN_N, s, KN_N, V, 0, kn_cols(m, 0, V.cols));
    }
    M->cols = V.cols;
out:
    kn_mat_clear(&strip);
    return status;
}

kn_status kn_basis_ritz(kn_ctx *ctx, kn_basis *b, ptrdiff_t P)
{
    kn_status status;
    kn_mat S = {0}, V = {0};
    double *w = NULL;
    ptrdiff_t k = b->Z.cols;
    KN_TRY(kn_alloc_d(ctx, k, &w));
    KN_TRY(kn_mat_new(ctx, k, k, &S));
    KN_TRY(kn_mat_new(ctx, k, P, &V));
    kn_syrk(ctx, 1, KN_T, b->Z, 0, S);
    KN_TRY(kn_eig(ctx, S, w));
    for (ptrdiff_t p = 0; p < P; p++)
        kn_mat_set(kn_cols(V, p, 1), kn_cols(S, k - 1 - p, 1));
    KN_TRY(kn_rotate(ctx, &b->B, V));
    KN_TRY(kn_rotate(ctx, &b->Z, V));
out:
    kn_mat_clear(&V);
    kn_mat_clear(&S);
    kn_free(w);
    return status;
}

/* Small singular values inherit the Gram matrix's rounding: make B orthonormal again and rotate it
 * so that Z'Z is diagonal. */
static kn_status repair(kn_ctx *ctx, const kn_responses *Y, kn_basis *b, kn_mat S)
{
    kn_status status;
    KN_TRY(orthonormalise(ctx, b->B, S));
    KN_TRY(kn_basis_project(ctx, Y, NULL, b));
    KN_TRY(kn_basis_ritz(ctx, b, b->B.cols));
out:
    return status;
}

kn_status kn_basis_pca(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram, ptrdiff_t P,
                       kn_basis *out)
{
    kn_status status;
    kn_mat scaled = {0}, block = {0}, S = {0};
    ptrdiff_t N = Y->N;
    *out = (kn_basis){.pca = true};
    KN_TRY(kn_mat_new(ctx, Y->T, P, &out->B));
    KN_TRY(kn_mat_new(ctx, N, P, &out->Z));
    KN_TRY(kn_mat_new(ctx, N, P, &scaled));
    KN_TRY(kn_mat_new(ctx, P, P, &S));
    KN_TRY(kn_mat_new(ctx, N, block_width(Y->T), &block));
    for (ptrdiff_t p = 0; p < P; p++) {
        double s = sqrt(gram->s2[p]);
        for (ptrdiff_t i = 0; i < N; i++) {
            kn_col(scaled, p)[i] = kn_at(gram->U, i, p) / s;
            kn_col(out->Z, p)[i] = kn_at(gram->U, i, p) * s;
        }
    }
    for (ptrdiff_t j = 0; j < Y->T; j += KN_BLOCK) { /* B = Y' U S^-1 */
        kn_mat y = kn_cols(block, 0, block_width(Y->T - j));
        KN_TRY(kn_check_cancel(ctx));
        kn_responses_block(ctx, Y, j, y);
        kn_gemm(ctx, 1, KN_T, y, KN_N, scaled, 0, kn_sub(out->B, j, 0, y.cols, P));
    }
    for (ptrdiff_t i = 0; i < N; i++)
        out->total += kn_at(gram->G, i, i);
    out->E = out->total;
    for (ptrdiff_t p = 0; p < P; p++)
        out->E -= gram->s2[p];
    if (out->E < 0)
        out->E = 0;
    if (gram->made == KN_F32 || gram_of_columns(ctx, out->B, S) > ORTHONORMAL)
        KN_TRY(repair(ctx, Y, out, S));
    kn_basis_fix_signs(out);
out:
    kn_mat_clear(&S);
    kn_mat_clear(&block);
    kn_mat_clear(&scaled);
    if (status != KN_OK)
        kn_basis_clear(out);
    return status;
}

kn_status kn_basis_given(kn_ctx *ctx, const kn_responses *Y, kn_view B, kn_basis *out)
{
    kn_status status;
    kn_mat S = {0};
    *out = (kn_basis){0};
    KN_TRY(kn_mat_new(ctx, Y->T, B.cols, &out->B));
    KN_TRY(kn_mat_new(ctx, Y->N, B.cols, &out->Z));
    KN_TRY(kn_mat_new(ctx, B.cols, B.cols, &S));
    for (ptrdiff_t p = 0; p < B.cols; p++)
        for (ptrdiff_t j = 0; j < Y->T; j++)
            kn_col(out->B, p)[j] = kn_view_at(B, Y->scaling->kept[j], p);
    if (!(gram_of_columns(ctx, out->B, S) <= ORTHONORMAL)) {
        KN_TRY(orthonormalise(ctx, out->B, S));
        out->orthonormalised = true;
    }
    KN_TRY(kn_basis_project(ctx, Y, NULL, out));
out:
    kn_mat_clear(&S);
    if (status != KN_OK)
        kn_basis_clear(out);
    return status;
}
