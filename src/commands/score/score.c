/* kn_score and kn_predict: apply a model to participants [METHOD 6b]
 *
 * Participants are processed in minibatches, and the responses of a minibatch in blocks. Memory
 * holds the float maps of one minibatch and doubles of one block; the maps go to files before the
 * next minibatch begins. So memory grows with T only, not with the number of participants. Main
 * path: begin, prepare, pass_batches, kn_scores_finish, kn_score_write_all. */
#include "commands/score/score.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/mpi/comm.h"
#include "commands/common/check_arguments.h"
#include "commands/common/maps_api.h"
#include "commands/memory/memory_plan.h"
#include "commands/score/internal.h"
#include "gp/method.h"
#include "gp/predict/map_density_missing.h"
#include "io/file/atomic_writer.h"
#include "io/file/path.h"
#include "model/model.h"

/* Sizes of a minibatch. Each minibatch reads the basis and the eigenvectors of the deviance once, T
 * x P and T x K: LOW and MIN keep that a small part of the work for large maps. */
enum { BATCH_BYTES = 1 << 26, LOW = 16, MIN = 32, USUAL = 64, MAX_COUNT = 256 };

/* Frees the work; uncommitted files are removed. */
static void work_clear(kn_score_work *w)
{
    for (int k = 0; k < KN_N_MAPS; k++) {
        kn_mapfile_free(w->file[k]);
        kn_free(w->buffer[k]);
    }
    kn_bids_output_clear(&w->bids);
    kn_free(w->z_noise);
    kn_free(w->distribution);
    kn_free(w->null_distribution);
    kn_participant_status_clear(&w->relation);
    kn_exclusions_clear(&w->exclusions);
    kn_sample_clear(&w->participants);
    kn_scores_free(w->scores);
    kn_warnings_clear(&w->warnings);
    kn_free(w->inputs);
    kn_stale_files_clear(&w->stale);
    kn_job_parts_clear(&w->parts);
    kn_uncommitted_files_clear(&w->pending);
    kn_created_files_clear(&w->made);
}

/* True if z by noise variance alone are needed, for a deviance that was learned from z. */
static bool learned_deviance(const kn_score_work *w)
{
    return w->model->reference.has_deviance && !w->model->reference.own_deviance;
}

/* Number of maps in a minibatch: the requested ones, and those that scoring needs. */
static int count_maps(const kn_score_work *w)
{
    return __builtin_popcount(w->write | (w->score ? (unsigned)KN_MAP_Z : 0)) +
           (w->score && learned_deviance(w));
}

/* Match the participants with the training sample, or read the matches of the job parts. */
static kn_status match_participants(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status = KN_OK;
    kn_participants_table sheet = {w->data,   w->model,       &w->participants,
                                   w->scores, &w->exclusions, NULL};
    if (w->s.join > 0) {
        KN_TRY(kn_job_parts_find(ctx, w->s.folder, w->s.join, &w->parts));
        KN_TRY(kn_job_parts_check_memory(ctx, &w->parts, &sheet));
        KN_TRY(kn_job_parts_stamp(ctx, w->score ? "score" : "predict", &w->s, &sheet,
                                  &w->parts.stamp));
        KN_TRY(kn_job_parts_read(ctx, &w->parts, w->scores));
    }
    if (!w->score)
        goto out;
    if (w->s.join > 0)
        kn_match_training_log(ctx, w->scores);
    else
        KN_TRY(kn_match_training(ctx, w->scores, &w->participants));
    KN_TRY(kn_match_training_groups(ctx, w->scores, w->data, &w->participants));
out:
    return status;
}

/* Callback of kn_sample_new(): fail if the whole list, of which a job part scores some, has unknown
 * sites or no participant without label. */
static kn_status check_everybody(kn_ctx *ctx, const void *self, const kn_sample *everybody)
{
    const kn_score_work *w = self;
    kn_status status = kn_site_lookup_check(ctx, &w->s, w->model, w->data, everybody);
    return status == KN_OK ? kn_match_training_check(ctx, &w->s, w->data, everybody) : status;
}

/* Number of rows of a minibatch, by method and size of the maps. It is fixed, and smaller
 * minibatches are padded: BLAS results of a row depend on the number of rows. It is low if a method
 * does little work per minibatch, else a power of two. */
static ptrdiff_t choose_minibatch_rows(const kn_method *method, ptrdiff_t responses, int maps,
                                       bool score)
{
    kn_gp sizes = {.T = responses};
    double T = (double)responses, block = (double)kn_min_size(responses, KN_BLOCK);
    int blocks = score ? 7 : 2; /* mean, variance; y, z, losses, calibration, work */
    ptrdiff_t rows = (ptrdiff_t)(BATCH_BYTES / (4 * T * maps + 8 * block * blocks));
    ptrdiff_t asked = method->batch ? method->batch(&sizes) : 1,
              limit = asked > USUAL ? MAX_COUNT : USUAL, height = MIN;
    if (asked == 1)
        return LOW;
    while (2 * height <= (asked > rows ? asked : rows) && 2 * height <= limit)
        height *= 2;
    return height;
}

/* Set w->height, the rows of a padded minibatch, and w->batch, its participants, at most the
 * height. */
static void prepare_height(kn_score_work *w)
{
    w->height = choose_minibatch_rows(w->model->gp.method, w->model->info.n_responses,
                                      count_maps(w), w->score);
    w->batch = w->batch > 0 ? kn_min_size(w->batch, w->height) : w->height;
}

/* Do everything before the computation: choose maps, read and check data, match participants, check
 * output files. */
static kn_status prepare_call(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status;
    kn_format unused;
    w->write = w->score ? (unsigned)KN_MAP_Z : (unsigned)(KN_MAP_YHAT | KN_MAP_YS2_MODEL);
    if (w->s.write)
        kn_list_bits(w->s.write, KN_MAP_WORDS, &w->write);
    if (!w->score)
        KN_TRY(kn_check_predicted(ctx, w->write));
    bool metrics = w->write & KN_WRITE_METRICS;
    w->write &= ~(unsigned)KN_WRITE_METRICS; /* only map bits are left */
    if (w->model->encoding.n == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s was fitted to numeric arrays and has no encoding of covariates",
                       w->s.model ? w->s.model : "the model");
    KN_TRY(kn_mapfile_format(ctx, &w->model->space, (kn_format)w->s.format, &unused));
    int maps = __builtin_popcount(w->write);
    prepare_height(w);
    kn_command_memory memory = kn_memory_policy_score(ctx, &w->s, w->model, count_maps(w),
                                                      w->s.folder || w->join ? 0 : maps);
    kn_sample_spec known = {.encoding = &w->model->encoding,
                            .space = w->score && w->s.join == 0 ? &w->model->space : NULL,
                            .group_column = kn_participant_status_column(&w->s, w->model),
                            .check = check_everybody,
                            .self = w,
                            .by_participants = true};
    KN_TRY(kn_sample_new(ctx, w->data, &w->s, known, &memory.policy, &w->participants));
    if (w->participants.n == 0 && !w->s.folder) {
        status =
            kn_fail(ctx, KN_ERR_DATA, "part %td of %td has no participants; there are only %td",
                    w->part.i, w->part.n, w->participants.n_other);
        goto out;
    }
    KN_TRY(kn_exclusions_new(ctx, w->data, &w->model->encoding, &w->participants, &w->exclusions));
    KN_TRY(
        kn_participant_status_new(ctx, &w->s, w->model, w->data, &w->participants, &w->relation));
    KN_TRY(kn_scores_new(ctx, &w->s, w->model, w->score, &w->participants, &w->scores));
    KN_TRY(match_participants(ctx, w));
    KN_TRY(kn_scores_set_status(ctx, w->scores, &w->relation));
    if (w->join)
        KN_TRY(kn_join_begin_fold(ctx, w->join, &w->participants, w->scores));
    w->scores->tabulate = metrics || w->scores->T <= KN_METRICS_UNASKED;
    if (w->s.folder)
        KN_TRY(kn_score_prepare_outputs(ctx, w));
    kn_log(ctx, KN_LOG_INFO, "%td participant%s, %td response%s; maps of %s", w->participants.n,
           kn_plural(w->participants.n), w->scores->T, kn_plural(w->scores->T),
           kn_format_size((double)(w->participants.n * w->scores->T) * 4 * maps).text);
out:
    return status;
}

ptrdiff_t kn_score_rows(const kn_problem_size *s)
{
    return choose_minibatch_rows(s->method, s->T, s->maps, s->value > 0);
}

void kn_score_need(kn_mem_plan *r, const kn_problem_size *s)
{
    ptrdiff_t width = kn_min_size(s->T, KN_BLOCK), rows = kn_score_rows(s);
    kn_problem_size model = *s;
    kn_plan_stage(r, "scoring");
    kn_plan_alloc_bytes(r, KN_NEED_BASIS, s->model);
    kn_plan_alloc_f(r, KN_NEED_WORK, s->N, s->kept * s->T);
    kn_plan_alloc_f(r, KN_NEED_WORK, rows, (s->maps - s->kept) * s->T);
    kn_block_loop_need(r, rows, width, KN_BLOCK_MAPS | KN_BLOCK_Y);
    if (s->value > 0) /* and the columns of the noise scale, their inputs, and sites */
        kn_plan_alloc_d(r, KN_NEED_WORK, rows, 4 * width + 2 * s->F + 3);
    if (s->value > 0)
        kn_plan_alloc(r, KN_NEED_WORK, s->T, 2 * sizeof(kn_shash));
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N + 3 * rows, s->F);
    if (s->value > 0)
        kn_map_density_need(r, s, rows, s->P);
    kn_scores_need(r, s, rows);
    model.N = s->train;
    s->method->need.maps(r, &model, KN_MAPS_PREDICT, rows);
    s->method->need.block(r, &model, KN_MAPS_PREDICT, rows);
    kn_plan_alloc_d(r, KN_NEED_WORK, rows, s->F + 4); /* padding of a minibatch */
    for (int k = 0; k < s->maps - s->kept; k++)
        kn_plan_alloc(r, KN_NEED_WORK, KN_WRITER_BUFFER, 1); /* buffer of its file */
    if (s->value > 0 && s->P == s->T) /* whole-map density: W, K x K, and vectors */
        kn_plan_alloc_d(r, KN_NEED_WORK, s->P, s->P + 16);
    if (s->value > 0 && s->method->map_density) /* after the last block */
        kn_map_density_missing_need(r, s->T, s->P);
}

/* Make the sinh-arcsinh distribution of each response once (T, owned by the caller); unchanged *out
 * without a shape. 61 nodes per response cost more than the z of a small minibatch. */
static kn_status distributions_new(kn_ctx *ctx, const kn_calibration_transform *l, kn_shash **out)
{
    void *memory = NULL;
    if (!l->theta.data)
        return KN_OK;
    kn_status status = kn_alloc(ctx, l->theta.cols, sizeof **out, &memory);
    *out = memory;
    for (ptrdiff_t j = 0; status == KN_OK && j < l->theta.cols; j++)
        (*out)[j] = kn_calibration_distribution(l, j);
    return status;
}

/* Make the sinh-arcsinh distribution of each response for the model and for the null model; nothing
 * for predictions. */
static kn_status prepare_distributions(kn_ctx *ctx, kn_score_work *w)
{
    if (!w->score)
        return KN_OK;
    kn_status status = distributions_new(ctx, &w->model->calibration, &w->distribution);
    if (status == KN_OK)
        status = distributions_new(ctx, &w->model->null.transform, &w->null_distribution);
    return status;
}

/* Open the map files, and allocate maps: n x T in the scores if they are kept in memory, else
 * buffers of one minibatch. */
static kn_status prepare_batches(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status = KN_OK;
    ptrdiff_t n = w->participants.n, T = w->scores->T;
    w->scores->height = w->height;
    w->batch = kn_min_size(w->batch, n);
    if (w->s.folder)
        KN_TRY(kn_score_open_maps(ctx, w));
    if (w->parts.n > 0) /* join: nothing to compute */
        goto out;
    for (int k = 0; k < KN_N_MAPS; k++) {
        bool asked = w->write & 1u << k;
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

typedef struct batch {
    kn_ctx *ctx;
    kn_score_work *w;
    kn_pass pass;
    ptrdiff_t row, rows;
} batch;

/* Score one minibatch (self: a batch), without communication: maps, statistics, plausibility,
 * hashes. */
static kn_status pass_batch(void *self)
{
    kn_status status;
    batch *b = self;
    kn_score_work *w = b->w;
    float *const *map = b->pass.map;
    KN_TRY(kn_pass_minibatch(b->ctx, &b->pass, b->row, b->rows));
    kn_view Y = kn_view_row_range(b->pass.participants->Y, b->row, b->rows);
    kn_row_maps maps = {map[KN_PASS_Z], w->z_noise, map[KN_PASS_FDR]};
    KN_TRY(kn_scores_add_rows(b->ctx, w->scores, b->row, b->rows, &maps));
    if (w->score)
        KN_TRY(kn_implausible_rows(b->ctx, w->scores, b->row, Y, map[KN_PASS_Z]));
    if (w->score && kn_values_hashed(w->data))
        KN_TRY(kn_values_hash(b->ctx, Y, w->scores->hash + b->row));
    if (w->score) /* pages of a scratch file can be released */
        kn_view_done(b->ctx, Y, 0, Y.cols);
out:
    return status;
}

/* Score all minibatches, or those of this rank, and write or gather their maps. Collective. */
static kn_status pass_batches(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status = KN_OK;
    const kn_comm *c = kn_ctx_comm(ctx);
    ptrdiff_t T = w->scores->T, steps = kn_score_steps(ctx, w);
    batch b = {.ctx = ctx,
               .w = w,
               .pass = {.model = w->model,
                        .participants = &w->participants,
                        .relation = &w->relation,
                        .scores = w->scores,
                        .score = w->score,
                        .distribution = w->distribution,
                        .null_distribution = w->null_distribution,
                        .z_noise = w->z_noise}};
    if (w->score)
        KN_TRY(kn_implausible_begin(ctx, w->scores));
    for (ptrdiff_t step = 0; step < steps; step++) {
        kn_index_range range = kn_score_step(w, c->rank, c->size, step);
        b.row = range.first;
        b.rows = range.last - range.first;
        for (int k = 0; k < KN_N_MAPS; k++)
            b.pass.map[k] = w->scores->map[k] ? w->scores->map[k] + b.row * T : w->buffer[k];
        if (b.rows > 0)
            KN_TRY(kn_comm_local(ctx, pass_batch, &b));
        if (w->join)
            KN_TRY(kn_score_gather_maps(ctx, w, step, b.pass.map));
        else if (w->s.folder)
            KN_TRY(kn_score_write_rows(ctx, w, b.pass.map, b.rows));
    }
    if (c->size > 1)
        KN_TRY(kn_score_gather_sums(ctx, w));
out:
    return status;
}

/* Remove what a failed run wrote; open files first, so that the folder is empty. */
static void remove_output(kn_score_work *w)
{
    for (int k = 0; k < KN_N_MAPS; k++) {
        kn_mapfile_free(w->file[k]);
        w->file[k] = NULL;
    }
    kn_bids_output_clear(&w->bids);
    kn_uncommitted_files_clear(&w->pending);
    kn_created_files_remove(&w->made);
}

/* Make summary.json: counts, options, warnings, excluded participants and hashes of the inputs. */
static kn_status make_summary(kn_ctx *ctx, kn_score_work *w)
{
    bool hashed = w->score && kn_values_hashed(w->data);
    uint64_t values = hashed ? kn_values_all(w->scores->hash, w->participants.n) : 0;
    return kn_summary_make(ctx, w->scores,
                           &(kn_provenance){w->given, &w->s, w->data, &w->exclusions, &w->warnings,
                                            values});
}

/* Finish a job part: results that compare participants wait for the join. */
static kn_status finish_job_part(kn_ctx *ctx, kn_score_work *w)
{
    ptrdiff_t all = w->participants.n + w->participants.n_other;
    if (w->participants.n == 0)
        kn_log(ctx, KN_LOG_INFO, "part %td of %td has no participants; there are only %td",
               w->part.i, w->part.n, all);
    return kn_summary_job_part(ctx, w->scores, w->part, all);
}

/* Run the whole call, and clear w. On failure all files of this run are removed. *scores is owned
 * by the caller; on ranks other than root it is not set. */
static kn_status run_scoring(kn_ctx *ctx, kn_score_work *w, kn_scores **scores)
{
    kn_status status;
    kn_resources before = kn_settings_resources(ctx, &w->s);
    kn_warnings *kept = kn_keep_warnings(ctx, &w->warnings);
    KN_TRY(prepare_call(ctx, w));
    KN_TRY(prepare_batches(ctx, w));
    if (w->parts.n == 0) {
        KN_TRY(prepare_distributions(ctx, w));
        KN_TRY(pass_batches(ctx, w));
    }
    if (kn_score_is_job_part(w)) {
        KN_TRY(finish_job_part(ctx, w));
        goto done;
    }
    if (kn_ctx_comm(ctx)->rank > 0) /* only root has the join */
        goto out;
    KN_TRY(kn_scores_finish(ctx, w->scores));
    if (w->score)
        kn_implausible_warn(ctx, w->scores, kn_data_responses_name(w->data));
    if (w->join) {
        kn_participants_table sheet = {w->data,   w->model,       &w->participants,
                                       w->scores, &w->exclusions, NULL};
        status = kn_join_add_fold(ctx, w->join, &sheet);
        goto out;
    }
    KN_TRY(make_summary(ctx, w));
done:
    if (w->s.folder)
        KN_TRY(kn_score_write_all(ctx, w));
    kn_scores_finalise(w->scores);
    *scores = w->scores;
    w->scores = NULL;
out:
    kn_keep_warnings(ctx, kept);
    if (status != KN_OK)
        remove_output(w);
    work_clear(w);
    kn_resources_restore(ctx, before);
    return status;
}

/* Check the arguments and settings of a call of score or predict, and set up w; *scores is NULL
 * afterwards. */
static kn_status check_call(kn_ctx *ctx, const char *command, const kn_options *options,
                            kn_score_work *w, kn_scores **scores)
{
    *scores = NULL;
    if (!w->model || !w->data)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", w->model ? "data" : "model");
    w->score = strcmp(command, "score") == 0;
    w->given = options;
    kn_status status;
    KN_TRY(kn_settings_of(ctx, options, command, &w->s));
    KN_TRY(kn_settings_check_ranges(ctx, &w->s));
    KN_TRY(kn_job_parts_parse(ctx, &w->s, &w->part));
    KN_TRY(kn_bids_output_check(ctx, &w->s));
    assert(kn_ctx_comm(ctx)->size == 1 ||
           w->join); /* several ranks score only within a cross-validation */
out:
    return status;
}

kn_status kn_score_in_batches(kn_ctx *ctx, const kn_model *model, kn_data *data,
                              const kn_options *options, ptrdiff_t rows, kn_scores **scores)
{
    kn_score_work w = {.model = model, .data = data, .batch = rows};
    kn_status status = check_call(ctx, kn_options_command(options), options, &w, scores);
    return status == KN_OK ? run_scoring(ctx, &w, scores) : status;
}

kn_status kn_score(kn_ctx *ctx, const kn_model *model, kn_data *data, const kn_options *options,
                   kn_scores **scores)
{
    kn_score_work w = {.model = model, .data = data};
    kn_status status = check_call(ctx, "score", options, &w, scores);
    return status == KN_OK ? run_scoring(ctx, &w, scores) : status;
}

kn_status kn_score_fold(kn_ctx *ctx, const kn_model *model, kn_data *data,
                        const kn_options *options, kn_join *join)
{
    kn_scores *none;
    kn_score_work w = {.model = model, .data = data, .join = join};
    kn_status status = check_call(ctx, "score", options, &w, &none);
    return status == KN_OK ? run_scoring(ctx, &w, &none) : status;
}

kn_status kn_predict(kn_ctx *ctx, const kn_model *model, kn_data *data, const kn_options *options,
                     kn_scores **scores)
{
    kn_score_work w = {.model = model, .data = data};
    kn_status status = check_call(ctx, "predict", options, &w, scores);
    return status == KN_OK ? run_scoring(ctx, &w, scores) : status;
}
