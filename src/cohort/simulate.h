/* The command `kronorm simulate`: writes a study with known truth as files. */
#ifndef KN_COHORT_SIMULATE_H
#define KN_COHORT_SIMULATE_H

#include "kronorm.h"

/* Run the command with the options of "simulate". _check only validates: it refuses combinations
 * that do not fit together. */
kn_status kn_simulate_check(kn_ctx *ctx, const kn_options *options);
kn_status kn_simulate(kn_ctx *ctx, const kn_options *options);

#endif
