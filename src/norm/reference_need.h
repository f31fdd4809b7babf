/* Memory that the reference takes, step by step as norm/reference.c and norm/reference_loo.c make
 * it. */
#ifndef KN_NORM_REFERENCE_NEED_H
#define KN_NORM_REFERENCE_NEED_H

#include "base/rehearse.h"

/* Both, and the noise that is made on the way, over the maps that the fit has left. */
void kn_reference_need(kn_rehearsal *r, const kn_need_shape *s);

#endif
