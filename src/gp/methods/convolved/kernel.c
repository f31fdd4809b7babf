/* Covariances of convolved processes [METHOD 1i].
 *
 *     g(a, b, x, x') = [2 sqrt(ab)/(a+b)]^(F/2) exp(-|x-x'|^2/(2(a+b)))
 *     cov(f_t(x), f_v(x')) = sum_q S_tq S_vq g(tau_tq, tau_vq)
 *     cov(f_t(x), u_q(z))  = S_tq g(tau_tq, nu_q)        cov(u_q(z), u_q(z')) = g(nu_q, nu_q)
 *
 * Widths are squared, of smoothing kernels of unit norm, so that g(a, a, x, x) = 1 and the variance
 * of task t is k_t = sum_q S_tq^2. All tasks are observed at the same N participants, and all
 * latent processes have the same M inducing inputs; m = QM, with those of q in columns qM .. qM + M
 * - 1. */
#include "gp/methods/convolved/internal.h"

#include <math.h>

#include "la/vec.h"

kn_status kn_conv_new(kn_ctx *ctx, ptrdiff_t T, ptrdiff_t Q, ptrdiff_t M, ptrdiff_t F, kn_conv *out)
{
    kn_status status;
    *out = (kn_conv){.T = T, .Q = Q, .M = M, .F = F};
    KN_TRY(kn_mat_new(ctx, T, Q, &out->S));
    KN_TRY(kn_mat_new(ctx, T, Q, &out->tau));
    KN_TRY(kn_alloc_d(ctx, Q, &out->nu));
    KN_TRY(kn_alloc_d(ctx, T, &out->s2));
out:
    if (status != KN_OK)
        kn_conv_clear(out);
    return status;
}

void kn_conv_clear(kn_conv *c)
{
    kn_mat_clear(&c->S);
    kn_mat_clear(&c->tau);
    kn_free(c->nu);
    kn_free(c->s2);
    *c = (kn_conv){0};
}

double kn_conv_variance(const kn_conv *c, ptrdiff_t t)
{
    double k = 0;
    for (ptrdiff_t q = 0; q < c->Q; q++)
        k += kn_at(c->S, t, q) * kn_at(c->S, t, q);
    return k;
}

void kn_conv_distances(kn_mat A, kn_mat B, kn_mat D2)
{
    kn_mat_zero(D2);
    for (ptrdiff_t j = 0; j < B.rows; j++)
        for (ptrdiff_t f = 0; f < A.cols; f++)
            kn_vec_add_sqdiff(A.rows, kn_col(A, f), kn_at(B, j, f), kn_col(D2, j));
}

/* Returns [2 sqrt(ab)/(a+b)]^(F/2), the height of the covariance of two smoothed processes with
 * squared widths a and b over F covariates. */
static double compute_height(ptrdiff_t F, double a, double b)
{
    return pow(2 * sqrt(a * b) / (a + b), 0.5 * (double)F);
}

/* Adds scale times the covariance g of two processes with squared widths a and b to K (n x n'),
 * from squared distances D2 over F covariates. */
static void add_bumps(ptrdiff_t F, double a, double b, double scale, kn_mat D2, kn_mat K)
{
    for (ptrdiff_t j = 0; j < K.cols; j++)
        kn_vec_add_exp(K.rows, kn_col(D2, j), 2 * (a + b), scale * compute_height(F, a, b),
                       kn_col(K, j));
}

void kn_conv_cross(const kn_conv *c, ptrdiff_t t, kn_mat fu, kn_mat K)
{
    kn_mat_zero(K);
    for (ptrdiff_t q = 0; q < c->Q; q++)
        add_bumps(c->F, kn_at(c->tau, t, q), c->nu[q], kn_at(c->S, t, q), fu,
                  kn_cols(K, q * c->M, c->M));
}

void kn_conv_inducing(const kn_conv *c, kn_mat uu, kn_mat K)
{
    kn_mat_zero(K);
    for (ptrdiff_t q = 0; q < c->Q; q++)
        add_bumps(c->F, c->nu[q], c->nu[q], 1, uu, kn_sub(K, q * c->M, q * c->M, c->M, c->M));
    for (ptrdiff_t i = 0; i < K.rows; i++)
        kn_col(K, i)[i] += c->jitter;
}

void kn_conv_between(const kn_conv *c, ptrdiff_t t, ptrdiff_t v, kn_mat ff, kn_mat K)
{
    kn_mat_zero(K);
    for (ptrdiff_t q = 0; q < c->Q; q++)
        add_bumps(c->F, kn_at(c->tau, t, q), kn_at(c->tau, v, q),
                  kn_at(c->S, t, q) * kn_at(c->S, v, q), ff, K);
}

/* sum dK .* g(a, b), and its derivatives by ln a and ln b:
 *     dg/dln a = a g [F/2 (1/(2a) - 1/(a+b)) + d2/(2(a+b)^2)] */
typedef struct slopes {
    double g, a, b;
} slopes;

/* Returns sum dK .* g(a, b) and its derivatives by ln a and ln b, for squared widths a and b
 * over F covariates; D2 (squared distances) and dK are n x n'. */
static slopes contract_bumps(ptrdiff_t F, double a, double b, kn_mat D2, kn_mat dK)
{
    double sum = 0, sum_x = 0, two = 2 * (a + b), top = compute_height(F, a, b);
    for (ptrdiff_t j = 0; j < dK.cols; j++) {
        double s, x;
        kn_vec_dot_exp(dK.rows, kn_col(dK, j), kn_col(D2, j), two, &s, &x);
        sum += s;
        sum_x += x;
    }
    sum *= top;
    sum_x *= top / (0.5 * two * two);
    double half = 0.5 * (double)F;
    return (slopes){sum, a * (half * (0.5 / a - 2 / two) * sum + sum_x),
                    b * (half * (0.5 / b - 2 / two) * sum + sum_x)};
}

void kn_conv_cross_gradient(const kn_conv *c, ptrdiff_t t, kn_mat fu, kn_mat dK, kn_conv *g)
{
    for (ptrdiff_t q = 0; q < c->Q; q++) {
        double S = kn_at(c->S, t, q);
        slopes s =
            contract_bumps(c->F, kn_at(c->tau, t, q), c->nu[q], fu, kn_cols(dK, q * c->M, c->M));
        kn_col(g->S, q)[t] += s.g;
        kn_col(g->tau, q)[t] += S * s.a;
        g->nu[q] += S * s.b;
    }
}

void kn_conv_inducing_gradient(const kn_conv *c, kn_mat uu, kn_mat dK, kn_conv *g)
{
    for (ptrdiff_t q = 0; q < c->Q; q++) {
        slopes s = contract_bumps(c->F, c->nu[q], c->nu[q], uu,
                                  kn_sub(dK, q * c->M, q * c->M, c->M, c->M));
        g->nu[q] += s.a + s.b;
    }
}

void kn_conv_between_gradient(const kn_conv *c, ptrdiff_t t, ptrdiff_t v, kn_mat ff, kn_mat dK,
                              kn_conv *g)
{
    for (ptrdiff_t q = 0; q < c->Q; q++) {
        double St = kn_at(c->S, t, q), Sv = kn_at(c->S, v, q);
        slopes s = contract_bumps(c->F, kn_at(c->tau, t, q), kn_at(c->tau, v, q), ff, dK);
        kn_col(g->S, q)[t] += Sv * s.g;
        kn_col(g->S, q)[v] += St * s.g;
        kn_col(g->tau, q)[t] += St * Sv * s.a;
        kn_col(g->tau, q)[v] += St * Sv * s.b;
    }
}
