/* The low-rank Kronecker sum: signal and noise covariances between responses of a few columns each
 *                                                                                    [METHOD 1h]
 *     vec(Y) ~ N(0, C (x) R + S (x) O)      C = Psi^1/2 (GG' + gamma I) Psi^1/2     G T x P
 *                                           S = Psi^1/2 (I + HH') Psi^1/2           H T x Q
 *     [G H] = V K  (thin QR, k columns)     Yw = Y Psi^-1/2     Z = Yw V
 *     C_k = K_G K_G' + gamma I     S_k = I + K_H K_H'     W'S_k W = I,  W'C_k W = diag(c)
 *
 * W_R = U takes R and O apart, U'OU = I, U'RU = diag(r); R = R0 + iso I, whose iso is one more
 * parameter. Directions outside a U of low rank have r = iso; O = I then. Nothing is T x T: two
 * readings of Y, 6 N T k flops, for a value with its gradients. */
#ifndef KN_GP_METHODS_MTGPR_LOWRANK_SUM_H
#define KN_GP_METHODS_MTGPR_LOWRANK_SUM_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"

typedef struct kn_lowrank_sum_samples {
    kn_mat U;        /* N x m, lent */
    const double *r; /* m, lent: of R0, without iso */
    bool omega;      /* O is not the identity; then m = N */
    double log_det;  /* ln|O| */
} kn_lowrank_sum_samples;

typedef struct kn_lowrank_sum_point {
    kn_mat G, H; /* T x P, T x Q; H without columns: none */
    double *psi; /* T */
    double gamma, iso;
} kn_lowrank_sum_point;

typedef struct kn_lowrank_sum {
    kn_lowrank_sum_samples s;
    kn_responses Y;
    const double *mu; /* T, lent: what is taken off Y; NULL: nothing */
    ptrdiff_t N, T, P, Q, m, k;
    double *y2;     /* T      y_j'O^-1 y_j */
    kn_mat squares; /* m x T  (U'y_j).^2, for gamma; none: gamma is 0 */
    /* where it was evaluated last: */
    double gamma, iso;
    kn_mat V;         /* T x k */
    kn_mat K;         /* k x (P + Q) */
    kn_mat W, SW;     /* k x k   W, S_k W = W^-T */
    double *c;        /* k, descending */
    double log_det_S; /* ln|S_k| */
    kn_mat Z, UZ, A;  /* N x k, m x k, m x k:  U'Z,  U'Z W */
    kn_mat M;         /* m x k   A ./ L */
    kn_mat Zo, Mo;    /* N x k   Z - UU'Z, and that times W over 1 + iso c; none: m = N */
    double *l0, *e;   /* m       gamma r + 1, energy outside V */
    double l0_out, e_out;
    kn_mat scaled; /* T x k  work */
} kn_lowrank_sum;

/* gamma: may it be other than 0? One reading of Y; m x T doubles stay then. */
kn_status kn_lowrank_sum_new(kn_ctx *ctx, const kn_lowrank_sum_samples *s, const kn_responses *Y,
                             const double *mu, const ptrdiff_t columns[2], bool gamma,
                             kn_lowrank_sum *out);
void kn_lowrank_sum_clear(kn_lowrank_sum *w);

/* An evaluation is not cancelled half way: who asks for many looks in between. */
kn_status kn_lowrank_sum_value(kn_ctx *ctx, kn_lowrank_sum *w, const kn_lowrank_sum_point *at,
                               double *lml);

/* loadings T x k = Psi^1/2 V S_k W, or without Psi where psi is NULL */
void kn_lowrank_sum_loadings(kn_ctx *ctx, const kn_lowrank_sum *w, const double *psi,
                             kn_mat loadings);
/* T  what of each response is outside V: 1 - |row j of V|^2 */
void kn_lowrank_sum_outside(const kn_lowrank_sum *w, double *outside);

/* Leaves what it holds, over s->N samples of rank s->M and k columns, with or without squares;
 * evaluating passes, which it has declared. */
void kn_lowrank_sum_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t k, bool gamma);
void kn_lowrank_sum_evaluating_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t k);

#endif
