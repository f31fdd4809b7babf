/* Steps of a deviance fit, which fit.c calls in turn: pass 1 over the responses (passes.c), the
 * eigenproblems (decompose.c), pass 2 (passes.c) and the reduction of its sums (sums.c). The
 * public calls are in fit.h and deviance.h. */
#ifndef KN_NORM_DEVIANCE_INTERNAL_H
#define KN_NORM_DEVIANCE_INTERNAL_H

#include "base/sum/block_sums.h"
#include "norm/deviance/fit.h"

/* Stages that a shortened ladder has at least: K up to 16. */
enum { KN_DEVIANCE_SHORTEST = 6 };

/* ---- passes.c --------------------------------------------------------------------------------
 *
 * Internal state of a deviance fit: what the two passes over the responses gather (passes.c) and
 * what is computed from it (fit.c). The formulas are in deviance.h [METHOD 8b].
 *
 * Pass 1 computes G = zz'. For the training rows of a fold z_tr = V S Q' (n x T):
 *
 *     G_tr,tr = V S^2 V'     C = z_tr' V = Q S     lam = S^2/n
 *     psi_j(K) = (sum_i z_ij^2 - sum_{k<K} C_jk^2) / (n - K)
 *
 * With fewer responses than participants the same follows from T x T problems: pass 1 stores z, and
 *
 *     z_tr'z_tr = z'z - z_te'z_te = Q S^2 Q'      C = Q S, without V
 *
 * Pass 2 computes each block's rows of C for every fold, and from them, for each K of the
 * ladder, the block's contribution to C' Psi^-1 C, z_te Psi^-1 C, sum z_te^2/psi, sum C^2 psi,
 * sum ln psi. Rows are in fold order, so that a fold's held-out rows are contiguous and its
 * training rows are two pieces. */

typedef struct kn_deviance_fold { /* a fold; or, with no held-out rows, the whole sample */
    ptrdiff_t first, count;       /* held-out rows, in fold order */
    ptrdiff_t n;                  /* training rows */
    double *s2;                   /* Kmax eigenvalues of the Gram matrix, descending */
    double floor;                 /* lower bound of psi */
    /* for every K of the ladder, once all sums are gathered */
    kn_mat H[KN_DEVIANCE_LADDER];       /* K x K: C' Psi^-1 C, lower triangle */
    kn_mat A[KN_DEVIANCE_LADDER];       /* held-out x K: z_te Psi^-1 C */
    kn_mat own;                         /* Kmax x stages: sum_j C_jk^2 psi_j */
    kn_mat q;                           /* held-out x stages: sum_j z^2/psi */
    double log_psi[KN_DEVIANCE_LADDER]; /* sum_j ln psi_j */
} kn_deviance_fold;

/* Exact sums that pass 2 gathers: matrices of all stages of all folds, one after the other. */
typedef enum kn_gathered {
    KN_GATHER_H,
    KN_GATHER_A,
    KN_GATHER_OWN,
    KN_GATHER_Q,
    KN_GATHER_LOG,
    KN_GATHERED
} kn_gathered;

struct kn_deviance_fitter {
    ptrdiff_t N, T, Kmax; /* Kmax: the largest K of the first n_stages */
    kn_responses Y;       /* numbering of the T responses */
    ptrdiff_t block;      /* width of the widest block */
    int folds, n_stages;
    int all_stages; /* of the whole ladder; buffers are allocated for it */
    int try_stages; /* given by the caller; 0: by the data */
    bool automatic; /* K is chosen from the ladder */
    bool shortened; /* the ladder has been shortened; if that is too short, it is used whole */
    ptrdiff_t ladder[KN_DEVIANCE_LADDER];
    ptrdiff_t *order;            /* order[i]: row of z at position i of fold order */
    kn_deviance_fold *fold_fits; /* folds, then the whole sample */
    kn_sum sum;                  /* zz', lower triangle, rows in the order of z */
    kn_mat G;          /* its value, after pass 1; until the end if the ladder is shortened */
    bool by_responses; /* T < N: eigenproblems of size T */
    bool zz;           /* by_responses: G is wanted by the caller */
    kn_mat z;          /* N x T  z from pass 1 to the eigenproblems; by_responses only */
    bool repeated;     /* pass 1 was repeated with a larger bound */
    double *ss;        /* T: sum of squares of each response over all rows */
    kn_mat Q;          /* T x Kmax: C of the whole sample */
    kn_mat fold_ss;    /* block x folds: sums of squares within each fold */
    bool single;       /* products in single precision, sums over blocks in double */
    int workers;
    kn_exact_sum gathered[KN_GATHERED];
    void *space; /* buffers of passes.c, in either precision */
};

/* True if the ladder may be shortened: K is chosen from all of it, and eigenproblems are of size N,
 * so that G can be decomposed again. */
static inline bool kn_deviance_may_shorten(const kn_deviance_fitter *f)
{
    return f->automatic && !f->by_responses && f->all_stages == KN_DEVIANCE_LADDER;
}

/* Number of held-out rows of the largest fold. */
ptrdiff_t kn_deviance_largest_fold(const kn_deviance_fitter *f);

/* Allocate the buffers of both passes (f->space). On failure they are partly allocated;
 * kn_deviance_pass_free() frees them. */
kn_status kn_deviance_pass_new(kn_ctx *ctx, kn_deviance_fitter *f);

/* Add to the memory plan r the buffers of both passes; `limit`: held-out rows of the largest
 * fold. */
void kn_deviance_pass_need(kn_mem_plan *r, const kn_deviance_fitter *f, ptrdiff_t limit);

/* Add to the memory plan r the N x N buffer of pass 1, which kn_deviance_pass_gram_end() frees. */
void kn_deviance_pass_gram_need(kn_mem_plan *r, const kn_deviance_fitter *f);

/* Free the buffers of both passes; there may be none. */
void kn_deviance_pass_free(kn_deviance_fitter *f);

/* Pass 1 of a deviance fit: add responses first .. first + z.cols - 1, z (N x count), to the exact
 * sum of zz' and to the sums of squares of the responses. */
void kn_deviance_pass_gram(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z);

/* Free the N x N buffer of pass 1. */
void kn_deviance_pass_gram_end(kn_deviance_fitter *f);

/* Store the eigenvectors V (n x Kmax, copied) of the training rows of a fold (number fold_fit;
 * f->folds is the whole sample); if T < N its C (T x Kmax) instead. */
void kn_deviance_pass_vectors(kn_deviance_fitter *f, int fold_fit, kn_mat V);

/* Broadcast the eigenvectors, or C, of a fold from MPI rank `root`. Collective. */
kn_status kn_deviance_pass_broadcast(kn_ctx *ctx, kn_deviance_fitter *f, int fold_fit, int root);

/* Pass 2 of a deviance fit: add responses first .. first + z.cols - 1, z (N x count), to the sums
 * of every fold, and set their rows of f->Q (T x Kmax). Can be cancelled. */
kn_status kn_deviance_pass_gather(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z);

/* ---- decompose.c -----------------------------------------------------------------------------
 *
 * Eigenproblems between the two passes of a deviance fit: the leading directions of z within the
 * training rows of every part (each fold, and the whole sample), all from the one G = zz'
 * [METHOD 8b].
 *
 *     G_tr,tr = V S^2 V'      n x n, V n x Kmax      floor of psi = 1e-6 tr G_tr,tr / (n T)
 *
 * folds + 1 problems of size n < N, in parallel on threads and distributed over ranks: 4/3 n^3 +
 * 2 n^2 Kmax flops each (la/eig_leading.h); of size T, z_tr'z_tr = Q S^2 Q', where T < N. */

/* Solve the eigenproblem of zz' of every fold's training rows and of the whole sample: eigenvalues
 * s2, lower bound of psi, and vectors, passed on with kn_deviance_pass_vectors(). If the ladder of
 * K may be shortened, the whole sample is decomposed first, and its eigenvalues decide how far.
 * Directions beyond the rank of z are 0. KN_ERR_DATA if all z are 0; KN_ERR_NUMERIC on overflow or
 * without convergence. Collective. */
kn_status kn_deviance_decompose(kn_ctx *ctx, kn_deviance_fitter *f);

/* Add to the memory plan r what kn_deviance_decompose() allocates temporarily. */
void kn_deviance_decompose_need(kn_mem_plan *r, const kn_deviance_fitter *f, int threads);

/* ---- sums.c ----------------------------------------------------------------------------------
 *
 * Exact sums over responses that pass 2 of a deviance fit gathers (see passes.c). They do not
 * depend on the order of blocks or on which rank saw which block. */

/* Allocate the exact sums of pass 2, bounded by the results of pass 1. KN_ERR_MEMORY. */
kn_status kn_gathered_new(kn_ctx *ctx, kn_deviance_fitter *f);
void kn_gathered_clear(kn_deviance_fitter *f);

/* Add to the memory plan r the exact sums of pass 2. */
void kn_gathered_need(kn_mem_plan *r, const kn_deviance_fitter *f);

/* Index of the first entry of one of the exact sums of pass 2 of a deviance fit (`what`), for fold
 * p and candidate number l for K. Its columns have as many entries as the fold has rows in A and q,
 * K in H, and Kmax in own. */
ptrdiff_t kn_gathered_at(const kn_deviance_fitter *f, kn_gathered what, int p, int l);

/* Sum the exact sums of pass 2 of a deviance fit over all MPI ranks into the matrices of the folds,
 * all-gather the rows of C, and free the sums. Collective. */
kn_status kn_gathered_reduce(kn_ctx *ctx, kn_deviance_fitter *f);

#endif
