/* Finds the reference sample of the p-values from summary.json and the recorded command, and the
 * rate of small p-values that it allows [METHOD 8, 11c]. Warnings depend on it. */
#include "report/compute/internal.h"

#include <math.h>
#include <string.h>

#include "report/input/records.h"

/* Size of a training sample so large that p-values are practically continuous. */
static const double LARGE_N = 9999;

/* Returns how many of n values are finite; 0 if x is NULL. */
static ptrdiff_t count_finite(const double *x, ptrdiff_t n)
{
    ptrdiff_t m = 0;
    for (ptrdiff_t i = 0; x && i < n; i++)
        m += isfinite(x[i]);
    return m;
}

/* Returns the size of the smallest training sample of the cv folds; 0 if it is not recorded. */
static ptrdiff_t smallest_training(const kn_report_input *m)
{
    const double *n = kn_report_input_participants(m, "n_train");
    double lowest = INFINITY;
    for (ptrdiff_t i = 0; n && i < m->n; i++)
        lowest = fmin(lowest, n[i]);
    return isfinite(lowest) ? (ptrdiff_t)lowest : 0;
}

/* Returns the size of a reference sample named in the folder, from the smallest p that summary.json
 * records: half a rank of a fitted distribution, a whole one of ranks. 0 if it is not known. */
static ptrdiff_t named_reference_size(const json_t *summary)
{
    const double lowest = kn_json_number_at(summary, "abnormality.smallest_p");
    const double ranks = json_is_object(kn_json_at(summary, "gev")) ? 2 : 1;
    return lowest > 0 ? (ptrdiff_t)round(1 / (ranks * lowest)) - 1 : 0;
}

/* Sets the reference sample of a scored folder: the training sample, unless {reference} named rows
 * of the folder. */
static kn_status describe_score(kn_ctx *ctx, const kn_report_job *job, const json_t *summary)
{
    kn_report *r = job->r;
    kn_report_participants *to = &r->participants;
    char named[256];
    const char *command = kn_json_text_at(summary, "command");
    to->training_in_sample = kn_command_option(command, "--training-rows", named, sizeof named) &&
                             strcmp(named, "plain") == 0;
    to->reference = "the reference sample";
    to->reference_n = count_finite(kn_report_input_training(job->m, "extreme_z"), job->m->N);
    if (!kn_command_option(command, "--reference", named, sizeof named) ||
        strcmp(named, "cv") == 0 || strcmp(named, "loo") == 0)
        return KN_OK;
    to->reference_in_folder = true;
    to->reference_n = named_reference_size(summary);
    kn_status status = kn_arena_text(ctx, &r->arena, named, &to->reference_selector);
    if (status != KN_OK)
        return status;
    return kn_arena_print(ctx, &r->arena, &to->reference, "participants with %s", named);
}

kn_status kn_reference_population_find(kn_ctx *ctx, const kn_report_job *job, const json_t *summary)
{
    kn_report_participants *to = &job->r->participants;
    to->reference_in_folder = false;
    switch (job->m->kind) {
    case KN_INPUT_MODEL:
        to->reference = "the training sample";
        to->reference_n = count_finite(kn_report_input_training(job->m, "extreme_z"), job->m->N);
        break;
    case KN_INPUT_SCORE: return describe_score(ctx, job, summary);
    case KN_INPUT_CV:
        to->reference = "the reference sample";
        to->reference_n = smallest_training(job->m);
        break;
    case KN_INPUT_CHANGE:
        to->reference = "stable participants";
        to->reference_n = kn_json_count_at(summary, "reference_participants");
        break;
    }
    return KN_OK;
}

double kn_reference_population_rate(const kn_report_job *job)
{
    const kn_report_participants *p = &job->r->participants;
    const double *n =
        job->m->kind == KN_INPUT_CV ? kn_report_input_participants(job->m, "n_train") : NULL;
    double sum = 0;
    if (p->reference_in_folder)
        return NAN;
    if (!n)
        return kn_flag_rate(p->reference_n > 0 ? (double)p->reference_n : LARGE_N);
    for (ptrdiff_t i = 0; i < job->m->n; i++)
        sum += kn_flag_rate(n[i]);
    return sum / (double)job->m->n;
}
