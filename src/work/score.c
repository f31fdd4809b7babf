/* A model applied to some people: predictions, and with responses z, abnormality and
 * metrics                                                                            [METHOD 6b]
 *
 * Samples pass in batches, and the responses of a batch in blocks. Held are the float maps of one
 * batch and doubles of one block; a batch's maps go to the files before the next one is made. So
 * memory grows with T alone, whatever the number of samples. */
#include "work/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped.h"
#include "gp/method.h"
#include "model/units.h"
#include "work/check.h"
#include "work/doubt.h"
#include "work/leavers.h"
#include "work/mapfile.h"
#include "work/newcomers.h"
#include "work/predictions.h"
#include "work/room.h"
#include "work/score_pass.h"
#include "work/scores_join.h"

/* Of a batch. Each batch reads the basis and the deviance's eigenvectors once, T x P and T x K:
 * LEAST keeps that a small part of the work where maps are large. */
enum { BATCH_BYTES = 1 << 26, LEAST = 32 };

typedef struct work {
    const kn_model *model;
    kn_data *data;
    const kn_options *given;
    kn_join *join; /* takes what is scored, in the place of files; NULL: none */
    kn_settings s;
    bool score;
    unsigned write; /* KN_MAP_...: those asked for */
    kn_people people;
    kn_attendance attendance;
    kn_standing standing;
    kn_scores *scores;
    kn_warnings warnings;
    uint64_t values; /* hash of the responses that have passed */
    /* with {output} */
    kn_write_options options;
    const char **inputs;
    kn_made made;
    kn_pending pending;
    kn_maplayout layout;
    kn_leavers leavers;
    kn_mapfile *file[KN_N_MAPS]; /* NULL: not asked for */
    ptrdiff_t batch;             /* people at a time */
    kn_shash *law;               /* of each response in use, made once; NULL: z have no shape */
    float *buffer[KN_N_MAPS], *z_noise; /* for the maps of a batch that the scores do not keep */
} work;

static void work_clear(work *w)
{
    for (int k = 0; k < KN_N_MAPS; k++) {
        kn_mapfile_free(w->file[k]);
        kn_free(w->buffer[k]);
    }
    kn_free(w->z_noise);
    kn_free(w->law);
    kn_standing_clear(&w->standing);
    kn_attendance_clear(&w->attendance);
    kn_people_clear(&w->people);
    kn_scores_free(w->scores);
    kn_warnings_clear(&w->warnings);
    kn_free(w->inputs);
    kn_leavers_clear(&w->leavers);
    kn_pending_clear(&w->pending);
    kn_made_clear(&w->made);
}

/* z by noise alone are gathered for a deviance that is learned from z. */
static bool learned_deviance(const work *w)
{
    return w->model->reference.has_deviance && !w->model->reference.own_deviance;
}

/* Maps of a batch: those asked for, and what scoring needs in any case. */
static int maps_of(const work *w)
{
    return __builtin_popcount(w->write | (w->score ? (unsigned)KN_MAP_Z : 0)) +
           (w->score && learned_deviance(w));
}

/* Of images as images, and only where there are two new predictions or more. */
static bool has_metric_maps(const work *w)
{
    ptrdiff_t measured = 0;
    for (ptrdiff_t i = 0; w->score && i < w->people.n; i++)
        measured += w->scores->measured[i];
    return measured > 1 && w->model->space.kind == KN_SPACE_IMAGE &&
           w->layout.format != KN_FORMAT_CSV && w->layout.format != KN_FORMAT_NPY;
}

/* The folder, and every file that will be in it, before anything is computed. */
static kn_status check_outputs(kn_ctx *ctx, work *w)
{
    const char *folder = w->s.folder;
    kn_status status = KN_OK;
    KN_TRY(kn_made_folder(ctx, &w->made, folder));
    for (int k = 0; k < KN_N_MAPS; k++)
        if (w->write & 1u << k)
            KN_TRY(kn_mapfile_check(ctx, &w->layout, kn_map_name[k], w->people.n, false));
    if (w->write & KN_MAP_YS2_MODEL)
        KN_TRY(kn_mapfile_check(ctx, &w->layout, "ys2_noise", 1, true));
    if (w->write & KN_MAP_YS2_MODEL && w->scores->noise_group)
        KN_TRY(kn_mapfile_check(ctx, &w->layout, "ys2_noise_known", 1, true));
    KN_TRY(kn_people_check(ctx, folder, &w->options));
    if (w->score)
        KN_TRY(kn_scores_check(ctx, w->scores, folder, &w->options));
    for (int k = 0; has_metric_maps(w) && k < KN_N_METRIC_MAPS; k++)
        KN_TRY(kn_mapfile_check(ctx, &w->layout, kn_metric_maps[k].file, 1, true));
out:
    return status;
}

static kn_status prepare_outputs(kn_ctx *ctx, work *w)
{
    kn_status status;
    kn_format format;
    KN_TRY(kn_mapfile_format(ctx, &w->model->space, (kn_format)w->s.format, &format));
    KN_TRY(kn_data_files(ctx, w->data, w->s.model, &w->inputs, &w->options.n_inputs));
    w->options.inputs = w->inputs;
    w->options.force = w->s.force;
    w->options.made = &w->made;
    w->options.pending = &w->pending;
    w->layout = (kn_maplayout){.dir = w->s.folder,
                               .format = format,
                               .space = &w->model->space,
                               .T = w->scores->T,
                               .id = (const char *const *)w->scores->id,
                               .split = w->s.split,
                               .options = &w->options};
    KN_TRY(check_outputs(ctx, w));
    if (w->s.split && w->s.force)
        KN_TRY(kn_leavers_find(ctx, &w->layout, w->people.n, &w->leavers));
out:
    return status;
}

static kn_status prepare(kn_ctx *ctx, work *w)
{
    kn_status status;
    kn_format unused;
    w->write = w->score ? (unsigned)KN_MAP_Z : (unsigned)(KN_MAP_YHAT | KN_MAP_YS2_MODEL);
    if (w->s.write)
        kn_list_bits(w->s.write, KN_MAP_WORDS, &w->write);
    if (!w->score)
        KN_TRY(kn_check_predicted(ctx, w->write));
    bool metrics = w->write & KN_WRITE_METRICS;
    w->write &= ~(unsigned)KN_WRITE_METRICS; /* what is left is maps */
    if (w->model->recipe.n == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s was made from numbers alone: it has no recipe for covariates",
                       w->s.model ? w->s.model : "the model");
    KN_TRY(kn_mapfile_format(ctx, &w->model->space, (kn_format)w->s.format, &unused));
    int maps = __builtin_popcount(w->write);
    kn_work_room room =
        kn_room_to_score(ctx, &w->s, w->model, maps_of(w), w->s.folder || w->join ? 0 : maps);
    kn_known known = {.recipe = &w->model->recipe,
                      .space = w->score ? &w->model->space : NULL,
                      .group_column = kn_standing_column(&w->s, w->model)};
    KN_TRY(kn_people_new(ctx, w->data, &w->s, known, &room.room, &w->people));
    KN_TRY(kn_attendance_new(ctx, w->data, &w->model->recipe, &w->people, &w->attendance));
    KN_TRY(kn_standing_new(ctx, &w->s, w->model, w->data, &w->people, &w->standing));
    KN_TRY(kn_scores_new(ctx, &w->s, w->model, w->data, &w->people, &w->scores));
    KN_TRY(kn_scores_stand(ctx, w->scores, &w->standing));
    if (w->join)
        KN_TRY(kn_join_begin(ctx, w->join, &w->people, w->scores));
    w->scores->tabulate = metrics || w->scores->T <= KN_METRICS_UNASKED;
    if (w->s.folder)
        KN_TRY(prepare_outputs(ctx, w));
    kn_log(ctx, KN_LOG_INFO, "%td samples, %td responses; maps of %.1f MB", w->people.n,
           w->scores->T, (double)(w->people.n * w->scores->T) * 4e-6 * maps);
out:
    return status;
}

static ptrdiff_t rows_for(const kn_method *method, ptrdiff_t responses, int maps, bool score)
{
    kn_gp sizes = {.T = responses};
    double T = (double)responses, block = (double)kn_at_most(responses, KN_BLOCK);
    int blocks = score ? 7 : 2; /* mean, variance; y, z, losses, what calibration gathers, work */
    ptrdiff_t rows = (ptrdiff_t)(BATCH_BYTES / (4 * T * maps + 8 * block * blocks));
    ptrdiff_t least = method->batch(&sizes) > LEAST ? method->batch(&sizes) : LEAST;
    return rows < least ? least : rows;
}

/* As many samples as BATCH_BYTES have room for, maps and blocks together. */
static ptrdiff_t batch_size(const work *w)
{
    return rows_for(w->model->gp.method, w->scores->T, maps_of(w), w->score);
}

ptrdiff_t kn_score_rows(const kn_need_shape *s)
{
    return kn_at_most(rows_for(s->method, s->T, s->maps, s->value > 0), s->N);
}

void kn_score_need(kn_rehearsal *r, const kn_need_shape *s)
{
    ptrdiff_t width = kn_at_most(s->T, KN_BLOCK), rows = kn_score_rows(s);
    kn_need_shape model = *s;
    kn_rehearse_stage(r, "scoring");
    kn_hold_bytes(r, KN_NEED_BASIS, s->model);
    kn_hold_f(r, KN_NEED_WORK, s->N, s->kept * s->T);
    kn_hold_f(r, KN_NEED_WORK, rows, (s->maps - s->kept) * s->T);
    kn_walk_need(r, rows, width, KN_WALK_MAPS | KN_WALK_Y);
    if (s->value >
        0) /* and the columns of the noise scale, with what they are made of, and sites */
        kn_hold_d(r, KN_NEED_WORK, rows, 3 * width + 2 * s->F + 3);
    if (s->value > 0)
        kn_hold(r, KN_NEED_WORK, s->T, sizeof(kn_shash));
    kn_hold_d(r, KN_NEED_WORK, s->N + 3 * rows, s->F);
    if (s->value > 0)
        kn_law_need(r, s, rows, s->P);
    kn_scores_need(r, s, rows);
    model.N = s->train;
    s->method->need.maps(r, &model, KN_MAPS_PREDICT, rows);
    s->method->need.block(r, &model, KN_MAPS_PREDICT, rows);
}

/* 61 nodes a response: more than the z of a small batch cost. */
static kn_status prepare_laws(kn_ctx *ctx, work *w)
{
    const kn_layer *l = &w->model->layer;
    void *memory = NULL;
    if (!w->score || !l->theta.data)
        return KN_OK;
    kn_status status = kn_alloc(ctx, l->theta.cols, sizeof *w->law, &memory);
    w->law = memory;
    for (ptrdiff_t j = 0; status == KN_OK && j < l->theta.cols; j++)
        w->law[j] = kn_layer_law(l, j);
    return status;
}

static kn_status prepare_batches(kn_ctx *ctx, work *w, ptrdiff_t rows)
{
    kn_status status = KN_OK;
    ptrdiff_t n = w->people.n, T = w->scores->T;
    rows = rows > 0 ? rows : batch_size(w);
    w->batch = rows < n ? rows : n;
    for (int k = 0; k < KN_N_MAPS; k++) {
        bool asked = w->write & 1u << k;
        if (asked && w->s.folder)
            KN_TRY(kn_mapfile_new(ctx, &w->layout, kn_map_name[k], n, false, &w->file[k]));
        if (asked && !w->s.folder && !w->join)
            KN_TRY(kn_alloc_f(ctx, n * T, &w->scores->map[k]));
        else if (asked || (w->score && k == KN_PASS_Z))
            KN_TRY(kn_alloc_f(ctx, w->batch * T, &w->buffer[k]));
    }
    if (w->score && learned_deviance(w))
        KN_TRY(kn_alloc_f(ctx, w->batch * T, &w->z_noise));
out:
    return status;
}

static kn_status pass_batches(kn_ctx *ctx, work *w)
{
    kn_status status = KN_OK;
    ptrdiff_t n = w->people.n, T = w->scores->T;
    kn_pass pass = {.model = w->model,
                    .people = &w->people,
                    .standing = &w->standing,
                    .scores = w->scores,
                    .score = w->score,
                    .law = w->law,
                    .z_noise = w->z_noise};
    for (ptrdiff_t row = 0; row < n; row += w->batch) {
        ptrdiff_t rows = n - row < w->batch ? n - row : w->batch;
        for (int k = 0; k < KN_N_MAPS; k++)
            pass.map[k] = w->scores->map[k] ? w->scores->map[k] + row * T : w->buffer[k];
        KN_TRY(kn_pass_run(ctx, &pass, row, rows));
        kn_view Y = kn_view_some(w->people.Y, row, rows);
        kn_row_maps maps = {pass.map[KN_PASS_Z], w->z_noise, pass.map[KN_PASS_FDR]};
        KN_TRY(kn_scores_take_rows(ctx, w->scores, row, rows, &maps));
        for (int k = 0; k < KN_N_MAPS; k++)
            if (w->file[k])
                KN_TRY(kn_mapfile_rows(ctx, w->file[k], pass.map[k], rows));
        if (w->join)
            KN_TRY(kn_join_rows(ctx, w->join, w->scores, row, rows, pass.map));
        if (w->score)
            KN_TRY(kn_doubt_rows(ctx, w->scores, row, Y, pass.map[KN_PASS_Z]));
        if (w->score && kn_values_hashed(w->data))
            KN_TRY(kn_values_hash(ctx, Y, w->values, &w->values));
        if (w->score) /* of a scratch file these rows can go */
            kn_view_done(ctx, Y, 0, Y.cols);
    }
out:
    return status;
}

/* A map of noise or of a metric: one row, which is nobody's. */
static kn_status write_single(kn_ctx *ctx, const work *w, const char *name, const double *values)
{
    kn_status status;
    kn_mapfile *file = NULL;
    float *noise = NULL;
    KN_TRY(kn_alloc_f(ctx, w->layout.T, &noise));
    for (ptrdiff_t j = 0; j < w->layout.T; j++)
        noise[j] = (float)values[j];
    KN_TRY(kn_mapfile_new(ctx, &w->layout, name, 1, true, &file));
    KN_TRY(kn_mapfile_rows(ctx, file, noise, 1));
    KN_TRY(kn_mapfile_commit(ctx, file, &w->scores->n_files));
out:
    kn_mapfile_free(file);
    kn_free(noise);
    return status;
}

static kn_status write_people(kn_ctx *ctx, const work *w)
{
    char maps[1024] = "", tail[256];
    for (int k = 0, n = 0; k < KN_N_MAPS; k++)
        for (int part = 0; w->file[k] && part < kn_mapfile_parts(&w->layout); part++) {
            kn_mapfile_tail(&w->layout, kn_map_name[k], part, tail, sizeof tail);
            n += snprintf(maps + n, sizeof maps - (size_t)n, "%s%s", n ? "," : "", tail);
        }
    kn_people_sheet sheet = {w->data,   w->model,       &w->people,
                             w->scores, &w->attendance, w->s.split ? maps : NULL};
    kn_status status = kn_people_write(ctx, &sheet, w->s.folder, &w->options);
    w->scores->n_files += status == KN_OK;
    return status;
}

/* Files get their names all at once, the tables last: their presence says that everything is there.
 */
static kn_status write_all(kn_ctx *ctx, work *w)
{
    kn_status status = KN_OK;
    for (int k = 0; k < KN_N_MAPS; k++)
        if (w->file[k])
            KN_TRY(kn_mapfile_commit(ctx, w->file[k], &w->scores->n_files));
    if (w->write & KN_MAP_YS2_MODEL)
        KN_TRY(write_single(ctx, w, "ys2_noise", w->scores->noise));
    if (w->write & KN_MAP_YS2_MODEL && w->scores->noise_group)
        KN_TRY(write_single(ctx, w, "ys2_noise_known", w->scores->noise_group));
    for (int k = 0; has_metric_maps(w) && k < KN_N_METRIC_MAPS; k++)
        KN_TRY(write_single(ctx, w, kn_metric_maps[k].file,
                            kn_scores_responses(w->scores, kn_metric_maps[k].metric)));
    KN_TRY(write_people(ctx, w));
    if (w->score) {
        KN_TRY(kn_scores_write(ctx, w->scores, w->s.folder, &w->options));
        w->scores->n_files += 2 + w->scores->tabulate;
    }
    KN_TRY(kn_pending_commit(ctx, &w->pending, &w->made));
    kn_leavers_remove(ctx, &w->leavers);
out:
    return status;
}

/* First the files without a name, so that the folder is empty. */
static void take_back(work *w)
{
    for (int k = 0; k < KN_N_MAPS; k++) {
        kn_mapfile_free(w->file[k]);
        w->file[k] = NULL;
    }
    kn_pending_clear(&w->pending);
    kn_made_remove(&w->made);
}

static kn_status run(kn_ctx *ctx, work *w, ptrdiff_t rows, kn_scores **scores)
{
    kn_status status;
    kn_resources before = kn_settings_resources(ctx, &w->s);
    kn_warnings *kept = kn_keep_warnings(ctx, &w->warnings);
    KN_TRY(prepare(ctx, w));
    KN_TRY(prepare_batches(ctx, w, rows));
    KN_TRY(prepare_laws(ctx, w));
    KN_TRY(pass_batches(ctx, w));
    KN_TRY(kn_scores_finish(ctx, w->scores));
    if (w->score)
        kn_doubt_tell(ctx, w->scores, kn_data_responses_name(w->data));
    if (w->join) {
        kn_people_sheet sheet = {w->data, w->model, &w->people, w->scores, &w->attendance, NULL};
        status = kn_join_take(ctx, w->join, &sheet);
        goto out;
    }
    KN_TRY(kn_summary_make(ctx, w->scores,
                           &(kn_provenance){w->given, &w->s, w->data, &w->attendance, &w->warnings,
                                            w->values}));
    if (w->s.folder)
        KN_TRY(write_all(ctx, w));
    kn_scores_settle(w->scores);
    *scores = w->scores;
    w->scores = NULL;
out:
    kn_keep_warnings(ctx, kept);
    if (status != KN_OK)
        take_back(w);
    work_clear(w);
    kn_resources_put(ctx, before);
    return status;
}

static kn_status begin(kn_ctx *ctx, const char *command, const kn_options *options, work *w,
                       kn_scores **scores)
{
    *scores = NULL;
    if (!w->model || !w->data)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", w->model ? "data" : "model");
    w->score = strcmp(command, "score") == 0;
    w->given = options;
    kn_status status = kn_settings_of(ctx, options, command, &w->s);
    return status == KN_OK ? kn_settings_check_ranges(ctx, &w->s) : status;
}

kn_status kn_score_in_batches(kn_ctx *ctx, const kn_model *model, kn_data *data,
                              const kn_options *options, ptrdiff_t rows, kn_scores **scores)
{
    work w = {.model = model, .data = data};
    kn_status status = begin(ctx, kn_options_command(options), options, &w, scores);
    return status == KN_OK ? run(ctx, &w, rows, scores) : status;
}

kn_status kn_score(kn_ctx *ctx, const kn_model *model, kn_data *data, const kn_options *options,
                   kn_scores **scores)
{
    work w = {.model = model, .data = data};
    kn_status status = begin(ctx, "score", options, &w, scores);
    return status == KN_OK ? run(ctx, &w, 0, scores) : status;
}

kn_status kn_score_into(kn_ctx *ctx, const kn_model *model, kn_data *data,
                        const kn_options *options, kn_join *join)
{
    kn_scores *none;
    work w = {.model = model, .data = data, .join = join};
    kn_status status = begin(ctx, "score", options, &w, &none);
    return status == KN_OK ? run(ctx, &w, 0, &none) : status;
}

kn_status kn_predict(kn_ctx *ctx, const kn_model *model, kn_data *data, const kn_options *options,
                     kn_scores **scores)
{
    work w = {.model = model, .data = data};
    kn_status status = begin(ctx, "predict", options, &w, scores);
    return status == KN_OK ? run(ctx, &w, 0, scores) : status;
}
