/* Convolved processes over the components of a basis, or over the responses; the row of the methods
 *                                                                                   [METHOD 1i] */
#ifndef KN_GP_METHODS_CONVOLVED_CONVOLVED_H
#define KN_GP_METHODS_CONVOLVED_CONVOLVED_H

#include "gp/method.h"

extern const kn_method kn_method_convolved; /* gp->own is a kn_convolved, convolved_own.h */

#endif
