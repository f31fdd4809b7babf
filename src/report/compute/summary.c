/* The summary: first sentence, warnings, and checks that passed   [METHOD 11b] */
#include "report/compute/compute.h"
#include "report/compute/warning_rules.h"

static const char *plural(ptrdiff_t n)
{
    return n == 1 ? "person" : "people";
}

static ptrdiff_t labelled(const kn_report *r)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        n += r->people.person[i].label == 1;
    return n;
}

static kn_status say_scored(kn_ctx *ctx, const kn_report_job *job, const char *by)
{
    kn_status status;
    kn_report *r = job->r;
    const ptrdiff_t n = job->m->n, of_them = labelled(r);
    const char *some = "";
    if (of_them > 0)
        KN_TRY(kn_arena_print(ctx, &r->arena, &some, ", %td of them labelled%s%s", of_them,
                              r->group.label ? " " : "", r->group.label ? r->group.label : ""));
    KN_TRY(kn_arena_print(ctx, &r->arena, &r->sentence, "%td %s scored on %td response%s%s, %s.", n,
                          plural(n), job->m->T, job->m->T == 1 ? "" : "s", some, by));
out:
    return status;
}

static kn_status sentence(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report *r = job->r;
    const kn_report_change *c = &r->change;
    const char *by = NULL;
    const char *whom;
    const ptrdiff_t T = job->m->T;
    KN_TRY(kn_summary_training_words(ctx, job, &whom));
    switch (job->m->kind) {
    case KN_MATERIAL_MODEL:
        return kn_arena_print(ctx, &r->arena, &r->sentence, "A model of %s and %td response%s.",
                              whom, T, T == 1 ? "" : "s");
    case KN_MATERIAL_SCORE:
        KN_TRY(kn_arena_print(ctx, &r->arena, &by, "against %s of training", whom));
        return say_scored(ctx, job, by);
    case KN_MATERIAL_CV: return say_scored(ctx, job, "each by a model that has not seen them");
    case KN_MATERIAL_CHANGE:
        return kn_arena_print(ctx, &r->arena, &r->sentence,
                              "%td change%s between visits of %td %s on %td response%s, against "
                              "%td %s who were stable.",
                              c->pairs, c->pairs == 1 ? "" : "s", c->people, plural(c->people), T,
                              T == 1 ? "" : "s", c->reference_people, plural(c->reference_people));
    }
    status = KN_OK;
out:
    return status;
}

/* In the order in which a reader should know them: data, model, participants. */
static const kn_summary_rule RULES[] = {
    kn_summary_implausible, kn_summary_sites,  kn_summary_training_people,
    kn_summary_calibration, kn_summary_shift,  kn_summary_shape,
    kn_summary_msll,        kn_summary_wiggly, kn_summary_extrapolation,
    kn_summary_abnormal,    kn_summary_few,    kn_summary_folder,
};

kn_status kn_compute_summary(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    KN_TRY(sentence(ctx, job));
    for (size_t k = 0; k < sizeof RULES / sizeof *RULES; k++)
        KN_TRY(RULES[k](ctx, job));
out:
    return status;
}
