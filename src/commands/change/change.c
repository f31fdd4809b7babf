/* kn_change: residuals of all visits, the reference of stable participants, then the z-map and
 * p-values of each pair. */
#include "commands/change/change.h"

#include <math.h>

#include "base/info_struct.h"
#include "commands/change/residuals.h"
#include "commands/common/map_writer.h"
#include "commands/memory/memory_plan.h"
#include "commands/score/new_participants.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"

static const char MAP[] = "change_z";
static const double REPORTED = 0.05; /* threshold of p for the counts in the output */

/* One run of kn_change. */
typedef struct work {
    kn_settings s;
    const kn_model *model;
    kn_data *data;
    kn_sample people;
    kn_participant_status standing;
    kn_visits visits;
    kn_warnings warnings;
    float *R;                /* visits x responses in use: residuals, standardised */
    float *row;              /* all responses: one map */
    kn_change_reference own; /* made here, or a shallow copy of the model's (arrays borrowed) */
    kn_changes result;
    kn_change_info info;
    kn_write_options options;
    const char **inputs;
    kn_created_files made;
    kn_uncommitted_files pending;
    kn_maplayout layout;
    kn_mapfile *file;
} work;

static void clear(work *w)
{
    kn_mapfile_free(w->file);
    if (!w->result.saved)
        kn_change_reference_clear(&w->own);
    kn_mat_clear(&w->result.value);
    kn_free(w->result.n);
    kn_free(w->R);
    kn_free(w->row);
    kn_visits_clear(&w->visits);
    kn_participant_status_clear(&w->standing);
    kn_sample_clear(&w->people);
    kn_warnings_clear(&w->warnings);
    kn_free(w->inputs);
    kn_uncommitted_files_clear(&w->pending);
    kn_created_files_clear(&w->made);
}

static const char *model_name(const work *w)
{
    return w->s.model ? w->s.model : "the model";
}

/* ---- preparation ---- */

/* Checks required options, and that there is a reference: {reference} or the model's. */
static kn_status check_needs(kn_ctx *ctx, const work *w)
{
    if (!w->s.session)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{visit} is needed");
    if (!w->s.folder)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{output} is needed");
    if (!w->s.controls && w->model->change.law.T == 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{reference} is needed: %s keeps no reference of change", model_name(w));
    if (!w->s.controls && w->s.save)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{save} keeps the people of {reference}, which names "
                       "nobody");
    if (w->model->recipe.n == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s was made from numbers alone: it has no recipe for covariates",
                       model_name(w));
    return KN_OK;
}

static kn_status check_outputs(kn_ctx *ctx, work *w)
{
    kn_status status = KN_OK;
    kn_format format;
    KN_TRY(kn_mapfile_format(ctx, &w->model->space, (kn_format)w->s.format, &format));
    KN_TRY(kn_data_files(ctx, w->data, w->s.model, &w->inputs, &w->options.n_inputs));
    w->options.inputs = w->inputs;
    w->layout = (kn_maplayout){.dir = w->s.folder,
                               .format = format,
                               .space = &w->model->space,
                               .T = w->model->y.n_all,
                               .id = (const char *const *)w->visits.id,
                               .options = &w->options};
    KN_TRY(kn_created_files_folder(ctx, &w->made, w->s.folder));
    KN_TRY(kn_mapfile_check(ctx, &w->layout, MAP, w->visits.n_pairs, false));
    KN_TRY(kn_changes_check(ctx, &w->result, &w->options));
    kn_log(ctx, KN_LOG_INFO, "%td pairs of visits, %td responses; maps of %.1f MB",
           w->visits.n_pairs, w->layout.T, 4e-6 * (double)w->visits.n_pairs * (double)w->layout.T);
out:
    return status;
}

static kn_status check_controls(kn_ctx *ctx, const work *w)
{
    if (w->result.saved || w->visits.n_controls >= KN_CHANGE_LEAST)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_DATA,
                   "%s: %td people with {reference=%s} have two visits, expected at least %d",
                   kn_table_path(w->data->covariates), w->visits.n_controls, w->s.controls,
                   KN_CHANGE_LEAST);
}

/* Reads the data, makes the pairs, checks the output files, and allocates the results. */
static kn_status prepare(kn_ctx *ctx, work *w)
{
    kn_status status;
    kn_command_memory room = kn_memory_policy_score(ctx, &w->s, w->model, 1, 1);
    kn_sample_spec known = {.recipe = &w->model->recipe, .space = &w->model->space};
    /* what both visits share cancels, also an unknown level */
    w->s.unseen = w->model->recipe.codes ? KN_UNSEEN_PRIOR : KN_UNSEEN_REFUSE;
    KN_TRY(kn_sample_new(ctx, w->data, &w->s, known, &room.room, &w->people));
    KN_TRY(kn_participant_status_new(ctx, &w->s, w->model, w->data, &w->people, &w->standing));
    if (w->standing.from.n_unknown > 0)
        kn_log(
            ctx, KN_LOG_INFO,
            "%td visits are at sites that training did not have, which cancels between visits of "
            "one site where the reference is of that site too",
            w->standing.from.n_unknown);
    KN_TRY(kn_visits_new(ctx, &w->s, w->model, w->data, &w->people, &w->visits));
    KN_TRY(check_controls(ctx, w));
    KN_TRY(check_outputs(ctx, w));
    KN_TRY(kn_mat_new(ctx, w->visits.n_pairs, KN_CHANGE_VALUES, &w->result.value));
    KN_TRY(kn_alloc_d(ctx, w->visits.n_pairs, &w->result.n));
    KN_TRY(kn_alloc_f(ctx, w->layout.T, &w->row));
    KN_TRY(kn_alloc_f(ctx, w->people.n * w->model->gp.T, &w->R));
out:
    return status;
}

/* ---- the reference ---- */

/* Writes z of pair i as a map of all responses, NaN for those that the model does not have. */
static kn_status take_z(void *self, kn_ctx *ctx, ptrdiff_t i, const float *z)
{
    work *w = self;
    const kn_scaling *y = &w->model->y;
    double n = 0;
    for (ptrdiff_t j = 0; j < w->layout.T; j++)
        w->row[j] = NAN;
    for (ptrdiff_t k = 0; k < y->n_kept; k++) {
        w->row[y->kept[k]] = z[k];
        n += isfinite(z[k]);
    }
    w->result.n[i] = n;
    return kn_mapfile_rows(ctx, w->file, w->row, 1);
}

/* Number of pairs of the reference, which come first. */
static ptrdiff_t control_pairs(const kn_visits *v)
{
    ptrdiff_t n = 0;
    while (n < v->n_pairs && v->pair[n].control)
        n++;
    return n;
}

/* Range of intervals in the reference; NaN if unknown. */
static kn_status find_interval(kn_ctx *ctx, const kn_visits *v, kn_change_reference *r)
{
    r->interval[0] = INFINITY;
    r->interval[1] = -INFINITY;
    for (ptrdiff_t i = 0; i < control_pairs(v); i++)
        if (!v->pair[i].whole && isfinite(v->pair[i].interval)) {
            r->interval[0] = fmin(r->interval[0], v->pair[i].interval);
            r->interval[1] = fmax(r->interval[1], v->pair[i].interval);
        }
    if (r->interval[0] > r->interval[1]) {
        r->interval[0] = r->interval[1] = NAN;
        return KN_OK;
    }
    return kn_trimmed(ctx, v->interval_name, &r->interval_name);
}

/* True if the first visit of pair i is at an unknown site: its residual includes the site
 * offset. */
static bool is_unknown(const work *w, ptrdiff_t i)
{
    const kn_site_lookup *from = &w->standing.from;
    ptrdiff_t row = w->visits.pair[i].first;
    return from->alone && from->alone[row] && from->adapted[row] < 0;
}

/* Number of such pairs in the reference. */
static ptrdiff_t count_unknown(const work *w)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < control_pairs(&w->visits); i++)
        n += !w->visits.pair[i].whole && is_unknown(w, i);
    return n;
}

/* Makes the reference from the pairs of stable participants. Their z are computed without the own
 * participant, and written as maps. */
static kn_status make_reference(kn_ctx *ctx, work *w)
{
    kn_status status;
    const kn_visits *v = &w->visits;
    ptrdiff_t n = control_pairs(v), *index = NULL;
    void *apart = NULL;
    KN_TRY(kn_alloc_i(ctx, 3 * n, &index));
    KN_TRY(kn_alloc(ctx, n, sizeof(bool), &apart));
    for (ptrdiff_t i = 0; i < n; i++) {
        index[i] = v->pair[i].first;
        index[n + i] = v->pair[i].second;
        index[2 * n + i] = v->pair[i].person;
        ((bool *)apart)[i] = v->pair[i].whole;
    }
    kn_change_pairs pairs = {w->R, w->model->gp.T, n, index, index + n, index + 2 * n, apart};
    kn_change_sink sink = {w, take_z};
    w->own.threshold = w->s.threshold;
    w->own.top = w->model->reference.top;
    kn_mat value = kn_sub(w->result.value, 0, 0, n, KN_CHANGE_VALUES);
    KN_TRY(kn_change_reference_make(ctx, &pairs, w->model->gp.noise, value, &sink, &w->own));
    KN_TRY(find_interval(ctx, v, &w->own));
    w->own.unknown = count_unknown(w);
    if (isnan(w->own.law.s0))
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s: no response has a change in %d people of the reference or more",
                         kn_data_responses_name(w->data), KN_CHANGE_LEAST);
out:
    kn_free(index);
    kn_free(apart);
    return status;
}

/* Takes the reference of the model. With another threshold its counts cannot be compared. */
static void take_reference(kn_ctx *ctx, work *w)
{
    w->own = w->model->change;
    if (w->own.threshold == w->s.threshold)
        return;
    kn_log(ctx, KN_LOG_WARNING,
           "%s has counts of its reference beyond %g: no negative_p and positive_p for "
           "{threshold=%g}",
           model_name(w), w->own.threshold, w->s.threshold);
    w->own.threshold = w->s.threshold;
    w->own.n[KN_CHANGE_NEGATIVE] = w->own.n[KN_CHANGE_POSITIVE] = 0;
}

/* ---- other pairs ---- */

/* Computes z-map and statistics of all pairs outside the reference. */
static kn_status compare_others(kn_ctx *ctx, work *w)
{
    kn_status status = KN_OK;
    const kn_visits *v = &w->visits;
    ptrdiff_t T = w->model->gp.T, from = w->result.saved ? 0 : control_pairs(v);
    double *space = NULL, value[KN_CHANGE_VALUES];
    float *z = NULL;
    KN_TRY(kn_alloc_d(ctx, 3 * T, &space));
    KN_TRY(kn_alloc_f(ctx, T, &z));
    for (ptrdiff_t i = from; i < v->n_pairs; i++) {
        const kn_visit_pair *p = &v->pair[i];
        KN_TRY(kn_check_cancel(ctx));
        kn_change_pair_z(&w->own.law, w->model->gp.noise, w->R + p->first * T, w->R + p->second * T,
                         space, z);
        kn_change_describe(z, T, &w->own, space, value);
        for (int k = 0; k < KN_CHANGE_VALUES; k++)
            kn_col(w->result.value, k)[i] = value[k];
        KN_TRY(take_z(w, ctx, i, z));
        kn_report_progress(ctx, "changes", i + 1, v->n_pairs, NAN);
    }
out:
    kn_free(space);
    kn_free(z);
    return status;
}

double kn_changes_p(const kn_changes *c, ptrdiff_t i, kn_change_value which)
{
    const kn_visit_pair *pair = c->visits->pair;
    ptrdiff_t n = 0, k = i; /* consecutive pairs of a participant, then the first-last pair */
    bool member = pair[i].control && !c->saved;
    while (member && k > 0 && pair[k - 1].person == pair[i].person)
        k--;
    while (member && k + n < c->visits->n_pairs && pair[k + n].person == pair[i].person &&
           !pair[k + n].whole)
        n++;
    return kn_change_p(c->reference, which, kn_at(c->value, i, which), kn_col(c->value, which) + k,
                       n);
}

static bool is_far(const kn_change_reference *r, double interval)
{
    return interval > 2 * r->interval[1] || interval < r->interval[0] / 2;
}

/* Warns of intervals less than half or more than twice those of the reference; z does not include
 * that uncertainty. */
static void tell_intervals(kn_ctx *ctx, work *w)
{
    const kn_change_reference *r = &w->own;
    kn_listing list = {.most = KN_NAMES_LISTED};
    if (!r->interval_name || !w->visits.interval_name ||
        !kn_names_equal_any_case(r->interval_name, w->visits.interval_name))
        return;
    for (ptrdiff_t i = 0; i < w->visits.n_pairs; i++)
        if (is_far(r, w->visits.pair[i].interval)) {
            w->info.far++;
            kn_listing_add(&list, w->visits.id[i]);
        }
    if (w->info.far > 0)
        kn_log(
            ctx, KN_LOG_WARNING,
            "the visits of %td pair%s are less than half or more than twice as far apart as those "
            "of the reference, %g to %g by %s, which does not tell what is normal then: %s",
            w->info.far, w->info.far == 1 ? "" : "s", r->interval[0], r->interval[1],
            w->visits.interval_name, list.text);
}

/* True if the first visits of two pairs are at the same site, by name. */
static bool same_site(const work *w, ptrdiff_t a, ptrdiff_t b)
{
    const kn_model *m = w->model;
    const kn_table *t = w->data->covariates;
    ptrdiff_t x = w->people.covariate_row[w->visits.pair[a].first];
    ptrdiff_t y = w->people.covariate_row[w->visits.pair[b].first];
    for (ptrdiff_t k = 0; k < m->batch.M; k++) {
        ptrdiff_t col = kn_column_find(t, m->recipe.column[m->batch.column[k]].name);
        if (!kn_names_equal(kn_table_cell(t, x, col), kn_table_cell(t, y, col)))
            return false;
    }
    return true;
}

/* Warns of unknown sites that differ from those of the reference. A site offset cancels in the
 * change, but not in the first residual, on which the change is regressed [METHOD 8g]. */
static void tell_sites(kn_ctx *ctx, const work *w)
{
    const kn_change_reference *r = &w->own;
    kn_listing list = {.most = KN_NAMES_LISTED};
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; r->law.gamma < 0 && i < w->visits.n_pairs; i++) {
        bool unknown = is_unknown(w, i), alike = unknown ? r->unknown == r->pairs : r->unknown == 0;
        for (ptrdiff_t k = 0; unknown && alike && !w->result.saved && k < control_pairs(&w->visits);
             k++)
            alike = same_site(w, i, k);
        if (alike)
            continue;
        n++;
        kn_listing_add(&list, w->visits.id[i]);
    }
    if (n > 0)
        kn_log(
            ctx, KN_LOG_WARNING,
            "the first visits of %td pair%s and those of the reference are not all of sites that "
            "the model knows, nor of one site: what a site adds moves their z, as far as changes "
            "regress to the mean; use 'kronorm adapt' with healthy people of it before: %s",
            n, n == 1 ? "" : "s", list.text);
}

/* Fills the public info struct; counts pairs outside the reference with small p. */
static void fill_info(work *w)
{
    kn_change_info *i = &w->info;
    const kn_visits *v = &w->visits;
    i->people = v->n_people;
    i->pairs = v->n_pairs;
    i->one_visit = v->n_alone;
    i->responses = w->layout.T;
    i->reference_people = w->own.people;
    i->reference_pairs = w->own.pairs;
    i->gamma = w->own.law.gamma;
    i->d0 = w->own.law.d0;
    i->s0 = w->own.law.s0;
    i->smallest_p = kn_change_smallest_p(&w->own, KN_CHANGE_STATISTIC);
    for (ptrdiff_t k = 0; k < v->n_pairs; k++) {
        double p = kn_changes_p(&w->result, k, KN_CHANGE_STATISTIC);
        bool other = w->result.saved || !v->pair[k].control;
        i->with_p += other && isfinite(p);
        i->below += other && p <= REPORTED;
    }
}

static kn_status run(kn_ctx *ctx, work *w)
{
    kn_status status;
    KN_TRY(prepare(ctx, w));
    KN_TRY(kn_mapfile_new(ctx, &w->layout, MAP, w->visits.n_pairs, false, &w->file));
    KN_TRY(kn_residuals(ctx, w->model, &w->people, &w->standing.from, w->R));
    if (w->result.saved)
        take_reference(ctx, w);
    else
        KN_TRY(make_reference(ctx, w));
    KN_TRY(compare_others(ctx, w));
    tell_intervals(ctx, w);
    tell_sites(ctx, w);
    fill_info(w);
    KN_TRY(kn_mapfile_commit(ctx, w->file, &w->info.files));
    KN_TRY(kn_changes_write(ctx, &w->result, &w->options));
    KN_TRY(kn_uncommitted_files_commit(ctx, &w->pending, &w->made));
out:
    return status;
}

/* Removes what a failed run wrote; the open file first, so that the folder is empty. */
static void take_back(work *w)
{
    kn_mapfile_free(w->file);
    w->file = NULL;
    kn_uncommitted_files_clear(&w->pending);
    kn_created_files_remove(&w->made);
}

kn_status kn_change(kn_ctx *ctx, const kn_model *model, kn_data *data, const kn_options *options,
                    kn_change_info *info)
{
    work w = {.model = model, .data = data};
    if (!model || !data)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", model ? "data" : "model");
    kn_status status = kn_settings_of(ctx, options, "change", &w.s);
    if (status == KN_OK)
        status = kn_settings_check_ranges(ctx, &w.s);
    if (status == KN_OK)
        status = check_needs(ctx, &w);
    if (status != KN_OK)
        return status;
    kn_resources before = kn_settings_resources(ctx, &w.s);
    kn_warnings *kept = kn_keep_warnings(ctx, &w.warnings);
    w.options = (kn_write_options){.force = w.s.force, .made = &w.made, .pending = &w.pending};
    w.result = (kn_changes){.options = options,
                            .s = &w.s,
                            .model = model,
                            .data = data,
                            .warnings = &w.warnings,
                            .visits = &w.visits,
                            .reference = &w.own,
                            .saved = !w.s.controls,
                            .info = &w.info};
    status = run(ctx, &w);
    kn_keep_warnings(ctx, kept);
    if (status != KN_OK) {
        take_back(&w);
    } else {
        kn_info_copy_out(info, &w.info, sizeof w.info);
    }
    clear(&w);
    kn_resources_put(ctx, before);
    return status;
}
