/* All parameters of iso noise at once, theta = [task, sample, noise] [METHOD 3b, joint]: an
 * evaluation and its gradient a step, restarts a standard normal away from the first start. */
#ifndef KN_GP_SEARCH_JOINT_H
#define KN_GP_SEARCH_JOINT_H

#include "gp/search/search.h"

/* theta: the start given, or one in the middle of things, inside the bounds. Collective. */
kn_status kn_search_joint_start(kn_ctx *ctx, kn_engine *e, const kn_search_options *o,
                                double *theta);

/* theta, likelihood and why it ended. Collective. */
kn_status kn_search_joint(kn_ctx *ctx, kn_engine *e, const kn_search_options *o,
                          kn_search_result *found);

#endif
