/* MT-Kronsum: signal and noise covariance of the responses are both full T x T matrices
 * [METHOD 1g]. Defines the method's table entry; for T < N and T <= 1500. */
#ifndef KN_GP_METHODS_KRONSUM_KRONSUM_H
#define KN_GP_METHODS_KRONSUM_KRONSUM_H

#include "gp/method.h"

extern const kn_method kn_method_kronsum;

#endif
