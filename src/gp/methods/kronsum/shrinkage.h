/* Choice of the shrinkage nu of C and S to the structured model, by held-out log density
 * [METHOD 1g]. The likelihood cannot choose it: it always prefers free covariances. */
#ifndef KN_GP_METHODS_KRONSUM_SHRINKAGE_H
#define KN_GP_METHODS_KRONSUM_SHRINKAGE_H

#include "gp/method.h"
#include "gp/methods/kronsum/fit.h"

enum { KN_SHRINKAGES = 5, KN_SHRINKAGE_FOLDS = 5 };
extern const double kn_shrinkage[KN_SHRINKAGES]; /* candidates: 0 ... INFINITY */

/* Sets *nu to the candidate with the largest mean log density of held-out maps. of: data of all
 * participants and fixed parameters. */
kn_status kn_kronsum_choose(kn_ctx *ctx, const kn_fit_problem *p, const kn_kronsum_case *of,
                            double *nu);

/* Reads Y (n x T) into *out (owned by the caller) and subtracts mu (T); mu NULL: 0. */
kn_status kn_kronsum_numbers(kn_ctx *ctx, const kn_responses *Y, const double *mu, kn_mat *out);

void kn_kronsum_choose_need(kn_mem_plan *r, const kn_problem_size *s); /* temporary */

#endif
