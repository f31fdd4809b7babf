/* With whom people are compared, so that it can be said: whose ranks or law their p are by
 *   [METHOD 8, 11c] */
#ifndef KN_REPORT_COMPUTE_REFERENCE_POPULATION_H
#define KN_REPORT_COMPUTE_REFERENCE_POPULATION_H

#include "report/compute/compute.h"
#include "report/input/json_path.h"

/* Fills people.compared, .compared_n, .compared_among_them and .training_anew. */
kn_status kn_reference_population_find(kn_ctx *ctx, const kn_report_job *job,
                                       const json_t *summary);

/* The share of normal people whose rank among n others is .05 or less: floor(.05 (n + 1))/(n + 1);
 * of cv the mean over everybody's models. NaN: ranks say nothing, since those who are counted are
 * the reference. */
double kn_reference_population_rate(const kn_report_job *job);

#endif
