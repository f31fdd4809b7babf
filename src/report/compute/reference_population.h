/* Finds the reference sample of the p-values, for the text of the report   [METHOD 8, 11c] */
#ifndef KN_REPORT_COMPUTE_REFERENCE_POPULATION_H
#define KN_REPORT_COMPUTE_REFERENCE_POPULATION_H

#include "report/compute/compute.h"
#include "report/input/json_path.h"

/* Fills people.compared, .compared_n, .compared_among_them and .training_anew. summary:
 * summary.json of the folder. */
kn_status kn_reference_population_find(kn_ctx *ctx, const kn_report_job *job,
                                       const json_t *summary);

/* Returns the expected share of normal participants with a rank p-value of .05 or less among n
 * others: floor(.05 (n + 1))/(n + 1); for cv the mean over the models of all folds. NaN if the
 * counted participants are themselves the reference sample. */
double kn_reference_population_rate(const kn_report_job *job);

#endif
