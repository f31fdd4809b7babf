/* Total variation of the responses of a fold: kn_fold.total = |Y_tr - 1 mu'|^2. The noise variance
 * outside the fold's basis is what the basis leaves of it [METHOD 5b, 8j]. */
#ifndef KN_GP_CV_FOLD_ENERGY_H
#define KN_GP_CV_FOLD_ENERGY_H

#include "gp/cv/fold.h"

/* Sets f->total from G = Y Y' (N x N): tr G_tr - 1'G_tr 1/n    n^2 flops */
void kn_fold_energy(kn_mat G, kn_fold *f);
/* Sets total of n folds, whose rows are set, from the responses Y; reads Y once. Collective. */
kn_status kn_folds_energy(kn_ctx *ctx, const kn_responses *Y, kn_fold *f, int n);

#endif
