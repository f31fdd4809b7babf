/* Likelihood evaluations of the search, in lock-step over MPI ranks.
 *
 * All ranks evaluate the same function of the same numbers, but on different processors the last
 * bits differ, and ranks that compare different numbers take different branches of the search.
 * Therefore root evaluates and broadcasts the value, the gradient and the state from which the
 * next evaluation starts. The other ranks only receive. Where kn_engine.lockstep is false, the
 * calls are kn_engine_nested and kn_engine_joint.
 *
 *     cost: one broadcast of some kB per evaluation */
#ifndef KN_GP_SEARCH_LOCKSTEP_H
#define KN_GP_SEARCH_LOCKSTEP_H

#include "gp/likelihood/engine.h"

/* Arguments as for kn_engine_nested and kn_engine_joint. The decomposition, c and d, which
 * predictions need, are left on root only. Collective where e->lockstep is true. KN_ERR_CANCELLED:
 * a rank was cancelled and the best point is not to be kept. */
kn_status kn_lockstep_nested(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *lml,
                             double *g);
kn_status kn_lockstep_joint(kn_ctx *ctx, kn_engine *e, const double *theta, double *lml, double *g);

#endif
