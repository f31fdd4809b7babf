/* Inside a deviance fit: what two passes over the responses gather (deviance_pass.c) and what is
 * made of it (deviance_fit.c). The formulas are in deviance.h [METHOD 8b].
 *
 * Pass 1 makes G = zz'. For the training rows of a fold z_tr = V S Q' (n x T):
 *
 *     G_tr,tr = V S^2 V'     C = z_tr' V = Q S     lam = S^2/n
 *     psi_j(K) = (sum_i z_ij^2 - sum_{k<K} C_jk^2) / (n - K)
 *
 * Pass 2 has each block's rows of C for every fold, and with them, for each K of the ladder, its
 * share of C' Psi^-1 C, z_te Psi^-1 C, sum z_te^2/psi, sum C^2 psi, sum ln psi. Rows are put in
 * order of fold, so that a fold's held-out rows are contiguous and its training rows two pieces. */
#ifndef KN_NORM_DEVIANCE_PASSES_H
#define KN_NORM_DEVIANCE_PASSES_H

#include "base/sum/reduce.h"
#include "norm/deviance/fit.h"

typedef struct kn_deviance_fold { /* a fold; or, with no held-out rows, the whole sample */
    ptrdiff_t first, count;       /* held-out rows, in fold order */
    ptrdiff_t n;                  /* training rows */
    double *s2;                   /* Kmax eigenvalues of the Gram matrix, descending */
    double floor;                 /* of psi */
    /* one of each for every K of the ladder, once all is gathered */
    kn_mat H[KN_DEVIANCE_LADDER];       /* K x K: C' Psi^-1 C, lower triangle */
    kn_mat A[KN_DEVIANCE_LADDER];       /* held-out x K: z_te Psi^-1 C */
    kn_mat own;                         /* Kmax x stages: sum_j C_jk^2 psi_j */
    kn_mat q;                           /* held-out x stages: sum_j z^2/psi */
    double log_psi[KN_DEVIANCE_LADDER]; /* sum_j ln psi_j */
} kn_deviance_fold;

/* What pass 2 gathers, as exact sums: matrices of all stages of all folds one after the other. */
typedef enum kn_gathered {
    KN_GATHER_H,
    KN_GATHER_A,
    KN_GATHER_OWN,
    KN_GATHER_Q,
    KN_GATHER_LOG,
    KN_GATHERED
} kn_gathered;

struct kn_deviance_fitter {
    ptrdiff_t N, T, Kmax;
    kn_responses Y;  /* the numbering of the T */
    ptrdiff_t block; /* responses of the widest */
    int folds, n_stages;
    bool automatic; /* K is to be chosen */
    ptrdiff_t ladder[KN_DEVIANCE_LADDER];
    ptrdiff_t *order;        /* order[i]: the row of z that comes i-th in fold order */
    kn_deviance_fold *parts; /* folds, then the whole */
    kn_sum sum;              /* zz', lower triangle, rows as they come */
    kn_mat G;                /* that, after pass 1 */
    bool repeated;           /* pass 1, with a larger bound */
    double *ss;              /* T: sum of squares of each response over all rows */
    kn_mat Q;                /* T x Kmax: C of the whole sample */
    kn_mat fold_ss;          /* block x folds: sums of squares within each fold */
    bool single;             /* products in single precision, sums over blocks in double */
    int workers;
    kn_exact_sum gathered[KN_GATHERED];
    void *space; /* of deviance_pass.c */
};

kn_status kn_deviance_pass_new(kn_ctx *ctx, kn_deviance_fitter *f);
/* `most`: held-out rows of a fold; and the part of it that pass_gram_end gives back. */
void kn_deviance_pass_need(kn_mem_plan *r, const kn_deviance_fitter *f, ptrdiff_t most);
void kn_deviance_pass_gram_need(kn_mem_plan *r, const kn_deviance_fitter *f);
void kn_deviance_pass_free(kn_deviance_fitter *f);
void kn_deviance_pass_gram(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z);
void kn_deviance_pass_gram_end(kn_deviance_fitter *f); /* gives its memory back */
void kn_deviance_pass_vectors(kn_deviance_fitter *f, int part, kn_mat V); /* n x Kmax, copied */
/* Those of rank root to all. Collective. */
kn_status kn_deviance_pass_share(kn_ctx *ctx, kn_deviance_fitter *f, int part, int root);
kn_status kn_deviance_pass_gather(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z);

#endif
