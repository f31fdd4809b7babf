/* The noise of S-MTGPR, where it is a model of its own: the row for each, and {noise=auto}, which
 * is structured or whitened noise by people held out                                    [METHOD 1f]
 *
 *     g_i = ln p_whitened(map of i) - ln p_structured(map of i)     i held out, the same folds
 *     whitened where mean g > sd g/sqrt(n); of rows that share noise n are the groups' means
 *
 * Both have R0 and the number of components that structured noise has found. */
#ifndef KN_GP_METHODS_SMTGPR_CHOOSE_NOISE_H
#define KN_GP_METHODS_SMTGPR_CHOOSE_NOISE_H

#include "gp/method.h"

extern const kn_method kn_method_noise_auto;

const kn_method *kn_smtgpr_with(kn_noise noise);

#endif
