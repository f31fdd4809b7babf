/* Reads the training sample back from a model: covariates from the columns of the design X,
 * statistics from the reference sample, and the scale of the responses. It works for models
 * without a scored folder. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/method.h"
#include "io/table/number.h"
#include "model/model.h"
#include "report/input/input.h"
#include "report/input/internal.h"
#include "report/input/records.h"

/* ---- covariates ---- */

/* Returns the value of raw covariate column c of training row i in original units, x = X sd + mean.
 * It is rounded to ten digits if that gives the same X bit for bit: 34.2, not 34.199999999999996.
 */
static double raw_number(const kn_model *m, ptrdiff_t c, ptrdiff_t i)
{
    const kn_design *d = &m->x;
    char text[KN_NUMBER_SIZE];
    double x, shortest;
    if (d->column[c].x < 0)
        return d->column[c].min; /* constant column */
    double X = kn_at(m->gp.latent.X, i, d->column[c].x);
    x = X * d->sd[c] + d->mean[c];
    kn_number_short(x, text);
    kn_number_parse(text, &shortest);
    return (shortest - d->mean[c]) / d->sd[c] == X ? shortest : x;
}

/* Returns the level of categorical design column c at training row i, found by its indicator
 * columns of X; NaN if it is missing. */
static double code_of(const kn_model *m, ptrdiff_t c, ptrdiff_t i)
{
    const kn_design_column *k = &m->x.column[c];
    for (int l = 0; k->x >= 0 && l < k->levels; l++)
        if (kn_at(m->gp.latent.X, i, k->x + l) == 1)
            return l;
    for (int l = 0; k->x < 0 && l < k->levels; l++) /* the category has a single level */
        if (k->proportions[l] == 1)
            return l;
    return NAN;
}

/* Returns the level at training row i of a category that the caller encoded as indicators in raw
 * columns f ..: one column for two levels, else one per level. NaN if none is set. */
static double indicator_code(const kn_model *m, ptrdiff_t f, ptrdiff_t levels, ptrdiff_t i)
{
    if (levels == 2)
        return raw_number(m, f, i) > 0.5;
    for (ptrdiff_t l = 0; l < levels; l++)
        if (raw_number(m, f + l, i) > 0.5)
            return (double)l;
    return NAN;
}

/* Sets the N training values of covariate k from the design X, in original units or as levels; f:
 * its first raw column. Does nothing if the model is de-identified. Fails only without memory. */
static kn_status read_training(kn_ctx *ctx, kn_report_input *m, ptrdiff_t k, ptrdiff_t f)
{
    const kn_model *model = m->model;
    kn_report_input_column *c = &m->column[k];
    if (!model->gp.latent.X.data)
        return KN_OK;
    kn_status status = kn_arena_d(ctx, &m->arena, m->N, &c->training);
    for (ptrdiff_t i = 0; i < m->N && status == KN_OK; i++)
        c->training[i] = c->numeric                  ? raw_number(model, f, i)
                         : model->x.column[f].levels ? code_of(model, f, i)
                                                     : indicator_code(model, f, c->levels, i);
    return status;
}

/* Describes the model's covariates by its encoding (name, type, levels), with the values of the
 * training sample. */
static kn_status from_encoding(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status = KN_OK;
    const kn_encoding *r = &m->model->encoding;
    for (ptrdiff_t k = 0, f = 0; k < r->n; k++) {
        const kn_covariate *from = &r->column[k];
        bool numeric = from->kind == KN_COVARIATE_NUMERIC;
        m->column[k] = (kn_report_input_column){.name = from->name,
                                                .numeric = numeric,
                                                .batch = from->batch,
                                                .levels = numeric ? 0 : from->levels.n,
                                                .level = (const char *const *)from->levels.text};
        KN_TRY(read_training(ctx, m, k, f));
        f += r->codes || numeric || from->levels.n < 3 ? 1 : from->levels.n;
    }
out:
    return status;
}

/* Describes covariates without names, of a model that was fitted from memory, as x1, x2, ... with
 * levels 0, 1, ..., and reads their training values. */
static kn_status from_design(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status = KN_OK;
    const kn_design *d = &m->model->x;
    for (ptrdiff_t k = 0; k < d->C; k++) {
        kn_report_input_column *c = &m->column[k];
        const char **level;
        *c = (kn_report_input_column){.numeric = d->column[k].levels == 0,
                                      .batch = d->column[k].batch,
                                      .levels = d->column[k].levels};
        KN_TRY(kn_arena_print(ctx, &m->arena, &c->name, "x%td", k + 1));
        KN_TRY(kn_report_input_alloc_texts(ctx, m, c->levels, &level));
        for (ptrdiff_t l = 0; l < c->levels; l++)
            KN_TRY(kn_arena_print(ctx, &m->arena, &level[l], "%td", l));
        c->level = level;
        KN_TRY(read_training(ctx, m, k, k));
    }
out:
    return status;
}

/* Sets m->C and m->column from the encoding of the model, or from its design if it has no encoding.
 */
static kn_status read_covariates(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status;
    void *memory;
    bool named = m->model->encoding.n > 0;
    m->C = named ? m->model->encoding.n : m->model->x.C;
    KN_TRY(kn_arena_alloc(ctx, &m->arena, m->C, sizeof *m->column, &memory));
    m->column = memory;
    KN_TRY(named ? from_encoding(ctx, m) : from_design(ctx, m));
out:
    return status;
}

/* ---- reference sample ---- */

/* Lists the statistics of the reference sample as columns of N values, one per training row; NaN
 * for rows that are not in the reference sample. The extrapolation is ascending instead. */
static kn_status read_statistics(kn_ctx *ctx, kn_report_input *m)
{
    const kn_reference *r = &m->model->reference;
    kn_report_input_list *list = &m->files->training;
    const struct {
        const char *name;
        const double *values;
        bool sorted; /* ascending, not in participant order */
    } all[] = {{"extreme_z", r->statistic, false},
               {"mean_z", r->mean_z, false},
               {"n_low", r->negative, false},
               {"n_high", r->positive, false},
               {"deviance", r->has_deviance ? r->deviance.ref : NULL, false},
               {"deviance_noise", r->has_deviance ? r->deviance_noise.ref : NULL, false},
               {"extrapolation", r->extrapolation, true}};
    enum { ALL = sizeof all / sizeof *all };
    kn_status status;
    void *memory;
    KN_TRY(kn_arena_alloc(ctx, &m->arena, ALL, sizeof *list->column, &memory));
    list->column = memory;
    for (int k = 0; k < ALL; k++) {
        double *to;
        if (r->n == 0 || !all[k].values)
            continue;
        KN_TRY(kn_arena_d(ctx, &m->arena, m->N, &to));
        for (ptrdiff_t i = 0; i < m->N; i++)
            to[i] = NAN;
        for (ptrdiff_t i = 0; i < r->n && i < m->N; i++)
            to[r->sample && !all[k].sorted ? r->sample[i] : i] = all[k].values[i];
        list->column[list->n++] = (kn_report_input_named){.name = all[k].name, .number = to};
    }
out:
    return status;
}

kn_status kn_report_input_training_z(kn_ctx *ctx, kn_report_input *m, ptrdiff_t i, float *z)
{
    const kn_reference *r = m->model ? &m->model->reference : NULL;
    ptrdiff_t row = m->has_training_z ? kn_reference_row(r, i) : -1;
    if (row >= 0)
        memcpy(z, r->z + row * m->T, (size_t)m->T * sizeof *z);
    for (ptrdiff_t j = 0; row < 0 && j < m->T; j++)
        z[j] = NAN;
    return kn_check_cancel(ctx);
}

/* ---- responses ---- */

/* Sets m->space and m->name to the T responses that the model uses, out of all that it was given.
 */
static kn_status copy_space(kn_ctx *ctx, kn_report_input *m)
{
    const kn_space *from = &m->model->space;
    const ptrdiff_t *kept = m->model->y.kept;
    kn_space *to = &m->space;
    kn_status status = KN_OK;
    const char **name = NULL;
    char **copies;
    *to = (kn_space){.kind = from->kind, .geometry = from->geometry, .parts = from->parts};
    for (int k = 0; k < from->parts; k++)
        KN_TRY(kn_image_part_copy(ctx, &from->part[k], &to->part[k]));
    if (from->kind == KN_SPACE_IMAGE) {
        KN_TRY(kn_alloc_i(ctx, m->T, &to->voxel));
        for (ptrdiff_t j = 0; j < m->T; j++)
            to->voxel[j] = from->voxel[kept[j]];
    }
    if (from->kind == KN_SPACE_TABLE) {
        KN_TRY(kn_report_input_alloc_texts(ctx, m, m->T, &name));
        for (ptrdiff_t j = 0; j < m->T; j++)
            name[j] = from->name[kept[j]];
        KN_TRY(kn_names_copy(ctx, name, m->T, &copies));
        to->name = copies;
    }
    to->T = m->T;
    KN_TRY(kn_report_input_set_names(ctx, m, kept));
out:
    return status;
}

/* Copies mean and standard deviation of each response (T) in original units, before any imputation.
 */
static kn_status copy_scale(kn_ctx *ctx, kn_report_input *m)
{
    const kn_scaling *y = &m->model->y;
    kn_status status;
    KN_TRY(kn_arena_d(ctx, &m->arena, m->T, &m->y_mean));
    KN_TRY(kn_arena_d(ctx, &m->arena, m->T, &m->y_sd));
    for (ptrdiff_t j = 0; j < m->T; j++) {
        m->y_mean[j] = (y->mean0 ? y->mean0 : y->mean)[j];
        m->y_sd[j] = (y->sd0 ? y->sd0 : y->sd)[j];
    }
out:
    return status;
}

/* ---- all ---- */

typedef kn_status (*text_writer)(kn_ctx *ctx, const kn_model *model, char **text);

/* Sets *out to the text that write_text makes of the model, in the arena of m. */
static kn_status copy_text(kn_ctx *ctx, kn_report_input *m, text_writer write_text,
                           const char **out)
{
    char *text = NULL;
    kn_status status = write_text(ctx, m->model, &text);
    if (status == KN_OK)
        status = kn_arena_text(ctx, &m->arena, text, out);
    kn_text_free(text);
    return status;
}

kn_status kn_report_input_read_model(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status;
    const kn_model *model = m->model;
    m->N = model->info.n_samples;
    m->T = model->y.n_kept;
    m->units = model->reference.units > 0 ? model->reference.units : m->N;
    m->training_group = model->gp.latent.groups.of;
    m->training_id = (const char *const *)model->ids;
    m->has_training_z = model->reference.z != NULL;
    KN_TRY(read_covariates(ctx, m));
    KN_TRY(read_statistics(ctx, m));
    KN_TRY(copy_space(ctx, m));
    KN_TRY(copy_scale(ctx, m));
    KN_TRY(copy_text(ctx, m, kn_model_json, &m->model_json));
    KN_TRY(copy_text(ctx, m, kn_model_words, &m->model_words));
out:
    return status;
}

/* ---- texts about the method ---- */

/* Returns the method that cv used, from the command line in summary.json (the default method if it
 * has no --method); NULL: not known, or not cv. */
static const kn_method *method_of_folds(const kn_report_input *m)
{
    char name[64];
    const kn_method *method = NULL;
    json_t *summary =
        m->kind == KN_INPUT_CV && m->summary_json ? json_loads(m->summary_json, 0, NULL) : NULL;
    const char *command = kn_json_text_at(summary, "command");
    if (command)
        method = kn_command_option(command, "--method", name, sizeof name) ? kn_method_find(name)
                                                                           : kn_method_at(0);
    json_decref(summary);
    return method;
}

const char *kn_report_input_method(const kn_report_input *m, const char *what)
{
    const kn_method *method = m->model ? m->model->gp.method : method_of_folds(m);
    if (!method)
        return NULL;
    return strcmp(what, "title") == 0   ? method->title
           : strcmp(what, "words") == 0 ? method->words
           : strcmp(what, "cite") == 0  ? method->cite
           : strcmp(what, "paper") == 0 ? method->paper
                                        : NULL;
}
