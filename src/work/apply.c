/* A model applied to the files of some samples: predictions, and with responses z, abnormality and
 * metrics                                                                              [SCALE 4]
 *
 * Samples pass in batches, and the responses of a batch in blocks. Held are the float maps of one
 * batch and doubles of one block; a batch's maps go to the files before the next one is made. So
 * memory grows with T alone, whatever the number of samples. */
#include "work/apply.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mapped.h"
#include "base/parallel.h"
#include "gp/method.h"
#include "gp/z.h"
#include "model/file.h"
#include "model/units.h"
#include "work/dataset.h"
#include "work/mapfile.h"
#include "work/scores.h"

/* Of a batch. Each batch reads the basis and the deviance's eigenvectors once, T x P and T x K:
 * LEAST keeps that a small part of the work where maps are large. */
enum { BATCH_BYTES = 1 << 26, LEAST = 32 };

enum { Z, YHAT, YS2, N_MAPS };
static const struct {
    unsigned bit;
    const char *name;
} MAPS[N_MAPS] = {
    [Z] = {KN_WRITE_Z, "z"},
    [YHAT] = {KN_WRITE_YHAT, "yhat"},
    [YS2] = {KN_WRITE_YS2_MODEL, "ys2_model"},
};

typedef struct work {
    const kn_apply_job *job;
    kn_model *model;
    kn_dataset d;
    bool score;
    unsigned write;
    char **made_id; /* row-0001 ... where there are no ids */
    const char *const *id;
    double *noise; /* T, original units */
    kn_scores scores;
    kn_write_options options;
    const char **inputs;
    kn_made made;
    kn_pending pending;
    kn_maplayout layout;
    kn_mapfile *file[N_MAPS];     /* NULL: not asked for */
    ptrdiff_t batch;              /* samples at a time */
    float *map[N_MAPS], *z_noise; /* batch x T, what is needed of them */
    kn_mat mean, var, y, z;       /* batch x block */
} work;

static void work_clear(work *w)
{
    for (int k = 0; k < N_MAPS; k++) {
        kn_mapfile_free(w->file[k]);
        kn_free(w->map[k]);
    }
    kn_free(w->z_noise);
    kn_mat_clear(&w->mean);
    kn_mat_clear(&w->var);
    kn_mat_clear(&w->y);
    kn_mat_clear(&w->z);
    kn_names_free(w->made_id, w->d.n);
    kn_scores_clear(&w->scores);
    kn_dataset_clear(&w->d);
    kn_model_free(w->model);
    kn_free(w->noise);
    kn_free(w->inputs);
    kn_pending_clear(&w->pending);
    kn_made_clear(&w->made);
}

static kn_status name_rows(kn_ctx *ctx, work *w)
{
    kn_status status = KN_OK;
    void *memory;
    w->id = w->d.id;
    if (w->id)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, w->d.n, sizeof *w->made_id, &memory));
    w->made_id = memory;
    for (ptrdiff_t i = 0; i < w->d.n; i++) {
        KN_TRY(kn_alloc(ctx, 32, 1, &memory));
        w->made_id[i] = memory;
        snprintf(w->made_id[i], 32, "row-%04td", w->d.covariate_row[i] + 1);
    }
    w->id = (const char *const *)w->made_id;
out:
    return status;
}

/* The folder, and every file that will be in it, before anything is computed. */
static kn_status check_outputs(kn_ctx *ctx, work *w)
{
    const kn_apply_job *job = w->job;
    kn_status status = KN_OK;
    if (mkdir(job->output, 0777) == 0)
        KN_TRY(kn_made_add(ctx, &w->made, job->output));
    else if (errno != EEXIST)
        return kn_fail_errno(ctx, job->output, "cannot be made", errno);
    for (int k = 0; k < N_MAPS; k++)
        if (w->write & MAPS[k].bit)
            KN_TRY(kn_mapfile_check(ctx, &w->layout, MAPS[k].name, w->d.n, false));
    if (w->write & KN_WRITE_YS2_MODEL)
        KN_TRY(kn_mapfile_check(ctx, &w->layout, "ys2_noise", 1, true));
    if (w->score)
        KN_TRY(kn_scores_check(ctx, job->output, &w->options));
out:
    return status;
}

static kn_status prepare(kn_ctx *ctx, const kn_apply_job *job, work *w)
{
    kn_status status;
    kn_format format;
    w->job = job;
    w->score = job->in.responses != NULL;
    w->write = job->write ? job->write
               : w->score ? (unsigned)KN_WRITE_Z
                          : (unsigned)(KN_WRITE_YHAT | KN_WRITE_YS2_MODEL);
    if (!w->score && (w->write & KN_WRITE_Z))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "z maps need responses: use score");
    KN_TRY(kn_model_open(ctx, job->model, &w->model));
    if (w->model->recipe.n == 0) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s was not trained from files: it has no recipe for "
                         "covariates",
                         job->model);
        goto out;
    }
    KN_TRY(kn_mapfile_format(ctx, &w->model->space, job->format, &format));
    KN_TRY(kn_dataset_read(ctx, &job->in, w->model, &w->d));
    KN_TRY(name_rows(ctx, w));
    KN_TRY(kn_dataset_files(ctx, &job->in, &w->d, job->model, &w->inputs, &w->options.n_inputs));
    w->options.inputs = w->inputs;
    w->options.force = job->force != 0;
    w->options.made = &w->made;
    w->options.pending = &w->pending;
    w->layout = (kn_maplayout){.dir = job->output,
                               .format = format,
                               .space = &w->model->space,
                               .T = w->model->info.n_responses,
                               .id = w->id,
                               .split = job->split != 0,
                               .options = &w->options};
    KN_TRY(check_outputs(ctx, w));
    KN_TRY(kn_alloc_d(ctx, w->layout.T, &w->noise));
    KN_TRY(kn_model_noise(ctx, w->model, w->noise));
    if (w->score)
        KN_TRY(kn_scores_new(ctx, job, w->model, &w->d, w->id, &w->scores));
    kn_log(ctx, KN_LOG_INFO, "%td samples, %td responses; maps of %.1f MB", w->d.n, w->layout.T,
           (double)(w->d.n * w->layout.T) * 4e-6 * __builtin_popcount(w->write));
out:
    return status;
}

/* As many samples as BATCH_BYTES have room for, maps and blocks together. */
static ptrdiff_t batch_size(const work *w)
{
    double T = (double)w->layout.T, block = T < KN_BLOCK ? T : KN_BLOCK;
    int maps = __builtin_popcount(w->write | (w->score ? (unsigned)KN_WRITE_Z : 0)) +
               (w->score && w->model->reference.has_deviance);
    int blocks = w->score ? 5 : 2; /* mean, variance; y, z, and what calibration gathers */
    ptrdiff_t rows = (ptrdiff_t)(BATCH_BYTES / (4 * T * maps + 8 * block * blocks));
    ptrdiff_t least = w->model->gp.method->batch(&w->model->gp);
    rows = rows < LEAST ? LEAST : rows;
    return rows < least ? least : rows;
}

static kn_status prepare_batches(kn_ctx *ctx, work *w, ptrdiff_t rows)
{
    kn_status status = KN_OK;
    ptrdiff_t T = w->layout.T, width = T < KN_BLOCK ? T : KN_BLOCK;
    rows = rows > 0 ? rows : batch_size(w);
    w->batch = rows < w->d.n ? rows : w->d.n;
    for (int k = 0; k < N_MAPS; k++) {
        if (w->write & MAPS[k].bit)
            KN_TRY(kn_mapfile_new(ctx, &w->layout, MAPS[k].name, w->d.n, false, &w->file[k]));
        if (w->file[k] || (w->score && k == Z))
            KN_TRY(kn_alloc_f(ctx, w->batch * T, &w->map[k]));
    }
    KN_TRY(kn_mat_new(ctx, w->batch, width, &w->mean));
    KN_TRY(kn_mat_new(ctx, w->batch, width, &w->var));
    if (w->score) {
        if (w->model->reference.has_deviance)
            KN_TRY(kn_alloc_f(ctx, w->batch * T, &w->z_noise));
        KN_TRY(kn_mat_new(ctx, w->batch, width, &w->y));
        KN_TRY(kn_mat_new(ctx, w->batch, width, &w->z));
    }
out:
    return status;
}

/* Columns of a block into rows of a map. */
static void keep(kn_mat block, ptrdiff_t first, ptrdiff_t T, float *out)
{
    for (ptrdiff_t j = 0; out && j < block.cols; j++)
        for (ptrdiff_t i = 0; i < block.rows; i++)
            out[i * T + first + j] = (float)kn_at(block, i, j);
}

/* z of a training sample: from the reference, where its own fold did not see it. */
static void use_cross_validated(const work *w, ptrdiff_t row, ptrdiff_t first, kn_mat z)
{
    const kn_model *m = w->model;
    const kn_reference *r = &m->reference;
    ptrdiff_t k0 = kn_kept_from(&m->y, first), k1 = kn_kept_from(&m->y, first + z.cols);
    for (ptrdiff_t i = 0; i < z.rows; i++) {
        ptrdiff_t t = w->scores.cv_row[row + i];
        if (t < 0)
            continue;
        for (ptrdiff_t k = k0; k < k1; k++) {
            double *at = &kn_col(z, m->y.kept[k] - first)[i];
            if (isfinite(*at)) /* a response missing today has no z */
                *at = (double)r->z[t * m->gp.T + k];
        }
    }
}

/* Samples row .. row + rows - 1, responses first .. first + count - 1, their maps at hand. */
typedef struct block {
    const work *w;
    ptrdiff_t row, first;
    kn_view Y; /* rows x T */
    kn_mat mean, var, y, z;
} block;

static void some_responses(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block *b = self;
    const work *w = b->w;
    ptrdiff_t T = w->layout.T, first = b->first + from;
    kn_mat mean = kn_cols(b->mean, from, to - from), var = kn_cols(b->var, from, to - from);
    keep(mean, first, T, w->map[YHAT]);
    keep(var, first, T, w->map[YS2]);
    if (!w->score)
        return;
    kn_mat y = kn_cols(b->y, from, to - from), z = kn_cols(b->z, from, to - from);
    kn_view_block(b->Y, first, y);
    if (w->z_noise) {
        kn_npm(y, mean, kn_mat_none(), w->noise + first, z);
        keep(z, first, T, w->z_noise);
    }
    kn_npm(y, mean, var, w->noise + first, z);
    use_cross_validated(w, b->row, first, z);
    keep(z, first, T, w->map[Z]);
}

static kn_view rows_of(kn_view v, ptrdiff_t first, ptrdiff_t rows)
{
    if (v.data)
        v.data = (const char *)v.data + first * v.row_stride * (v.type == KN_F32 ? 4 : 8);
    v.rows = rows;
    return v;
}

static kn_status pass_blocks(kn_ctx *ctx, work *w, ptrdiff_t row, ptrdiff_t rows)
{
    enum { RESPONSES = 64 };
    kn_status status;
    kn_maps *maps = NULL;
    ptrdiff_t n = w->d.n, T = w->layout.T;
    KN_TRY(kn_predict(ctx, w->model, rows_of(kn_view_cols(w->d.X.data, n, w->d.X.cols), row, rows),
                      &maps));
    for (ptrdiff_t first = 0; first < T; first += KN_BLOCK) {
        ptrdiff_t count = T - first < KN_BLOCK ? T - first : KN_BLOCK;
        block b = {.w = w,
                   .row = row,
                   .first = first,
                   .Y = rows_of(w->d.Y, row, rows),
                   .mean = kn_sub(w->mean, 0, 0, rows, count),
                   .var = kn_sub(w->var, 0, 0, rows, count),
                   .y = kn_sub(w->y, 0, 0, rows, count),
                   .z = kn_sub(w->z, 0, 0, rows, count)};
        KN_TRY(kn_maps_block(ctx, maps, first, count, b.mean, b.var));
        kn_parallel(ctx, count, RESPONSES, some_responses, &b);
        if (w->score)
            KN_TRY(kn_scores_block(ctx, &w->scores, row, first, b.y, b.mean, b.var, b.z,
                                   w->noise + first));
        kn_tell(ctx, w->score ? "scoring" : "predicting", row + rows * (first + count) / T, n, NAN);
    }
out:
    kn_maps_free(maps);
    return status;
}

static kn_status pass_batches(kn_ctx *ctx, work *w)
{
    kn_status status = KN_OK;
    for (ptrdiff_t row = 0; row < w->d.n; row += w->batch) {
        ptrdiff_t rows = w->d.n - row < w->batch ? w->d.n - row : w->batch;
        KN_TRY(pass_blocks(ctx, w, row, rows));
        if (w->score)
            KN_TRY(kn_scores_rows(ctx, &w->scores, row, rows, w->map[Z], w->z_noise));
        for (int k = 0; k < N_MAPS; k++)
            if (w->file[k])
                KN_TRY(kn_mapfile_rows(ctx, w->file[k], w->map[k], rows));
        if (w->score) /* of a scratch file these rows can go */
            kn_view_done(ctx, rows_of(w->d.Y, row, rows), 0, w->d.Y.cols);
    }
out:
    return status;
}

/* The noise map: one row, which is nobody's. */
static kn_status write_noise(kn_ctx *ctx, const work *w, ptrdiff_t *n_files)
{
    kn_status status;
    kn_mapfile *file = NULL;
    float *noise = NULL;
    KN_TRY(kn_alloc_f(ctx, w->layout.T, &noise));
    for (ptrdiff_t j = 0; j < w->layout.T; j++)
        noise[j] = (float)w->noise[j];
    KN_TRY(kn_mapfile_new(ctx, &w->layout, "ys2_noise", 1, true, &file));
    KN_TRY(kn_mapfile_rows(ctx, file, noise, 1));
    KN_TRY(kn_mapfile_commit(ctx, file, n_files));
out:
    kn_mapfile_free(file);
    kn_free(noise);
    return status;
}

/* Files get their names all at once, the tables last: their presence says that everything is there.
 */
static kn_status finish(kn_ctx *ctx, work *w, kn_apply_result *result)
{
    kn_status status = KN_OK;
    for (int k = 0; k < N_MAPS; k++)
        if (w->file[k])
            KN_TRY(kn_mapfile_commit(ctx, w->file[k], &result->n_files));
    if (w->write & KN_WRITE_YS2_MODEL)
        KN_TRY(write_noise(ctx, w, &result->n_files));
    if (w->score) {
        KN_TRY(kn_scores_finish(ctx, &w->scores, result));
        KN_TRY(kn_scores_write(ctx, &w->scores, w->job->output, &w->options, result));
        result->n_files += 3;
    }
    KN_TRY(kn_pending_commit(ctx, &w->pending, &w->made));
out:
    return status;
}

kn_status kn_apply_in_batches(kn_ctx *ctx, const kn_apply_job *job, ptrdiff_t rows,
                              kn_apply_result *result)
{
    kn_status status;
    work w = {0};
    if (!job || job->size != sizeof *job || !job->model || !job->in.covariates || !job->output)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "a model, covariates, an output folder and the job's own size are needed");
    *result = (kn_apply_result){.r2 = NAN, .msll = NAN, .z2 = NAN};
    KN_TRY(prepare(ctx, job, &w));
    result->n_samples = w.d.n;
    KN_TRY(prepare_batches(ctx, &w, rows));
    KN_TRY(pass_batches(ctx, &w));
    KN_TRY(finish(ctx, &w, result));
out:
    if (status != KN_OK) { /* first the files without a name, so that the folder is empty */
        for (int k = 0; k < N_MAPS; k++) {
            kn_mapfile_free(w.file[k]);
            w.file[k] = NULL;
        }
        kn_pending_clear(&w.pending);
        kn_made_remove(&w.made);
    }
    work_clear(&w);
    return status;
}

kn_status kn_apply_files(kn_ctx *ctx, const kn_apply_job *job, kn_apply_result *result)
{
    return kn_apply_in_batches(ctx, job, 0, result);
}
