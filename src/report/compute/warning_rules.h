/* Rules of the summary   [METHOD 11b]. Each rule checks one property and adds a warning, or a
 * sentence to the list of good results, or nothing if the property is not known. summary.c calls
 * them in order. */
#ifndef KN_REPORT_COMPUTE_WARNING_RULES_H
#define KN_REPORT_COMPUTE_WARNING_RULES_H

#include "report/compute/compute.h"

typedef kn_status (*kn_summary_rule)(kn_ctx *ctx, const kn_report_job *job);

/* warnings_fit.c: does the model fit the scored participants? */
kn_status kn_summary_calibration(kn_ctx *ctx, const kn_report_job *job); /* mean z^2 */
kn_status kn_summary_shift(kn_ctx *ctx, const kn_report_job *job);       /* mean z */
/* Outer tenths of the PIT. */
kn_status kn_summary_shape(kn_ctx *ctx, const kn_report_job *job);
/* Mean MSLL of the responses; length of the smooth term. */
kn_status kn_summary_msll(kn_ctx *ctx, const kn_report_job *job);
kn_status kn_summary_wiggly(kn_ctx *ctx, const kn_report_job *job);
/* Too many or too few abnormal participants. */
kn_status kn_summary_abnormal(kn_ctx *ctx, const kn_report_job *job);
/* Smallest possible p-value. */
kn_status kn_summary_few(kn_ctx *ctx, const kn_report_job *job);

/* warnings_participants.c: which participants need a second look? */
/* Participants with an implausible map. */
kn_status kn_summary_implausible(kn_ctx *ctx, const kn_report_job *job);
/* Sites that are not in the training sample. */
kn_status kn_summary_sites(kn_ctx *ctx, const kn_report_job *job);
/* Members of the training sample among the scored; covariates far from training. */
kn_status kn_summary_training_people(kn_ctx *ctx, const kn_report_job *job);
kn_status kn_summary_extrapolation(kn_ctx *ctx, const kn_report_job *job);
/* Warnings that score, cv or change recorded in the folder. */
kn_status kn_summary_folder(kn_ctx *ctx, const kn_report_job *job);

/* Returns the number of training participants; 0: not known. */
ptrdiff_t kn_summary_training(const kn_report_job *job);
/* Formats the size of the training sample: "48 people", or "48 maps in 24 groups" if rows share
 * noise. */
kn_status kn_summary_training_words(kn_ctx *ctx, const kn_report_job *job, const char **out);

#endif
