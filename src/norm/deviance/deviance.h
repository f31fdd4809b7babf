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
#ifndef KN_NORM_DEVIANCE_DEVIANCE_H
#define KN_NORM_DEVIANCE_DEVIANCE_H

#include "base/memory/plan.h"
#include "norm/deviance/zmap_source.h"

enum { KN_DEVIANCE_LADDER = 9, KN_DEVIANCE_AUTO = -1 }; /* K = 0 1 2 4 8 16 32 64 128 */

typedef struct kn_deviance {
    /* To be kept in a file; everything else follows from these. */
    ptrdiff_t T, K, n_ref;
    kn_mat Q;    /* T x K */
    double *lam; /* K, descending */
    double *psi; /* T */
    double *ref; /* n_ref: deviance of each reference sample under a model made without its fold;
                  * NaN of who has less than half of the responses */
    /* Made by kn_deviance_prepare. */
    double *w;      /* K */
    kn_mat M, L;    /* K x K, lower triangles; M = L L' */
    double *sorted; /* ref, ascending, those that are not NaN */
    ptrdiff_t n_sorted;
    double logdet; /* ln|Sigma| */
    /* How K was chosen: mean held-out log density per sample; n_ladder = 0 when K was given. */
    int n_ladder;
    ptrdiff_t ladder[KN_DEVIANCE_LADDER];
    double density[KN_DEVIANCE_LADDER];
} kn_deviance;

void kn_deviance_clear(kn_deviance *d);

/* For a deviance read from a file: T, K, n_ref, Q, lam, psi, ref are set, all by kn_alloc; fills
 * the rest. K^2 T flops. */
kn_status kn_deviance_prepare(kn_ctx *ctx, kn_deviance *d);

/* Of deviances that are said elsewhere: ref (n copied) and what _p needs of it, no Q and psi. */
kn_status kn_deviance_of_values(kn_ctx *ctx, const double *dev, ptrdiff_t n, kn_deviance *out);

/* dev[i] of new samples. Where z is missing (not finite), Sigma is restricted to the finite set J
 * and dev scaled by T/|J|; NaN when |J| < T/2. One pass, 2 rows K T flops; K^2 per missing z. */
kn_status kn_deviance_score(kn_ctx *ctx, const kn_deviance *d, const kn_z_source *z, double *dev);

double kn_deviance_p(const kn_deviance *d, double dev); /* its rank among d->ref */

enum { KN_DEVIANCE_MOST = 1 << (KN_DEVIANCE_LADDER - 2) }; /* K at the top of the ladder */
/* What _prepare keeps, of K at most; and, passing, the scores of some rows. */
void kn_deviance_prepare_need(kn_mem_plan *r, ptrdiff_t K);
void kn_deviance_score_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T);

#endif
