/* Joint deviance: how unusual a whole z map is, given how z of normal samples vary together
 * [METHOD 8b].
 *
 *     z            N x T z maps of normal samples, each predicted without itself
 *     Q  T x K     leading eigenvectors of z'z/N (about 0, not about the mean), lam their values
 *     psi_j        residual sum of squares / (N - K), at least 1e-6 of the mean square of all z
 *     W = Q diag(w),  w_k = max(lam_k - sum_j Q_jk^2 psi_j, 0)^1/2
 *     Sigma = W W' + diag(psi)       M = I + W' Psi^-1 W
 *     dev = z Sigma^-1 z' = sum z^2/psi - a' M^-1 a,  a = W' Psi^-1 z'
 *     ln|Sigma| = sum ln psi + ln|M|
 *
 * The floor of psi is relative to the mean square over all responses, not each its own, so that a
 * response that is zero in every sample still has a positive variance. */
#ifndef KN_STAT_DEVIANCE_H
#define KN_STAT_DEVIANCE_H

#include "stat/zsource.h"

enum { KN_DEVIANCE_LADDER = 9, KN_DEVIANCE_AUTO = -1 }; /* K = 0 1 2 4 8 16 32 64 128 */

typedef struct kn_deviance {
    /* To be kept in a file; everything else follows from these. */
    ptrdiff_t T, K, n_ref;
    kn_mat Q;    /* T x K */
    double *lam; /* K, descending */
    double *psi; /* T */
    double *ref; /* n_ref: deviance of each reference sample under a model made without its fold */
    /* Made by kn_deviance_prepare. */
    double *w;      /* K */
    kn_mat M, L;    /* K x K, lower triangles; M = L L' */
    double *sorted; /* ref, ascending */
    double logdet;  /* ln|Sigma| */
    /* How K was chosen: mean held-out log density per sample; n_ladder = 0 when K was given. */
    int n_ladder;
    ptrdiff_t ladder[KN_DEVIANCE_LADDER];
    double density[KN_DEVIANCE_LADDER];
} kn_deviance;

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
 * and folds + 1 eigenproblems of size N. From N (N + 2 folds K) T = 2e10 on these products are
 * taken in single precision and summed over blocks in double, which is twice as fast; deviances are
 * then right to about 1e-5. Memory: T x min(128, 0.8 N) for Q while K is not known. The same bits
 * for any thread count. z must be finite (KN_ERR_DATA names the sample and response). */
kn_status kn_deviance_fit(kn_ctx *ctx, const kn_z_source *z, const int *fold, int folds,
                          ptrdiff_t K, kn_deviance *out);
void kn_deviance_clear(kn_deviance *d);

/* The same fit fed block by block, for a caller who makes several kinds of z at once: _first with
 * every block of responses, _turn, _second with every block again, _finish. z is N x count, count
 * up to `block`; blocks may come in any order. */
typedef struct kn_deviance_fitter kn_deviance_fitter;
typedef enum kn_precision { KN_BY_SIZE, KN_DOUBLE, KN_SINGLE } kn_precision;
kn_status kn_deviance_fitter_new(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t T, ptrdiff_t block,
                                 const int *fold, int folds, ptrdiff_t K, kn_precision precision,
                                 kn_deviance_fitter **out);
void kn_deviance_fitter_free(kn_deviance_fitter *f);
kn_status kn_deviance_first(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z);
kn_status kn_deviance_turn(kn_ctx *ctx, kn_deviance_fitter *f);
void kn_deviance_second(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z);
kn_status kn_deviance_finish(kn_ctx *ctx, kn_deviance_fitter *f, kn_deviance *out);

/* For a deviance read from a file: T, K, n_ref, Q, lam, psi, ref are set, all by kn_alloc; fills
 * the rest. K^2 T flops. */
kn_status kn_deviance_prepare(kn_ctx *ctx, kn_deviance *d);

/* dev[i] of new samples. Where z is missing (not finite), Sigma is restricted to the finite set J
 * and dev scaled by T/|J|; NaN when |J| < T/2. One pass, 2 rows K T flops; K^2 per missing z. */
kn_status kn_deviance_score(kn_ctx *ctx, const kn_deviance *d, const kn_z_source *z, double *dev);

/* (1 + #{ref >= value}) / (n + 1) among n reference values in ascending order; NaN for NaN. */
double kn_rank_p(const double *sorted, ptrdiff_t n, double value);
double kn_deviance_p(const kn_deviance *d, double dev); /* among d->ref */

#endif
