/* Rules: does the model fit the scored participants?   [METHOD 11b]
 *
 *     calibration   mean z^2 outside .9 - 1.1, and its interval without 1; "may" while the interval
 *                   reaches into .9 - 1.1
 *     shift         |mean z| > .05, and its interval without 0
 *     shape         an outer tenth of Phi(z) off by more than a tenth of what it should hold, and
 *                   outside the band of both at once
 *     msll          mean MSLL not below 0
 *     wiggly        length below .2 standard deviations, and more than .05 of the signal
 *     abnormal      participants with deviance_p <= .05 outside the 95 % range of chance
 *     few           p cannot be small: fewer than 100 participants in training, or in {reference}
 *
 * Each warning says what to do about it. If fewer than 10 participants can be judged, the
 * held-out training participants are judged instead. A rule requires both a relevant effect and
 * evidence for it, so that small studies get no false alarms and large ones no trivial warnings.
 * The calibration rules require at least 10 participants. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/compute/warning_rules.h"
#include "report/text/sentence.h"

enum { LEAST_PEOPLE = 10, MANY = 100 };
static const double Z2_OFF = 0.1, SHIFT = 0.05, TENTH_OFF = 0.1, WIGGLY_LENGTH = 0.2,
                    WIGGLY_SHARE = 0.05;
/* Added to an effect that would be a warning if there were evidence for it. */
static const char UNSURE[] = ", as far as these people can tell";

/* The z-scores that are judged: of the scored participants, or of training for a model alone or
 * too few scored. */
typedef struct judged {
    const kn_report_calibration *c; /* NULL: none */
    bool training;
    char who[100]; /* "the 32 people who are not labelled" */
} judged;

static bool scored_known(const kn_report_job *job)
{
    return job->m->kind != KN_MATERIAL_MODEL && job->r->calibration[1].n >= LEAST_PEOPLE;
}

/* Describes the judged participants: "the 32 people without the label". */
static void name_people(const kn_report_job *job, ptrdiff_t n, bool training, char who[100])
{
    bool labels = false, among = false;
    for (ptrdiff_t i = 0; i < job->r->people.n; i++) {
        labels = labels || job->r->people.person[i].label == 1;
        among = among || job->r->people.person[i].training;
    }
    const bool groups = training && job->m->units > 0 && job->m->units < job->m->N;
    snprintf(who, 100, "the %td %s%s", n,
             groups   ? "groups"
             : n == 1 ? "person"
                      : "people",
             training          ? " of training (each held out in turn)"
             : labels && among ? " neither labelled nor of training"
             : labels          ? " without the label"
             : among           ? " not of training"
                               : "");
}

static judged judge(const kn_report_job *job)
{
    judged j = {.training = !scored_known(job)};
    const kn_report_calibration *c = &job->r->calibration[!j.training];
    /* Change is calibrated by its own reference sample. */
    if (c->n >= LEAST_PEOPLE && job->m->kind != KN_MATERIAL_CHANGE)
        j.c = c;
    name_people(job, c->n, j.training, j.who);
    return j;
}

kn_status kn_summary_calibration(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const judged j = judge(job);
    const kn_report_calibration *c = j.c;
    if (!c)
        return KN_OK;
    const bool outside = fabs(c->z2 - 1) > Z2_OFF, wide = c->z2 > 1;
    const bool evident = c->z2_low > 1 || c->z2_high < 1;
    const bool sure = c->z2_low > 1 + Z2_OFF || c->z2_high < 1 - Z2_OFF;
    const kn_formatted value = kn_format_fixed(c->z2, 2), low = kn_format_fixed(c->z2_low, 2),
                       high = kn_format_fixed(c->z2_high, 2);
    if (!outside || !evident)
        return kn_report_note_add(
            ctx, r, &r->good, "calibration", "",
            "Deviations are of the size they should be%s: the mean z^2 of %s is %s (95 %% interval "
            "%s to %s, expected 1).",
            outside ? UNSURE : "", j.who, value.text, low.text, high.text);
    return kn_report_note_add(
        ctx, r, &r->warnings, "calibration",
        wide   ? sure ? "The model is too sure of itself." : "The model may be too sure of itself."
        : sure ? "The model is not sure enough."
               : "The model may not be sure enough.",
        "Deviations of %s are %s than they should be: their mean z^2 is %s (95 %% interval %s to "
        "%s, expected 1). %s %s",
        j.who, wide ? "larger" : "smaller", value.text, low.text, high.text,
        wide ? "A z of 2 is less unusual here than it says, and too many people will look abnormal."
             : "A z of 2 is more unusual here than it says, and abnormal people may be missed.",
        j.training ? "What to do: look for people of training whose data are odd, and fit without "
                     "them."
                   : "What to do: read people against controls of your own ('score --reference'), "
                     "or, of another scanner, 'kronorm adapt' the model to it first.");
}

kn_status kn_summary_shift(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const judged j = judge(job);
    const kn_report_calibration *c = j.c;
    if (!c)
        return KN_OK;
    const kn_formatted mean = kn_format_signed(c->mean, 2), low = kn_format_signed(c->mean_low, 2),
                       high = kn_format_signed(c->mean_high, 2);
    const bool evident = c->mean_low > 0 || c->mean_high < 0;
    if (fabs(c->mean) > SHIFT && evident)
        return kn_report_note_add(ctx, r, &r->warnings, "shift", "These people are shifted.",
                                  "The mean z of %s is %s (95 %% interval %s to %s, expected 0): "
                                  "on average they lie %s the "
                                  "people of training, as after another scanner or another way of "
                                  "processing. Part of every "
                                  "deviation may be this shift. What to do: compare how images "
                                  "were made and processed; 'kronorm adapt' with healthy people of "
                                  "a new site takes its shift out.",
                                  j.who, mean.text, low.text, high.text,
                                  c->mean > 0 ? "above" : "below");
    return kn_report_note_add(
        ctx, r, &r->good, "shift", "",
        "There is no shift that matters%s: the mean z of %s is %s (95 %% interval "
        "%s to %s, expected 0).",
        fabs(c->mean) > SHIFT ? UNSURE : "", j.who, mean.text, low.text, high.text);
}

kn_status kn_summary_shape(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const judged j = judge(job);
    const kn_report_calibration *c = j.c;
    bool off = false, outside = false;
    if (!c || isnan(c->tenth_half[0]) || isnan(c->tenth_half[1]))
        return KN_OK;
    for (int k = 0; k < 2; k++) {
        outside = outside || fabs(c->tenth[k] - 1) > TENTH_OFF;
        off = off || fabs(c->tenth[k] - 1) > fmax(TENTH_OFF, c->tenth_half[k]);
    }
    const kn_formatted low = kn_format_fixed(10 * c->tenth[0], 1),
                       high = kn_format_fixed(10 * c->tenth[1], 1),
                       far = kn_format_percent(1 - c->coverage[KN_REPORT_COVERAGES - 1]);
    if (!off)
        return kn_report_note_add(
            ctx, r, &r->good, "shape", "",
            "The tails are as long as they should be%s: %s %% of the z are in the lowest "
            "tenth and %s %% in the highest (expected 10 %% each).",
            fmax(fabs(c->tenth[0] - 1), fabs(c->tenth[1] - 1)) > TENTH_OFF ? UNSURE : "", low.text,
            high.text);
    const bool apart = (c->tenth[0] - 1) * (c->tenth[1] - 1) < 0;
    return kn_report_note_add(
        ctx, r, &r->warnings, "shape", "The z do not follow a normal law.",
        "Of the z of %s %s %% are in the lowest tenth and %s %% in the highest (expected 10 %% "
        "each), and "
        "%s %% are beyond 2.58 either way (expected 1 %%). %s What to do: see the detrended QQ "
        "plot, and "
        "go by p, which compares people with people, rather than by single z.",
        j.who, low.text, high.text, far.text,
        apart ? "They are lopsided: a z of -2 and one of +2 are not equally rare."
              : "A centile read from a z is off where they bend away.");
}

kn_status kn_summary_msll(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const bool model =
        job->m->kind == KN_MATERIAL_CHANGE || !scored_known(job) || isnan(r->responses.mean_MSLL);
    const double msll = model ? r->model.cv_msll : r->responses.mean_MSLL;
    if (isnan(msll))
        return KN_OK;
    char scored[100];
    name_people(job, r->calibration[1].n, false, scored);
    const char *who = model ? "held-out people of training" : scored;
    if (msll >= 0)
        return kn_report_note_add(
            ctx, r, &r->warnings, "msll", "The covariates do not help here.",
            "Covariates predict %s no better than the mean and the spread of training do (mean "
            "standardised log loss %s, below 0 where they help). z are then plain z-scores. What "
            "to do: try other covariates, or train on more people.",
            who, kn_format_signed(msll, 3).text);
    return kn_report_note_add(
        ctx, r, &r->good, "msll", "",
        "The covariates help to predict %s: the mean standardised log loss is %s "
        "(0 is no gain, lower is better).",
        who, kn_format_fixed(msll, 3).text);
}

/* ---- model ---- */

/* Standard deviation of a numeric covariate in training; NaN: not known. */
static double deviation_of(const kn_report_job *job, const char *name)
{
    for (ptrdiff_t k = 0; k < job->m->C; k++) {
        const kn_report_input_column *c = &job->m->column[k];
        double n = 0, mean = 0, ss = 0;
        if (!c->numeric || !c->training || strcmp(c->name, name) != 0)
            continue;
        for (ptrdiff_t i = 0; i < job->m->N; i++)
            if (isfinite(c->training[i])) { /* Welford */
                double d = c->training[i] - mean;
                mean += d / ++n;
                ss += d * (c->training[i] - mean);
            }
        return n > 1 ? sqrt(ss / (n - 1)) : NAN;
    }
    return NAN;
}

kn_status kn_summary_wiggly(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const kn_report_model *m = &r->model;
    double share = 0;
    if (!m->known || isnan(m->length) || !m->length_units)
        return KN_OK;
    for (ptrdiff_t k = 0; k < m->terms; k++)
        if (strcmp(m->term[k], "smooth") == 0)
            share += m->weight[k];
    const bool in_sd = strcmp(m->length_units, "sd") == 0;
    const double sd = in_sd ? 1 : deviation_of(job, m->length_units);
    if (!(m->length < WIGGLY_LENGTH * sd && share > WIGGLY_SHARE))
        return KN_OK;
    return kn_report_note_add(
        ctx, r, &r->warnings, "wiggly", "The curves may wiggle.",
        "%s %% of the signal changes over a length of only %s %s%s, so that neighbours in %s are "
        "told apart: "
        "bends of the curves may be those of single people of training. What to do: look at the "
        "curves; where they bend for no reason, do not trust them there.",
        kn_format_percent(share).text, kn_format_fixed(m->length, 2).text,
        in_sd ? "standard deviations" : "of ", in_sd ? "" : m->length_units,
        in_sd ? "the covariates" : m->length_units);
}

kn_status kn_summary_abnormal(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const kn_report_people *p = &r->people;
    const double found = (double)p->deviance_found;
    const bool change = job->m->kind == KN_MATERIAL_CHANGE;
    if (p->deviance_of == 0 || isnan(p->deviance_expected_low) || job->m->kind == KN_MATERIAL_MODEL)
        return KN_OK;
    const kn_formatted low = kn_format_fixed(p->deviance_expected_low, 0),
                       high = kn_format_fixed(p->deviance_expected_high, 0);
    const bool normal = found >= p->deviance_expected_low && found <= p->deviance_expected_high;
    if (normal && p->deviance_of < LEAST_PEOPLE) /* too few for praise */
        return KN_OK;
    if (normal)
        return kn_report_note_add(ctx, r, &r->good, "abnormal", "",
                                  "As many %s stand out as chance allows: a deviance with p of "
                                  "0.05 or less in %td of %td "
                                  "(%s to %s expected of %s).",
                                  change ? "changes" : "people", p->deviance_found, p->deviance_of,
                                  low.text, high.text, p->compared);
    const bool many = found > p->deviance_expected_high;
    return kn_report_note_add(
        ctx, r, &r->warnings, "abnormal",
        change ? "More changes stand out than expected."
        : many ? "More people stand out than expected."
               : "Fewer people stand out than expected.",
        "A deviance with p of 0.05 or less in %td of %td; %s to %s are expected of %s. %s",
        p->deviance_found, p->deviance_of, low.text, high.text, p->compared,
        change ? "These people are not as stable as those of the reference."
        : many ? "Either they differ from those of training, or the model does not fit them. What "
                 "to do: name patients with 'score --label', and the page compares them with the "
                 "others; look at the first cards."
               : "The model may be wider than these people need. What to do: read them against "
                 "controls of your own ('score --reference').");
}

ptrdiff_t kn_summary_training(const kn_report_job *job)
{
    const double N = job->m->model ? kn_model_number(job->m->model, "n_samples") : NAN;
    return N > 0 ? (ptrdiff_t)N : 0;
}

kn_status kn_summary_training_words(kn_ctx *ctx, const kn_report_job *job, const char **out)
{
    const ptrdiff_t N = kn_summary_training(job), units = job->m->units;
    if (units > 0 && units < N)
        return kn_arena_print(ctx, &job->r->arena, out, "%td maps in %td groups", N, units);
    return kn_arena_print(ctx, &job->r->arena, out, "%td %s", N, N == 1 ? "person" : "people");
}

/* Describes the reference sample of the p-values. */
static kn_status reference_words(kn_ctx *ctx, const kn_report_job *job, const char **out)
{
    const kn_report_people *p = &job->r->people;
    kn_arena *arena = &job->r->arena;
    const ptrdiff_t n = p->compared_n;
    if (job->m->kind == KN_MATERIAL_CHANGE)
        return kn_arena_print(ctx, arena, out,
                              "Changes are compared with those of %td stable people", n);
    if (job->m->kind == KN_MATERIAL_CV)
        return kn_arena_print(ctx, arena, out,
                              "The smallest training of a model that people were scored by was of "
                              "%td people",
                              n);
    if (p->compared_among_them)
        return kn_arena_print(ctx, arena, out,
                              "p are against the people scored who are %s, %td of them",
                              p->compared_named ? p->compared_named : "the reference", n);
    kn_status status = kn_summary_training_words(ctx, job, out);
    return status == KN_OK ? kn_arena_print(ctx, arena, out, "The model was trained on %s", *out)
                           : status;
}

kn_status kn_summary_few(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report *r = job->r;
    const bool change = job->m->kind == KN_MATERIAL_CHANGE;
    const ptrdiff_t n = r->people.compared_n;
    const double rank_p = 1 / (double)(n + 1);
    const double stated = change ? r->change.smallest_p : r->people.smallest_p;
    /* Tolerance for the digits in files. */
    const double least = stated > 0 ? stated : rank_p, SAME = 1e-6;
    const char *who, *ranks = "";
    if (n == 0 || n >= MANY)
        return KN_OK;
    KN_TRY(reference_words(ctx, job, &who));
    if (least < rank_p * (1 - SAME))
        KN_TRY(kn_arena_print(ctx, &r->arena, &ranks,
                              ", and that of the deviance, which is a rank, not below %s",
                              kn_format_p(rank_p).text));
    KN_TRY(kn_report_note_add(ctx, r, &r->warnings, "few", "The reference is small.",
                              "%s. However unusual %s is, p cannot be below %s%s. What to do: go "
                              "by z and by the order of people, or %s.",
                              who, change ? "a change" : "somebody", kn_format_p(least).text, ranks,
                              change ? "compare with more stable people"
                              : r->people.compared_among_them
                                  ? "compare them with training (score without --reference)"
                                  : "train on more"));
out:
    return status;
}
