/* Likelihood of the low-rank Kronecker sum: signal and noise covariance between responses have few
 * factors each [METHOD 1h].
 *
 *     vec(Y) ~ N(0, C (x) R + S (x) O)      C = Psi^1/2 (GG' + gamma I) Psi^1/2     G T x P
 *                                           S = Psi^1/2 (I + HH') Psi^1/2           H T x Q
 *     [G H] = V K  (thin QR, k columns)     Yw = Y Psi^-1/2     Z = Yw V
 *     C_k = K_G K_G' + gamma I     S_k = I + K_H K_H'     W'S_k W = I,  W'C_k W = diag(c)
 *
 * W_R = U diagonalises R and O: U'OU = I, U'RU = diag(r); R = R0 + iso I, where iso is a parameter.
 * Directions outside a U of low rank have r = iso, and then O = I. No matrix is T x T: a value with
 * its gradients takes two passes over Y and 6 N T k flops. */
#ifndef KN_GP_METHODS_MTGPR_LOWRANK_SUM_H
#define KN_GP_METHODS_MTGPR_LOWRANK_SUM_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"

typedef struct kn_lowrank_sum_samples {
    kn_mat U;        /* N x m, borrowed */
    const double *r; /* m, borrowed: eigenvalues of R0, without iso */
    bool omega;      /* O is not the identity; then m = N */
    double log_det;  /* ln|O| */
} kn_lowrank_sum_samples;

/* Parameters. */
typedef struct kn_lowrank_sum_point {
    kn_mat G, H; /* T x P, T x Q; H without columns: no noise factors */
    double *psi; /* T */
    double gamma, iso;
} kn_lowrank_sum_point;

typedef struct kn_lowrank_sum {
    kn_lowrank_sum_samples s;
    kn_responses Y;   /* N x T, borrowed */
    const double *mu; /* T, borrowed: subtracted from Y; NULL: 0 */
    ptrdiff_t N, T, P, Q, m, k;
    double *y2;     /* T      y_j'O^-1 y_j */
    kn_mat squares; /* m x T  (U'y_j).^2, for gamma; none: gamma is 0 */
    /* At the last point: */
    double gamma, iso;
    kn_mat V;             /* T x k */
    kn_mat K;             /* k x (P + Q) */
    kn_mat W, SW;         /* k x k   W, S_k W = W^-T */
    double *c;            /* k, descending */
    double log_det_S;     /* ln|S_k| */
    kn_mat Z, UZ, A;      /* N x k, m x k, m x k:  U'Z,  U'Z W */
    kn_mat M;             /* m x k   A ./ L */
    kn_mat Zo, Mo;        /* N x k   Z - UU'Z, and that times W over 1 + iso c; none: m = N */
    double *l0, *e;       /* m       gamma r + 1; energy outside V */
    double l0_out, e_out; /* the same in the directions outside U */
    kn_mat scaled;        /* T x k  work space */
} kn_lowrank_sum;

/* Allocates and reads Y once. columns = {P, Q}. gamma: may it differ from 0? If so m x T doubles
 * are kept. s->U, s->r, Y and mu are borrowed. */
kn_status kn_lowrank_sum_new(kn_ctx *ctx, const kn_lowrank_sum_samples *s, const kn_responses *Y,
                             const double *mu, const ptrdiff_t columns[2], bool gamma,
                             kn_lowrank_sum *out);
/* Frees all arrays. */
void kn_lowrank_sum_clear(kn_lowrank_sum *w);

/* Evaluates *lml at a point. Cannot be cancelled; callers check between evaluations. */
kn_status kn_lowrank_sum_value(kn_ctx *ctx, kn_lowrank_sum *w, const kn_lowrank_sum_point *at,
                               double *lml);

/* Computes loadings (T x k) = Psi^1/2 V S_k W; psi NULL: without Psi^1/2. */
void kn_lowrank_sum_loadings(kn_ctx *ctx, const kn_lowrank_sum *w, const double *psi,
                             kn_mat loadings);
/* Computes 1 - |row j of V|^2 (T), the weight of the complement in each response. */
void kn_lowrank_sum_outside(const kn_lowrank_sum *w, double *outside);

/* Memory plan for s->N participants, rank s->M and k columns, with or without squares: keeps the
 * arrays and declares an evaluation, which is temporary. */
void kn_lowrank_sum_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t k, bool gamma);
/* Memory plan of one evaluation with gradient or EM step; temporary. */
void kn_lowrank_sum_evaluating_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t k);

#endif
