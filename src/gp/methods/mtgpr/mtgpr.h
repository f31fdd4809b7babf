/* MTGPR [Bonilla 2008] and the low-rank Kronecker sum                                [METHOD 1h] */
#ifndef KN_GP_METHODS_MTGPR_MTGPR_H
#define KN_GP_METHODS_MTGPR_MTGPR_H

#include "gp/method.h"

extern const kn_method kn_method_mtgpr;

/* kn_gp.own: what a fold needs to know of the fit. B of the model is V S_k W, psi the noise that
 * responses are measured in. */
typedef struct kn_mtgpr {
    ptrdiff_t P, Q; /* columns of G and H */
    int evals;      /* most that the fit was allowed, or had time for; -1: as many as there are */
    bool iso;       /* R has an iso term */
    ptrdiff_t kept[4]; /* these in the file */
    kn_mat L;          /* k x k  B'B = LL'; none without H: B'B = I */
} kn_mtgpr;

#endif
