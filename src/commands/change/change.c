/* kn_change: residuals of all visits, the reference of stable participants, then the z-map and
 * p-values of each pair of visits [METHOD 8g]. Without {save} the model is not changed. */
#include "commands/change/internal.h"
#include "stats/flag.h"

#include <math.h>

#include "base/context.h"
#include "base/matrix.h"
#include "base/parallel/parallel_for.h"
#include "commands/common/map_writer.h"
#include "commands/common/maps_api.h"
#include "commands/common/output_folder.h"
#include "commands/memory/memory_plan.h"
#include "commands/score/new_participants.h"
#include "commands/score/score.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "gp/block_visitor.h"
#include "io/file/path.h"

/* ---- residuals of visits from the prediction at their own covariates ---- */

typedef struct passing {
    const kn_model *model;
    const kn_site_lookup *from;
    ptrdiff_t row, rows, n;
    const kn_block *b;
    float *R;
} passing;

/* Site offset of response j in row i from the prediction without site effect, standardised units; 0
 * without a site prior. */
static double site_offset(const passing *p, ptrdiff_t i, ptrdiff_t j)
{
    bool known = p->from->adapted && p->from->adapted[i] >= 0;
    return known || p->model->sites.T > 0 ? kn_site_lookup_effect(p->from, p->model, i, j).offset
                                          : 0;
}

/* Worker: stores residuals y - mean - site offset of responses from .. end - 1 of the block in R
 * (rows x T floats); NaN if missing. */
static void store_residuals(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const passing *p = self;
    ptrdiff_t T = p->model->gp.T;
    for (ptrdiff_t j = from; j < end; j++) {
        const double *y = kn_col(p->b->y, j), *mean = kn_col(p->b->mean, j);
        for (ptrdiff_t i = 0; i < p->rows; i++) {
            double offset = site_offset(p, p->row + i, p->b->first + j);
            p->R[(p->row + i) * T + p->b->first + j] =
                (float)(isfinite(y[i]) ? y[i] - mean[i] - offset : NAN);
        }
    }
}

/* Block visitor, called for each block of responses: stores their residuals, and reports the
 * progress. */
static kn_status pass_block(kn_ctx *ctx, void *self, kn_block *b)
{
    enum { RESPONSES = 64 };
    passing *p = self;
    p->b = b;
    kn_parallel(ctx, b->count, RESPONSES, store_residuals, p);
    ptrdiff_t done = p->rows * (b->first + b->count) / p->model->gp.T;
    kn_report_progress(ctx, "residuals", p->row + done, p->n, NAN);
    return KN_OK;
}

/* Predict the minibatch of rows p->row .. p->row + p->rows - 1, and store its residuals. */
static kn_status pass_batch(kn_ctx *ctx, passing *p, const kn_sample *participants)
{
    kn_status status;
    kn_maps *maps = NULL;
    kn_visitor visitor = {p, KN_BLOCK_Y | KN_BLOCK_MEAN, NULL, pass_block, NULL};
    kn_view X = kn_view_cols(participants->X.data, participants->n, participants->X.cols);
    kn_view Y = kn_view_row_range(participants->Y, p->row, p->rows);
    kn_predict_context known = {.without_site =
                                    p->from->without_site ? p->from->without_site + p->row : NULL};
    KN_TRY(
        kn_maps_predict_known(ctx, p->model, kn_view_row_range(X, p->row, p->rows), known, &maps));
    kn_block_loop walk = {.Y = kn_responses_of(Y, &p->model->y), .maps = &maps->maps};
    KN_TRY(kn_block_loop_run(ctx, &walk, &visitor, 1));
    kn_view_done(ctx, Y, 0, Y.cols);
out:
    kn_maps_free(maps);
    return status;
}

/* R (n x T floats, row-major) = y - mean, standardised, NaN if y is missing. At new sites the mean
 * is the prediction without site effect plus the offset of the adapted site or of the site prior.
 * Participants are processed in minibatches; pages of responses in a scratch file are released
 * after each. */
static kn_status compute_residuals(kn_ctx *ctx, const kn_model *model,
                                   const kn_sample *participants, const kn_site_lookup *from,
                                   float *R)
{
    kn_status status = KN_OK;
    kn_problem_size shape = {.method = model->gp.method,
                             .T = model->y.n_all,
                             .N = participants->n,
                             .maps = 1,
                             .value = 1};
    ptrdiff_t batch = kn_score_rows(&shape);
    passing p = {.model = model, .from = from, .n = participants->n, .R = R};
    for (p.row = 0; p.row < participants->n; p.row += batch) {
        p.rows = participants->n - p.row < batch ? participants->n - p.row : batch;
        KN_TRY(pass_batch(ctx, &p, participants));
    }
out:
    return status;
}

static const char MAP[] = "change_z";

/* One run of kn_change. */
typedef struct work {
    kn_settings s;
    const kn_model *model;
    kn_data *data;
    kn_sample participants;
    kn_participant_status relation;
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

/* Frees the work; uncommitted files are removed. */
static void clear_work(work *w)
{
    kn_mapfile_free(w->file);
    if (!w->result.saved)
        kn_change_reference_clear(&w->own);
    kn_mat_clear(&w->result.value);
    kn_free(w->result.n);
    kn_free(w->R);
    kn_free(w->row);
    kn_visits_clear(&w->visits);
    kn_participant_status_clear(&w->relation);
    kn_sample_clear(&w->participants);
    kn_warnings_clear(&w->warnings);
    kn_free(w->inputs);
    kn_uncommitted_files_clear(&w->pending);
    kn_created_files_clear(&w->made);
}

/* File name of the model, or "the model", for messages. */
static const char *model_name(const work *w)
{
    return w->s.model ? w->s.model : "the model";
}

/* ---- preparation ---- */

/* KN_ERR_ARGUMENT if a required option is not given, or there is no reference for change:
 * {reference} or that of the model. */
static kn_status check_needs(kn_ctx *ctx, const work *w)
{
    if (!w->s.session)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{visit} is needed");
    if (!w->s.folder)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{output} is needed");
    if (!w->s.controls && w->model->change.distribution.T == 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{reference} is needed, because %s has no change reference", model_name(w));
    if (!w->s.controls && w->s.save)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{save} requires {reference}, whose change statistics it stores in the model");
    if (w->model->encoding.n == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s was fitted to numeric arrays and has no encoding of covariates",
                       model_name(w));
    return KN_OK;
}

/* Set the layout of the maps, create the folder, and fail before any computation if a file cannot
 * be written; logs the size of the maps. */
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
    kn_log(ctx, KN_LOG_INFO, "%td pair%s of visits, %td response%s; maps of %s", w->visits.n_pairs,
           kn_plural(w->visits.n_pairs), w->layout.T, kn_plural(w->layout.T),
           kn_format_size(4 * (double)w->visits.n_pairs * (double)w->layout.T).text);
out:
    return status;
}

/* KN_ERR_DATA unless KN_CHANGE_MIN reference participants have two visits, or the reference of the
 * model is used. */
static kn_status check_controls(kn_ctx *ctx, const work *w)
{
    if (w->result.saved || w->visits.n_controls >= KN_CHANGE_MIN)
        return KN_OK;
    return kn_fail(
        ctx, KN_ERR_DATA,
        "%s: %td participants with {reference=%s} have two visits, but at least %d are needed",
        kn_table_path(w->data->covariates), w->visits.n_controls, w->s.controls, KN_CHANGE_MIN);
}

/* Read the data, make the pairs, check the output files, and allocate the results. */
static kn_status prepare_visits(kn_ctx *ctx, work *w)
{
    kn_status status;
    kn_command_memory memory = kn_memory_policy_score(ctx, &w->s, w->model, 1, 1);
    kn_sample_spec known = {.encoding = &w->model->encoding, .space = &w->model->space};
    /* what both visits share cancels, also an unknown level */
    w->s.unseen = w->model->encoding.codes ? KN_UNSEEN_PRIOR : KN_UNSEEN_ERROR;
    KN_TRY(kn_sample_new(ctx, w->data, &w->s, known, &memory.policy, &w->participants));
    KN_TRY(
        kn_participant_status_new(ctx, &w->s, w->model, w->data, &w->participants, &w->relation));
    if (w->relation.from.n_unknown > 0)
        kn_log(ctx, KN_LOG_INFO,
               "%td %s at sites that are not in the training data; site effects cancel if both "
               "visits and the reference are from one site",
               w->relation.from.n_unknown,
               w->relation.from.n_unknown == 1 ? "visit is" : "visits are");
    KN_TRY(kn_visits_new(ctx, &w->s, w->model, w->data, &w->participants, &w->visits));
    KN_TRY(check_controls(ctx, w));
    KN_TRY(check_outputs(ctx, w));
    KN_TRY(kn_mat_new(ctx, w->visits.n_pairs, KN_CHANGE_VALUES, &w->result.value));
    KN_TRY(kn_alloc_d(ctx, w->visits.n_pairs, &w->result.n));
    KN_TRY(kn_alloc_f(ctx, w->layout.T, &w->row));
    KN_TRY(kn_alloc_f(ctx, w->participants.n * w->model->gp.T, &w->R));
out:
    return status;
}

/* ---- the reference ---- */

/* Sink of kn_change_reference_make(): writes z (T floats) of pair i as a map of all responses, NaN
 * for those that the model does not have, and counts its values. */
static kn_status write_z(void *self, kn_ctx *ctx, ptrdiff_t i, const float *z)
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

/* Set the range of intervals between visits in the reference, and the name of its column; NaN if
 * unknown. */
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

/* True if the first visit of pair i is at an unknown site, so that its residual includes the site
 * offset. */
static bool is_unknown(const work *w, ptrdiff_t i)
{
    const kn_site_lookup *from = &w->relation.from;
    ptrdiff_t row = w->visits.pair[i].first;
    return from->without_site && from->without_site[row] && from->adapted[row] < 0;
}

/* Number of pairs of the reference whose first visit is at an unknown site. */
static ptrdiff_t count_unknown(const work *w)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < control_pairs(&w->visits); i++)
        n += !w->visits.pair[i].whole && is_unknown(w, i);
    return n;
}

/* Make the reference for change from the pairs of stable participants; their z, from a distribution
 * without the participant, are written as maps. KN_ERR_DATA if no response changes in enough
 * participants. */
static kn_status make_reference(kn_ctx *ctx, work *w)
{
    kn_status status;
    const kn_visits *v = &w->visits;
    ptrdiff_t n = control_pairs(v), *index = NULL;
    bool *whole = NULL;
    KN_TRY(kn_alloc_i(ctx, 3 * n, &index));
    KN_TRY(kn_alloc_bool(ctx, n, &whole));
    for (ptrdiff_t i = 0; i < n; i++) {
        index[i] = v->pair[i].first;
        index[n + i] = v->pair[i].second;
        index[2 * n + i] = v->pair[i].participant;
        whole[i] = v->pair[i].whole;
    }
    kn_change_pairs pairs = {w->R, w->model->gp.T, n, index, index + n, index + 2 * n, whole};
    kn_change_sink sink = {w, write_z};
    w->own.threshold = w->s.threshold;
    w->own.top = w->model->reference.top;
    kn_mat value = kn_sub(w->result.value, 0, 0, n, KN_CHANGE_VALUES);
    KN_TRY(kn_change_reference_make(ctx, &pairs, w->model->gp.noise, value, &sink, &w->own));
    KN_TRY(find_interval(ctx, v, &w->own));
    w->own.unknown = count_unknown(w);
    if (isnan(w->own.distribution.s0))
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s: no response has a change in at least %d reference participants",
                         kn_data_responses_name(w->data), KN_CHANGE_MIN);
out:
    kn_free(index);
    kn_free(whole);
    return status;
}

/* Use the reference of the model. Its counts n_low and n_high cannot be compared under another
 * threshold and are dropped, with a warning. */
static void use_model_reference(kn_ctx *ctx, work *w)
{
    w->own = w->model->change;
    if (w->own.threshold == w->s.threshold)
        return;
    kn_log(ctx, KN_LOG_WARNING,
           "%s stores the counts of its reference only for |z| > %g, so n_low_p and n_high_p are "
           "n/a with {threshold=%g}",
           model_name(w), w->own.threshold, w->s.threshold);
    w->own.threshold = w->s.threshold;
    w->own.n[KN_CHANGE_N_LOW] = w->own.n[KN_CHANGE_N_HIGH] = 0;
}

/* ---- other pairs ---- */

/* Compute z-map and statistics of all pairs outside the reference, and write the maps. Can be
 * cancelled. */
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
        kn_change_pair_z(&w->own.distribution, w->model->gp.noise, w->R + p->first * T,
                         w->R + p->second * T, space, z);
        kn_change_describe(z, T, &w->own, space, value);
        for (int k = 0; k < KN_CHANGE_VALUES; k++)
            kn_col(w->result.value, k)[i] = value[k];
        KN_TRY(write_z(w, ctx, i, z));
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
    while (member && k > 0 && pair[k - 1].participant == pair[i].participant)
        k--;
    while (member && k + n < c->visits->n_pairs && pair[k + n].participant == pair[i].participant &&
           !pair[k + n].whole)
        n++;
    return kn_change_p(c->reference, which, kn_at(c->value, i, which), kn_col(c->value, which) + k,
                       n);
}

/* True if an interval is above twice the longest or below half the shortest of the reference. */
static bool is_far(const kn_change_reference *r, double interval)
{
    return interval > 2 * r->interval[1] || interval < r->interval[0] / 2;
}

/* Count and warn of the pairs whose interval is far from those of the reference (is_far()). Does
 * nothing unless both intervals come from a column of the same name. */
static void log_intervals(kn_ctx *ctx, work *w)
{
    const kn_change_reference *r = &w->own;
    kn_listing list = {.limit = KN_NAMES_LISTED};
    if (!r->interval_name || !w->visits.interval_name ||
        !kn_names_equal_any_case(r->interval_name, w->visits.interval_name))
        return;
    for (ptrdiff_t i = 0; i < w->visits.n_pairs; i++)
        if (is_far(r, w->visits.pair[i].interval)) {
            w->info.far++;
            kn_listing_add(&list, w->visits.id[i]);
        }
    if (w->info.far > 0)
        kn_log(ctx, KN_LOG_WARNING,
               w->info.far == 1
                   ? "the interval of %td pair is less than half or more than twice that of the "
                     "reference (%g to %g, column %s), so its change cannot be compared with the "
                     "reference: %s"
                   : "the intervals of %td pairs are less than half or more than twice those of "
                     "the reference (%g to %g, column %s), so their changes cannot be compared "
                     "with the reference: %s",
               w->info.far, r->interval[0], r->interval[1], w->visits.interval_name, list.text);
}

/* True if the first visits of pairs a and b are at the same site, by the names in the table. */
static bool same_site(const work *w, ptrdiff_t a, ptrdiff_t b)
{
    const kn_model *m = w->model;
    const kn_table *t = w->data->covariates;
    ptrdiff_t x = w->participants.covariate_row[w->visits.pair[a].first];
    ptrdiff_t y = w->participants.covariate_row[w->visits.pair[b].first];
    for (ptrdiff_t k = 0; k < m->batch.M; k++) {
        ptrdiff_t col = kn_column_find(t, m->encoding.column[m->batch.column[k]].name);
        if (!kn_names_equal(kn_table_cell(t, x, col), kn_table_cell(t, y, col)))
            return false;
    }
    return true;
}

/* Warn of pairs at unknown sites that differ from those of the reference. A site offset cancels in
 * the change, but not in the first residual, on which the change is regressed [METHOD 8g]. */
static void log_sites(kn_ctx *ctx, const work *w)
{
    const kn_change_reference *r = &w->own;
    kn_listing list = {.limit = KN_NAMES_LISTED};
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; r->distribution.gamma < 0 && i < w->visits.n_pairs; i++) {
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
        kn_log(ctx, KN_LOG_WARNING,
               "the first visits of %td pair%s and those of the reference are from new or "
               "different sites, so site effects bias their change scores; use 'kronorm adapt' "
               "with healthy controls first: %s",
               n, n == 1 ? "" : "s", list.text);
}

/* Fill the public info struct; counts the pairs outside the reference that are flagged. */
static void fill_info(work *w)
{
    kn_change_info *i = &w->info;
    const kn_visits *v = &w->visits;
    kn_flag_counts counts[2] = {{0, 0}, {0, 0}};
    i->participants = v->n_participants;
    i->pairs = v->n_pairs;
    i->one_visit = v->n_single;
    i->responses = w->layout.T;
    i->reference_participants = w->own.participants;
    i->reference_pairs = w->own.pairs;
    i->gamma = w->own.distribution.gamma;
    i->d0 = w->own.distribution.d0;
    i->s0 = w->own.distribution.s0;
    i->smallest_p = kn_change_smallest_p(&w->own, KN_CHANGE_FLAG);
    i->expected = kn_flag_rate((double)w->own.n[KN_CHANGE_FLAG]);
    for (ptrdiff_t k = 0; k < v->n_pairs; k++) {
        const kn_flag_row row = {.p = kn_changes_p(&w->result, k, KN_CHANGE_FLAG),
                                 .in_training = !w->result.saved && v->pair[k].control};
        kn_flag_count(&row, counts);
    }
    i->with_p = counts[0].n;
    i->flagged = counts[0].flagged;
    i->expected *= (double)i->with_p;
}

/* Run the command: visits, residuals, reference, comparison, files. Files are renamed into place at
 * the end. */
static kn_status run_change(kn_ctx *ctx, work *w)
{
    kn_status status;
    KN_TRY(prepare_visits(ctx, w));
    KN_TRY(kn_mapfile_new(ctx, &w->layout, MAP, w->visits.n_pairs, false, &w->file));
    KN_TRY(compute_residuals(ctx, w->model, &w->participants, &w->relation.from, w->R));
    if (w->result.saved)
        use_model_reference(ctx, w);
    else
        KN_TRY(make_reference(ctx, w));
    KN_TRY(compare_others(ctx, w));
    log_intervals(ctx, w);
    log_sites(ctx, w);
    fill_info(w);
    KN_TRY(kn_mapfile_commit(ctx, w->file, &w->info.files));
    KN_TRY(kn_changes_write(ctx, &w->result, &w->options));
    KN_TRY(kn_folder_commit(ctx, w->s.folder, &w->options));
out:
    return status;
}

/* Remove what a failed run wrote; the open file first, so that the folder is empty. */
static void remove_output(work *w)
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
    status = run_change(ctx, &w);
    kn_keep_warnings(ctx, kept);
    if (status != KN_OK) {
        remove_output(&w);
    } else {
        kn_info_copy_out(info, &w.info, sizeof w.info);
    }
    clear_work(&w);
    kn_resources_restore(ctx, before);
    return status;
}
