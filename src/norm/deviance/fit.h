/* The joint deviance fitted to the z maps of normal samples [METHOD 8b]; formulas in deviance.h. */
#ifndef KN_NORM_DEVIANCE_FIT_H
#define KN_NORM_DEVIANCE_FIT_H

#include "base/memory/plan.h"
#include "norm/deviance/deviance.h"

/* Fits to the N x T maps of z with the folds fold[N], numbered 0 .. folds-1, none empty.
 *
 * K: KN_DEVIANCE_AUTO takes from the ladder, as far as K < 0.8 N, K <= T and K < every fold's
 * training size, the smallest with the highest mean held-out log density. A K given is used as it
 * is. ref_i is cross-fitted: sample i has no part in the eigenvectors, lam or psi it is judged by.
 *
 * z is read twice, in blocks. Pass 1 makes zz'; every fold's problem is a part of it. Pass 2 makes
 * each fold's eigenvectors block by block and at once all that depends on them, for every K:
 *
 *     N^2 T  +  2 N K T (folds - 1)  +  4/3 K^2 T folds  +  4 N K T  +  2 N K T     flops, K = 128
 *     zz'       Q of each fold          Q' Psi^-1 Q          Q' Psi^-1 z'  Q of all
 *
 * and folds + 1 eigenproblems of size N. From N (N + 2 folds K) T = 5e9 on these products are
 * taken in single precision and summed over blocks in double, which is twice as fast; deviances are
 * then right to about 1e-5. Memory: T x min(128, 0.8 N) for Q while K is not known. The same bits
 * for any thread count. z must be finite (KN_ERR_DATA names the sample and response). Collective.
 */
kn_status kn_deviance_fit(kn_ctx *ctx, const kn_z_source *z, const int *fold, int folds,
                          ptrdiff_t K, kn_deviance *out);

/* The same fit fed block by block, for a caller who makes several kinds of z at once: _first with
 * every block of responses, _gram, _turn, _second with every block again, _finish. Blocks may come
 * in any order, and each to one rank: sums over them are exact. The bound of zz' is a guess, |z| =
 * 1024 everywhere; where the diagonal turns out larger, _gram asks for every block once `again`.
 * zz: that sum, N x N, lower triangle, the fitter's own and there until _turn. */
typedef struct kn_deviance_fitter kn_deviance_fitter;
typedef enum kn_precision { KN_BY_SIZE, KN_DOUBLE, KN_SINGLE } kn_precision;
typedef struct kn_deviance_shape {
    ptrdiff_t N, T;
    kn_block_loop_plan plan; /* how z will come */
    kn_responses Y;          /* whose z they are: their numbering */
    const int *fold;         /* N */
    int folds;
    ptrdiff_t K;
    kn_precision precision;
} kn_deviance_shape;
kn_status kn_deviance_fitter_new(kn_ctx *ctx, const kn_deviance_shape *shape,
                                 kn_deviance_fitter **out);
void kn_deviance_fitter_free(kn_deviance_fitter *f);
kn_status kn_deviance_first(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z);
/* _gram, _turn and _finish: collective. */
kn_status kn_deviance_gram(kn_ctx *ctx, kn_deviance_fitter *f, bool *again, kn_mat *zz);
kn_status kn_deviance_turn(kn_ctx *ctx, kn_deviance_fitter *f);
kn_status kn_deviance_second(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z);
kn_status kn_deviance_finish(kn_ctx *ctx, kn_deviance_fitter *f, kn_deviance *out);

/* Of n samples in so many folds: a fitter until its _gram; what _gram and _turn let go, take and
 * pass; what _finish takes in addition; what a kn_deviance has in the end, at most. */
typedef struct kn_deviance_sizes {
    ptrdiff_t N, T;
    int folds, threads;
} kn_deviance_sizes;
void kn_deviance_fitter_need(kn_mem_plan *r, const kn_deviance_sizes *s);
void kn_deviance_turn_need(kn_mem_plan *r, const kn_deviance_sizes *s);
void kn_deviance_finish_need(kn_mem_plan *r, const kn_deviance_sizes *s);
void kn_deviance_kept_need(kn_mem_plan *r, const kn_deviance_sizes *s);

#endif
