/* S-MTGPR: its row of the methods                                                [METHOD 1a, 1b] */
#ifndef KN_GP_METHODS_SMTGPR_SMTGPR_H
#define KN_GP_METHODS_SMTGPR_SMTGPR_H

#include "gp/method.h"

#define KN_SMTGPR_WORDS                                                                            \
    "scalable multi-task Gaussian process regression, in which all responses are predicted "       \
    "jointly through components of their own"

extern const kn_method kn_method_smtgpr;

#endif
