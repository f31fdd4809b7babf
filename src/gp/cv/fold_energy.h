/* How much the responses of a fold vary about their own mean: kn_fold.total = |Y_tr - 1 mu'|^2, of
 * which the noise outside the fold's basis is what the basis leaves               [METHOD 5b, 8j]
 */
#ifndef KN_GP_CV_FOLD_ENERGY_H
#define KN_GP_CV_FOLD_ENERGY_H

#include "gp/cv/fold.h"

/* From G = Y Y': tr G_tr - 1'G_tr 1/n    n^2 flops */
void kn_fold_energy(kn_mat G, kn_fold *f);
/* Of n folds whose rows are known, from the responses, which are read once. Collective. */
kn_status kn_folds_energy(kn_ctx *ctx, const kn_responses *Y, kn_fold *f, int n);

#endif
