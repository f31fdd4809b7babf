/* Rules: does the model fit the scored participants?   [METHOD 11b]
 *
 *     calibration   mean z^2 outside .9 - 1.1, and its interval without 1; "may" while the interval
 *                   reaches into .9 - 1.1
 *     shift         |mean z| > .05, and its interval without 0
 *     shape         an outer tenth of Phi(z) off by more than a tenth of what it should hold, and
 *                   outside the band of both at once
 *     gain          gain of the covariates not above 0, or a model that predicts the mean for all
 *     wiggly        length below .2 standard deviations, and more than .05 of the signal
 *     abnormal      number of flagged participants (stats/flag.h) outside the 95 % range of chance
 *     few           a note: p cannot be small: fewer than 100 participants in training, or in
 * {reference}
 *
 * Each warning says what to do about it. If fewer than 10 participants can be judged, the
 * held-out training participants are judged instead. A rule requires both a relevant effect and
 * evidence for it, so that small studies get no false alarms and large ones no trivial warnings.
 * The calibration rules require at least 10 participants. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/compute/internal.h"
#include "report/text/sentence.h"

enum { MIN_PARTICIPANTS = 10, MANY = 100 };
static const double Z2_OFF = 0.1, SHIFT = 0.05, TENTH_OFF = 0.1, WIGGLY_LENGTH = 0.2,
                    WIGGLY_PROPORTION = 0.05;
/* Added to an effect that would be a warning if there were evidence for it. */
static const char UNSURE[] = ", within the uncertainty of this sample";

/* The z-scores that are judged: of the scored participants, or of training for a model alone or
 * too few scored. */
typedef struct judged {
    const kn_report_calibration *c; /* NULL: none */
    bool training;
    char sample[160]; /* "the 32 participants without the cases" */
} judged;

/* Returns whether the calibration of enough scored participants is known, so that they are judged
 * and not the training sample. */
static bool scored_known(const kn_report_job *job)
{
    return job->m->kind != KN_INPUT_MODEL && job->r->calibration[1].n >= MIN_PARTICIPANTS;
}

/* Writes who is judged: "the 32 participants without the cases". n: how many; training: they are of
 * the training sample. */
static void name_participants(const kn_report_job *job, ptrdiff_t n, bool training,
                              char sample[160])
{
    bool labels = false, among = false;
    for (ptrdiff_t i = 0; i < job->r->participants.n; i++) {
        labels = labels || job->r->participants.participant[i].label == 1;
        among = among || job->r->participants.participant[i].training;
    }
    const bool groups = training && job->m->units > 0 && job->m->units < job->m->N;
    snprintf(sample, 160, "the %td %s%s%s", n,
             groups     ? "training groups"
             : training ? n == 1 ? "training participant" : "training participants"
             : n == 1   ? "participant"
                        : "participants",
             !training && labels ? " without the cases" : "",
             training          ? " (each held out in turn)"
             : labels && among ? " and not in the training sample"
             : among           ? " not in the training sample"
                               : "");
}

/* Returns the sample whose calibration is judged: the scored participants if there are enough, else
 * the training sample. */
static judged find_judged(const kn_report_job *job)
{
    judged j = {.training = !scored_known(job)};
    const kn_report_calibration *c = &job->r->calibration[!j.training];
    /* Change is calibrated by its own reference sample. */
    if (c->n >= MIN_PARTICIPANTS && job->m->kind != KN_INPUT_CHANGE)
        j.c = c;
    name_participants(job, c->n, j.training, j.sample);
    return j;
}

kn_status kn_summary_calibration(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const judged j = find_judged(job);
    const kn_report_calibration *c = j.c;
    if (!c)
        return KN_OK;
    const bool outside = fabs(c->z2 - 1) > Z2_OFF, large = c->z2 > 1;
    const bool evident = c->z2_low > 1 || c->z2_high < 1;
    const bool sure = c->z2_low > 1 + Z2_OFF || c->z2_high < 1 - Z2_OFF;
    const kn_formatted value = kn_format_fixed(c->z2, 2), low = kn_format_fixed(c->z2_low, 2),
                       high = kn_format_fixed(c->z2_high, 2);
    if (!outside || !evident)
        return kn_report_note_add(ctx, r, &r->good, "calibration", "",
                                  "Calibrated variance%s: mean z^2 = %s in %s (95%% CI %s to %s; "
                                  "expected 1).",
                                  outside ? UNSURE : "", value.text, j.sample, low.text, high.text);
    return kn_report_note_add(
        ctx, r, &r->warnings, "calibration",
        large  ? sure ? "The model is overconfident." : "The model may be overconfident."
        : sure ? "The model is underconfident."
               : "The model may be underconfident.",
        "Mean z^2 = %s in %s (95%% CI %s to %s; expected 1). %s %s", value.text, j.sample, low.text,
        high.text,
        large ? "Extreme z-scores are therefore more common than they should be, and too many "
                "participants will be flagged."
              : "Extreme z-scores are therefore rarer than they should be, and abnormal "
                "participants may be missed.",
        j.training ? "What to do: Check the training data for outliers, exclude them, and refit."
                   : "What to do: Compare with your own controls ('score --reference'). If the "
                     "scanner is new, adapt the model first ('kronorm adapt').");
}

kn_status kn_summary_shift(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const judged j = find_judged(job);
    const kn_report_calibration *c = j.c;
    if (!c)
        return KN_OK;
    const kn_formatted mean = kn_format_signed(c->mean, 2), low = kn_format_signed(c->mean_low, 2),
                       high = kn_format_signed(c->mean_high, 2);
    const bool evident = c->mean_low > 0 || c->mean_high < 0;
    if (fabs(c->mean) > SHIFT && evident)
        return kn_report_note_add(
            ctx, r, &r->warnings, "shift", "z-scores are shifted.",
            "Mean z = %s in %s (95%% CI %s to %s; expected 0). On average, responses lie %s their "
            "predictions, as after a change of scanner or processing. This shift is part of every "
            "z-score. What to do: Compare acquisition and processing with those of the training "
            "sample. For a new site, 'kronorm adapt' with healthy controls removes the shift.",
            mean.text, j.sample, low.text, high.text, c->mean > 0 ? "above" : "below");
    return kn_report_note_add(
        ctx, r, &r->good, "shift", "",
        "No systematic shift%s: mean z = %s in %s (95%% CI %s to %s; expected "
        "0).",
        fabs(c->mean) > SHIFT ? UNSURE : "", mean.text, j.sample, low.text, high.text);
}

kn_status kn_summary_shape(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const judged j = find_judged(job);
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
            "Tail probabilities as expected%s: %s%% of z-scores are in the lowest tenth and %s%% "
            "in the highest tenth of the normal distribution (expected 10%% each).",
            fmax(fabs(c->tenth[0] - 1), fabs(c->tenth[1] - 1)) > TENTH_OFF ? UNSURE : "", low.text,
            high.text);
    const bool opposite = (c->tenth[0] - 1) * (c->tenth[1] - 1) < 0;
    return kn_report_note_add(
        ctx, r, &r->warnings, "shape", "z-scores are not normally distributed.",
        "In %s, %s%% of z-scores are in the lowest tenth and %s%% in the highest tenth of the "
        "normal distribution (expected 10%% each). %s%% have |z| > 2.58 (expected 1%%). %s What to "
        "do: Check the detrended QQ plot. Use the p-values, which compare participants with the "
        "reference sample, rather than single z-scores.",
        j.sample, low.text, high.text, far.text,
        opposite ? "The distribution is asymmetric, so z = -2 and z = +2 are not equally rare."
                 : "Centiles derived from extreme z-scores are therefore inaccurate.");
}

/* What held-out participants say of the covariates; NaN: not known. */
typedef struct prediction {
    double gain, R2;
    bool nothing; /* every model predicts the training mean for all */
    char sample[160];
} prediction;

/* Returns how much the covariates improve prediction: of the scored participants if they are
 * enough, else of the training sample; NaN if it is not known. */
static prediction find_prediction(const kn_report_job *job)
{
    const kn_report *r = job->r;
    const kn_report_responses *o = &r->responses;
    const bool model = job->m->kind == KN_INPUT_CHANGE || !scored_known(job) || o->R2_of_training ||
                       isnan(o->mean_gain);
    prediction p = {model ? r->model.cv_gain : o->mean_gain, model ? r->model.cv_R2 : o->mean_R2,
                    r->model.nothing_predicted, "held-out training participants"};
    if (!model)
        name_participants(job, r->calibration[1].n, false, p.sample);
    return p;
}

kn_status kn_summary_gain(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const prediction p = find_prediction(job);
    const kn_formatted gain = kn_format_signed(p.gain, 3), R2 = kn_format_signed(p.R2, 3);
    if (isnan(p.gain))
        return KN_OK;
    if (p.nothing || p.gain <= 0)
        return kn_report_note_add(
            ctx, r, &r->warnings, "gain", "The covariates do not improve prediction.",
            "In %s, a model without covariates, calibrated in the same way, predicts as well (gain "
            "%s nats per response; positive values mean an improvement). The z-scores then hardly "
            "depend on the covariates. What to do: Check that covariates and responses belong to "
            "the same "
            "participants; use other covariates or a larger training sample.",
            p.sample, gain.text);
    if (!(p.R2 > 0))
        return kn_report_note_add(ctx, r, &r->notes, "gain", "",
                                  "Predictions in %s are no closer than the mean of these "
                                  "participants (mean R² %s), although they have a higher density "
                                  "than without covariates (gain %s nats per response).",
                                  p.sample, R2.text, gain.text);
    return kn_report_note_add(ctx, r, &r->good, "gain", "",
                              "The covariates improve prediction in %s: gain %s nats per response "
                              "over the same calibration without covariates (0: no improvement), "
                              "mean R² %s.",
                              p.sample, gain.text, R2.text);
}

/* ---- model ---- */

/* Returns the standard deviation of a numeric covariate in the training sample; NaN if it is not
 * known. */
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
    double proportion = 0;
    if (!m->known || isnan(m->length) || !m->length_units)
        return KN_OK;
    for (ptrdiff_t k = 0; k < m->terms; k++)
        if (strcmp(m->term[k], "smooth") == 0)
            proportion += m->weight[k];
    const bool in_sd = strcmp(m->length_units, "sd") == 0;
    const double sd = in_sd ? 1 : deviation_of(job, m->length_units);
    if (!(m->length < WIGGLY_LENGTH * sd && proportion > WIGGLY_PROPORTION))
        return KN_OK;
    return kn_report_note_add(
        ctx, r, &r->warnings, "wiggly", "The centile curves may overfit.",
        "%s%% of the signal has a length-scale of only %s %s%s, so predictions differ between "
        "neighbouring values of %s. Local bends of the curves may reflect single training "
        "participants. What to do: Check the curves, and do not interpret bends without a "
        "plausible cause.",
        kn_format_percent(proportion).text, kn_format_figures(m->length, 3).text,
        in_sd ? "standard deviations" : "in units of ", in_sd ? "" : m->length_units,
        in_sd ? "the covariates" : m->length_units);
}

kn_status kn_summary_abnormal(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const kn_report_participants *p = &r->participants;
    const double found = (double)p->flag.flagged;
    const bool change = job->m->kind == KN_INPUT_CHANGE;
    if (p->flag.n == 0 || isnan(p->flagged_expected_low) || job->m->kind == KN_INPUT_MODEL)
        return KN_OK;
    const kn_formatted low = kn_format_fixed(p->flagged_expected_low, 0),
                       high = kn_format_fixed(p->flagged_expected_high, 0);
    const bool normal = found >= p->flagged_expected_low && found <= p->flagged_expected_high;
    if (normal && p->flag.n < MIN_PARTICIPANTS) /* too few for praise */
        return KN_OK;
    if (normal)
        return kn_report_note_add(ctx, r, &r->good, "abnormal", "",
                                  "The number of flagged %s is as expected by chance: %td of %td "
                                  "(%s to %s expected). The p-values refer to %s.",
                                  change                   ? "changes"
                                  : p->cases_flagged.n > 0 ? "participants other than the cases"
                                                           : "participants",
                                  p->flag.flagged, p->flag.n, low.text, high.text, p->reference);
    const bool many = found > p->flagged_expected_high;
    return kn_report_note_add(
        ctx, r, &r->warnings, "abnormal",
        change ? "More changes are flagged than expected."
        : many ? "More participants are flagged than expected."
               : "Fewer participants are flagged than expected.",
        "%td of %td have a %s with p ≤ " KN_FLAG_P_TEXT "; %s to %s are expected in %s. %s",
        p->flag.flagged, p->flag.n, kn_report_flag_title(r), low.text, high.text, p->reference,
        change ? "These participants are less stable than the reference sample."
        : many
            ? "Either they differ from the training sample, or the model does not fit them. What "
              "to do: If there are patients, name them with 'score --cases', so that the report "
              "compares them with the others. Check the first cards."
            : "The predicted variance may be too large for these participants. What to do: "
              "Compare with your own controls ('score --reference').");
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
    return kn_arena_print(ctx, &job->r->arena, out, "%td %s", N,
                          N == 1 ? "participant" : "participants");
}

/* Sets *out to the first words of the note on few participants: which sample p-values refer to, and
 * its size. */
static kn_status reference_words(kn_ctx *ctx, const kn_report_job *job, const char **out)
{
    const kn_report_participants *p = &job->r->participants;
    kn_arena *arena = &job->r->arena;
    const ptrdiff_t n = p->reference_n;
    if (job->m->kind == KN_INPUT_CHANGE)
        return kn_arena_print(ctx, arena, out,
                              "Changes are compared with those of %td stable participants", n);
    if (job->m->kind == KN_INPUT_CV)
        return kn_arena_print(ctx, arena, out,
                              "The smallest training sample of a fold has %td participants", n);
    if (p->reference_in_folder)
        return kn_arena_print(ctx, arena, out,
                              "The reference sample has %td scored participants with %s", n,
                              p->reference_selector ? p->reference_selector : "another label");
    kn_status status = kn_summary_training_words(ctx, job, out);
    return status == KN_OK ? kn_arena_print(ctx, arena, out, "The reference sample has %s", *out)
                           : status;
}

/* Returns the largest of the smallest p-values at unknown sites, and in *n the number of
 * participants there; NaN and 0 if there are none. */
static double find_floor_at_unknown_sites(const kn_report_participants *p, ptrdiff_t *n)
{
    double floor = NAN;
    *n = 0;
    for (ptrdiff_t i = 0; i < p->n; i++)
        if (p->participant[i].site_unknown && !p->reference_in_folder &&
            isfinite(p->participant[i].smallest_rank_p)) {
            floor = fmax(floor, p->participant[i].smallest_rank_p);
            ++*n;
        }
    return floor;
}

kn_status kn_summary_few(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report *r = job->r;
    const bool change = job->m->kind == KN_INPUT_CHANGE;
    const ptrdiff_t n = r->participants.reference_n;
    const double rank_p = 1 / (double)(n + 1);
    const double stated = change ? r->change.smallest_p : r->participants.smallest_p;
    /* Tolerance for the digits in files. */
    const double lowest = stated > 0 ? stated : rank_p, SAME = 1e-6;
    const char *sample, *ranks = "", *sites = "";
    ptrdiff_t unknown;
    const double floor = find_floor_at_unknown_sites(&r->participants, &unknown);
    if (unknown > 0)
        KN_TRY(kn_arena_print(ctx, &r->arena, &sites,
                              " For the %td %s from sites outside the training sample, p-values "
                              "are at least %s, because site effects are known from few sites.",
                              unknown, unknown == 1 ? "participant" : "participants",
                              kn_format_p(floor).text));
    if (n == 0 || n >= MANY)
        return unknown > 0 ? kn_report_note_add(ctx, r, &r->notes, "few",
                                                "Limited p-value resolution.", "%s", sites + 1)
                           : KN_OK;
    KN_TRY(reference_words(ctx, job, &sample));
    if (lowest < rank_p * (1 - SAME))
        KN_TRY(kn_arena_print(ctx, &r->arena, &ranks,
                              " for extreme values and %s for whole-map deviance and burden",
                              kn_format_p(rank_p).text));
    KN_TRY(
        kn_report_note_add(ctx, r, &r->notes, "few", "Limited p-value resolution.",
                           "%s. The smallest possible p-value is %s%s.%s To rank the most extreme "
                           "%s, use the statistics themselves.",
                           sample, kn_format_p(lowest).text, ranks, sites,
                           change ? "changes" : "participants"));
out:
    return status;
}
