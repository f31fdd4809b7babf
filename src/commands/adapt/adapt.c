/* kn_adapt: estimates offset and noise scale of new sites from residuals of healthy controls.
 *
 * The residuals from predictions without site effect go to norm/sites/adapt.h, response by
 * response; nothing is fitted again. The adapted model is the model with three more numbers per
 * site and response. In a cross-validation on several ranks each rank takes the residuals of its
 * own responses. */
#include "commands/adapt/adapt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel/parallel_for.h"
#include "commands/adapt/write.h"
#include "commands/common/maps_api.h"
#include "commands/common/validate.h"
#include "commands/memory/memory_plan.h"
#include "commands/score/site_lookup.h"
#include "data/table/check_patients.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "gp/block_visitor.h"
#include "gp/method.h"
#include "io/file/path.h"
#include "model/file/file.h"
#include "norm/sites/adapt.h"

typedef struct work {
    const kn_model *model;
    const kn_settings *s;
    kn_data *data;
    kn_sample people;
    kn_site_lookup from;
    /* The new sites, in order of first occurrence. */
    ptrdiff_t n;
    char **level;          /* levels, one row of M per participant */
    ptrdiff_t *site;       /* site per participant */
    ptrdiff_t **row;       /* n: participants of each site ... */
    ptrdiff_t *count;      /* ... and their number */
    kn_site_adapted *made; /* n: estimates */
    kn_mat D, work;        /* columns of the noise scale; residuals per worker */
    const kn_block *b;
} work;

static void work_clear(work *w)
{
    for (ptrdiff_t s = 0; w->made && s < w->n; s++)
        kn_site_adapted_clear(&w->made[s]);
    for (ptrdiff_t s = 0; w->row && s < w->n; s++)
        kn_free(w->row[s]);
    kn_free(w->made);
    kn_free(w->row);
    kn_free(w->count);
    kn_free(w->site);
    kn_names_free(w->level, w->people.n * w->model->batch.M);
    kn_mat_clear(&w->D);
    kn_mat_clear(&w->work);
    kn_site_lookup_clear(&w->from);
    kn_sample_clear(&w->people);
}

/* ---- checks ---- */

/* The model must have an encoding, a batch effect and a site prior. */
static kn_status check_model(kn_ctx *ctx, const kn_model *m, const kn_settings *s)
{
    const char *name = s->model ? s->model : "the model";
    if (m->recipe.n == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s was made from numbers alone: it has no recipe for covariates", name);
    if (m->batch.M == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s has no batch category that could have further levels (fit with "
                       "{batch} and the name of its column)",
                       name);
    if (m->sites.T == 0)
        return kn_fail(
            ctx, KN_ERR_DATA,
            "%s does not know how sites differ: its fit made no reference ({folds=0}), or "
            "no two people shared one",
            name);
    return KN_OK;
}

static bool same_site(const work *w, ptrdiff_t a, ptrdiff_t b)
{
    ptrdiff_t M = w->model->batch.M;
    for (ptrdiff_t k = 0; k < M; k++)
        if (strcmp(w->level[a * M + k], w->level[b * M + k]) != 0)
            return false;
    return true;
}

static bool is_known(const work *w, ptrdiff_t i)
{
    return w->from.site[i] >= 0 || w->from.adapted[i] >= 0;
}

/* KN_ERR_DATA if a control is at a training site or an already adapted site. */
static kn_status check_known(kn_ctx *ctx, const work *w)
{
    ptrdiff_t known = 0, M = w->model->batch.M;
    kn_listing list = {.most = KN_NAMES_LISTED};
    char name[256];
    for (ptrdiff_t i = 0; i < w->people.n; i++) {
        ptrdiff_t first = 0;
        if (!is_known(w, i))
            continue;
        known++;
        while (!same_site(w, i, first))
            first++;
        if (first < i) /* already listed */
            continue;
        kn_site_lookup_name(w->level + i * M, M, name, sizeof name);
        kn_listing_add(&list, name);
    }
    if (known == 0)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_DATA,
                   "%s: %td of %td people are of a %s that the model knows already (%s), expected "
                   "new ones only ({where} chooses rows)",
                   kn_table_path(w->data->covariates), known, w->people.n,
                   kn_clipped(w->model->recipe.column[w->model->batch.column[0]].name).text,
                   list.text);
}

/* ---- sites ---- */

/* Reads the site levels of all controls; none may be missing. */
static kn_status read_levels(kn_ctx *ctx, work *w)
{
    kn_status status = KN_OK;
    ptrdiff_t M = w->model->batch.M;
    void *memory;
    bool whole;
    KN_TRY(kn_alloc(ctx, w->people.n * M, sizeof *w->level, &memory));
    w->level = memory;
    for (ptrdiff_t i = 0; i < w->people.n; i++) {
        ptrdiff_t row = w->people.covariate_row[i];
        KN_TRY(kn_site_lookup_levels(ctx, w->model, w->data, row, w->level + i * M, &whole));
        if (!whole) {
            status =
                kn_fail(ctx, KN_ERR_DATA, "%s %s %td: a control without a %s, expected one",
                        kn_table_path(w->data->covariates), kn_table_unit(w->data->covariates),
                        kn_table_line(w->data->covariates, row),
                        kn_clipped(w->model->recipe.column[w->model->batch.column[0]].name).text);
            goto out;
        }
    }
out:
    return status;
}

/* Numbers the new sites and lists their controls. */
static kn_status find_sites(kn_ctx *ctx, work *w)
{
    kn_status status;
    ptrdiff_t n = w->people.n;
    void *memory;
    KN_TRY(kn_alloc_i(ctx, n, &w->site));
    KN_TRY(kn_alloc_i(ctx, n, &w->count));
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t first = 0;
        while (!same_site(w, i, first))
            first++;
        w->site[i] = first == i ? w->n++ : w->site[first];
        w->count[w->site[i]]++;
    }
    KN_TRY(kn_alloc(ctx, w->n, sizeof *w->row, &memory));
    w->row = memory;
    KN_TRY(kn_alloc(ctx, w->n, sizeof *w->made, &memory));
    w->made = memory;
    for (ptrdiff_t s = 0; s < w->n; s++) {
        KN_TRY(kn_alloc_i(ctx, w->count[s], &w->row[s]));
        KN_TRY(kn_site_adapted_new(ctx, w->model->gp.T, &w->made[s]));
        for (ptrdiff_t i = 0, k = 0; i < n; i++)
            if (w->site[i] == s)
                w->row[s][k++] = i;
    }
out:
    return status;
}

/* ---- residuals ---- */

/* Residuals r = y - mean, and scaled r exp(-eta/2). */
static void take_columns(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    const work *w = self;
    const kn_block *b = w->b;
    ptrdiff_t n = w->people.n;
    double *r = kn_col(w->work, worker), *scaled = r + n;
    for (ptrdiff_t j = from; j < to; j++) {
        const double *y = kn_col(b->y, j), *mean = kn_col(b->mean, j);
        kn_calibration_factor(w->D, w->D.data ? kn_col(w->model->layer.beta, b->first + j) : NULL,
                              n, NULL, scaled);
        for (ptrdiff_t i = 0; i < n; i++) {
            r[i] = isfinite(y[i]) ? y[i] - mean[i] : NAN;
            scaled[i] = r[i] / sqrt(scaled[i]);
        }
        for (ptrdiff_t s = 0; s < w->n; s++)
            kn_site_adapted_take(&w->made[s], b->first + j,
                                 (kn_site_controls){w->count[s], w->row[s]}, r, scaled);
    }
}

static kn_status take_block(kn_ctx *ctx, void *self, kn_block *b)
{
    enum { GRAIN = 16 };
    work *w = self;
    w->b = b;
    kn_parallel_workers(ctx, b->count, GRAIN, take_columns, w);
    return KN_OK;
}

/* Gathers the sums of all responses on all ranks, then estimates the site. Collective. */
static kn_status finish_site(kn_ctx *ctx, const kn_responses *Y, const kn_sites *prior,
                             kn_site_adapted *a)
{
    kn_status status;
    KN_TRY(kn_allgather_responses_d(ctx, Y, a->n));
    KN_TRY(kn_allgather_responses_d(ctx, Y, a->raw_offset));
    KN_TRY(kn_allgather_responses_d(ctx, Y, a->scale));
    kn_site_adapted_finish(prior, a);
out:
    return status;
}

/* Predicts the controls without site effect, and accumulates residuals per site and response.
 * Collective. */
static kn_status take_residuals(kn_ctx *ctx, work *w)
{
    enum { GRAIN = 16 };
    kn_status status;
    const kn_model *m = w->model;
    kn_maps *maps = NULL;
    void *memory = NULL;
    ptrdiff_t n = w->people.n;
    kn_view raw = kn_view_cols(w->people.X.data, n, w->people.X.cols);
    kn_visitor visitor = {w, KN_WALK_Y | KN_WALK_MEAN, NULL, take_block, NULL};
    KN_TRY(kn_alloc(ctx, n, sizeof(bool), &memory));
    bool *alone = memory;
    for (ptrdiff_t i = 0; i < n; i++)
        alone[i] = true;
    KN_TRY(kn_maps_predict_known(ctx, m, raw, (kn_predict_context){.alone = alone}, &maps));
    KN_TRY(kn_calibration_columns(ctx, &m->layer, &m->x, raw, &w->D));
    KN_TRY(
        kn_mat_new(ctx, 2 * n, kn_workers(ctx, kn_block_loop_width(0, m->gp.T), GRAIN), &w->work));
    kn_block_loop walk = {.Y = kn_responses_of(w->people.Y, &m->y),
                          .maps = &maps->maps,
                          .stage = "adapting"};
    KN_TRY(kn_block_loop_run(ctx, &walk, &visitor, 1));
    for (ptrdiff_t s = 0; s < w->n; s++)
        KN_TRY(finish_site(ctx, &walk.Y, &m->sites, &w->made[s]));
out:
    kn_maps_free(maps);
    kn_free(memory);
    return status;
}

/* ---- the adapted model ---- */

/* Range of each numeric covariate among the controls of site s; NaN for categories. */
static void set_range(const work *w, ptrdiff_t s, double *low, double *high)
{
    const kn_model *m = w->model;
    for (ptrdiff_t c = 0; c < m->x.C; c++) {
        low[c] = high[c] = NAN;
        for (ptrdiff_t k = 0; m->x.column[c].levels == 0 && k < w->count[s]; k++) {
            double x = kn_at(w->people.X, w->row[s][k], c);
            low[c] = k == 0 ? x : fmin(low[c], x);
            high[c] = k == 0 ? x : fmax(high[c], x);
        }
        if (isfinite(low[c]))
            kn_adapted_round(&m->x, c, &low[c], &high[c]);
    }
}

static kn_status copy_site(kn_ctx *ctx, const kn_adapted *from, ptrdiff_t s, ptrdiff_t at,
                           kn_adapted *to)
{
    kn_status status = KN_OK;
    to->site[at] = from->site[s];
    for (ptrdiff_t c = 0; c < to->C; c++) {
        to->low[at * to->C + c] = from->low[s * to->C + c];
        to->high[at * to->C + c] = from->high[s * to->C + c];
    }
    kn_mat_set(kn_cols(to->offset, at, 1), kn_cols(from->offset, s, 1));
    kn_mat_set(kn_cols(to->offset_var, at, 1), kn_cols(from->offset_var, s, 1));
    kn_mat_set(kn_cols(to->scale, at, 1), kn_cols(from->scale, s, 1));
    for (ptrdiff_t k = 0; k < to->M && status == KN_OK; k++) {
        const char *text = from->level[s * to->M + k];
        status = kn_text_copy(ctx, text, strlen(text), &to->level[at * to->M + k]);
    }
    return status;
}

static kn_status put_site(kn_ctx *ctx, const work *w, ptrdiff_t s, ptrdiff_t at, kn_adapted *to)
{
    kn_status status = KN_OK;
    const kn_site_adapted *a = &w->made[s];
    to->site[at] = (kn_adapted_site){w->count[s], a->kappa, a->factor};
    set_range(w, s, to->low + at * to->C, to->high + at * to->C);
    for (ptrdiff_t j = 0; j < to->T; j++) {
        kn_col(to->offset, at)[j] = a->offset[j];
        kn_col(to->offset_var, at)[j] = a->offset_var[j];
        kn_col(to->scale, at)[j] = a->scale[j];
    }
    for (ptrdiff_t k = 0; k < to->M && status == KN_OK; k++) {
        const char *text = w->level[w->row[s][0] * to->M + k];
        status = kn_text_copy(ctx, text, strlen(text), &to->level[at * to->M + k]);
    }
    return status;
}

/* Drops the reference of change if it includes unknown sites: its mean first residual has site
 * offsets that the adapted model removes. */
static void drop_change(kn_ctx *ctx, kn_model *m)
{
    if (m->change.unknown == 0)
        return;
    kn_change_reference_clear(&m->change);
    kn_log(
        ctx, KN_LOG_WARNING,
        "the reference of change that the model keeps is of people at sites that it did not know, "
        "and is left out: make it again by the adapted model ('kronorm change' with {save})");
}

/* Copies the model and appends the new sites after those already adapted. */
static kn_status with_sites(kn_ctx *ctx, const work *w, kn_model **out)
{
    kn_status status;
    const kn_model *m = w->model;
    ptrdiff_t before = m->adapted.n;
    kn_adapted all = {0};
    *out = NULL;
    KN_TRY(kn_adapted_new(ctx, before + w->n, m->batch.M, m->gp.T, m->x.C, &all));
    for (ptrdiff_t s = 0; s < before; s++)
        KN_TRY(copy_site(ctx, &m->adapted, s, s, &all));
    for (ptrdiff_t s = 0; s < w->n; s++)
        KN_TRY(put_site(ctx, w, s, before + s, &all));
    KN_TRY(kn_model_copy(ctx, m, out));
    drop_change(ctx, *out);
    kn_adapted_clear(&(*out)->adapted);
    (*out)->adapted = all;
    all = (kn_adapted){0};
out:
    kn_adapted_clear(&all);
    return status;
}

static void name_of(const work *w, ptrdiff_t s, char *out, size_t size)
{
    ptrdiff_t M = w->model->batch.M;
    kn_site_lookup_name(w->level + w->row[s][0] * M, M, out, size);
}

/* Warns of few controls, and of sites far from the site prior in offset or noise. */
static void warn(kn_ctx *ctx, const work *w)
{
    char name[256];
    for (ptrdiff_t s = 0; s < w->n; s++) {
        const kn_site_adapted *a = &w->made[s];
        name_of(w, s, name, sizeof name);
        if (w->count[s] < KN_SITE_FEW)
            kn_log(ctx, KN_LOG_WARNING,
                   "%s has %td control%s: fewer than %d say little of a site, and its z are wide",
                   name, w->count[s], w->count[s] == 1 ? "" : "s", KN_SITE_FEW);
        if (a->kappa > KN_SITE_KAPPA)
            kn_log(ctx, KN_LOG_WARNING,
                   "%s is %.1f times as far off as the sites of training differ: see that units, "
                   "processing and population are theirs",
                   name, sqrt(a->kappa));
        if (a->factor > KN_SITE_FACTOR || a->factor < 1 / KN_SITE_FACTOR)
            kn_log(ctx, KN_LOG_WARNING,
                   "%s has %.2g times the noise variance of training: see that units and "
                   "processing are the same",
                   name, a->factor);
    }
}

/* Root mean square offset of a site in standard deviations within a site; NaN: no values. */
static double distance(const work *w, const kn_site_adapted *a)
{
    const kn_sites *prior = &w->model->sites;
    double sum = 0, n = 0;
    for (ptrdiff_t j = 0; j < a->T; j++)
        if (a->n[j] > 0 && prior->w[j] > 0) {
            sum += a->raw_offset[j] * a->raw_offset[j] / prior->w[j];
            n++;
        }
    return n > 0 ? sqrt(sum / n) : NAN;
}

/* Checks that the controls have values, and within 30 standard deviations: no scanner shifts a map
 * further, so units or processing differ. */
static kn_status check_values(kn_ctx *ctx, const work *w)
{
    static const double DISTANT = 30;
    char name[256];
    for (ptrdiff_t s = 0; s < w->n; s++) {
        const kn_site_adapted *a = &w->made[s];
        double far = distance(w, a);
        name_of(w, s, name, sizeof name);
        if (isnan(far))
            return kn_fail(ctx, KN_ERR_DATA, "%s: the controls of %s have no finite response",
                           kn_data_responses_name(w->data), name);
        if (far > DISTANT)
            return kn_fail(
                ctx, KN_ERR_DATA,
                "%s: the controls of %s are more than %.0f standard deviations of people away "
                "from what is expected of them: expected units and processing of "
                "training",
                kn_data_responses_name(w->data), name, DISTANT);
    }
    return KN_OK;
}

/* Warns if controls have ids of training participants: their site may be known by another name. */
static void tell_training(kn_ctx *ctx, const work *w)
{
    const kn_model *m = w->model;
    ptrdiff_t known = 0;
    for (ptrdiff_t i = 0; m->ids && w->people.id && i < w->people.n; i++)
        for (ptrdiff_t t = 0; t < m->info.n_samples; t++)
            if (strcmp(w->people.id[i], m->ids[t]) == 0) {
                known++;
                break;
            }
    if (known > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td controls have ids of people of training: is their site one that the "
               "model knows, by another name?",
               known, w->people.n);
}

static kn_status run(kn_ctx *ctx, work *w, kn_model **adapted)
{
    kn_status status;
    const kn_model *m = w->model;
    kn_command_memory room = kn_memory_policy_score(ctx, w->s, m, 0, 0);
    room.shape.model *= 3; /* the model is copied through its serialised bytes */
    kn_sample_spec known = {.recipe = &m->recipe, .space = &m->space};
    KN_TRY(kn_sample_new(ctx, w->data, w->s, known, &room.room, &w->people));
    KN_TRY(kn_site_lookup_new(ctx, w->s, m, w->data, &w->people, true, &w->from));
    KN_TRY(read_levels(ctx, w));
    KN_TRY(check_known(ctx, w));
    KN_TRY(find_sites(ctx, w));
    KN_TRY(take_residuals(ctx, w));
    KN_TRY(check_values(ctx, w));
    kn_patients_warn(ctx, w->data->covariates, w->people.covariate_row, w->people.n, NULL,
                     "count as healthy controls");
    tell_training(ctx, w);
    warn(ctx, w);
    KN_TRY(with_sites(ctx, w, adapted));
    if (w->s->output)
        KN_TRY(kn_adapt_write(ctx, w->s, *adapted, w->made, w->n));
out:
    if (status != KN_OK) {
        kn_model_free(*adapted);
        *adapted = NULL;
    }
    return status;
}

kn_status kn_adapt_with_settings(kn_ctx *ctx, const kn_model *model, kn_data *controls,
                                 const kn_settings *s, kn_model **adapted)
{
    work w = {.model = model, .s = s, .data = controls};
    kn_status status;
    *adapted = NULL;
    KN_TRY(check_model(ctx, model, s));
    if (s->output)
        KN_TRY(kn_adapt_write_check(ctx, s, controls));
    status = run(ctx, &w, adapted);
out:
    work_clear(&w);
    return status;
}

kn_status kn_adapt(kn_ctx *ctx, const kn_model *model, kn_data *controls, const kn_options *options,
                   kn_model **adapted)
{
    kn_settings s;
    kn_status status;
    kn_resources before = kn_resources_of(ctx);
    *adapted = NULL;
    if (!model || !controls)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", model ? "data" : "model");
    KN_TRY(kn_settings_of(ctx, options, "adapt", &s));
    KN_TRY(kn_settings_check_ranges(ctx, &s));
    kn_settings_resources(ctx, &s);
    status = kn_adapt_with_settings(ctx, model, controls, &s, adapted);
out:
    kn_resources_put(ctx, before);
    return status;
}
