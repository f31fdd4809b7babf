/* Joint search for iso noise: L-BFGS or truncated Newton over all parameters theta = [task,
 * sample, noise] [METHOD 3b, joint]. Each step is one evaluation with gradient; restarts add
 * standard normal numbers to the first start. */
#ifndef KN_GP_SEARCH_JOINT_H
#define KN_GP_SEARCH_JOINT_H

#include "gp/search/search.h"

/* Sets theta to the start: o->theta if given, else equal weights and median lengths; clipped to
 * the bounds and broadcast from root. Collective. */
kn_status kn_search_joint_start(kn_ctx *ctx, kn_engine *e, const kn_search_options *o,
                                double *theta);

/* Runs the search; sets found->theta, lml, stop and projected. Collective. */
kn_status kn_search_joint(kn_ctx *ctx, kn_engine *e, const kn_search_options *o,
                          kn_search_result *found);

#endif
