#include "ref/ref.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"

kn_mat ref_new(ptrdiff_t rows, ptrdiff_t cols)
{
    double *d = calloc((size_t)(rows * cols) + 1, sizeof *d);
    if (!d)
        abort();
    return (kn_mat){d, rows, cols, rows > 0 ? rows : 1};
}

int ref_chol(kn_mat A)
{
    for (ptrdiff_t j = 0; j < A.cols; j++) {
        double d = kn_at(A, j, j);
        for (ptrdiff_t k = 0; k < j; k++)
            d -= kn_at(A, j, k) * kn_at(A, j, k);
        if (!(d > 0))
            return 0;
        d = sqrt(d);
        kn_col(A, j)[j] = d;
        for (ptrdiff_t i = j + 1; i < A.rows; i++) {
            double s = kn_at(A, i, j);
            for (ptrdiff_t k = 0; k < j; k++)
                s -= kn_at(A, i, k) * kn_at(A, j, k);
            kn_col(A, j)[i] = s / d;
        }
    }
    return 1;
}

static void forward(kn_mat L, double *x)
{
    for (ptrdiff_t i = 0; i < L.rows; i++) {
        for (ptrdiff_t k = 0; k < i; k++)
            x[i] -= kn_at(L, i, k) * x[k];
        x[i] /= kn_at(L, i, i);
    }
}

static void backward(kn_mat L, double *x)
{
    for (ptrdiff_t i = L.rows - 1; i >= 0; i--) {
        for (ptrdiff_t k = i + 1; k < L.rows; k++)
            x[i] -= kn_at(L, k, i) * x[k];
        x[i] /= kn_at(L, i, i);
    }
}

double ref_log_density(kn_mat S, const double *y)
{
    ptrdiff_t n = S.rows;
    if (!ref_chol(S))
        return NAN;
    kn_mat x = ref_new(n, 1);
    for (ptrdiff_t i = 0; i < n; i++)
        x.data[i] = y[i];
    forward(S, x.data);
    double l = -0.5 * (double)n * log(2 * M_PI);
    for (ptrdiff_t i = 0; i < n; i++)
        l -= log(kn_at(S, i, i)) + 0.5 * x.data[i] * x.data[i];
    free(x.data);
    return l;
}

void ref_solve(kn_mat S, kn_mat y)
{
    if (!ref_chol(S))
        abort();
    for (ptrdiff_t j = 0; j < y.cols; j++) {
        forward(S, kn_col(y, j));
        backward(S, kn_col(y, j));
    }
}

kn_mat ref_mul(int ta, kn_mat A, int tb, kn_mat B)
{
    ptrdiff_t n = ta ? A.cols : A.rows, k = ta ? A.rows : A.cols, m = tb ? B.rows : B.cols;
    kn_mat C = ref_new(n, m);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < m; j++)
            for (ptrdiff_t l = 0; l < k; l++)
                kn_col(C, j)[i] +=
                    (ta ? kn_at(A, l, i) : kn_at(A, i, l)) * (tb ? kn_at(B, j, l) : kn_at(B, l, j));
    return C;
}

kn_mat ref_kron(kn_mat A, kn_mat B)
{
    kn_mat K = ref_new(A.rows * B.rows, A.cols * B.cols);
    for (ptrdiff_t ja = 0; ja < A.cols; ja++)
        for (ptrdiff_t ia = 0; ia < A.rows; ia++)
            for (ptrdiff_t jb = 0; jb < B.cols; jb++)
                for (ptrdiff_t ib = 0; ib < B.rows; ib++)
                    kn_col(K, ja * B.cols + jb)[ia * B.rows + ib] =
                        kn_at(A, ia, ja) * kn_at(B, ib, jb);
    return K;
}

double ref_difference(kn_mat a, kn_mat b)
{
    double worst = 0, scale = 1;
    if (a.rows != b.rows || a.cols != b.cols)
        return INFINITY;
    for (ptrdiff_t j = 0; j < b.cols; j++)
        for (ptrdiff_t i = 0; i < b.rows; i++) {
            double d = fabs(kn_at(a, i, j) - kn_at(b, i, j));
            if (!(d <= worst))
                worst = isnan(d) ? INFINITY : d;
            if (fabs(kn_at(b, i, j)) > scale)
                scale = fabs(kn_at(b, i, j));
        }
    return worst / scale;
}

double ref_gp(kn_mat K, const double *y, kn_mat Ks, const double *kss, double *mean, double *var)
{
    size_t n = (size_t)K.rows;
    long double *L = calloc(n * n, sizeof *L), *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b);
    long double lml = -0.5L * (long double)n * logl(2 * 3.14159265358979323846264338L);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            long double s = kn_at(K, (ptrdiff_t)i, (ptrdiff_t)j);
            for (size_t k = 0; k < j; k++)
                s -= L[i + k * n] * L[j + k * n];
            L[i + j * n] = i == j ? sqrtl(s) : s / L[j + j * n];
        }
    for (size_t i = 0; i < n; i++) { /* a = L^-1 y */
        a[i] = y[i];
        for (size_t k = 0; k < i; k++)
            a[i] -= L[i + k * n] * a[k];
        a[i] /= L[i + i * n];
        lml -= logl(L[i + i * n]) + 0.5L * a[i] * a[i];
    }
    for (ptrdiff_t s = 0; s < Ks.rows; s++) {
        long double m = 0, v = kss[s];
        for (size_t i = 0; i < n; i++) { /* b = L^-1 k* */
            b[i] = kn_at(Ks, s, (ptrdiff_t)i);
            for (size_t k = 0; k < i; k++)
                b[i] -= L[i + k * n] * b[k];
            b[i] /= L[i + i * n];
            m += b[i] * a[i];
            v -= b[i] * b[i];
        }
        mean[s] = (double)m;
        var[s] = (double)v;
    }
    free(L), free(a), free(b);
    return (double)lml;
}

kn_mat ref_kernel(kn_mat X, kn_mat Y, const double theta[4], int same)
{
    kn_mat K = ref_new(X.rows, Y.rows);
    for (ptrdiff_t i = 0; i < X.rows; i++)
        for (ptrdiff_t j = 0; j < Y.rows; j++) {
            double dot = 0, d2 = 0;
            for (ptrdiff_t f = 0; f < X.cols; f++) {
                double e = kn_at(X, i, f) - kn_at(Y, j, f);
                dot += kn_at(X, i, f) * kn_at(Y, j, f);
                d2 += e * e;
            }
            kn_col(K, j)[i] = exp(2 * theta[0]) * dot +
                              exp(2 * theta[1]) * exp(-0.5 * d2 / exp(2 * theta[2])) +
                              (same && i == j ? exp(2 * theta[3]) : 0);
        }
    return K;
}

double ref_distance2(const double *x, const double *y, ptrdiff_t count)
{
    double d2 = 0;
    for (ptrdiff_t f = 0; f < count; f++)
        d2 += (x[f] - y[f]) * (x[f] - y[f]);
    return d2;
}

double ref_linear(const double *x, const double *y, ptrdiff_t count, const double *theta)
{
    double dot = 0;
    for (ptrdiff_t f = 0; f < count; f++)
        dot += x[f] * y[f];
    return exp(2 * theta[0]) * dot;
}

double ref_se(const double *x, const double *y, ptrdiff_t count, const double *theta)
{
    return exp(2 * theta[0]) * exp(-ref_distance2(x, y, count) / (2 * exp(2 * theta[1])));
}

static double term_at(kn_mat X, ptrdiff_t i, kn_mat Y, ptrdiff_t j, const ref_term *t,
                      const double *theta)
{
    double x[32], y[32];
    if (t->count > 32)
        abort();
    for (ptrdiff_t f = 0; f < t->count; f++) {
        x[f] = kn_at(X, i, t->first + f);
        y[f] = kn_at(Y, j, t->first + f);
    }
    return t->k(x, y, t->count, theta);
}

kn_mat ref_cov(kn_mat X, kn_mat Y, const ref_term *terms, int n, const double *theta)
{
    kn_mat K = ref_new(X.rows, Y.rows);
    for (int k = 0; k < n; theta += terms[k++].n_theta)
        for (ptrdiff_t j = 0; j < Y.rows; j++)
            for (ptrdiff_t i = 0; i < X.rows; i++)
                kn_col(K, j)[i] += term_at(X, i, Y, j, &terms[k], theta);
    return K;
}

kn_mat ref_normal(struct kn_rng *rng, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_mat m = ref_new(rows, cols);
    for (ptrdiff_t i = 0; i < rows * cols; i++)
        m.data[i] = kn_rng_normal(rng);
    return m;
}

/* Gram-Schmidt, twice */
kn_mat ref_orthonormal(struct kn_rng *rng, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_mat Q = ref_normal(rng, rows, cols);
    for (int pass = 0; pass < 2; pass++)
        for (ptrdiff_t j = 0; j < cols; j++) {
            for (ptrdiff_t k = 0; k <= j; k++) {
                double s = 0;
                for (ptrdiff_t i = 0; i < rows; i++)
                    s += kn_at(Q, i, j) * kn_at(Q, i, k);
                for (ptrdiff_t i = 0; i < rows; i++)
                    if (k < j)
                        kn_col(Q, j)[i] -= s * kn_at(Q, i, k);
                    else
                        kn_col(Q, j)[i] /= sqrt(s);
            }
        }
    return Q;
}
