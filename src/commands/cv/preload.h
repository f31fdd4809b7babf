/* Data read once, for fits of some of their people (data/preloaded.h). */
#ifndef KN_COMMANDS_CV_PRELOAD_H
#define KN_COMMANDS_CV_PRELOAD_H

#include "data/preloaded.h"

/* Room for the fit of all with these options of "fit", which every fit of some will be within;
 * `beside`: bytes that the caller will hold all the while. */
kn_status kn_preload_for_fit(kn_ctx *ctx, kn_data *data, const kn_options *options, double beside,
                             kn_preloaded **out);
/* The same where what the caller will hold depends on how much there is. */
kn_status kn_plan_caller_bytes(kn_ctx *ctx, kn_data *data, const kn_options *options,
                               kn_caller_bytes beside, kn_preloaded **out);

#endif
