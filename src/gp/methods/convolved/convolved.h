/* Convolved Gaussian processes over the components of a basis, or over the responses themselves
 * [METHOD 1i]. Defines the method's table entry. */
#ifndef KN_GP_METHODS_CONVOLVED_CONVOLVED_H
#define KN_GP_METHODS_CONVOLVED_CONVOLVED_H

#include "gp/method.h"

extern const kn_method kn_method_convolved; /* gp->own is a kn_convolved, see state.h */

#endif
