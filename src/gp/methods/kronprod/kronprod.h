/* MT-Kronprod: its row of the methods                                              [METHOD 1c] */
#ifndef KN_GP_METHODS_KRONPROD_KRONPROD_H
#define KN_GP_METHODS_KRONPROD_KRONPROD_H

#include "gp/method.h"

extern const kn_method kn_method_kronprod;

#endif
