/* Implements reference_population.h from summary.json and the recorded command. */
#include "report/compute/reference_population.h"

#include <math.h>
#include <string.h>

#include "report/input/command_option.h"

/* Size of a training sample so large that p-values are practically continuous. */
static const double ENDLESS = 9999;

static ptrdiff_t count_finite(const double *x, ptrdiff_t n)
{
    ptrdiff_t m = 0;
    for (ptrdiff_t i = 0; x && i < n; i++)
        m += isfinite(x[i]);
    return m;
}

/* Smallest training sample of the cv folds; 0: not recorded. */
static ptrdiff_t smallest_training(const kn_report_input *m)
{
    const double *n = kn_report_input_people(m, "n_train");
    double least = INFINITY;
    for (ptrdiff_t i = 0; n && i < m->n; i++)
        least = fmin(least, n[i]);
    return isfinite(least) ? (ptrdiff_t)least : 0;
}

/* Size of a reference sample named in the folder, from the smallest p it allows: half a rank of
 * a fitted distribution, a whole one of ranks. */
static ptrdiff_t named_people(const json_t *summary)
{
    const double least = kn_json_number_at(summary, "abnormality.smallest_p");
    const double ranks = json_is_object(kn_json_at(summary, "gev")) ? 2 : 1;
    return least > 0 ? (ptrdiff_t)round(1 / (ranks * least)) - 1 : 0;
}

/* For score: the training sample, unless rows of the folder were named. */
static kn_status of_score(kn_ctx *ctx, const kn_report_job *job, const json_t *summary)
{
    kn_report *r = job->r;
    kn_report_people *to = &r->people;
    char named[256];
    const char *command = kn_json_text_at(summary, "command");
    to->training_anew = kn_command_option(command, "--training-rows", named, sizeof named) &&
                        strcmp(named, "plain") == 0;
    to->compared = "people like those of training";
    to->compared_n = count_finite(kn_report_input_training(job->m, "statistic"), job->m->N);
    if (!kn_command_option(command, "--reference", named, sizeof named) ||
        strcmp(named, "cv") == 0 || strcmp(named, "loo") == 0)
        return KN_OK;
    to->compared_among_them = true;
    to->compared_n = named_people(summary);
    kn_status status = kn_arena_text(ctx, &r->arena, named, &to->compared_named);
    if (status != KN_OK)
        return status;
    return kn_arena_print(ctx, &r->arena, &to->compared, "people like those with %s", named);
}

kn_status kn_reference_population_find(kn_ctx *ctx, const kn_report_job *job, const json_t *summary)
{
    kn_report_people *to = &job->r->people;
    to->compared_among_them = false;
    switch (job->m->kind) {
    case KN_MATERIAL_MODEL:
        to->compared = "the people of training";
        to->compared_n = count_finite(kn_report_input_training(job->m, "statistic"), job->m->N);
        break;
    case KN_MATERIAL_SCORE: return of_score(ctx, job, summary);
    case KN_MATERIAL_CV:
        to->compared = "people like those of training";
        to->compared_n = smallest_training(job->m);
        break;
    case KN_MATERIAL_CHANGE:
        to->compared = "stable people";
        to->compared_n = kn_json_count_at(summary, "reference_people");
        break;
    }
    return KN_OK;
}

static double rate_of(double n)
{
    static const double ALPHA = 0.05, ROUNDING = 1e-9;
    return floor(ALPHA * (n + 1) + ROUNDING) / (n + 1);
}

double kn_reference_population_rate(const kn_report_job *job)
{
    const kn_report_people *p = &job->r->people;
    const double *n =
        job->m->kind == KN_MATERIAL_CV ? kn_report_input_people(job->m, "n_train") : NULL;
    double sum = 0;
    if (p->compared_among_them)
        return NAN;
    if (!n)
        return rate_of(p->compared_n > 0 ? (double)p->compared_n : ENDLESS);
    for (ptrdiff_t i = 0; i < job->m->n; i++)
        sum += rate_of(n[i]);
    return sum / (double)job->m->n;
}
