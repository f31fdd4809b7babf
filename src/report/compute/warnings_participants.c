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

#include "report/compute/warning_rules.h"
#include "report/input/json_path.h"
#include "report/text/sentence.h"

enum { LISTED = 5, LONG = 80 };
static const double BEYOND = 99, FAR = 2, CHANCE = 0.025;

typedef struct some { /* the first few participants by name */
    ptrdiff_t n;
    char text[600];
} some;

/* Length of a name as shown: at most LONG bytes, whole characters. */
static size_t cut(const char *id)
{
    size_t n = strnlen(id, LONG);
    while (n > 0 && ((unsigned char)id[n] & 0xC0) == 0x80)
        n--;
    return n;
}

static void add(some *s, const char *id)
{
    const size_t used = strlen(s->text);
    const char *before = s->n == 0 ? "" : ", ";
    s->n++;
    if (s->n > LISTED + 1)
        return;
    if (s->n == LISTED + 1)
        snprintf(s->text + used, sizeof s->text - used, " and others");
    else
        snprintf(s->text + used, sizeof s->text - used, "%s%.*s%s", before, (int)cut(id), id,
                 id[cut(id)] ? "..." : "");
}

static const char *have(ptrdiff_t n)
{
    return n == 1 ? "person has" : "people have";
}

static const char *are(ptrdiff_t n)
{
    return n == 1 ? "person is" : "people are";
}

kn_status kn_summary_implausible(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    some who = {0};
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        if (r->people.person[i].implausible)
            add(&who, r->people.person[i].id);
    if (who.n == 0)
        return KN_OK;
    return kn_report_note_add(
        ctx, r, &r->warnings, "implausible", "Some data cannot be right.",
        "%td of %td %s values far outside what anybody has: other units, a failed "
        "segmentation, an empty image? What to do: look at their data before their z: %s.",
        who.n, r->people.n, have(who.n), who.text);
}

/* Warns about sites, and about levels of other categories. */
kn_status kn_summary_sites(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    some at_site = {0}, unseen = {0};
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        if (r->people.person[i].site_unknown)
            add(&at_site, r->people.person[i].id);
        if (r->people.person[i].unseen)
            add(&unseen, r->people.person[i].id);
    }
    if (at_site.n > 0)
        KN_TRY(kn_report_note_add(ctx, r, &r->warnings, "site",
                                  "The model does not know their site.",
                                  "%td of %td %s from a site that training did not have, and the "
                                  "model was not adapted to it: "
                                  "what that site does is still in every z. What to do: 'kronorm "
                                  "adapt' with healthy people of that site removes it. %s.",
                                  at_site.n, r->people.n, are(at_site.n), at_site.text));
    if (unseen.n > 0)
        KN_TRY(kn_report_note_add(ctx, r, &r->warnings, "unseen",
                                  "Some people are of a kind that training did not have.",
                                  "%td of %td %s of a level of a category that was not in "
                                  "training, and read by what levels "
                                  "are like on average. What to do: leave them out, or train on "
                                  "people like them: %s.",
                                  unseen.n, r->people.n, are(unseen.n), unseen.text));
out:
    return status;
}

/* True for "row-0017", the name of a row without an id. */
static bool is_row(const char *id)
{
    return strncmp(id, "row-", 4) == 0 && strlen(id) >= 8 &&
           strspn(id + 4, "0123456789") == strlen(id + 4);
}

/* True if training participants could be recognised: both model and folder have ids. */
static bool have_ids(const kn_report_input *m)
{
    bool ids = false;
    for (ptrdiff_t i = 0; m->training_id && m->id && i < m->n; i++)
        ids = ids || !is_row(m->id[i]);
    return ids;
}

kn_status kn_summary_training_people(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    some who = {0};
    if (job->m->kind != KN_MATERIAL_SCORE)
        return KN_OK;
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        if (r->people.person[i].training)
            add(&who, r->people.person[i].id);
    if (who.n == 0 && !have_ids(job->m))
        return KN_OK;
    if (who.n == 0)
        return kn_report_note_add(ctx, r, &r->good, "training", "",
                                  "Nobody here was in training, by id.");
    return kn_report_note_add(ctx, r, &r->warnings, "training", "Some people were in training.",
                              "%td of %td %s among those the model was made of. %s, and they are "
                              "not counted where the page checks the model. What to do: to check "
                              "it, score people whom it has not seen, or use 'kronorm cv'. %s.",
                              who.n, r->people.n, are(who.n),
                              r->people.training_anew
                                  ? "Their z are by the model that has seen them, which makes them "
                                    "too small"
                                  : "Their z come from folds without them unless their data have "
                                    "changed",
                              who.text);
}

/* ---- extrapolation ---- */

static double log_beta(double a, double b)
{
    return lgamma(a) + lgamma(b) - lgamma(a + b);
}

/* Returns the largest count that is not too many: P(X > it) <= CHANCE. */
static ptrdiff_t most_by_chance(ptrdiff_t n, double N)
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

static double largest(const double *x, ptrdiff_t n)
{
    double most = NAN;
    for (ptrdiff_t i = 0; x && i < n; i++)
        most = fmax(most, x[i]);
    return most;
}

kn_status kn_summary_extrapolation(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report *r = job->r;
    const kn_report_input *m = job->m;
    const double N = (double)kn_summary_training(job);
    some who = {0};
    bool far = false;
    ptrdiff_t known = 0;
    if (m->kind != KN_MATERIAL_SCORE && m->kind != KN_MATERIAL_CV)
        return KN_OK;
    const double most =
        m->model ? largest(kn_report_input_training(m, "extrapolation"), m->N) : NAN;
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        const kn_report_person *p = &r->people.person[i];
        if (p->training || isnan(p->extrapolation_pct))
            continue;
        known++;
        if (!(p->extrapolation_pct > BEYOND))
            continue;
        add(&who, p->id);
        if (most > 0) /* 100, but not above the largest ratio: a covariate was clamped */
            far = far || p->extrapolation > FAR * most ||
                  (p->extrapolation_pct >= 100 && p->extrapolation <= most);
    }
    if (known == 0)
        return KN_OK;
    const ptrdiff_t allowed = most_by_chance(known, N > 0 ? N : (double)known);
    if (!far && who.n <= allowed)
        return kn_report_note_add(ctx, r, &r->good, "extrapolation", "",
                                  "Their covariates are within what training had%s.",
                                  who.n > 0 ? ", but for as many at its edge as chance allows"
                                            : "");
    return kn_report_note_add(ctx, r, &r->warnings, "extrapolation",
                              "Some people are far from training.",
                              "%td of %td %s covariates at which training had next to nobody "
                              "(extrapolation above the 99th "
                              "percentile; up to %td expected by chance). What the model expects "
                              "of them is little more than a "
                              "guess, and a small z says little. What to do: leave them out of "
                              "what you conclude, or train on people like them: %s.",
                              who.n, known, have(who.n), allowed, who.text);
}

/* ---- warnings of the folder ---- */

/* Warnings for which the page has its own text. */
static const char *const SAID[] = {"extrapolation_pct above 99", "cannot be right, see implausible",
                                   "that training did not have (",
                                   "see unseen_level and site_adapted"};

static bool said(const char *text)
{
    for (size_t k = 0; k < sizeof SAID / sizeof *SAID; k++)
        if (strstr(text, SAID[k]))
            return true;
    return false;
}

/* Converts {training_rows=plain} to --training-rows plain. */
static void as_typed(const char *from, char *to)
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

kn_status kn_summary_folder(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report *r = job->r;
    json_t *summary = NULL, *text;
    char *words = NULL;
    size_t k;
    KN_TRY(kn_json_parse(ctx, "summary.json", job->m->summary_json, &summary));
    json_array_foreach(json_object_get(summary, "warnings"), k, text)
    {
        const char *from = json_string_value(text);
        void *memory;
        if (!from || said(from))
            continue;
        KN_TRY(kn_alloc(ctx, 2 * (ptrdiff_t)strlen(from) + 1, 1, &memory));
        words = memory;
        as_typed(from, words);
        KN_TRY(
            kn_report_note_add(ctx, r, &r->warnings, "folder", "", "The folder says: %s.", words));
        kn_free(words);
        words = NULL;
    }
out:
    kn_free(words);
    json_decref(summary);
    return status;
}
