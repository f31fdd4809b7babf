#include "ref/convolved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"

static double bump(double a, double b, kn_mat A, ptrdiff_t i, kn_mat B, ptrdiff_t j)
{
    double d2 = 0, F = (double)A.cols;
    for (ptrdiff_t f = 0; f < A.cols; f++)
        d2 += pow(kn_at(A, i, f) - kn_at(B, j, f), 2);
    return pow(2 * sqrt(a * b) / (a + b), F / 2) * exp(-d2 / (2 * (a + b)));
}

/* nA T x QM */
static kn_mat cross(const ref_conv *c, kn_mat A)
{
    ptrdiff_t T = c->S.rows, Q = c->S.cols, M = c->Z.rows, n = A.rows;
    kn_mat K = ref_new(n * T, Q * M);
    for (ptrdiff_t t = 0; t < T; t++)
        for (ptrdiff_t q = 0; q < Q; q++)
            for (ptrdiff_t i = 0; i < n; i++)
                for (ptrdiff_t j = 0; j < M; j++)
                    kn_col(K, q * M + j)[t * n + i] =
                        kn_at(c->S, t, q) * bump(kn_at(c->tau, t, q), c->nu[q], A, i, c->Z, j);
    return K;
}

static kn_mat induced(const ref_conv *c, kn_mat A, kn_mat B)
{
    ptrdiff_t Q = c->S.cols, M = c->Z.rows;
    kn_mat U = ref_new(Q * M, Q * M), Ka = cross(c, A), Kb = cross(c, B), W, out;
    for (ptrdiff_t q = 0; q < Q; q++)
        for (ptrdiff_t i = 0; i < M; i++)
            for (ptrdiff_t j = 0; j < M; j++)
                kn_col(U, q * M + j)[q * M + i] =
                    bump(c->nu[q], c->nu[q], c->Z, i, c->Z, j) + (i == j ? c->jitter : 0);
    W = ref_new(Q * M, Kb.rows);
    for (ptrdiff_t j = 0; j < Kb.rows; j++)
        for (ptrdiff_t i = 0; i < Q * M; i++)
            kn_col(W, j)[i] = kn_at(Kb, j, i);
    ref_solve(U, W);
    out = ref_mul(0, Ka, 0, W);
    free(U.data), free(Ka.data), free(Kb.data), free(W.data);
    return out;
}

kn_mat ref_conv_cov(const ref_conv *c, ref_conv_kind kind, kn_mat A, kn_mat B)
{
    ptrdiff_t T = c->S.rows, Q = c->S.cols, n = A.rows, k = B.rows;
    kn_mat out = kind == REF_EXACT ? ref_new(n * T, k * T) : induced(c, A, B);
    for (ptrdiff_t t = 0; t < T; t++)
        for (ptrdiff_t v = 0; v < T; v++)
            for (ptrdiff_t i = 0; i < n; i++)
                for (ptrdiff_t j = 0; j < k; j++) {
                    double sum = 0;
                    if (kind == REF_INDUCED || (kind == REF_PITC && t != v))
                        continue;
                    for (ptrdiff_t q = 0; q < Q; q++)
                        sum += kn_at(c->S, t, q) * kn_at(c->S, v, q) *
                               bump(kn_at(c->tau, t, q), kn_at(c->tau, v, q), A, i, B, j);
                    kn_col(out, v * k + j)[t * n + i] = sum;
                }
    return out;
}

double ref_conv_gp(const ref_conv *c, ref_conv_kind kind, kn_mat X, kn_mat Y, kn_mat Xs,
                   kn_mat mean, kn_mat var)
{
    ptrdiff_t T = c->S.rows, N = X.rows, n = Xs.rows;
    kn_mat K = ref_conv_cov(c, kind, X, X), Ks = ref_conv_cov(c, kind, Xs, X);
    double *kss = calloc((size_t)(n * T + 1), sizeof *kss);
    for (ptrdiff_t i = 0; i < N * T; i++)
        kn_col(K, i)[i] += c->s2[i / N];
    for (ptrdiff_t i = 0; i < n * T; i++)
        for (ptrdiff_t q = 0; q < c->S.cols; q++)
            kss[i] += pow(kn_at(c->S, i / n, q), 2);
    double lml = ref_gp(K, Y.data, Ks, kss, mean.data, var.data);
    free(K.data), free(Ks.data), free(kss);
    return lml;
}
