/* Rules: which participants need a second look?   [METHOD 11b]
 *
 *     implausible     score flags the map as implausible
 *     site            a site not in training, and the model was not adapted to it
 *     unseen          another level that is not in training
 *     training        members of the training sample
 *     extrapolation   extrapolation_pct > 99: more participants than chance allows, one whose ratio
 *                     is FAR times the largest of training, or one whose covariates were clamped
 *     folder          warnings of score, cv or change, unless the page has its own text for them
 *
 * One in a hundred healthy participants is beyond the 99th percentile of training, so that one
 * of 32 is no finding: their number is beta-binomial, by the rank of the percentile among N,
 *
 *     P(X = x) = C(n, x) B(a + x, N + 1 - a + n - x) / B(a, N + 1 - a),   a = N - floor(.99 N) */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/compute/internal.h"
#include "report/input/records.h"
#include "report/text/sentence.h"

enum { LISTED = 5, LONG = 80 };
static const double BEYOND = 99, FAR = 2, CHANCE = 0.025;

typedef struct name_list { /* the first few participants by name */
    ptrdiff_t n;
    char text[600];
} name_list;

/* Returns the bytes of a name that are shown: at most LONG, whole UTF-8 characters. */
static size_t shown_length(const char *id)
{
    size_t n = strnlen(id, LONG);
    while (n > 0 && ((unsigned char)id[n] & 0xC0) == 0x80)
        n--;
    return n;
}

/* Appends an id to a list of at most LISTED names, then "and others"; long ids are cut. */
static void add_name(name_list *s, const char *id)
{
    const size_t used = strlen(s->text);
    const char *before = s->n == 0 ? "" : ", ";
    s->n++;
    if (s->n > LISTED + 1)
        return;
    if (s->n == LISTED + 1)
        snprintf(s->text + used, sizeof s->text - used, " and others");
    else
        snprintf(s->text + used, sizeof s->text - used, "%s%.*s%s", before, (int)shown_length(id),
                 id, id[shown_length(id)] ? "..." : "");
}

/* Returns "participant has" or "participants have". */
static const char *phrase_have(ptrdiff_t n)
{
    return n == 1 ? "participant has" : "participants have";
}

/* Returns "participant is" or "participants are". */
static const char *phrase_are(ptrdiff_t n)
{
    return n == 1 ? "participant is" : "participants are";
}

kn_status kn_summary_implausible(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    name_list listed = {0};
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        if (r->participants.participant[i].implausible)
            add_name(&listed, r->participants.participant[i].id);
    if (listed.n == 0)
        return KN_OK;
    return kn_report_note_add(
        ctx, r, &r->warnings, "implausible", "Some data are implausible.",
        "%td of %td %s values far outside the possible range. Common causes are other units, a "
        "failed segmentation or an empty image. What to do: Check the data before the z-scores of "
        "%s.",
        listed.n, r->participants.n, phrase_have(listed.n), listed.text);
}

/* Warns about sites, and about levels of other categories. */
kn_status kn_summary_sites(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    name_list at_site = {0}, unseen = {0};
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        if (r->participants.participant[i].site_unknown)
            add_name(&at_site, r->participants.participant[i].id);
        if (r->participants.participant[i].unseen)
            add_name(&unseen, r->participants.participant[i].id);
    }
    if (at_site.n > 0)
        KN_TRY(
            kn_report_note_add(ctx, r, &r->warnings, "site",
                               "Some participants are from a new site.",
                               "%td of %td %s from a site that is not in the training sample, and "
                               "the model was not adapted to it. The site effect is part of every "
                               "z-score. What to do: Adapt the model with healthy controls from "
                               "that site ('kronorm adapt'). Affected: %s.",
                               at_site.n, r->participants.n, phrase_are(at_site.n), at_site.text));
    if (unseen.n > 0)
        KN_TRY(kn_report_note_add(ctx, r, &r->warnings, "unseen",
                                  "Some levels are not in the training sample.",
                                  "%td of %td %s a level of a categorical covariate that is not in "
                                  "the training sample. They were scored with the average level. "
                                  "What to do: Exclude them, or fit a model that includes this "
                                  "level. Affected: %s.",
                                  unseen.n, r->participants.n, phrase_have(unseen.n), unseen.text));
out:
    return status;
}

/* Returns whether an id is "row-0017", the name of a row without an id. */
static bool is_row(const char *id)
{
    return strncmp(id, "row-", 4) == 0 && strlen(id) >= 8 &&
           strspn(id + 4, "0123456789") == strlen(id + 4);
}

/* Returns whether scored participants could be recognised as training participants: both the model
 * and the folder have ids. */
static bool have_ids(const kn_report_input *m)
{
    bool ids = false;
    for (ptrdiff_t i = 0; m->training_id && m->id && i < m->n; i++)
        ids = ids || !is_row(m->id[i]);
    return ids;
}

kn_status kn_summary_training_participants(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    name_list listed = {0};
    if (job->m->kind != KN_INPUT_SCORE)
        return KN_OK;
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        if (r->participants.participant[i].training)
            add_name(&listed, r->participants.participant[i].id);
    if (listed.n == 0 && !have_ids(job->m))
        return KN_OK;
    if (listed.n == 0)
        return kn_report_note_add(ctx, r, &r->good, "training", "",
                                  "No scored participant is in the training sample (by ID).");
    return kn_report_note_add(
        ctx, r, &r->warnings, "training", "Some participants are in the training sample.",
        "%td of %td %s in the training sample of the model. %s. The "
        "calibration checks leave them out. What to do: To validate the "
        "model, score new participants or use 'kronorm cv'. Affected: %s.",
        listed.n, r->participants.n, phrase_are(listed.n),
        r->participants.training_in_sample
            ? "Their z-scores are from the model fitted to them, and therefore "
              "too small"
            : "Their z-scores are from folds without them unless their data "
              "have changed",
        listed.text);
}

/* ---- extrapolation ---- */

/* Returns ln B(a, b), the logarithm of the beta function. */
static double log_beta(double a, double b)
{
    return lgamma(a) + lgamma(b) - lgamma(a + b);
}

/* Returns the largest number of n participants beyond the 99th percentile of N training
 * participants that chance allows, P(X > it) <= CHANCE, by the beta-binomial distribution above. */
static ptrdiff_t max_by_chance(ptrdiff_t n, double N)
{
    const double a = N - floor(BEYOND * N / 100), b = N + 1 - a, m = (double)n;
    double below = 0;
    for (ptrdiff_t x = 0; x < n; x++) {
        const double at = (double)x;
        below += exp(lgamma(m + 1) - lgamma(at + 1) - lgamma(m - at + 1) +
                     log_beta(a + at, b + m - at) - log_beta(a, b));
        if (1 - below <= CHANCE)
            return x;
    }
    return n;
}

/* Returns the largest of n values, ignoring NaN; NaN if there is none or x is NULL. */
static double find_largest(const double *x, ptrdiff_t n)
{
    double limit = NAN;
    for (ptrdiff_t i = 0; x && i < n; i++)
        limit = fmax(limit, x[i]);
    return limit;
}

kn_status kn_summary_extrapolation(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const kn_report_input *m = job->m;
    const double N = (double)kn_summary_training(job);
    name_list listed = {0};
    bool far = false;
    ptrdiff_t known = 0;
    if (m->kind != KN_INPUT_SCORE && m->kind != KN_INPUT_CV)
        return KN_OK;
    const double limit =
        m->model ? find_largest(kn_report_input_training(m, "extrapolation"), m->N) : NAN;
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        const kn_report_participant *p = &r->participants.participant[i];
        if (p->training || isnan(p->extrapolation_pct))
            continue;
        known++;
        if (!(p->extrapolation_pct > BEYOND))
            continue;
        add_name(&listed, p->id);
        if (limit > 0) /* 100, but not above the largest ratio: a covariate was clamped */
            far = far || p->extrapolation > FAR * limit ||
                  (p->extrapolation_pct >= 100 && p->extrapolation <= limit);
    }
    if (known == 0)
        return KN_OK;
    const ptrdiff_t allowed = max_by_chance(known, N > 0 ? N : (double)known);
    if (!far && listed.n <= allowed)
        return kn_report_note_add(ctx, r, &r->good, "extrapolation", "",
                                  "Covariates are within the range of the training sample%s.",
                                  listed.n > 0 ? ", except for as many as expected by chance" : "");
    return kn_report_note_add(ctx, r, &r->warnings, "extrapolation",
                              "Some participants require extrapolation.",
                              "%td of %td %s covariates with few comparable training participants "
                              "(extrapolation above the 99th percentile; up to %td expected by "
                              "chance). Their predictions are uncertain, and a small z-score does "
                              "not mean normality. What to do: Do not interpret these "
                              "participants, or extend the training sample. Affected: %s.",
                              listed.n, known, phrase_have(listed.n), allowed, listed.text);
}

/* ---- warnings of the folder ---- */

/* Warnings for which the page has its own text. */
static const char *const REPEATED[] = {"extrapolation_pct above 99",
                                       "implausible maps (column implausible)",
                                       "that is not in the training data (",
                                       "see unseen_level and site_adapted"};

/* Returns whether the page has its own text for a warning of the folder. */
static bool is_repeated(const char *text)
{
    for (size_t k = 0; k < sizeof REPEATED / sizeof *REPEATED; k++)
        if (strstr(text, REPEATED[k]))
            return true;
    return false;
}

/* Copies a text to `to` (twice its size) with options such as {training_rows=plain} as
 * --training-rows plain. */
static void to_command_line(const char *from, char *to)
{
    for (; *from; from++) {
        const size_t key = *from == '{' ? strspn(from + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
        const char after = key > 0 ? from[key + 1] : '\0';
        const char *end = key > 0 ? strchr(from, '}') : NULL;
        if (!end || (after != '}' && after != '=')) {
            *to++ = *from;
            continue;
        }
        *to++ = '-';
        *to++ = '-';
        for (from++; from < end; from++)
            *to++ = *from == '_' ? '-' : *from == '=' ? ' ' : *from;
    }
    *to = '\0';
}

/* Returns whether the page has its own text for a warning of the fit. */
static bool is_known_of_fit(const char *text)
{
    return strstr(text, "the covariates do not improve prediction") ||
           strstr(text, "so p-values are computed from ranks");
}

/* Adds one warning to the page per text of a JSON array, except those that it has in its own words.
 * code: of the notes; start: their first words. */
static kn_status add_file_warnings(kn_ctx *ctx, kn_report *r, const json_t *list, const char *code,
                                   const char *start)
{
    kn_status status = KN_OK;
    char *words = NULL;
    json_t *text;
    size_t k;
    json_array_foreach(list, k, text)
    {
        const char *from = json_string_value(text);
        void *memory;
        if (!from || is_repeated(from) || (strcmp(code, "fit") == 0 && is_known_of_fit(from)))
            continue;
        KN_TRY(kn_alloc(ctx, 2 * (ptrdiff_t)strlen(from) + 1, 1, &memory));
        words = memory;
        to_command_line(from, words);
        KN_TRY(kn_report_note_add(ctx, r, &r->warnings, code, "", "%s: %s.", start, words));
        kn_free(words);
        words = NULL;
    }
out:
    kn_free(words);
    return status;
}

/* Adds to the page the warnings that a JSON text (NULL: none) has at path `where`, an array of
 * texts. */
static kn_status add_recorded(kn_ctx *ctx, const kn_report_job *job, const char *json,
                              const char *where, const char *code, const char *start)
{
    json_t *all = NULL;
    if (!json)
        return KN_OK;
    kn_status status = kn_json_parse(ctx, code, json, &all);
    if (status == KN_OK)
        status = add_file_warnings(ctx, job->r, kn_json_at(all, where), code, start);
    json_decref(all);
    return status;
}

kn_status kn_summary_folder(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status = add_recorded(ctx, job, job->m->model ? job->m->model_json : NULL,
                                    "fit.warnings", "fit", "Warning of the fit");
    return status == KN_OK ? add_recorded(ctx, job, job->m->summary_json, "warnings", "folder",
                                          "Warning in the scored folder")
                           : status;
}
