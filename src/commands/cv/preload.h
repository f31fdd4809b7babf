/* Reads data once for fits of subsets (data/preloaded.h), with a memory plan for these fits. cv and
 * the jackknife of centiles use it. */
#ifndef KN_COMMANDS_CV_PRELOAD_H
#define KN_COMMANDS_CV_PRELOAD_H

#include "data/preloaded.h"

/* Reads all data with a memory plan for the fit of all participants, which bounds the fits of
 * subsets. options: of "fit"; beside: bytes that the caller holds meanwhile. *out is owned by the
 * caller (kn_preloaded_free). */
kn_status kn_preload_for_fit(kn_ctx *ctx, kn_data *data, const kn_options *options, double beside,
                             kn_preloaded **out);
/* The same if the bytes of the caller depend on the numbers of participants and responses. */
kn_status kn_plan_caller_bytes(kn_ctx *ctx, kn_data *data, const kn_options *options,
                               kn_caller_bytes beside, kn_preloaded **out);

#endif
