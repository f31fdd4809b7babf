#include "ref/deviance.h"

#include <math.h>
#include <stdlib.h>

#include "ref/ref.h"

static void rotate(kn_mat A, kn_mat U, ptrdiff_t p, ptrdiff_t q)
{
    double apq = kn_at(A, p, q);
    if (apq == 0)
        return;
    double theta = (kn_at(A, q, q) - kn_at(A, p, p)) / (2 * apq);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (ptrdiff_t i = 0; i < A.rows; i++) {
        double a = kn_at(A, i, p), b = kn_at(A, i, q), u = kn_at(U, i, p), v = kn_at(U, i, q);
        kn_col(A, p)[i] = c * a - s * b;
        kn_col(A, q)[i] = s * a + c * b;
        kn_col(U, p)[i] = c * u - s * v;
        kn_col(U, q)[i] = s * u + c * v;
    }
    for (ptrdiff_t i = 0; i < A.rows; i++) {
        double a = kn_at(A, p, i), b = kn_at(A, q, i);
        kn_col(A, i)[p] = c * a - s * b;
        kn_col(A, i)[q] = s * a + c * b;
    }
}

void ref_eig(kn_mat A, double *w)
{
    ptrdiff_t n = A.rows;
    kn_mat U = ref_new(n, n);
    for (ptrdiff_t i = 0; i < n; i++)
        kn_col(U, i)[i] = 1;
    for (int sweep = 0; sweep < 30; sweep++)
        for (ptrdiff_t p = 0; p < n; p++)
            for (ptrdiff_t q = p + 1; q < n; q++)
                rotate(A, U, p, q);
    for (ptrdiff_t i = 0; i < n; i++)
        w[i] = kn_at(A, i, i);
    for (ptrdiff_t k = 0; k < n; k++) { /* by size, the plain way */
        ptrdiff_t limit = k;
        for (ptrdiff_t l = k + 1; l < n; l++)
            if (w[l] > w[limit])
                limit = l;
        double t = w[k];
        w[k] = w[limit];
        w[limit] = t;
        for (ptrdiff_t i = 0; i < n; i++) {
            t = kn_at(U, i, k);
            kn_col(U, k)[i] = kn_at(U, i, limit);
            kn_col(U, limit)[i] = t;
        }
    }
    for (ptrdiff_t i = 0; i < n * n; i++)
        A.data[i] = U.data[i];
    free(U.data);
}

kn_mat ref_deviance_sigma(kn_mat z, const int *use, ptrdiff_t K, double *psi, double *lam)
{
    ptrdiff_t T = z.cols, n = 0;
    double total = 0, *w = calloc((size_t)T, sizeof *w);
    for (ptrdiff_t i = 0; i < z.rows; i++)
        n += use[i] != 0;
    kn_mat S = ref_new(T, T), Sigma = ref_new(T, T);
    for (ptrdiff_t a = 0; a < T; a++)
        for (ptrdiff_t b = 0; b < T; b++)
            for (ptrdiff_t i = 0; i < z.rows; i++)
                if (use[i])
                    kn_col(S, b)[a] += kn_at(z, i, a) * kn_at(z, i, b) / (double)n;
    for (ptrdiff_t j = 0; j < T; j++)
        total += kn_at(S, j, j);
    kn_mat U = ref_new(T, T);
    for (ptrdiff_t i = 0; i < T * T; i++)
        U.data[i] = S.data[i];
    ref_eig(U, w);
    for (ptrdiff_t j = 0; j < T; j++) { /* residuals z - z QQ', one by one */
        double ss = 0;
        for (ptrdiff_t i = 0; i < z.rows; i++) {
            double r = kn_at(z, i, j);
            for (ptrdiff_t k = 0; k < K; k++) {
                double score = 0;
                for (ptrdiff_t l = 0; l < T; l++)
                    score += kn_at(z, i, l) * kn_at(U, l, k);
                r -= score * kn_at(U, j, k);
            }
            ss += use[i] ? r * r : 0;
        }
        psi[j] = fmax(ss / (double)(n - K), 1e-6 * total / (double)T);
        kn_col(Sigma, j)[j] = psi[j];
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        double w2 = lam[k] = w[k];
        for (ptrdiff_t j = 0; j < T; j++)
            w2 -= kn_at(U, j, k) * kn_at(U, j, k) * psi[j];
        for (ptrdiff_t a = 0; a < T; a++)
            for (ptrdiff_t b = 0; b < T; b++)
                kn_col(Sigma, b)[a] += fmax(w2, 0) * kn_at(U, a, k) * kn_at(U, b, k);
    }
    free(w), free(S.data), free(U.data);
    return Sigma;
}

double ref_deviance(kn_mat Sigma, kn_mat z, ptrdiff_t i)
{
    ptrdiff_t T = z.cols, n = 0, *J = calloc((size_t)T, sizeof *J);
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(kn_at(z, i, j)))
            J[n++] = j;
    double dev = NAN;
    if (2 * n >= T) {
        kn_mat S = ref_new(n, n), x = ref_new(n, 1);
        for (ptrdiff_t a = 0; a < n; a++) {
            x.data[a] = kn_at(z, i, J[a]);
            for (ptrdiff_t b = 0; b < n; b++)
                kn_col(S, b)[a] = kn_at(Sigma, J[a], J[b]);
        }
        ref_solve(S, x);
        dev = 0;
        for (ptrdiff_t a = 0; a < n; a++)
            dev += x.data[a] * kn_at(z, i, J[a]) * (double)T / (double)n;
        free(S.data), free(x.data);
    }
    free(J);
    return dev;
}

double ref_deviance_density(kn_mat Sigma, kn_mat z, ptrdiff_t i)
{
    kn_mat S = ref_new(z.cols, z.cols), x = ref_new(z.cols, 1);
    for (ptrdiff_t k = 0; k < z.cols * z.cols; k++)
        S.data[k] = Sigma.data[k];
    for (ptrdiff_t j = 0; j < z.cols; j++)
        x.data[j] = kn_at(z, i, j);
    double density = ref_log_density(S, x.data);
    free(S.data), free(x.data);
    return density;
}
