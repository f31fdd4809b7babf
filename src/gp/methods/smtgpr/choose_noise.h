/* Noise models of S-MTGPR that have a table entry of their own, and {noise=auto}, which chooses
 * between structured and whitened noise by held-out log density [METHOD 1f].
 *
 *     g_i = ln p_whitened(map of i) - ln p_structured(map of i)     i held out, the same folds
 *     whitened if mean g > sd g/sqrt(n); with groups n counts groups, g their means
 *
 * Both models use the R0 and the number of components of the structured fit. */
#ifndef KN_GP_METHODS_SMTGPR_CHOOSE_NOISE_H
#define KN_GP_METHODS_SMTGPR_CHOOSE_NOISE_H

#include "gp/method.h"

/* Only `fit` and `need`: the fitted model belongs to one of the two other entries. */
extern const kn_method kn_method_noise_auto;

/* Returns the table entry of S-MTGPR with this noise. */
const kn_method *kn_smtgpr_with(kn_noise noise);

#endif
