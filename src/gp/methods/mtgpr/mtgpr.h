/* MTGPR [Bonilla 2008] and the low-rank Kronecker sum: a learned task covariance of rank P and a
 * noise variance per response, optionally with Q noise factors [METHOD 1h]. */
#ifndef KN_GP_METHODS_MTGPR_MTGPR_H
#define KN_GP_METHODS_MTGPR_MTGPR_H

#include "gp/method.h"

extern const kn_method kn_method_mtgpr;

/* gp->own: what folds need from the fit. gp->B is V S_k W, gp->psi the noise variance by which
 * responses are scaled. */
typedef struct kn_mtgpr {
    ptrdiff_t P, Q;    /* columns of G and H */
    int evals;         /* limit of the fit, or what it had time for; -1: no limit */
    bool iso;          /* R has an iso term */
    ptrdiff_t kept[4]; /* the numbers above, as written to the file */
    kn_mat L;          /* k x k  B'B = LL'; none without H, where B'B = I */
} kn_mtgpr;

#endif
