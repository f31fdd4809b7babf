/* Rules of the summary   [METHOD 11b]. Each looks at one thing, and adds a warning in words where
 * it is not as it should be, or a sentence among what is fine where it is, or nothing where it
 * cannot know. */
#ifndef KN_REPORT_COMPUTE_WARNING_RULES_H
#define KN_REPORT_COMPUTE_WARNING_RULES_H

#include "report/compute/compute.h"

typedef kn_status (*kn_summary_rule)(kn_ctx *ctx, const kn_report_job *job);

/* summary_fit.c: does the model fit these people? */
kn_status kn_summary_calibration(kn_ctx *ctx, const kn_report_job *job); /* mean z^2 */
kn_status kn_summary_shift(kn_ctx *ctx, const kn_report_job *job);       /* mean z */
kn_status kn_summary_shape(kn_ctx *ctx, const kn_report_job *job);       /* outer tenths */
kn_status kn_summary_msll(kn_ctx *ctx, const kn_report_job *job);
kn_status kn_summary_wiggly(kn_ctx *ctx, const kn_report_job *job);
kn_status kn_summary_abnormal(kn_ctx *ctx, const kn_report_job *job); /* too many, too few */
kn_status kn_summary_few(kn_ctx *ctx, const kn_report_job *job);      /* how small p can be */

/* summary_people.c: who needs a second look? */
kn_status kn_summary_implausible(kn_ctx *ctx, const kn_report_job *job);
kn_status kn_summary_sites(kn_ctx *ctx,
                           const kn_report_job *job); /* levels that training did not have */
kn_status kn_summary_training_people(kn_ctx *ctx, const kn_report_job *job);
kn_status kn_summary_extrapolation(kn_ctx *ctx, const kn_report_job *job);
kn_status kn_summary_folder(kn_ctx *ctx,
                            const kn_report_job *job); /* what score, cv, change warned of */

ptrdiff_t
kn_summary_training(const kn_report_job *job); /* people in the model's training; 0: not known */
/* "48 people"; where rows share noise "48 maps in 24 groups" */
kn_status kn_summary_training_words(kn_ctx *ctx, const kn_report_job *job, const char **out);

#endif
