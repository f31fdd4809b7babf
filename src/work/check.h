/* Checks that every public call makes of its arguments. */
#ifndef KN_WORK_CHECK_H
#define KN_WORK_CHECK_H

#include "model/model.h"

enum { KN_LEAST_SAMPLES = 3 }; /* to fit */

/* Data present, sizes positive and within what BLAS can count. */
kn_status kn_check_view(kn_ctx *ctx, kn_view v, const char *name);
/* Y has the samples and responses the model was trained on. */
kn_status kn_check_training(kn_ctx *ctx, const kn_model *model, kn_view Y);

/* A method with only one kind of noise has that. */
void kn_settle_noise(kn_fit_options *options);
/* Ranges and combinations, of options of full size: nothing that needs the data. */
kn_status kn_check_fit_options(kn_ctx *ctx, const kn_fit_options *options);

#endif
