/* Likelihood of MT-Kronsum: full covariances of the responses for signal (C) and noise (S)
 * [METHOD 1g].
 *
 *     vec(Y) ~ N(0, C (x) R0 + S (x) O)      C, S  T x T, C may be singular      O = I + tau G
 *     W'S W = I  W'C W = diag(c)  Q = S W     U'O U = I  U'R0 U = diag(r)
 *     A = U'Y W     k_np = r_n c_p + 1        V = A ./ k
 *     LML = -1/2 [NT ln 2pi + sum ln k + N ln|S| + T ln|O| + sum A.*V]
 *
 * Directions outside the m columns of U have r = 0 and k = 1: they enter by E = Y'O^-1 Y -
 * (U'Y)'(U'Y). An evaluation is dpotrf, 2 trsm and dsyevd at T, 6 m T^2 flops, and 4 T^3 with E. */
#ifndef KN_GP_METHODS_KRONSUM_LIKELIHOOD_H
#define KN_GP_METHODS_KRONSUM_LIKELIHOOD_H

#include "base/matrix.h"
#include "base/memory/plan.h"

typedef struct kn_kronsum_data { /* responses in the coordinates of U; borrowed */
    ptrdiff_t N, T;
    kn_mat A;        /* m x T   U'Y */
    const double *r; /* m  eigenvalues */
    kn_mat E;        /* T x T   energy outside U; none: U is complete */
    double log_det;  /* ln|O| */
} kn_kronsum_data;

typedef struct kn_kronsum { /* likelihood at the last C and S */
    ptrdiff_t T;
    kn_mat W, Q;     /* T x T */
    double *c;       /* T  ascending */
    double log_det;  /* ln|S| */
    kn_mat V, F;     /* m x T   V and diag(r)^1/2 V */
    kn_mat MC, MS;   /* T x T   F'F; V'V + W'E W */
    double *b, *e;   /* T  sum_n r_n/k, sum_n 1/k over all N */
    kn_mat one, two; /* T x T  work space */
    double lml;
} kn_kronsum;

/* Allocates for T responses and m directions. */
kn_status kn_kronsum_new(kn_ctx *ctx, ptrdiff_t T, ptrdiff_t m, kn_kronsum *out);
/* Frees all arrays. */
void kn_kronsum_clear(kn_kronsum *k);
/* Reallocates V and F for another m: the rank of R0 after rounding depends on O. */
kn_status kn_kronsum_rows(kn_ctx *ctx, ptrdiff_t m, kn_kronsum *k);

/* Evaluates all fields of *k at C and S (lower triangles, unchanged). S must be positive definite.
 */
kn_status kn_kronsum_at(kn_ctx *ctx, const kn_kronsum_data *data, kn_mat C, kn_mat S,
                        kn_kronsum *k);

/* Computes G_C = 1/2 W (F'F - diag b) W' and G_S = 1/2 W (V'V + W'E W - diag e) W', derivatives by
 * all entries of C and S. */
void kn_kronsum_gradient(kn_ctx *ctx, kn_kronsum *k, kn_mat GC, kn_mat GS);

/* One EM step at fixed R0 and O, which never lowers the likelihood or, with nu > 0, likelihood plus
 * log prior, -nu/2 [ln|C| + tr C^-1 C0 + ln|S| + tr S^-1 S0]:
 *     C <- (Q [diag(c) F'F diag(c) + diag(sum c/k)] Q' + nu C0)/(m + nu)      over r_n > 0
 *     S <- (Q [V'V + W'E W + diag(sum (1 - 1/k))] Q' + nu S0)/(N + nu)
 * m counts only rows with signal, and is returned: the others carry no information on C, and
 * counting them, as in the textbook, would hold C back by their share. C and S are overwritten. */
typedef struct kn_kronsum_prior {
    double nu;     /* 0: none */
    kn_mat C0, S0; /* T x T, both triangles */
} kn_kronsum_prior;
ptrdiff_t kn_kronsum_em(kn_ctx *ctx, const kn_kronsum_data *data, const kn_kronsum_prior *prior,
                        kn_kronsum *k, kn_mat C, kn_mat S);

/* Returns the log prior up to a constant; adds its derivatives to GC and GS unless they are NULL. C
 * must be positive definite if nu > 0. */
double kn_kronsum_log_prior(kn_ctx *ctx, const kn_kronsum_prior *prior, kn_kronsum *k, kn_mat *GC,
                            kn_mat *GS);

/* Computes the factors of G_R = 1/2 U (M M' - diag w) U' for kn_decomp_contract or, with `noise`,
 * of G_O. M m x T, w m. */
void kn_kronsum_outer(const kn_kronsum_data *data, const kn_kronsum *k, bool noise, kn_mat M,
                      double *w);

/* Raises eigenvalues of S below `floor` to it, which is the maximum of an EM step under the bound S
 * >= floor I. *floored is set to true if there are any. work T x T. */
kn_status kn_kronsum_floor(kn_ctx *ctx, kn_mat S, double floor, kn_mat work, bool *floored);

void kn_kronsum_need(kn_mem_plan *r, ptrdiff_t T, ptrdiff_t m); /* keeps *k; an evaluation is
                                                                 * temporary */

#endif
