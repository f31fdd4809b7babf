/* Signs of the components of a fold                                                [METHOD
 * 5b, 9.10]
 *
 * A task covariance that is not spectral sees them: the sign is that which makes the largest entry
 * of the fold's basis positive, as the full model's have. B_f = Y_tr'US block by block, 2 n_train P
 * T flops, and no more than a block of it is held. */
#ifndef KN_GP_CV_FOLD_SIGNS_H
#define KN_GP_CV_FOLD_SIGNS_H

#include "gp/cv/fold.h"
#include "gp/method.h"

bool kn_sees_signs(const kn_gp *gp);

/* Turns US and Z_train of a fold that has its own basis. Collective. */
kn_status kn_fold_signs(kn_ctx *ctx, const kn_responses *Y, kn_fold *f);

#endif
