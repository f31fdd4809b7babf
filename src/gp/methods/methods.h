/* Table entries of the methods, one per folder of gp/methods. gp/method.c lists those that the
 * option {method} selects; the others belong to S-MTGPR, whose option {noise} selects them. */
#ifndef KN_GP_METHODS_METHODS_H
#define KN_GP_METHODS_METHODS_H

#include "gp/method.h"

extern const kn_method kn_method_smtgpr;    /* structured or iso noise [METHOD 1a, 1b] */
extern const kn_method kn_method_stgpr;     /* gp->own is a kn_stgpr [METHOD 7] */
extern const kn_method kn_method_kronprod;  /* iso noise and B = I [METHOD 1c] */
extern const kn_method kn_method_mtgpr;     /* gp->own is a kn_mtgpr [METHOD 1h] */
extern const kn_method kn_method_kronsum;   /* gp->own is a kn_kronsum_state [METHOD 1g] */
extern const kn_method kn_method_convolved; /* gp->own is a kn_convolved [METHOD 1i] */

/* S-MTGPR with whitened noise [METHOD 1f]. */
extern const kn_method kn_method_whitened;
/* S-MTGPR with {noise=auto}. Has only `fit` and `need`: the fitted model belongs to one of the two
 * other entries of S-MTGPR. */
extern const kn_method kn_method_noise_auto;

/* Returns the table entry of S-MTGPR with this noise. */
const kn_method *kn_smtgpr_with(kn_noise noise);

#endif
