/* kn_adapt: estimates offset and noise scale of new sites from residuals of healthy controls
 * [METHOD 8e]
 *
 * The residuals from predictions without site effect go to norm/sites/adapt_site.h, response by
 * response; nothing is fitted again. The adapted model is the model with three more numbers per
 * site and response. In a cross-validation on several MPI ranks each rank computes the residuals of
 * its own responses. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel/parallel_for.h"
#include "commands/common/check_arguments.h"
#include "commands/common/maps_api.h"
#include "commands/memory/memory_plan.h"
#include "commands/score/scores.h"
#include "commands/score/site_lookup.h"
#include "data/mpi/gather_responses.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "data/table/warn_suspicious.h"
#include "gp/block_visitor.h"
#include "gp/method.h"
#include "io/file/path.h"
#include "io/table/sidecar.h"
#include "io/table/table.h"
#include "model/file/file.h"
#include "norm/sites/adapt_site.h"

/* ---- output: the adapted model, and MODEL.adapt.tsv with its new sites in original units ---- */

enum { PATH = 4096, TABULATED = 100000 };
static const char ENDING[] = ".safetensors", TABLE[] = ".adapt.tsv";

/* Path of the table beside the adapted model: model.safetensors -> model.adapt.tsv. KN_ERR_IO if it
 * is too long. */
static kn_status table_path(kn_ctx *ctx, const char *model, char out[PATH])
{
    size_t n = strlen(model), end = sizeof ENDING - 1;
    if (n > end && strcmp(model + n - end, ENDING) == 0)
        n -= end;
    return snprintf(out, PATH, "%.*s%s", (int)n, model, TABLE) < PATH
               ? KN_OK
               : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", model);
}

/* Check before the computation that {output} and its table can be written and are not input
 * files. */
static kn_status check_outputs(kn_ctx *ctx, const kn_settings *s, const kn_data *controls)
{
    char path[PATH];
    const char **files = NULL;
    kn_write_options wo = {.force = s->force};
    kn_status status;
    KN_TRY(kn_data_files(ctx, controls, s->model, &files, &wo.n_inputs));
    wo.inputs = files;
    KN_TRY(kn_writer_check(ctx, s->output, &wo));
    KN_TRY(table_path(ctx, s->output, path));
    KN_TRY(kn_writer_check(ctx, path, &wo));
    KN_TRY(kn_sidecar_check(ctx, path, &wo));
out:
    kn_free(files);
    return status;
}

/* Write the table rows of one adapted site (index among all of the model), one per response, in
 * original units. */
static kn_status write_rows(kn_ctx *ctx, kn_table_writer *w, const kn_model *m, ptrdiff_t site,
                            const kn_site_adapted *a)
{
    kn_status status = KN_OK;
    char name[1100], level[2 * 1100] = "";
    size_t used = 0;
    for (ptrdiff_t k = 0; k < m->adapted.M && used < sizeof level; k++)
        used += (size_t)snprintf(level + used, sizeof level - used, "%s%s", k > 0 ? " " : "",
                                 m->adapted.level[site * m->adapted.M + k]);
    for (ptrdiff_t j = 0; j < a->T; j++) {
        double sd = m->y.sd[j];
        double numbers[] = {a->n[j],           a->raw_offset[j] * sd,       a->shrink[j],
                            a->offset[j] * sd, sqrt(a->offset_var[j]) * sd, a->scale[j]};
        kn_response_name(&m->space, m->y.kept[j], name, sizeof name);
        KN_TRY(kn_table_writer_text(ctx, w, name));
        KN_TRY(kn_table_writer_text(ctx, w, level));
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            KN_TRY(kn_table_writer_number(ctx, w, numbers[k]));
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
out:
    return status;
}

/* Write adapt.tsv for the last n sites of the model: per site and response the raw and the shrunken
 * offset, its SD and the noise factor. made: their n estimates. */
static kn_status write_table(kn_ctx *ctx, const char *path, const kn_write_options *wo,
                             const kn_model *m, const kn_site_adapted *made, ptrdiff_t n)
{
    static const char *const HEAD[] = {"response", "level",  "n",         "raw_offset",
                                       "weight",   "offset", "offset_sd", "noise_factor"};
    kn_status status;
    kn_table_writer *w = NULL;
    KN_TRY(kn_table_writer_new(ctx, path, wo, &w));
    KN_TRY(kn_table_writer_describe(ctx, w, "adapt.tsv"));
    for (size_t k = 0; k < sizeof HEAD / sizeof *HEAD; k++)
        KN_TRY(kn_table_writer_text(ctx, w, HEAD[k]));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t s = 0; s < n; s++)
        KN_TRY(write_rows(ctx, w, m, m->adapted.n - n + s, &made[s]));
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}

/* Write table and model together; on failure neither is left. made: estimates of the last n sites
 * of the model. Above TABULATED rows the table is omitted. */
static kn_status write_outputs(kn_ctx *ctx, const kn_settings *s, const kn_model *m,
                               const kn_site_adapted *made, ptrdiff_t n)
{
    char path[PATH];
    kn_created_files put = {0};
    kn_uncommitted_files pending = {0};
    kn_write_options wo = {.made = &put, .force = s->force, .pending = &pending};
    kn_status status;
    KN_TRY(table_path(ctx, s->output, path));
    bool tabulated = (double)m->gp.T * (double)n <= TABULATED;
    if (tabulated)
        KN_TRY(write_table(ctx, path, &wo, m, made, n));
    else
        kn_log(ctx, KN_LOG_INFO, "%s is not written, because it would have %.0f rows", path,
               (double)m->gp.T * (double)n);
    KN_TRY(kn_model_write(ctx, m, s->output, &wo));
    KN_TRY(kn_uncommitted_files_commit(ctx, &pending, &put));
    if (!tabulated && s->force)
        remove(path); /* table of the replaced model */
out:
    kn_uncommitted_files_clear(&pending);
    if (status != KN_OK)
        kn_created_files_remove(&put);
    kn_created_files_clear(&put);
    return status;
}

typedef struct work {
    const kn_model *model;
    const kn_settings *s;
    kn_data *data;
    kn_sample participants;
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

/* Frees the work of the adaptation, but not the adapted model. */
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
    kn_names_free(w->level, w->participants.n * w->model->batch.M);
    kn_mat_clear(&w->D);
    kn_mat_clear(&w->work);
    kn_site_lookup_clear(&w->from);
    kn_sample_clear(&w->participants);
}

/* ---- checks ---- */

/* KN_ERR_DATA unless the model has an encoding of covariates, a batch effect and a site prior. */
static kn_status check_model(kn_ctx *ctx, const kn_model *m, const kn_settings *s)
{
    const char *name = s->model ? s->model : "the model";
    if (m->encoding.n == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s was fitted to numeric arrays and has no encoding of covariates", name);
    if (m->batch.M == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s has no batch effect that could have new levels; fit again, with the "
                       "column of sites in {batch}",
                       name);
    if (m->sites.T == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s has no estimate of between-site variance, because it was fitted with "
                       "{folds=0} or no site had two participants; fit again with folds",
                       name);
    return KN_OK;
}

/* True if participants a and b have the same level in every batch column. */
static bool same_site(const work *w, ptrdiff_t a, ptrdiff_t b)
{
    ptrdiff_t M = w->model->batch.M;
    for (ptrdiff_t k = 0; k < M; k++)
        if (strcmp(w->level[a * M + k], w->level[b * M + k]) != 0)
            return false;
    return true;
}

/* True if participant i is at a training site or at an adapted site. */
static bool is_known(const work *w, ptrdiff_t i)
{
    return w->from.site[i] >= 0 || w->from.adapted[i] >= 0;
}

/* KN_ERR_DATA if a control is at a training site or an already adapted site; the message names
 * these sites. */
static kn_status check_known(kn_ctx *ctx, const work *w)
{
    ptrdiff_t known = 0, M = w->model->batch.M;
    kn_listing list = {.limit = KN_NAMES_LISTED};
    char name[256];
    for (ptrdiff_t i = 0; i < w->participants.n; i++) {
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
                   "%s: %td of %td participants are from a %s that is already in the model (%s)%s",
                   kn_table_path(w->data->covariates), known, w->participants.n,
                   kn_clipped(w->model->encoding.column[w->model->batch.column[0]].name).text,
                   list.text,
                   known == w->participants.n
                       ? "; use 'kronorm score' for them without adapting"
                       : ", but only new sites can be added; exclude them with {where}");
}

/* ---- sites ---- */

/* Read the site levels of all controls into w->level (n x M texts). KN_ERR_DATA if one is
 * missing. */
static kn_status read_levels(kn_ctx *ctx, work *w)
{
    kn_status status = KN_OK;
    ptrdiff_t M = w->model->batch.M;
    void *memory;
    bool whole;
    KN_TRY(kn_alloc(ctx, w->participants.n * M, sizeof *w->level, &memory));
    w->level = memory;
    for (ptrdiff_t i = 0; i < w->participants.n; i++) {
        ptrdiff_t row = w->participants.covariate_row[i];
        KN_TRY(kn_site_lookup_levels(ctx, w->model, w->data, row, w->level + i * M, &whole));
        if (!whole) {
            status =
                kn_fail(ctx, KN_ERR_DATA,
                        "%s %s %td: a control has no %s; fill it in, or use {missing=drop} to "
                        "exclude the control",
                        kn_table_path(w->data->covariates), kn_table_unit(w->data->covariates),
                        kn_table_line(w->data->covariates, row),
                        kn_clipped(w->model->encoding.column[w->model->batch.column[0]].name).text);
            goto out;
        }
    }
out:
    return status;
}

/* Number the new sites in order of first occurrence, list the controls of each, and allocate their
 * estimates. */
static kn_status find_sites(kn_ctx *ctx, work *w)
{
    kn_status status;
    ptrdiff_t n = w->participants.n;
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

/* True if three or more controls of site s have a value of response j and all values are equal. The
 * value 0 counts only if it is unusual in the training sample: no lesion is healthy. y:
 * standardised values of all controls. */
static bool is_broken(const work *w, ptrdiff_t s, ptrdiff_t j, const double *y)
{
    enum { CONTROLS = 3 };
    static const double ROUNDING = 1e-9;
    const kn_scaling *scaling = &w->model->y;
    double first = NAN;
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < w->count[s]; i++) {
        double value = y[w->row[s][i]];
        if (!isfinite(value))
            continue;
        first = n++ == 0 ? value : first;
        if (value != first)
            return false;
    }
    double original = scaling->mean[j] + scaling->sd[j] * first;
    bool zero = fabs(original) <= ROUNDING * fabs(scaling->mean[j]);
    return n >= CONTROLS && (!zero || fabs(scaling->mean0[j]) > scaling->sd0[j]);
}

/* Worker: for responses from .. end - 1 of the block, computes the residuals r = y - mean and
 * scaled r exp(-eta/2), and adds them to the estimates of each new site. */
static void add_columns(void *self, int worker, ptrdiff_t from, ptrdiff_t end)
{
    const work *w = self;
    const kn_block *b = w->b;
    ptrdiff_t n = w->participants.n;
    double *r = kn_col(w->work, worker), *scaled = r + n;
    for (ptrdiff_t j = from; j < end; j++) {
        const double *y = kn_col(b->y, j), *mean = kn_col(b->mean, j);
        kn_calibration_factor(w->D,
                              w->D.data ? kn_col(w->model->calibration.beta, b->first + j) : NULL,
                              n, NULL, scaled);
        for (ptrdiff_t i = 0; i < n; i++) {
            r[i] = isfinite(y[i]) ? y[i] - mean[i] : NAN;
            scaled[i] = r[i] / sqrt(scaled[i]);
        }
        for (ptrdiff_t s = 0; s < w->n; s++)
            if (is_broken(w, s, b->first + j, y))
                kn_site_adapted_break(&w->made[s], b->first + j);
            else
                kn_site_adapted_add(&w->made[s], b->first + j,
                                    (kn_site_controls){w->count[s], w->row[s]}, r, scaled);
    }
}

/* Block visitor, called for each block of responses: adds their residuals to the estimates of all
 * new sites. */
static kn_status add_block(kn_ctx *ctx, void *self, kn_block *b)
{
    enum { GRAIN = 16 };
    work *w = self;
    w->b = b;
    kn_parallel_workers(ctx, b->count, GRAIN, add_columns, w);
    return KN_OK;
}

/* Gather the sums of all responses on all MPI ranks, then estimate the effect of one site.
 * Collective. */
static kn_status finish_site(kn_ctx *ctx, const kn_responses *Y, const kn_sites *prior,
                             kn_site_adapted *a)
{
    kn_status status;
    KN_TRY(kn_allgather_responses_d(ctx, Y, a->n));
    KN_TRY(kn_allgather_responses_d(ctx, Y, a->raw_offset));
    KN_TRY(kn_allgather_responses_d(ctx, Y, a->scale));
    KN_TRY(kn_allgather_responses_d(ctx, Y, a->broken));
    kn_site_adapted_finish(prior, a);
out:
    return status;
}

/* Predict the controls without site effect, and estimate the effect of each new site from their
 * residuals. Collective. */
static kn_status add_residuals(kn_ctx *ctx, work *w)
{
    enum { GRAIN = 16 };
    kn_status status;
    const kn_model *m = w->model;
    kn_maps *maps = NULL;
    bool *without_site = NULL;
    ptrdiff_t n = w->participants.n;
    kn_view raw = kn_view_cols(w->participants.X.data, n, w->participants.X.cols);
    kn_visitor visitor = {w, KN_BLOCK_Y | KN_BLOCK_MEAN, NULL, add_block, NULL};
    KN_TRY(kn_alloc_bool(ctx, n, &without_site));
    for (ptrdiff_t i = 0; i < n; i++)
        without_site[i] = true;
    KN_TRY(kn_maps_predict_known(ctx, m, raw, (kn_predict_context){.without_site = without_site},
                                 &maps));
    KN_TRY(kn_calibration_columns(ctx, &m->calibration, &m->x, raw, &w->D));
    KN_TRY(
        kn_mat_new(ctx, 2 * n, kn_workers(ctx, kn_block_loop_width(0, m->gp.T), GRAIN), &w->work));
    kn_block_loop walk = {.Y = kn_responses_of(w->participants.Y, &m->y),
                          .maps = &maps->maps,
                          .stage = "adapting"};
    KN_TRY(kn_block_loop_run(ctx, &walk, &visitor, 1));
    for (ptrdiff_t s = 0; s < w->n; s++)
        KN_TRY(finish_site(ctx, &walk.Y, &m->sites, &w->made[s]));
out:
    kn_maps_free(maps);
    kn_free(without_site);
    return status;
}

/* ---- the adapted model ---- */

/* Range low .. high (C each) of the numeric covariates among the controls of site s, rounded
 * outward; NaN for categories. */
static void set_range(const work *w, ptrdiff_t s, double *low, double *high)
{
    const kn_model *m = w->model;
    for (ptrdiff_t c = 0; c < m->x.C; c++) {
        low[c] = high[c] = NAN;
        for (ptrdiff_t k = 0; m->x.column[c].levels == 0 && k < w->count[s]; k++) {
            double x = kn_at(w->participants.X, w->row[s][k], c);
            low[c] = k == 0 ? x : fmin(low[c], x);
            high[c] = k == 0 ? x : fmax(high[c], x);
        }
        if (isfinite(low[c]))
            kn_adapted_round(&m->x, c, &low[c], &high[c]);
    }
}

/* Copy adapted site s of a model to position `at` of another list, which owns its texts.
 * KN_ERR_MEMORY. */
static kn_status copy_site(kn_ctx *ctx, const kn_adapted *from, ptrdiff_t s, ptrdiff_t at,
                           kn_adapted *out)
{
    kn_status status = KN_OK;
    out->site[at] = from->site[s];
    for (ptrdiff_t c = 0; c < out->C; c++) {
        out->low[at * out->C + c] = from->low[s * out->C + c];
        out->high[at * out->C + c] = from->high[s * out->C + c];
    }
    kn_mat_set(kn_cols(out->offset, at, 1), kn_cols(from->offset, s, 1));
    kn_mat_set(kn_cols(out->offset_var, at, 1), kn_cols(from->offset_var, s, 1));
    kn_mat_set(kn_cols(out->scale, at, 1), kn_cols(from->scale, s, 1));
    for (ptrdiff_t k = 0; k < out->M && status == KN_OK; k++) {
        const char *text = from->level[s * out->M + k];
        status = kn_text_copy(ctx, text, strlen(text), &out->level[at * out->M + k]);
    }
    return status;
}

/* Store the new site s with its estimates and covariate ranges at position `at` of the list.
 * KN_ERR_MEMORY. */
static kn_status put_site(kn_ctx *ctx, const work *w, ptrdiff_t s, ptrdiff_t at, kn_adapted *out)
{
    kn_status status = KN_OK;
    const kn_site_adapted *a = &w->made[s];
    out->site[at] = (kn_adapted_site){w->count[s], a->kappa, a->factor, a->effect};
    set_range(w, s, out->low + at * out->C, out->high + at * out->C);
    for (ptrdiff_t j = 0; j < out->T; j++) {
        kn_col(out->offset, at)[j] = a->offset[j];
        kn_col(out->offset_var, at)[j] = a->offset_var[j];
        kn_col(out->scale, at)[j] = a->scale[j];
    }
    for (ptrdiff_t k = 0; k < out->M && status == KN_OK; k++) {
        const char *text = w->level[w->row[s][0] * out->M + k];
        status = kn_text_copy(ctx, text, strlen(text), &out->level[at * out->M + k]);
    }
    return status;
}

/* Drop the model's reference for change, with a warning, if it includes unknown sites: its
 * residuals contain site offsets that the adapted model removes. */
static void drop_change(kn_ctx *ctx, kn_model *m)
{
    if (m->change.unknown == 0)
        return;
    kn_change_reference_clear(&m->change);
    kn_log(ctx, KN_LOG_WARNING,
           "the change reference in the model is from participants at sites that were new to it "
           "and is left out; make it again with the adapted model ('kronorm change' with {save})");
}

/* Copy the model and append the new sites after those already adapted. *out is owned by the
 * caller. */
static kn_status make_adapted_model(kn_ctx *ctx, const work *w, kn_model **out)
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

/* Name of new site s, its levels joined by blanks, truncated to `size`. */
static void write_site_name(const work *w, ptrdiff_t s, char *out, size_t size)
{
    ptrdiff_t M = w->model->batch.M;
    kn_site_lookup_name(w->level + w->row[s][0] * M, M, out, size);
}

/* Warn of the responses that have one value for all controls of a site, by name. */
static void warn_of_broken(kn_ctx *ctx, const work *w, const kn_site_adapted *a, const char *site)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    char name[1100];
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < a->T; j++)
        if (a->broken[j] > 0) {
            n++;
            kn_response_name(&w->model->space, w->model->y.kept[j], name, sizeof name);
            kn_listing_add(&list, name);
        }
    if (n > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: %td of %td responses have the same value for all controls and are not adapted; "
               "check the processing: %s",
               site, n, a->T, list.text);
}

/* Warn of new sites with few controls, and of those whose offset or noise is far from the site
 * prior. */
static void warn_of_sites(kn_ctx *ctx, const work *w)
{
    char name[256];
    for (ptrdiff_t s = 0; s < w->n; s++) {
        const kn_site_adapted *a = &w->made[s];
        write_site_name(w, s, name, sizeof name);
        if (w->count[s] < KN_SITE_FEW)
            kn_log(ctx, KN_LOG_WARNING,
                   "%s has %td control%s; with fewer than %d, the site effect is uncertain and "
                   "z-scores are less sensitive",
                   name, w->count[s], w->count[s] == 1 ? "" : "s", KN_SITE_FEW);
        warn_of_broken(ctx, w, a, name);
        if (a->effect > KN_SITE_EFFECT)
            kn_log(ctx, KN_LOG_WARNING,
                   "%s: the site effect is %.1f times the typical one; check that units, "
                   "processing and population match the training sample",
                   name, a->effect);
        if (a->factor > KN_SITE_FACTOR || a->factor < 1 / KN_SITE_FACTOR)
            kn_log(ctx, KN_LOG_WARNING,
                   "%s: the noise variance is %.2g times that of the training sites; check that "
                   "units and processing match the training sample",
                   name, a->factor);
    }
}

/* Root mean square offset of a site over the responses, in standard deviations within a site; NaN
 * without values. */
static double rms_offset(const work *w, const kn_site_adapted *a)
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

/* KN_ERR_DATA if the controls of a site have no finite response, or are more than 30 standard
 * deviations from their predictions. No scanner shifts a map further, so units or processing
 * differ. */
static kn_status check_values(kn_ctx *ctx, const work *w)
{
    static const double DISTANT = 30;
    char name[256];
    for (ptrdiff_t s = 0; s < w->n; s++) {
        const kn_site_adapted *a = &w->made[s];
        double far = rms_offset(w, a);
        write_site_name(w, s, name, sizeof name);
        if (isnan(far))
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: the controls of %s have no finite response; check IDs and columns",
                           kn_data_responses_name(w->data), name);
        if (far > DISTANT)
            return kn_fail(
                ctx, KN_ERR_DATA,
                "%s: the responses of the controls of %s are more than %.0f standard deviations "
                "from the predictions; check that units and processing match the training sample",
                kn_data_responses_name(w->data), name, DISTANT);
    }
    return KN_OK;
}

/* Warn if controls have ids of training participants: their site may be in the model under another
 * name. */
static void log_training(kn_ctx *ctx, const work *w)
{
    const kn_model *m = w->model;
    ptrdiff_t known = 0;
    for (ptrdiff_t i = 0; m->ids && w->participants.id && i < w->participants.n; i++)
        for (ptrdiff_t t = 0; t < m->info.n_samples; t++)
            if (strcmp(w->participants.id[i], m->ids[t]) == 0) {
                known++;
                break;
            }
    if (known > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td controls have the IDs of training participants; check whether their "
               "site is in the model under another name",
               known, w->participants.n);
}

/* Run the adaptation: participants, sites, residuals, estimates, model, files. *adapted is owned by
 * the caller, NULL on error. */
static kn_status run_adapt(kn_ctx *ctx, work *w, kn_model **adapted)
{
    kn_status status;
    const kn_model *m = w->model;
    kn_command_memory memory = kn_memory_policy_score(ctx, w->s, m, 0, 0);
    memory.shape.model *= 3; /* the model is copied through its serialised bytes */
    kn_sample_spec known = {.encoding = &m->encoding, .space = &m->space};
    KN_TRY(kn_sample_new(ctx, w->data, w->s, known, &memory.policy, &w->participants));
    KN_TRY(kn_site_lookup_new(ctx, w->s, m, w->data, &w->participants, true, &w->from));
    KN_TRY(read_levels(ctx, w));
    KN_TRY(check_known(ctx, w));
    KN_TRY(find_sites(ctx, w));
    KN_TRY(add_residuals(ctx, w));
    KN_TRY(check_values(ctx, w));
    kn_patients_warn(ctx, w->data->covariates, w->participants.covariate_row, w->participants.n,
                     NULL, "are treated as healthy controls");
    log_training(ctx, w);
    warn_of_sites(ctx, w);
    KN_TRY(make_adapted_model(ctx, w, adapted));
    if (w->s->output)
        KN_TRY(write_outputs(ctx, w->s, *adapted, w->made, w->n));
out:
    if (status != KN_OK) {
        kn_model_free(*adapted);
        *adapted = NULL;
    }
    return status;
}

/* kn_adapt() with parsed settings. controls: participants of new sites only, else KN_ERR_DATA.
 * *adapted is owned by the caller. Each rank computes the residuals of its own responses, and root
 * writes. Collective. */
static kn_status adapt_with_settings(kn_ctx *ctx, const kn_model *model, kn_data *controls,
                                     const kn_settings *s, kn_model **adapted)
{
    work w = {.model = model, .s = s, .data = controls};
    kn_status status;
    *adapted = NULL;
    KN_TRY(check_model(ctx, model, s));
    if (s->output)
        KN_TRY(check_outputs(ctx, s, controls));
    status = run_adapt(ctx, &w, adapted);
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
    status = adapt_with_settings(ctx, model, controls, &s, adapted);
out:
    kn_resources_restore(ctx, before);
    return status;
}
