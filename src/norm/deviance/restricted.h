/* How the deviance of the reference participants changes if only some responses are looked at
 * [METHOD 8b]. With i in fold f, and J the responses that are present and that i has,
 *
 *     ratio_i(J) = (d_i(J)/|J|) / (d_i(T_i)/|T_i|),      d_i(J) = z_iJ Sigma_f,JJ^-1 z_iJ'
 *
 * Sigma_f = W W' + diag(psi) is estimated as in deviance.h from the rows outside the fold f, with
 * K components: nobody has a part in what judges them, since the gain by that differs between J and
 * all responses. Missing z of the reference count as 0 in Sigma_f and in z. The eigenvectors are
 * not stored (they are folds T K numbers) but made again, block by block, from V_f: Q_f = z' V_f.
 */
#ifndef KN_NORM_DEVIANCE_RESTRICTED_H
#define KN_NORM_DEVIANCE_RESTRICTED_H

#include "base/matrix.h"
#include "base/memory/plan.h"

enum { KN_RESTRICTED_FOLDS = 5, KN_RESTRICTED_LEARN = 1000 };

/* The reference sample; all borrowed. */
typedef struct kn_restricted_source {
    const float *z; /* n x T row-major; NaN: missing */
    ptrdiff_t n, T, K;
    const int *fold; /* n, none empty */
    int folds;
    const ptrdiff_t *order; /* n: of more than KN_RESTRICTED_LEARN rows the covariances are learned
                             * from the first in this order; NULL: by index */
} kn_restricted_source;

typedef struct kn_restricted_deviance {
    kn_restricted_source of; /* K as far as every fold supports it */
    bool *learn;             /* n */
    kn_mat *V;               /* folds: n x K, zero in the rows of the fold */
    kn_mat psi;              /* T x folds */
    kn_mat w;                /* K x folds: W = Q diag(w) */
    double *all;             /* n: d_i(T_i)/|T_i| */
} kn_restricted_deviance;

/* Prepare deviances over any set of responses: estimate the covariance of z without each fold, from
 * at most KN_RESTRICTED_LEARN rows. O(m^2 T + folds m^3 + 2 folds n K T), m rows. The caller clears
 * *out, after a failure too. KN_ERR_NUMERIC if an eigenproblem fails. */
kn_status kn_restricted_deviance_new(kn_ctx *ctx, const kn_restricted_source *source,
                                     kn_restricted_deviance *out);

/* Free the arrays of w, not its source; {0} is allowed. */
void kn_restricted_deviance_clear(kn_restricted_deviance *w);

/* ratio (n): deviance per response of each reference participant over the responses with
 * !missing[j], divided by that over all of its responses; NaN if it has fewer than half of them.
 * missing NULL: the deviance per response itself. 2 (folds + 1) n K T flops. */
kn_status kn_restricted_deviance_ratio(kn_ctx *ctx, const kn_restricted_deviance *w,
                                       const bool *missing, double *ratio);

/* Add to the memory plan r what kn_restricted_deviance_new() keeps for at most K components, with
 * the temporary work of it and of kn_restricted_deviance_ratio(). */
void kn_restricted_deviance_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T, ptrdiff_t K);

#endif
