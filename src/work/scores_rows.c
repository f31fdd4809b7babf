/* From whole z maps to numbers of each person: the statistic, burdens, findings after FDR, and the
 * joint deviances [METHOD 8, 8b]. Of training samples what the reference has of them. */
#include <math.h>

#include "base/parallel.h"
#include "gp/method.h"
#include "norm/burden.h"
#include "norm/extrapolation.h"
#include "norm/fdr.h"
#include "norm/top.h"
#include "work/scores.h"

/* z maps held as floats over all responses, seen as those in use. */
typedef struct float_maps {
    const kn_model *model;
    const float *z;
    ptrdiff_t T;
} float_maps;

static kn_status float_block(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z)
{
    float_maps *f = self;
    for (ptrdiff_t j = 0; j < count; j++) {
        ptrdiff_t at = f->model->y.kept[first + j];
        for (ptrdiff_t i = 0; i < z.rows; i++)
            kn_col(z, j)[i] = (double)f->z[i * f->T + at];
    }
    return kn_check_cancel(ctx);
}

/* Of people row .. row + rows - 1, whose z maps these are. */
static kn_status deviances(kn_ctx *ctx, kn_scores *s, bool by_noise, kn_z_source *source,
                           ptrdiff_t row)
{
    const kn_reference *r = &s->model->reference;
    const kn_deviance *d = by_noise ? &r->deviance_noise : &r->deviance;
    double *dev = by_noise ? s->deviance_noise : s->deviance;
    kn_status status = kn_deviance_score(ctx, d, source, dev + row);
    for (ptrdiff_t i = row; status == KN_OK && i < row + source->rows; i++) {
        if (s->cv_row[i] >= 0 && isfinite(dev[i])) /* judged by a model made without it */
            dev[i] = d->ref[s->cv_row[i]];
    }
    return status;
}

/* Without components there is no model variance, and covariates tell alone. */
static bool by_covariates(const kn_scores *s)
{
    return s->model->gp.P == 0 && s->model->gp.method->components;
}

static void end_extrapolation(kn_scores *s, ptrdiff_t row, ptrdiff_t rows)
{
    for (ptrdiff_t i = row; i < row + rows; i++)
        s->extrapolation[i] += s->beyond[i];
    kn_extrapolation_ratio(s->extrapolation + row, rows, s->noise_sum);
    for (ptrdiff_t i = row; by_covariates(s) && i < row + rows; i++)
        s->extrapolation[i] = s->beyond[i];
}

typedef struct burden_job {
    kn_scores *s;
    const kn_row_maps *maps;
    ptrdiff_t row;
    kn_mat work; /* T x workers */
} burden_job;

static void keep_findings(const float *z, ptrdiff_t T, double bar, float *out)
{
    for (ptrdiff_t j = 0; j < T; j++)
        out[j] = !isfinite(z[j]) ? NAN : fabs((double)z[j]) >= bar ? z[j] : 0;
}

/* Of training samples what the reference has, to the bit: ranks are taken among these. */
static void burden_rows(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    const burden_job *job = self;
    kn_scores *s = job->s;
    const kn_reference *r = &s->model->reference;
    double *work = kn_col(job->work, worker);
    for (ptrdiff_t k = from; k < to; k++) {
        ptrdiff_t i = job->row + k, t = s->cv_row[i];
        const float *z = job->maps->z + k * s->T;
        kn_burden b = kn_burden_row(z, s->T, s->s->threshold, r->top, work);
        kn_fdr f = kn_fdr_row(z, s->T, KN_FDR_Q, work);
        if (t >= 0 && b.n == s->model->gp.T) {
            s->statistic[i] = r->statistic[t];
            b.mean_z = r->mean_z ? r->mean_z[t] : b.mean_z;
        }
        s->mean_z[i] = b.mean_z;
        s->negative[i] = b.negative;
        s->positive[i] = b.positive;
        s->top_negative[i] = b.top_negative;
        s->top_positive[i] = b.top_positive;
        s->n_responses[i] = (double)b.n;
        s->fdr_negative[i] = f.n > 0 ? (double)f.negative : NAN;
        s->fdr_positive[i] = f.n > 0 ? (double)f.positive : NAN;
        if (job->maps->fdr)
            keep_findings(z, s->T, f.bar, job->maps->fdr + k * s->T);
    }
}

static kn_status burdens(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                         const kn_row_maps *maps)
{
    burden_job job = {s, maps, row, {0}};
    kn_status status = kn_mat_new(ctx, s->T, kn_workers(ctx, rows, 1), &job.work);
    if (status == KN_OK)
        kn_parallel_workers(ctx, rows, 1, burden_rows, &job);
    kn_mat_clear(&job.work);
    return status;
}

kn_status kn_scores_take_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                              const kn_row_maps *maps)
{
    kn_status status;
    const kn_reference *r = &s->model->reference;
    end_extrapolation(s, row, rows);
    if (!s->scored)
        return KN_OK;
    KN_TRY(kn_top_rows(ctx, maps->z, rows, s->T, r->top, s->statistic + row));
    KN_TRY(burdens(ctx, s, row, rows, maps));
    for (ptrdiff_t i = row; i < row + rows; i++)
        s->deviance[i] = s->deviance_noise[i] = NAN;
    if (maps->z_noise) {
        float_maps all = {s->model, maps->z, s->T}, noise = {s->model, maps->z_noise, s->T};
        kn_z_source of_all = {&all, rows, s->model->gp.T, float_block, &s->model->y};
        kn_z_source of_noise = {&noise, rows, s->model->gp.T, float_block, &s->model->y};
        KN_TRY(deviances(ctx, s, false, &of_all, row));
        KN_TRY(deviances(ctx, s, true, &of_noise, row));
    }
out:
    return status;
}
