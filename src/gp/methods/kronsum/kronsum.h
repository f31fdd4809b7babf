/* MT-Kronsum: its row of the methods                                               [METHOD 1g] */
#ifndef KN_GP_METHODS_KRONSUM_KRONSUM_H
#define KN_GP_METHODS_KRONSUM_KRONSUM_H

#include "gp/method.h"

extern const kn_method kn_method_kronsum;

#endif
