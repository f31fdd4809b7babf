/* A study with known truth, as real files on disk: what `kronorm simulate` does. */
#ifndef KN_COHORT_SIMULATE_H
#define KN_COHORT_SIMULATE_H

#include "kronorm.h"

/* Options of "simulate". _check refuses what does not go together. */
kn_status kn_simulate_check(kn_ctx *ctx, const kn_options *options);
kn_status kn_simulate(kn_ctx *ctx, const kn_options *options);

#endif
