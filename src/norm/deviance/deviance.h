/* Whole-map deviance: the squared Mahalanobis distance of a z map under the covariance of z in
 * the reference sample [METHOD 8b]. fit.h estimates the covariance; this file scores new maps.
 *
 *     z            N x T z maps of reference participants, each predicted without itself
 *     Q  T x K     leading eigenvectors of z'z/N (about 0, not about the mean), lam their values
 *     psi_j        residual sum of squares / (N - K), at least 1e-6 of the mean square of all z
 *     W = Q diag(w),  w_k = max(lam_k - sum_j Q_jk^2 psi_j, 0)^1/2
 *     Sigma = W W' + diag(psi)       M = I + W' Psi^-1 W
 *     dev = z Sigma^-1 z' = sum z^2/psi - a' M^-1 a,  a = W' Psi^-1 z'
 *     ln|Sigma| = sum ln psi + ln|M|
 *
 * The floor of psi is relative to the mean square over all responses, not to that of each, so
 * that a response that is zero in every participant still has a positive variance. */
#ifndef KN_NORM_DEVIANCE_DEVIANCE_H
#define KN_NORM_DEVIANCE_DEVIANCE_H

#include "base/memory/plan.h"
#include "gp/block_visitor.h"

/* ---- source of z maps ------------------------------------------------------------------------
 *
 * Source of z maps: blocks of responses on demand, so that no participants x T matrix is needed. */

typedef struct kn_z_source {
    void *self;
    ptrdiff_t rows, cols; /* participants, T responses */
    /* Fill z (rows x count) with responses first .. first + count - 1 of every participant. */
    kn_status (*block)(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z);
    const kn_scaling *scaling; /* numbering at which blocks are cut; NULL: 0 .. cols-1 */
    ptrdiff_t participants;    /* participants; the rows after them are zero padding. 0: all rows */
} kn_z_source;

/* A source for a matrix in memory; *z is borrowed and must outlive the source. */
kn_z_source kn_z_from_mat(kn_mat *z);

/* Run a block loop over a source of z maps: the visitor finds z of the block in each block.
 * Cancellation and errors end it. Collective if the visitor's end is. */
kn_status kn_z_visit(kn_ctx *ctx, const kn_z_source *z, kn_block_loop loop,
                     const kn_visitor *visitor);

/* Number and width of the blocks of a loop over this source of z maps. */
kn_block_loop_plan kn_z_plan(const kn_z_source *z);

/* ---- deviance -------------------------------------------------------------------------------- */

enum { KN_DEVIANCE_LADDER = 9, KN_DEVIANCE_AUTO = -1 }; /* K = 0 1 2 4 8 16 32 64 128 */

typedef struct kn_deviance {
    /* Stored in the model file; everything else follows from these. */
    ptrdiff_t T, K, n_ref;
    kn_mat Q;    /* T x K */
    double *lam; /* K, descending */
    double *psi; /* T */
    /* n_ref: deviance of each reference participant under a covariance fitted without its fold;
     * NaN for a participant with less than half of the responses. */
    double *ref;
    /* Computed by kn_deviance_prepare(). */
    double *w;      /* K */
    kn_mat M, L;    /* K x K, lower triangles; M = L L' */
    double *sorted; /* ref without NaN, ascending */
    ptrdiff_t n_sorted;
    double logdet; /* ln|Sigma| */
    /* How K was chosen: mean held-out log density per participant; n_ladder = 0 if K was given. */
    int n_ladder;
    ptrdiff_t ladder[KN_DEVIANCE_LADDER];
    double density[KN_DEVIANCE_LADDER];
} kn_deviance;

/* Free all arrays; {0} is allowed. */
void kn_deviance_clear(kn_deviance *d);

/* Complete a whole-map deviance that was read from a file: T, K, n_ref, Q, lam, psi and ref are set
 * and owned. KN_ERR_SHAPE or KN_ERR_DATA for inconsistent sizes, psi <= 0 or an infinite ref. K^2 T
 * flops. */
kn_status kn_deviance_prepare(kn_ctx *ctx, kn_deviance *d);

/* Make a deviance of reference values only (dev: n values, copied), which gives p-values but scores
 * no maps. out is owned by the caller. KN_ERR_MEMORY. */
kn_status kn_deviance_of_values(kn_ctx *ctx, const double *dev, ptrdiff_t n, kn_deviance *out);

/* dev[i] = whole-map deviance (squared Mahalanobis distance) of each of the maps of z. Over the
 * responses J that a map has, scaled by T/|J|; NaN if |J| < T/2. KN_ERR_SHAPE if z has another
 * number of responses. One pass, 2 rows K T flops; K^2 per missing z. */
kn_status kn_deviance_score(kn_ctx *ctx, const kn_deviance *d, const kn_z_source *z, double *dev);

/* p-value of a whole-map deviance: its rank among the reference values, (1 + #{ref >= dev})/(n +
 * 1). NaN for NaN. */
double kn_deviance_p(const kn_deviance *d, double dev);

enum { KN_DEVIANCE_MAX = 1 << (KN_DEVIANCE_LADDER - 2) }; /* largest K of the ladder */

/* Add to the memory plan r what kn_deviance_prepare() keeps for at most K components. */
void kn_deviance_prepare_need(kn_mem_plan *r, ptrdiff_t K);

/* Add to the memory plan r what kn_deviance_score() allocates temporarily for `rows` maps of T
 * responses. */
void kn_deviance_score_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T);

#endif
