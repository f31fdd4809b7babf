/* Participants for whitened noise, and the dense Gaussian of all their responses. */
#ifndef KN_TEST_WHITENEDS_H
#define KN_TEST_WHITENEDS_H

#include "support/covs.h"
#include "support/views.h"
#include "support/with_context.h"

#include "base/random.h"

typedef struct given {
    kn_mat X, Y, Xs, B;
    const double *psi, *c, *d; /* T; P + 1: the complement last */
    double rho, length;
} given;

/* Noise and signal of all responses: Psi^1/2 [B diag(x) B' + x0 (I - BB')] Psi^1/2 */
static inline kn_mat spread(kn_mat B, const double *psi, const double *x)
{
    ptrdiff_t T = B.rows, P = B.cols;
    kn_mat S = ref_new(T, T);
    for (ptrdiff_t a = 0; a < T; a++)
        for (ptrdiff_t b = 0; b < T; b++) {
            double sum = a == b && P < T ? x[P] : 0;
            for (ptrdiff_t p = 0; p < P; p++)
                sum += kn_at(B, a, p) * kn_at(B, b, p) * (x[p] - (P < T ? x[P] : 0));
            kn_col(S, a)[b] = sum * sqrt(psi[a] * psi[b]);
        }
    return S;
}

/* (1-rho) XX'/F + rho SE */
static inline kn_mat covariance(kn_mat X, kn_mat Y, double rho, double length)
{
    kn_mat R = ref_new(X.rows, Y.rows);
    for (ptrdiff_t i = 0; i < X.rows; i++)
        for (ptrdiff_t j = 0; j < Y.rows; j++) {
            double dot = 0, far = 0;
            for (ptrdiff_t f = 0; f < X.cols; f++) {
                double x = kn_at(X, i, f), y = kn_at(Y, j, f);
                dot += x * y;
                far += (x - y) * (x - y);
            }
            kn_col(R, j)[i] =
                (1 - rho) * dot / (double)X.cols + rho * exp(-0.5 * far / (length * length));
        }
    return R;
}

/* LML of Y; mean and variance, without noise, of Xs (n x T each, or none). */
static inline double truth(const given *g, kn_mat mean, kn_mat var)
{
    ptrdiff_t N = g->Y.rows, T = g->Y.cols, n = g->Xs.rows;
    kn_mat C = spread(g->B, g->psi, g->c), S = spread(g->B, g->psi, g->d);
    kn_mat R = covariance(g->X, g->X, g->rho, g->length);
    kn_mat Rs = covariance(g->Xs, g->X, g->rho, g->length);
    kn_mat I = ref_new(N, N), K = ref_kron(C, R), E, Ks = ref_kron(C, Rs);
    double *kss = calloc((size_t)(n * T), sizeof *kss);
    for (ptrdiff_t i = 0; i < N; i++)
        kn_col(I, i)[i] = 1;
    E = ref_kron(S, I);
    for (ptrdiff_t k = 0; k < K.rows * K.cols; k++)
        K.data[k] += E.data[k];
    for (ptrdiff_t i = 0; i < n; i++) {
        kn_mat x = kn_sub(g->Xs, i, 0, 1, g->Xs.cols), own = ref_new(1, g->Xs.cols);
        for (ptrdiff_t f = 0; f < x.cols; f++)
            own.data[f] = kn_at(x, 0, f);
        kn_mat self = covariance(own, own, g->rho, g->length);
        for (ptrdiff_t j = 0; j < T; j++)
            kss[j * n + i] = kn_at(C, j, j) * self.data[0];
        free(own.data), free(self.data);
    }
    double lml = ref_gp(K, g->Y.data, Ks, kss, mean.data, var.data);
    free(C.data), free(S.data), free(R.data), free(Rs.data), free(I.data), free(K.data);
    free(E.data), free(Ks.data), free(kss);
    return lml;
}

/* How far means of Xs may be from the dense Gaussian's: D0 is rounded to float32, and directions
 * with a share of signal of at most 2^-48 are left out. With D the whitened responses outside B, r*
 * the covariances with training and w_n = c0/(c0 r_n + d0), the mean is the sum of (r*'u_n) w_n
 * D_nj over N directions. Since sum (r*'u_n)^2 w_n <= R** and (r*'u_n)^2 <= r_n R**, rounding
 * changes it by at most 2^-24 h and leaving out by at most 2^-24 sqrt(N) h, h = sqrt(c0 R** /d0)
 * |D_j|. The rest is computed in double precision. Relative to 1: ref_difference divides by no
 * less. */
static inline double float_rounding(const given *g)
{
    ptrdiff_t N = g->Y.rows, T = g->Y.cols, P = g->B.cols;
    double largest = 0, prior = 0;
    if (P == T)
        return 1e-10;
    kn_mat Yw = ref_new(N, T);
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(Yw, j)[i] = kn_at(g->Y, i, j) / sqrt(g->psi[j]);
    kn_mat Z = ref_mul(0, Yw, 0, g->B), inside = ref_mul(0, Z, 1, g->B);
    for (ptrdiff_t j = 0; j < T; j++) {
        double energy = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            energy += pow(kn_at(Yw, i, j) - kn_at(inside, i, j), 2) * g->psi[j];
        largest = fmax(largest, energy);
    }
    kn_mat R = covariance(g->Xs, g->Xs, g->rho, g->length);
    for (ptrdiff_t i = 0; i < R.rows; i++)
        prior = fmax(prior, kn_at(R, i, i));
    free(Yw.data), free(Z.data), free(inside.data), free(R.data);
    return 1e-10 + 0x1p-24 * (1 + sqrt((double)N)) * sqrt(g->c[P] * prior / g->d[P] * largest);
}

/* Responses that share something, one noisier than the other, of means that are not zero. */
static inline void participants(kn_rng *rng, ptrdiff_t N, ptrdiff_t T, kn_mat *X, kn_mat *Y)
{
    *X = ref_normal(rng, N, 2);
    *Y = ref_normal(rng, N, T);
    for (ptrdiff_t i = 0; i < N; i++) {
        double shared = kn_rng_normal(rng);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(*Y, j)[i] = (0.5 + (double)(j % 3)) * kn_at(*Y, i, j) + shared * cos((double)j) +
                               kn_at(*X, i, 0) * sin((double)j) + 0.5 * kn_at(*X, i, 1);
    }
}

static inline kn_settings settings(int P, int folds)
{
    kn_settings o;
    plain_settings(&o);
    o.noise = KN_NOISE_WHITENED;
    o.components = P;
    o.rho = 0.4;
    o.length = 1.5;
    o.max_evals = 0;
    o.folds = folds;
    return o;
}

#endif
