/* Rows of the scored participants, or of training if there is no folder: statistics, p-values,
 * ids and covariates [METHOD 11c]. Ids become aliases if the page is anonymous. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/table/number.h"
#include "report/compute/compute.h"
#include "report/compute/internal.h"
#include "report/input/records.h"
#include "report/text/anonymize.h"
#include "stats/gev.h"

static const double DEFAULT_THRESHOLD = 1.96; /* default threshold of the burden */

/* ---- columns ---- */

/* A column of abnormality.tsv, and its name in change.tsv if different. */
typedef struct column {
    const char *name, *change;
    size_t offset;
} column;

#define AT(field) offsetof(kn_report_participant, field)
static const column COLUMNS[] = {
    {"extreme_z", NULL, AT(extreme_z)},
    {"extreme_z_p", NULL, AT(extreme_z_p)},
    {"deviance", NULL, AT(deviance)},
    {"deviance_p", NULL, AT(deviance_p)},
    {"mean_z2", NULL, AT(mean_z2)},
    {"mean_z2_p", NULL, AT(mean_z2_p)},
    {"deviance_noise_p", NULL, AT(deviance_noise_p)},
    {"extrapolation_pct", NULL, AT(extrapolation_pct)},
    {"mean_z", NULL, AT(mean_z)},
    {"mean_z_p", NULL, AT(mean_z_p)},
    {"n_low", NULL, AT(n_low)},
    {"n_low_p", NULL, AT(n_low_p)},
    {"n_high", NULL, AT(n_high)},
    {"n_high_p", NULL, AT(n_high_p)},
    {"n_low_fdr", NULL, AT(n_low_fdr)},
    {"n_high_fdr", NULL, AT(n_high_fdr)},
    {"n_responses", NULL, AT(responses)},
    {KN_FLAG_COLUMN, KN_FLAG_CHANGE_COLUMN, AT(flag_p)},
    {"interval", NULL, AT(interval)},
};
enum { N_COLUMNS = sizeof COLUMNS / sizeof *COLUMNS };

/* Returns the address of the number in `row` that a column of abnormality.tsv fills. */
static double *field_of(kn_report_participant *row, const column *c)
{
    return (double *)(void *)((char *)row + c->offset);
}

/* Returns values[i]; NaN if the folder does not have the column (NULL). */
static double value_of(const double *values, ptrdiff_t i)
{
    return values ? values[i] : NAN;
}

/* Sets the numeric fields of all participants from abnormality.tsv or change.tsv; NaN for a column
 * that the folder does not have. */
static void copy_columns(const kn_report_job *job)
{
    kn_report_participants *participants = &job->r->participants;
    const bool change = job->m->kind == KN_INPUT_CHANGE;
    for (int k = 0; k < N_COLUMNS; k++) {
        const column *c = &COLUMNS[k];
        const double *values =
            kn_report_input_participants(job->m, change && c->change ? c->change : c->name);
        for (ptrdiff_t i = 0; i < participants->n; i++)
            *field_of(&participants->participant[i], c) = value_of(values, i);
    }
}

/* Sets the flags of all participants from the 0/1 columns of abnormality.tsv. site_adapted is 1 for
 * an adapted site, 0 for an unknown one, and NaN for a site of training. */
static void copy_flags(const kn_report_job *job)
{
    kn_report_participants *participants = &job->r->participants;
    const double *training = kn_report_input_participants(job->m, "in_training");
    const double *label = kn_report_input_participants(job->m, "label");
    const double *unseen = kn_report_input_participants(job->m, "unseen_level");
    const double *implausible = kn_report_input_participants(job->m, "implausible");
    const double *adapted = kn_report_input_participants(job->m, "site_adapted");
    const double *extrapolation = kn_report_input_participants(job->m, "extrapolation");
    const double *reference = kn_report_input_participants(job->m, "reference");
    for (ptrdiff_t i = 0; i < participants->n; i++) {
        kn_report_participant *row = &participants->participant[i];
        double labelled = value_of(label, i);
        row->training = value_of(training, i) == 1;
        row->label = isnan(labelled) ? -1 : labelled == 1;
        row->unseen = value_of(unseen, i) == 1;
        row->implausible = value_of(implausible, i) == 1;
        row->adapted = value_of(adapted, i) == 1;
        row->site_unknown = value_of(adapted, i) == 0;
        row->extrapolation = value_of(extrapolation, i);
        row->reference = value_of(reference, i) == 1;
    }
}

/* Copies texts[i] into the arena as *out; NULL if texts is NULL or the text is missing. */
static kn_status copy_text(kn_ctx *ctx, kn_report *r, const char *const *texts, ptrdiff_t i,
                           const char **out)
{
    const char *text = texts ? texts[i] : NULL;
    return kn_arena_text(ctx, &r->arena, text && !kn_text_is_missing(text) ? text : NULL, out);
}

/* Copies notes and visits of each participant into the arena of the report. */
static kn_status copy_texts(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    const char *const *note = kn_report_input_texts(job->m, "p_note");
    const char *const *visit1 = kn_report_input_texts(job->m, "visit1");
    const char *const *visit2 = kn_report_input_texts(job->m, "visit2");
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        kn_report_participant *row = &r->participants.participant[i];
        KN_TRY(copy_text(ctx, r, note, i, &row->note));
        KN_TRY(copy_text(ctx, r, visit1, i, &row->visit1));
        KN_TRY(copy_text(ctx, r, visit2, i, &row->visit2));
        row->p_is_bound = row->note && strcmp(row->note, "bound") == 0;
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
    {"extreme_z", AT(extreme_z), AT(extreme_z_p), false},
    {"deviance", AT(deviance), AT(deviance_p), false},
    {"deviance_noise", 0, AT(deviance_noise_p), false},
    {"mean_z", AT(mean_z), AT(mean_z_p), true},
    {"n_low", AT(n_low), AT(n_low_p), false},
    {"n_high", AT(n_high), AT(n_high_p), false},
};

/* For a report on a model alone, whose participants are the training sample: sets their statistics,
 * and as p-value the proportion of training participants with at least as extreme a value. */
static kn_status rank_training(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report_participants *participants = &job->r->participants;
    double *p = NULL;
    for (ptrdiff_t i = 0; i < participants->n; i++) {
        for (int k = 0; k < N_COLUMNS; k++)
            *field_of(&participants->participant[i], &COLUMNS[k]) = NAN;
        participants->participant[i].training = true;
        participants->participant[i].label = -1;
    }
    KN_TRY(kn_alloc_d(ctx, participants->n, &p));
    for (size_t k = 0; k < sizeof TRAINING / sizeof *TRAINING; k++) {
        const reference_column *c = &TRAINING[k];
        const double *values = kn_report_input_training(job->m, c->name);
        if (!values)
            continue;
        KN_TRY(kn_participants_rank(ctx, values, participants->n, c->sizes, p));
        for (ptrdiff_t i = 0; i < participants->n; i++) {
            char *row = (char *)&participants->participant[i];
            memcpy(row + c->p, &p[i], sizeof *p);
            if (c->value)
                memcpy(row + c->value, &values[i], sizeof *values);
        }
    }
out:
    kn_free(p);
    return status;
}

/* ---- names ---- */

/* Sets *out to the real ids of the participants: of the folder, of the training sample, or
 * row-0001, ... */
static kn_status find_names(kn_ctx *ctx, const kn_report_job *job, const char *const **out)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    const char *const *known = job->m->dir ? job->m->id : job->m->training_id;
    const char **name;
    void *memory;
    *out = known;
    if (known)
        return KN_OK;
    KN_TRY(kn_arena_alloc(ctx, &job->m->arena, r->participants.n, sizeof *name, &memory));
    name = memory;
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        KN_TRY(kn_arena_print(ctx, &job->m->arena, &name[i], "row-%04td", i + 1));
    *out = name;
out:
    return status;
}

/* Returns the participant of each pair of visits for change, borrowed; else NULL. */
static const char *const *participants_of(const kn_report_input *m)
{
    return m->kind == KN_INPUT_CHANGE ? kn_report_input_texts(m, "participant_id") : NULL;
}

/* Sets r->alias to "participant-" with enough hyphens that no real id starts with it. */
static kn_status choose_alias(kn_ctx *ctx, const kn_report_job *job, const char *const *name)
{
    static const char limit[] = "participant----------------------------------------";
    const kn_report_input *m = job->m;
    ptrdiff_t hyphens = kn_anonymize_hyphens(name, job->r->participants.n, 0);
    hyphens = kn_anonymize_hyphens(m->training_id, m->N, hyphens);
    hyphens = kn_anonymize_hyphens(m->excluded_id, m->n_excluded, hyphens);
    return kn_arena_print(ctx, &job->r->arena, &job->r->alias, "%.*s",
                          (int)(sizeof "participant" + (size_t)hyphens), limit);
}

/* Sets the displayed id of each participant to an alias, participant-1 ..; for change
 * "participant-1 ses-1 to ses-2". */
static kn_status anonymize_names(kn_ctx *ctx, const kn_report_job *job, const char *const *name)
{
    kn_status status;
    kn_report *r = job->r;
    const char *const *participant = participants_of(job->m);
    ptrdiff_t *number = NULL;
    KN_TRY(kn_alloc_i(ctx, r->participants.n, &number));
    KN_TRY(choose_alias(ctx, job, participant ? participant : name));
    KN_TRY(kn_anonymize_numbers(ctx, participant ? participant : name, r->participants.n, number));
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        kn_report_participant *row = &r->participants.participant[i];
        if (row->visit1 && row->visit2)
            KN_TRY(kn_arena_print(ctx, &r->arena, &row->id, "%s%td %s to %s", r->alias, number[i],
                                  row->visit1, row->visit2));
        else
            KN_TRY(kn_arena_print(ctx, &r->arena, &row->id, "%s%td", r->alias, number[i]));
    }
out:
    kn_free(number);
    return status;
}

/* Sets the displayed id of each participant: the real one, or an alias with {strip_ids}. */
static kn_status set_names(kn_ctx *ctx, const kn_report_job *job, const char *const *name)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    r->anonymized = job->s->page_strip;
    if (r->anonymized)
        return anonymize_names(ctx, job, name);
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        KN_TRY(kn_arena_text(ctx, &r->arena, name[i], &r->participants.participant[i].id));
out:
    return status;
}

/* ---- covariates ---- */

/* Returns the covariate of the input with this name; NULL if there is none. */
static const kn_report_input_column *column_named(const kn_report_input *m, const char *name)
{
    for (ptrdiff_t k = 0; k < m->C; k++)
        if (strcmp(m->column[k].name, name) == 0)
            return &m->column[k];
    return NULL;
}

/* Formats value x of covariate c as in scored_participants.tsv: the level, the number, or "n/a" (c
 * NULL: "n/a"). */
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

/* Sets the covariates of each participant as texts, in the order of the cohort's columns. */
static kn_status copy_covariates(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    for (ptrdiff_t i = 0; r->cohort.n > 0 && i < r->participants.n; i++) {
        void *memory;
        KN_TRY(kn_arena_alloc(ctx, &r->arena, r->cohort.n, sizeof(char *), &memory));
        const char **text = memory;
        bool any = false;
        for (ptrdiff_t k = 0; k < r->cohort.n; k++) {
            const kn_report_input_column *c = column_named(job->m, r->cohort.column[k].name);
            const double *x = !c ? NULL : job->m->dir ? c->scored : c->training;
            any = any || x;
            KN_TRY(covariate_text(ctx, r, c, value_of(x, i), &text[k]));
        }
        r->participants.participant[i].covariate = any ? text : NULL;
    }
out:
    return status;
}

/* ---- reference sample ---- */

/* Returns the threshold of the burden, |z|: from summary.json, or its recorded command, which
 * contains it only if it was given; else the default. */
static double threshold_of(const json_t *summary)
{
    char given[KN_NUMBER_SIZE];
    double x = kn_json_number_at(summary, "threshold");
    if (isnan(x) &&
        kn_command_option(kn_json_text_at(summary, "command"), "--threshold", given, sizeof given))
        kn_number_parse(given, &x);
    return x > 0 ? x : DEFAULT_THRESHOLD;
}

/* Sets participants->line to the values of the extreme-value statistic with p = 0.05 and 0.001 by
 * the recorded GEV distribution; NaN if p-values are ranks or cannot be that small. Sets
 * p_is_fitted. */
static void compute_lines(kn_report_participants *participants, const json_t *from, double smallest)
{
    static const double P[2] = {0.05, 0.001};
    const kn_gev gev = {kn_json_number_at(from, "gev.shape"),
                        kn_json_number_at(from, "gev.location"),
                        kn_json_number_at(from, "gev.scale")};
    participants->p_is_fitted = gev.sigma > 0;
    for (int k = 0; k < 2; k++)
        participants->line[k] =
            gev.sigma > 0 && P[k] >= smallest ? kn_gev_quantile_upper(gev, P[k]) : NAN;
}

/* Replaces a p of exactly 0, from an early folder, by the smallest possible p, and marks it as a
 * bound. */
static void bound_p(kn_report *r, double smallest)
{
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        kn_report_participant *row = &r->participants.participant[i];
        if (row->extreme_z_p <= 0) {
            row->extreme_z_p = smallest;
            row->p_is_bound = true;
        }
    }
}

/* Returns the smallest p at one of the unknown sites, to which p is raised there
 * (stats/p_values.h); rank_p is that of the reference sample. Without the number S of training
 * sites it is known only if extreme_z_p was raised. */
static double smallest_at_unknown_site(const kn_report_participant *row, double S, double rank_p)
{
    return S > 0 ? fmax(rank_p, 1 / (S + 1)) : row->p_is_bound ? row->extreme_z_p : NAN;
}

/* Returns whether two p-values are equal up to the digits in files (relative 1e-6). */
static bool is_near(double p, double q)
{
    static const double SAME = 1e-6; /* tolerance for the digits in files */
    return fabs(p - q) <= SAME * q;
}

/* Sets the smallest p that each participant can attain: 1/(n + 1) among n others; a member of the
 * reference sample is ranked among the n - 1 others. Of a reference sample named in the folder
 * members are not known: it is 1/n, and 2/(n + 1) is larger. Unknown sites have a larger one (S:
 * number of training sites). */
static void set_smallest_rank_p(const kn_report_job *job, double S)
{
    kn_report_participants *participants = &job->r->participants;
    const bool cv = job->m->kind == KN_INPUT_CV; /* the model of each fold has its own numbers */
    const double *n_train = cv ? kn_report_input_participants(job->m, "n_train") : NULL;
    const double *n_sites = cv ? kn_report_input_participants(job->m, "n_sites") : NULL;
    for (ptrdiff_t i = 0; i < participants->n; i++) {
        kn_report_participant *row = &participants->participant[i];
        const double n = n_train ? n_train[i] : (double)participants->reference_n;
        const bool named = participants->reference_in_folder;
        const bool member = row->reference || named || row->training;
        const bool unknown = row->site_unknown && !named;
        const double rank_p = n > 0 ? 1 / (n + !member) : NAN;
        row->smallest_rank_p =
            unknown ? smallest_at_unknown_site(row, n_sites ? n_sites[i] : S, rank_p) : rank_p;
        row->p_is_attained = is_near(row->extreme_z_p, row->smallest_rank_p) ||
                             (named && is_near(row->extreme_z_p, 1 / (n + 1)));
        row->p_is_bound = row->p_is_bound && !row->p_is_attained;
    }
}

/* Sets the reference sample, the threshold and the smallest p of the report, and derives lines,
 * bounds and the expected number of flagged participants. */
static kn_status copy_reference(kn_ctx *ctx, const kn_report_job *job, const json_t *summary,
                                const json_t *model)
{
    kn_status status;
    kn_report *r = job->r;
    kn_report_participants *participants = &r->participants;
    participants->N = job->m->N;
    KN_TRY(kn_report_copy_numbers(ctx, r, kn_report_input_training(job->m, "extreme_z"),
                                  participants->N, &participants->training));
    KN_TRY(kn_report_copy_numbers(ctx, r, kn_report_input_training(job->m, "deviance"),
                                  participants->N, &participants->training_deviance));
    participants->threshold = threshold_of(summary);
    double smallest = summary ? kn_json_number_at(summary, "abnormality.smallest_p")
                              : kn_json_number_at(model, "reference.smallest_p");
    participants->smallest_p = smallest;
    compute_lines(participants, summary ? summary : model, smallest);
    bound_p(r, smallest);
    KN_TRY(kn_reference_population_find(ctx, job, summary));
    set_smallest_rank_p(job, model ? kn_json_number_at(model, "sites.sites") : NAN);
    kn_participants_count(r, kn_reference_population_rate(job));
out:
    return status;
}

/* ---- all ---- */

/* Selects the participants with cards ({participants}) and those with thumbnails (the most
 * abnormal). KN_ERR_DATA for an unknown id. */
static kn_status choose_shown(kn_ctx *ctx, const kn_report_job *job, const char *const *name)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    kn_report_participants *participants = &r->participants;
    const char *file = job->m->kind == KN_INPUT_CHANGE ? "change.tsv" : "scored_participants.tsv",
               *source;
    void *memory;
    if (!job->m->dir && !job->m->has_training_z) /* no z-maps to show */
        return KN_OK;
    if (job->m->dir)
        KN_TRY(kn_arena_print(ctx, &job->m->arena, &source, "%s/%s", job->m->dir, file));
    else
        source = "training";
    const kn_participant_names named = {name, participants_of(job->m), source};
    KN_TRY(kn_participants_choose_cards(ctx, r, job->s->page_people, &named));
    participants->n_thumbs = 0;
    ptrdiff_t limit = participants->n < KN_REPORT_THUMBS ? participants->n : KN_REPORT_THUMBS;
    KN_TRY(kn_arena_i(ctx, &r->arena, limit, &participants->thumb));
    KN_TRY(kn_arena_alloc(ctx, &r->arena, limit, sizeof *participants->thumb_z, &memory));
    participants->thumb_z = memory;
    for (ptrdiff_t k = 0; k < limit; k++)
        if (isfinite(participants->participant[participants->order[k]].extreme_z))
            participants->thumb[participants->n_thumbs++] = participants->order[k];
out:
    return status;
}

/* Sets each participant's proportion of responses beyond the threshold; NaN if the number of
 * responses is not known. */
static void set_proportions(kn_report *r)
{
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        kn_report_participant *row = &r->participants.participant[i];
        row->proportion = row->responses > 0 ? (row->n_low + row->n_high) / row->responses : NAN;
    }
}

/* Returns the number of participants of the page: of the folder, or without one of the training
 * sample; 0 for a de-identified model. */
static ptrdiff_t count_participants(const kn_report_input *m, const json_t *model)
{
    if (m->dir)
        return m->n;
    return kn_json_true_at(model, "shareable") ? 0 : m->N;
}

kn_status kn_compute_participants(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report *r = job->r;
    json_t *summary = NULL, *model = NULL;
    const char *const *name;
    void *memory;
    r->kind = (kn_report_kind)job->m->kind;
    KN_TRY(kn_json_parse(ctx, "summary.json", job->m->summary_json, &summary));
    KN_TRY(kn_json_parse(ctx, "the model's record", job->m->model_json, &model));
    r->participants.n = count_participants(job->m, model);
    KN_TRY(kn_arena_alloc(ctx, &r->arena, r->participants.n, sizeof *r->participants.participant,
                          &memory));
    r->participants.participant = memory;
    if (job->m->dir) {
        copy_columns(job);
        copy_flags(job);
        KN_TRY(copy_texts(ctx, job));
    } else {
        KN_TRY(rank_training(ctx, job));
    }
    set_proportions(r);
    KN_TRY(copy_covariates(ctx, job));
    KN_TRY(find_names(ctx, job, &name));
    KN_TRY(set_names(ctx, job, name));
    KN_TRY(copy_reference(ctx, job, summary, model));
    KN_TRY(kn_participants_sort(ctx, r));
    KN_TRY(choose_shown(ctx, job, name));
out:
    json_decref(summary);
    json_decref(model);
    return status;
}
