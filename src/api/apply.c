/* A model applied to the files of some samples: predictions, and with responses z, abnormality and
 * metrics. Responses pass by in blocks; what is written is held as float32, samples x T. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/dataset.h"
#include "api/mapfile.h"
#include "api/scores.h"
#include "model/file.h"
#include "model/maps.h"
#include "stat/extrapolation.h"
#include "stat/npm.h"
#include "stat/top.h"

typedef struct work {
    const kn_apply_job *job;
    kn_model *model;
    kn_dataset d;
    bool score;
    unsigned write;
    char **made_id; /* row-0001 ... where there are no ids */
    const char *const *id;
    float *yhat, *ys2, *z, *z_noise; /* n x T, what is needed of them */
    float *noise;                    /* T */
    double *noise_d;                 /* T, original units */
    kn_scores scores;
    kn_write_options options;
    const char **inputs;
    kn_made made;
    kn_mapfile maps;
} work;

static void work_clear(work *w)
{
    kn_names_free(w->made_id, w->d.n);
    kn_scores_clear(&w->scores);
    kn_dataset_clear(&w->d);
    kn_model_free(w->model);
    kn_free(w->yhat);
    kn_free(w->ys2);
    kn_free(w->z);
    kn_free(w->z_noise);
    kn_free(w->noise);
    kn_free(w->noise_d);
    kn_free(w->inputs);
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
    static const struct {
        unsigned bit;
        const char *name;
    } maps[] = {{KN_WRITE_Z, "z"}, {KN_WRITE_YHAT, "yhat"}, {KN_WRITE_YS2_MODEL, "ys2_model"}};
    const kn_apply_job *job = w->job;
    kn_status status = KN_OK;
    if (mkdir(job->output, 0777) == 0)
        KN_TRY(kn_made_add(ctx, &w->made, job->output));
    else if (errno != EEXIST)
        return kn_fail_errno(ctx, job->output, "cannot be made", errno);
    for (int i = 0; i < 3; i++)
        if (w->write & maps[i].bit)
            KN_TRY(kn_mapfile_check(ctx, &w->maps, maps[i].name, w->d.n, false));
    if (w->write & KN_WRITE_YS2_MODEL)
        KN_TRY(kn_mapfile_check(ctx, &w->maps, "ys2_noise", 1, true));
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
    w->maps = (kn_mapfile){.dir = job->output,
                           .format = format,
                           .space = &w->model->space,
                           .T = w->model->info.n_responses,
                           .id = w->id,
                           .split = job->split != 0,
                           .options = &w->options};
    KN_TRY(check_outputs(ctx, w));
    ptrdiff_t T = w->maps.T, size = w->d.n * T;
    if (w->write & KN_WRITE_YHAT)
        KN_TRY(kn_alloc_f(ctx, size, &w->yhat));
    if (w->write & KN_WRITE_YS2_MODEL)
        KN_TRY(kn_alloc_f(ctx, size, &w->ys2));
    if (w->score) {
        KN_TRY(kn_alloc_f(ctx, size, &w->z));
        if (w->model->reference.has_deviance)
            KN_TRY(kn_alloc_f(ctx, size, &w->z_noise));
        KN_TRY(kn_scores_new(ctx, job, w->model, &w->d, w->id, &w->scores));
    }
    KN_TRY(kn_alloc_d(ctx, T, &w->noise_d));
    KN_TRY(kn_alloc_f(ctx, T, &w->noise));
    KN_TRY(kn_model_noise(ctx, w->model, w->noise_d));
    for (ptrdiff_t j = 0; j < T; j++)
        w->noise[j] = (float)w->noise_d[j];
    kn_log(ctx, KN_LOG_INFO, "%td samples, %td responses; maps of %.1f MB", w->d.n, T,
           (double)size * 4e-6 * __builtin_popcount(w->write));
out:
    return status;
}

static void keep(kn_mat block, ptrdiff_t first, ptrdiff_t T, float *out)
{
    for (ptrdiff_t j = 0; out && j < block.cols; j++)
        for (ptrdiff_t i = 0; i < block.rows; i++)
            out[i * T + first + j] = (float)kn_at(block, i, j);
}

/* z of a training sample: from the reference, where its own fold did not see it. */
static void use_cross_validated(const work *w, ptrdiff_t first, kn_mat z)
{
    const kn_model *m = w->model;
    const kn_reference *r = &m->reference;
    ptrdiff_t k0 = kn_kept_from(&m->y, first), k1 = kn_kept_from(&m->y, first + z.cols);
    for (ptrdiff_t i = 0; i < z.rows; i++) {
        ptrdiff_t t = w->scores.cv_row[i];
        if (t < 0)
            continue;
        for (ptrdiff_t k = k0; k < k1; k++) {
            double *at = &kn_col(z, m->y.kept[k] - first)[i];
            if (isfinite(*at)) /* a response missing today has no z */
                *at = (double)r->z[t * m->gp.T + k];
        }
    }
}

static kn_status pass_blocks(kn_ctx *ctx, work *w)
{
    kn_status status;
    kn_maps *maps = NULL;
    kn_mat mean = {0}, var = {0}, y = {0}, z = {0};
    ptrdiff_t n = w->d.n, T = w->maps.T, width = T < KN_BLOCK ? T : KN_BLOCK;
    KN_TRY(kn_predict(ctx, w->model, kn_view_cols(w->d.X.data, n, w->d.X.cols), &maps));
    KN_TRY(kn_mat_new(ctx, n, width, &mean));
    KN_TRY(kn_mat_new(ctx, n, width, &var));
    if (w->score) {
        KN_TRY(kn_mat_new(ctx, n, width, &y));
        KN_TRY(kn_mat_new(ctx, n, width, &z));
    }
    for (ptrdiff_t first = 0; first < T; first += KN_BLOCK) {
        ptrdiff_t count = T - first < KN_BLOCK ? T - first : KN_BLOCK;
        kn_mat m = kn_cols(mean, 0, count), v = kn_cols(var, 0, count);
        KN_TRY(kn_maps_block(ctx, maps, first, count, m, v));
        keep(m, first, T, w->yhat);
        keep(v, first, T, w->ys2);
        if (w->score) {
            kn_mat yb = kn_cols(y, 0, count), zb = kn_cols(z, 0, count);
            kn_view_block(w->d.Y, first, yb);
            kn_npm(yb, m, kn_mat_none(), w->noise_d + first, zb);
            keep(zb, first, T, w->z_noise);
            kn_npm(yb, m, v, w->noise_d + first, zb);
            use_cross_validated(w, first, zb);
            keep(zb, first, T, w->z);
            KN_TRY(kn_scores_add(ctx, &w->scores, first, yb, m, v, zb, w->noise_d + first));
        }
        kn_tell(ctx, w->score ? "scoring" : "predicting", first + count, T, NAN);
    }
out:
    kn_mat_clear(&z);
    kn_mat_clear(&y);
    kn_mat_clear(&var);
    kn_mat_clear(&mean);
    kn_maps_free(maps);
    return status;
}

static kn_status write_maps(kn_ctx *ctx, work *w)
{
    kn_status status = KN_OK;
    if (w->write & KN_WRITE_Z)
        KN_TRY(kn_mapfile_write(ctx, &w->maps, "z", w->z, w->d.n, false));
    if (w->write & KN_WRITE_YHAT)
        KN_TRY(kn_mapfile_write(ctx, &w->maps, "yhat", w->yhat, w->d.n, false));
    if (w->write & KN_WRITE_YS2_MODEL) {
        KN_TRY(kn_mapfile_write(ctx, &w->maps, "ys2_model", w->ys2, w->d.n, false));
        KN_TRY(kn_mapfile_write(ctx, &w->maps, "ys2_noise", w->noise, 1, true));
    }
out:
    return status;
}

kn_status kn_apply_files(kn_ctx *ctx, const kn_apply_job *job, kn_apply_result *result)
{
    kn_status status;
    work w = {0};
    if (!job || job->size != sizeof *job || !job->model || !job->in.covariates || !job->output)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "a model, covariates, an output folder and the job's own size are needed");
    *result = (kn_apply_result){.r2 = NAN, .msll = NAN, .z2 = NAN};
    KN_TRY(prepare(ctx, job, &w));
    KN_TRY(pass_blocks(ctx, &w));
    result->n_samples = w.d.n;
    if (w.score)
        KN_TRY(kn_scores_finish(ctx, &w.scores, w.z, w.z_noise, result));
    KN_TRY(write_maps(ctx, &w));
    result->n_files = w.maps.n_files;
    if (w.score) { /* the tables last: their presence says that everything is there */
        KN_TRY(kn_scores_write(ctx, &w.scores, job->output, &w.options, result));
        result->n_files += 3;
    }
out:
    if (status != KN_OK)
        kn_made_remove(&w.made);
    work_clear(&w);
    return status;
}
