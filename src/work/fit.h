/* kn_fit with what only the library itself may ask for. */
#ifndef KN_WORK_FIT_H
#define KN_WORK_FIT_H

#include "gp/journal.h"

/* journal NULL: kn_fit */
kn_status kn_fit_with(kn_ctx *ctx, kn_view X, kn_view Y, const kn_fit_options *options,
                      kn_journal *journal, kn_model **model);

/* R over F columns and C as the options have them; C's default also where nothing uses it. */
kn_status kn_fit_covariances(kn_ctx *ctx, const kn_fit_options *options, ptrdiff_t F,
                             kn_cov *sample, kn_cov *task);

#endif
