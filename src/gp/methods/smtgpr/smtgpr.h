/* S-MTGPR, the default method: Gaussian processes of the components of a basis, with structured or
 * iso noise [METHOD 1a, 1b]. Defines the method's table entry; a good place to start reading. */
#ifndef KN_GP_METHODS_SMTGPR_SMTGPR_H
#define KN_GP_METHODS_SMTGPR_SMTGPR_H

#include "gp/method.h"

#define KN_SMTGPR_WORDS                                                                            \
    "scalable multi-task Gaussian process regression, in which all responses are predicted "       \
    "jointly through components of their own"

extern const kn_method kn_method_smtgpr;

#endif
