/* Rows of the scored participants, or of training if there is no folder: statistics, p-values,
 * ids and covariates   [METHOD 11c] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/table/number.h"
#include "report/compute/compute.h"
#include "report/compute/participants_order.h"
#include "report/compute/reference_population.h"
#include "report/input/command_option.h"
#include "report/input/json_path.h"
#include "report/text/anonymize.h"
#include "stats/gev.h"

static const double BURDEN = 1.96; /* default threshold of the burden */

/* ---- columns ---- */

/* A column of abnormality.tsv, and its name in change.tsv if different. */
typedef struct column {
    const char *name, *change;
    size_t at;
} column;

#define AT(field) offsetof(kn_report_person, field)
static const column COLUMNS[] = {
    {"statistic", NULL, AT(statistic)},
    {"p_upper", "statistic_p", AT(p)},
    {"deviance", NULL, AT(deviance)},
    {"deviance_p", NULL, AT(deviance_p)},
    {"deviance_noise_p", NULL, AT(deviance_noise_p)},
    {"extrapolation_pct", NULL, AT(extrapolation_pct)},
    {"mean_z", NULL, AT(mean_z)},
    {"mean_z_p", NULL, AT(mean_z_p)},
    {"negative", NULL, AT(negative)},
    {"negative_p", NULL, AT(negative_p)},
    {"positive", NULL, AT(positive)},
    {"positive_p", NULL, AT(positive_p)},
    {"fdr_negative", NULL, AT(fdr_negative)},
    {"fdr_positive", NULL, AT(fdr_positive)},
    {"n_responses", NULL, AT(responses)},
    {"interval", NULL, AT(interval)},
};
enum { N_COLUMNS = sizeof COLUMNS / sizeof *COLUMNS };

static double *field(kn_report_person *one, const column *c)
{
    return (double *)(void *)((char *)one + c->at);
}

static double value_of(const double *values, ptrdiff_t i)
{
    return values ? values[i] : NAN;
}

static void take_numbers(const kn_report_job *job)
{
    kn_report_people *people = &job->r->people;
    const bool change = job->m->kind == KN_MATERIAL_CHANGE;
    for (int k = 0; k < N_COLUMNS; k++) {
        const column *c = &COLUMNS[k];
        const double *values =
            kn_report_input_people(job->m, change && c->change ? c->change : c->name);
        for (ptrdiff_t i = 0; i < people->n; i++)
            *field(&people->person[i], c) = value_of(values, i);
    }
}

/* Reads the 0/1 columns of abnormality.tsv. site_adapted is 1 for an adapted site, 0 for an
 * unknown one, and NaN for a site of training. */
static void take_flags(const kn_report_job *job)
{
    kn_report_people *people = &job->r->people;
    const double *training = kn_report_input_people(job->m, "in_training");
    const double *label = kn_report_input_people(job->m, "label");
    const double *unseen = kn_report_input_people(job->m, "unseen_level");
    const double *implausible = kn_report_input_people(job->m, "implausible");
    const double *adapted = kn_report_input_people(job->m, "site_adapted");
    const double *extrapolation = kn_report_input_people(job->m, "extrapolation");
    const double *reference = kn_report_input_people(job->m, "reference");
    for (ptrdiff_t i = 0; i < people->n; i++) {
        kn_report_person *one = &people->person[i];
        double labelled = value_of(label, i);
        one->training = value_of(training, i) == 1;
        one->label = isnan(labelled) ? -1 : labelled == 1;
        one->unseen = value_of(unseen, i) == 1;
        one->implausible = value_of(implausible, i) == 1;
        one->adapted = value_of(adapted, i) == 1;
        one->site_unknown = value_of(adapted, i) == 0;
        one->extrapolation = value_of(extrapolation, i);
        one->reference = value_of(reference, i) == 1;
    }
}

static kn_status take_text(kn_ctx *ctx, kn_report *r, const char *const *texts, ptrdiff_t i,
                           const char **out)
{
    const char *text = texts ? texts[i] : NULL;
    return kn_arena_text(ctx, &r->arena, text && !kn_text_is_missing(text) ? text : NULL, out);
}

static kn_status take_texts(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    const char *const *note = kn_report_input_texts(job->m, "p_note");
    const char *const *visit1 = kn_report_input_texts(job->m, "visit1");
    const char *const *visit2 = kn_report_input_texts(job->m, "visit2");
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        kn_report_person *one = &r->people.person[i];
        KN_TRY(take_text(ctx, r, note, i, &one->note));
        KN_TRY(take_text(ctx, r, visit1, i, &one->visit1));
        KN_TRY(take_text(ctx, r, visit2, i, &one->visit2));
        one->p_is_bound = one->note && strcmp(one->note, "bound") == 0;
    }
out:
    return status;
}

/* ---- training participants ---- */

typedef struct reference_column {
    const char *name;
    size_t value, p; /* value 0: not shown */
    bool sizes;
} reference_column;

static const reference_column TRAINING[] = {
    {"statistic", AT(statistic), AT(p), false},
    {"deviance", AT(deviance), AT(deviance_p), false},
    {"deviance_noise", 0, AT(deviance_noise_p), false},
    {"mean_z", AT(mean_z), AT(mean_z_p), true},
    {"negative", AT(negative), AT(negative_p), false},
    {"positive", AT(positive), AT(positive_p), false},
};

/* Ranks each training participant among the others. */
static kn_status take_training(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report_people *people = &job->r->people;
    double *p = NULL;
    for (ptrdiff_t i = 0; i < people->n; i++) {
        for (int k = 0; k < N_COLUMNS; k++)
            *field(&people->person[i], &COLUMNS[k]) = NAN;
        people->person[i].training = true;
        people->person[i].label = -1;
    }
    KN_TRY(kn_alloc_d(ctx, people->n, &p));
    for (size_t k = 0; k < sizeof TRAINING / sizeof *TRAINING; k++) {
        const reference_column *c = &TRAINING[k];
        const double *values = kn_report_input_training(job->m, c->name);
        if (!values)
            continue;
        KN_TRY(kn_participants_rank(ctx, values, people->n, c->sizes, p));
        for (ptrdiff_t i = 0; i < people->n; i++) {
            char *one = (char *)&people->person[i];
            memcpy(one + c->p, &p[i], sizeof *p);
            if (c->value)
                memcpy(one + c->value, &values[i], sizeof *values);
        }
    }
out:
    kn_free(p);
    return status;
}

/* ---- names ---- */

/* Returns the real ids: of the folder, of training, or row-0001. */
static kn_status true_names(kn_ctx *ctx, const kn_report_job *job, const char *const **out)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    const char *const *known = job->m->dir ? job->m->id : job->m->training_id;
    const char **name;
    void *memory;
    *out = known;
    if (known)
        return KN_OK;
    KN_TRY(kn_arena_alloc(ctx, &job->m->arena, r->people.n, sizeof *name, &memory));
    name = memory;
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        KN_TRY(kn_arena_print(ctx, &job->m->arena, &name[i], "row-%04td", i + 1));
    *out = name;
out:
    return status;
}

/* For change the participant of each pair, else NULL. */
static const char *const *persons_of(const kn_report_input *m)
{
    return m->kind == KN_MATERIAL_CHANGE ? kn_report_input_texts(m, "person") : NULL;
}

/* Chooses "person-" with enough hyphens that no real id starts with it. */
static kn_status choose_alias(kn_ctx *ctx, const kn_report_job *job, const char *const *name)
{
    static const char most[] = "person----------------------------------------";
    const kn_report_input *m = job->m;
    ptrdiff_t hyphens = kn_anonymize_hyphens(name, job->r->people.n, 0);
    hyphens = kn_anonymize_hyphens(m->training_id, m->N, hyphens);
    hyphens = kn_anonymize_hyphens(m->dropped_id, m->n_dropped, hyphens);
    return kn_arena_print(ctx, &job->r->arena, &job->r->alias, "%.*s",
                          (int)(sizeof "person" + (size_t)hyphens), most);
}

/* Replaces ids by person-1 ..; for change "person-1 ses-1 to ses-2". */
static kn_status strip_names(kn_ctx *ctx, const kn_report_job *job, const char *const *name)
{
    kn_status status;
    kn_report *r = job->r;
    const char *const *person = persons_of(job->m);
    ptrdiff_t *number = NULL;
    KN_TRY(kn_alloc_i(ctx, r->people.n, &number));
    KN_TRY(choose_alias(ctx, job, person ? person : name));
    KN_TRY(kn_anonymize_numbers(ctx, person ? person : name, r->people.n, number));
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        kn_report_person *one = &r->people.person[i];
        if (one->visit1 && one->visit2)
            KN_TRY(kn_arena_print(ctx, &r->arena, &one->id, "%s%td %s to %s", r->alias, number[i],
                                  one->visit1, one->visit2));
        else
            KN_TRY(kn_arena_print(ctx, &r->arena, &one->id, "%s%td", r->alias, number[i]));
    }
out:
    kn_free(number);
    return status;
}

static kn_status give_names(kn_ctx *ctx, const kn_report_job *job, const char *const *name)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    r->stripped = job->s->page_strip;
    if (r->stripped)
        return strip_names(ctx, job, name);
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        KN_TRY(kn_arena_text(ctx, &r->arena, name[i], &r->people.person[i].id));
out:
    return status;
}

/* ---- covariates ---- */

static const kn_report_input_column *column_named(const kn_report_input *m, const char *name)
{
    for (ptrdiff_t k = 0; k < m->C; k++)
        if (strcmp(m->column[k].name, name) == 0)
            return &m->column[k];
    return NULL;
}

static kn_status covariate_text(kn_ctx *ctx, kn_report *r, const kn_report_input_column *c,
                                double x, const char **out)
{
    char number[KN_NUMBER_SIZE] = "n/a";
    if (c && !c->numeric && x >= 0 && x < (double)c->levels)
        return kn_arena_text(ctx, &r->arena, c->level[(ptrdiff_t)x], out);
    if (c && c->numeric)
        kn_number_short(x, number);
    return kn_arena_text(ctx, &r->arena, number, out);
}

/* Copies the covariates in the order of the cohort's columns. */
static kn_status take_covariates(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    for (ptrdiff_t i = 0; r->cohort.n > 0 && i < r->people.n; i++) {
        void *memory;
        KN_TRY(kn_arena_alloc(ctx, &r->arena, r->cohort.n, sizeof(char *), &memory));
        const char **text = memory;
        bool some = false;
        for (ptrdiff_t k = 0; k < r->cohort.n; k++) {
            const kn_report_input_column *c = column_named(job->m, r->cohort.column[k].name);
            const double *x = !c ? NULL : job->m->dir ? c->scored : c->training;
            some = some || x;
            KN_TRY(covariate_text(ctx, r, c, value_of(x, i), &text[k]));
        }
        r->people.person[i].covariate = some ? text : NULL;
    }
out:
    return status;
}

/* ---- reference sample ---- */

/* Reads the threshold from the recorded command, which contains it only if it was given. */
static double threshold_of(const json_t *summary)
{
    char given[KN_NUMBER_SIZE];
    double x = kn_json_number_at(summary, "threshold");
    if (isnan(x) &&
        kn_command_option(kn_json_text_at(summary, "command"), "--threshold", given, sizeof given))
        kn_number_parse(given, &x);
    return x > 0 ? x : BURDEN;
}

/* Computes people.line from the GEV distribution of the p-values; none if p-values are ranks. */
static void draw_lines(kn_report_people *people, const json_t *from, double smallest)
{
    static const double P[2] = {0.05, 0.001};
    const kn_gev gev = {kn_json_number_at(from, "gev.shape"),
                        kn_json_number_at(from, "gev.location"),
                        kn_json_number_at(from, "gev.scale")};
    for (int k = 0; k < 2; k++)
        people->line[k] =
            gev.sigma > 0 && P[k] >= smallest ? kn_gev_quantile_upper(gev, P[k]) : NAN;
}

/* A p of exactly 0, from an early folder, is replaced by the smallest possible p. */
static void bound_p(kn_report *r, double smallest)
{
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        kn_report_person *one = &r->people.person[i];
        if (one->p <= 0) {
            one->p = smallest;
            one->p_is_bound = true;
        }
    }
}

static kn_status copied(kn_ctx *ctx, kn_report *r, const double *from, ptrdiff_t n, double **out)
{
    *out = NULL;
    if (!from)
        return KN_OK;
    kn_status status = kn_arena_d(ctx, &r->arena, n, out);
    if (status == KN_OK && n > 0)
        memcpy(*out, from, (size_t)n * sizeof *from);
    return status;
}

/* Reads the reference sample of training, the threshold and the smallest p, and derives lines,
 * bounds and the expected number of abnormal participants. */
static kn_status take_reference(kn_ctx *ctx, const kn_report_job *job, const json_t *summary,
                                const json_t *model)
{
    kn_status status;
    kn_report *r = job->r;
    kn_report_people *people = &r->people;
    people->N = job->m->N;
    KN_TRY(copied(ctx, r, kn_report_input_training(job->m, "statistic"), people->N,
                  &people->training));
    KN_TRY(copied(ctx, r, kn_report_input_training(job->m, "deviance"), people->N,
                  &people->training_deviance));
    people->threshold = threshold_of(summary);
    double smallest = summary ? kn_json_number_at(summary, "abnormality.smallest_p")
                              : kn_json_number_at(model, "reference.smallest_p");
    people->smallest_p = smallest;
    draw_lines(people, summary ? summary : model, smallest);
    bound_p(r, smallest);
    KN_TRY(kn_reference_population_find(ctx, job, summary));
    kn_participants_count(r, kn_reference_population_rate(job));
out:
    return status;
}

/* ---- all ---- */

/* Selects the participants with cards ({people}) and those with thumbnails (the most abnormal). */
static kn_status choose(kn_ctx *ctx, const kn_report_job *job, const char *const *name)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    kn_report_people *people = &r->people;
    const char *file = job->m->kind == KN_MATERIAL_CHANGE ? "change.tsv" : "people.tsv", *where;
    void *memory;
    if (!job->m->dir && !job->m->has_training_z) /* no z-maps to show */
        return KN_OK;
    if (job->m->dir)
        KN_TRY(kn_arena_print(ctx, &job->m->arena, &where, "%s/%s", job->m->dir, file));
    else
        where = "training";
    const kn_participants_named named = {name, persons_of(job->m), where};
    KN_TRY(kn_participants_choose(ctx, r, job->s->page_people, &named));
    people->n_thumbs = 0;
    ptrdiff_t most = people->n < KN_REPORT_THUMBS ? people->n : KN_REPORT_THUMBS;
    KN_TRY(kn_arena_i(ctx, &r->arena, most, &people->thumb));
    KN_TRY(kn_arena_alloc(ctx, &r->arena, most, sizeof *people->thumb_z, &memory));
    people->thumb_z = memory;
    for (ptrdiff_t k = 0; k < most; k++)
        if (isfinite(people->person[people->order[k]].statistic))
            people->thumb[people->n_thumbs++] = people->order[k];
out:
    return status;
}

/* Divides counts by the number of responses, if both are known. */
static void set_shares(kn_report *r)
{
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        kn_report_person *one = &r->people.person[i];
        one->share = one->responses > 0 ? (one->negative + one->positive) / one->responses : NAN;
    }
}

/* Without a folder, the participants are those of training; a de-identified model has none. */
static ptrdiff_t count_people(const kn_report_input *m, const json_t *model)
{
    if (m->dir)
        return m->n;
    return kn_json_true_at(model, "shareable") ? 0 : m->N;
}

kn_status kn_compute_people(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report *r = job->r;
    json_t *summary = NULL, *model = NULL;
    const char *const *name;
    void *memory;
    r->kind = (kn_report_kind)job->m->kind;
    KN_TRY(kn_json_parse(ctx, "summary.json", job->m->summary_json, &summary));
    KN_TRY(kn_json_parse(ctx, "the model's record", job->m->model_json, &model));
    r->people.n = count_people(job->m, model);
    KN_TRY(kn_arena_alloc(ctx, &r->arena, r->people.n, sizeof *r->people.person, &memory));
    r->people.person = memory;
    if (job->m->dir) {
        take_numbers(job);
        take_flags(job);
        KN_TRY(take_texts(ctx, job));
    } else {
        KN_TRY(take_training(ctx, job));
    }
    set_shares(r);
    KN_TRY(take_covariates(ctx, job));
    KN_TRY(true_names(ctx, job, &name));
    KN_TRY(give_names(ctx, job, name));
    KN_TRY(take_reference(ctx, job, summary, model));
    KN_TRY(kn_participants_sort(ctx, r));
    KN_TRY(choose(ctx, job, name));
out:
    json_decref(summary);
    json_decref(model);
    return status;
}
