/* Fits the whole-map deviance to the z maps of the reference sample [METHOD 8b]; formulas in
 * deviance.h. norm/reference/deviance.c calls it at the end of a fit. */
#ifndef KN_NORM_DEVIANCE_FIT_H
#define KN_NORM_DEVIANCE_FIT_H

#include "base/memory/plan.h"
#include "norm/deviance/deviance.h"

/* Fit to the N x T maps of z with the folds fold[N], numbered 0 .. folds-1, none empty.
 *
 * K: KN_DEVIANCE_AUTO chooses the value of the ladder with the highest mean held-out log density
 * (the smallest of equals) among K < 0.8 N, K <= T and K < the training size of every fold. If
 * these are all K of the ladder and T >= N, the ladder is first tried up to twice the number of
 * directions of z that stand out from noise, at least to 16, and whole if the best K is the last.
 * A given K is used unchanged. ref_i is cross-fitted: participant i has no part in the
 * eigenvectors, lam or psi that its deviance is computed with.
 *
 * z is read twice, in blocks. Pass 1 computes zz', which contains the problem of every fold.
 * Pass 2 computes each fold's eigenvectors block by block, and everything that depends on them,
 * for every K:
 *
 *     N^2 T  +  2 N K T (folds - 1)  +  4/3 K^2 T folds  +  4 N K T  +  2 N K T     flops, K = 128
 *     zz'       Q of each fold          Q' Psi^-1 Q          Q' Psi^-1 z'  Q of all
 *
 * (K instead of 128 where the ladder is shortened) and folds + 1 eigenproblems of size min(N, T);
 * with T < N each block's Q is known from these, and z is stored until then. From N (N + 2 folds K)
 * T = 5e9 on these products are taken in single precision and summed over blocks in double, which
 * is twice as fast; deviances are then accurate to about 1e-5. Memory: T x min(128, 0.8 N) for Q
 * until K is chosen. The bits do not depend on the number of threads. z must be finite (KN_ERR_DATA
 * names the participant and response). Collective. */
kn_status kn_deviance_fit(kn_ctx *ctx, const kn_z_source *z, const int *fold, int folds,
                          ptrdiff_t K, kn_deviance *out);

/* The same fit, fed block by block, for a caller that computes several kinds of z at once:
 * _first with every block of responses, _gram, _begin_pass2, _second with every block again,
 * _finish. Blocks may come in any order, and each to one rank: sums over them are exact. zz' is
 * first summed under the assumed bound |z| = 1024; if its diagonal exceeds that, _gram sets
 * `again`, and every block must be passed to _first once more. zz: the sum, N x N, lower triangle,
 * borrowed from the fitter and valid until _begin_pass2; with T < N only if the shape asks for it.
 * If the shortened ladder was too short, _finish sets `again`, and pass 2 must be repeated from
 * _begin_pass2 on. */
typedef struct kn_deviance_fitter kn_deviance_fitter;
typedef enum kn_precision { KN_BY_SIZE, KN_DOUBLE, KN_SINGLE } kn_precision;
typedef struct kn_deviance_shape {
    ptrdiff_t N, T;
    kn_block_loop_plan plan; /* block loop that z will come from */
    kn_responses Y;          /* responses of z, for their block numbering */
    const int *fold;         /* N */
    int folds;
    ptrdiff_t K;            /* components, or KN_DEVIANCE_AUTO */
    kn_precision precision; /* KN_BY_SIZE, except in tests */
    int stages;             /* of the ladder to try first; 0: by the data, except in tests */
    bool zz;                /* the caller wants zz' */
} kn_deviance_shape;

/* Create a fitter of the whole-map deviance, fed block by block. KN_ERR_SHAPE or KN_ERR_ARGUMENT
 * for fewer than 3 participants, 1 response or 2 folds, an empty fold or a K that is too large. */
kn_status kn_deviance_fitter_new(kn_ctx *ctx, const kn_deviance_shape *shape,
                                 kn_deviance_fitter **out);

/* Free a fitter; NULL is allowed. */
void kn_deviance_fitter_free(kn_deviance_fitter *f);

/* Pass 1 of a whole-map deviance fit: add responses first .. first + z.cols - 1, z (N x count).
 * KN_ERR_DATA names a z that is not finite. */
kn_status kn_deviance_first(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z);

/* After pass 1 of the fit: *zz = zz' (N x N, lower triangle, borrowed) summed over MPI ranks.
 * *again: a value exceeded the assumed bound, so pass 1 must be repeated. KN_ERR_NUMERIC on
 * overflow. Collective. */
kn_status kn_deviance_gram(kn_ctx *ctx, kn_deviance_fitter *f, bool *again, kn_mat *zz);

/* After pass 1 of the fit: solve the eigenproblems of all folds, and allocate the sums of pass 2;
 * zz' is freed. KN_ERR_DATA if all z are 0, KN_ERR_NUMERIC without convergence. Collective. */
kn_status kn_deviance_begin_pass2(kn_ctx *ctx, kn_deviance_fitter *f);

/* Pass 2 of the fit: add responses first .. first + z.cols - 1, z (N x count). */
kn_status kn_deviance_second(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z);

/* After pass 2: choose the number of components K by held-out density, compute the reference
 * deviances and the covariance of all participants. Sets *again instead if pass 2 must be repeated.
 * out is owned by the caller. Collective. */
kn_status kn_deviance_finish(kn_ctx *ctx, kn_deviance_fitter *f, bool *again, kn_deviance *out);

/* Sizes for the memory plan. */
typedef struct kn_deviance_sizes {
    ptrdiff_t N, T;
    int folds, threads;
} kn_deviance_sizes;

/* Add to the memory plan r what a fitter of the whole-map deviance holds until
 * kn_deviance_gram(). */
void kn_deviance_fitter_need(kn_mem_plan *r, const kn_deviance_sizes *s);

/* Add to the memory plan r the N x N matrix zz' that kn_deviance_gram() makes, for a caller that
 * stops there. */
void kn_deviance_gram_need(kn_mem_plan *r, const kn_deviance_sizes *s);

/* Add to the memory plan r what kn_deviance_gram() and kn_deviance_begin_pass2() free and
 * allocate. */
void kn_deviance_begin_pass2_need(kn_mem_plan *r, const kn_deviance_sizes *s);

/* Add to the memory plan r what kn_deviance_finish() allocates; at most half of Q is copied. */
void kn_deviance_finish_need(kn_mem_plan *r, const kn_deviance_sizes *s);

/* Add to the memory plan r what a fitted whole-map deviance keeps, at most. */
void kn_deviance_kept_need(kn_mem_plan *r, const kn_deviance_sizes *s);

#endif
