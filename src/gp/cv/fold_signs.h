/* Signs of the components of a fold [METHOD 5b, 9.10]. A task covariance that is not spectral
 * depends on them: each component gets the sign that makes the largest entry of its column of the
 * fold's basis positive, as in the full model. B_f = Y_tr'US is computed block by block: 2 n_train
 * P T flops, and one block in memory. */
#ifndef KN_GP_CV_FOLD_SIGNS_H
#define KN_GP_CV_FOLD_SIGNS_H

#include "gp/cv/fold.h"
#include "gp/method.h"

/* Returns true if the likelihood of the model depends on the signs of the components. */
bool kn_sees_signs(const kn_gp *gp);

/* Flips columns of US and Z_train of a fold that has its own basis. Y: responses of all rows.
 * Collective. */
kn_status kn_fold_signs(kn_ctx *ctx, const kn_responses *Y, kn_fold *f);

#endif
