/* S-MTGPR: its row of the methods                                                [METHOD 1a, 1b] */
#ifndef KN_GP_SMTGPR_H
#define KN_GP_SMTGPR_H

#include "gp/method.h"

extern const kn_method kn_method_smtgpr;

#endif
