/* MT-Kronprod, a baseline of the paper: S-MTGPR with iso noise and B = I [METHOD 1c]. Defines the
 * method's table entry. */
#ifndef KN_GP_METHODS_KRONPROD_KRONPROD_H
#define KN_GP_METHODS_KRONPROD_KRONPROD_H

#include "gp/method.h"

extern const kn_method kn_method_kronprod;

#endif
