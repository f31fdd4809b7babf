/* How far C and S are drawn to those of the structured model: by held-out people, never by the
 * likelihood, which free covariances always win                                     [METHOD 1g] */
#ifndef KN_GP_METHODS_KRONSUM_SHRINKAGE_H
#define KN_GP_METHODS_KRONSUM_SHRINKAGE_H

#include "gp/method.h"
#include "gp/methods/kronsum/fit.h"

enum { KN_SHRINKAGES = 5, KN_SHRINKAGE_FOLDS = 5 };
extern const double kn_shrinkage[KN_SHRINKAGES]; /* 0 ... INFINITY */

/* The nu of the ladder with the largest mean log density of the maps of those held out. `of`: of
 * all samples, what is held. */
kn_status kn_kronsum_choose(kn_ctx *ctx, const kn_fit_problem *p, const kn_kronsum_case *of,
                            double *nu);

/* Y (n x T) as numbers, less mu; mu NULL: as they are. */
kn_status kn_kronsum_numbers(kn_ctx *ctx, const kn_responses *Y, const double *mu, kn_mat *out);

void kn_kronsum_choose_need(kn_mem_plan *r, const kn_problem_size *s); /* passes */

#endif
