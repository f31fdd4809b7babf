/* kn_scores_add_rows: from complete z-maps to statistic, burdens, whole-map deviances and
 * extrapolation of each participant [METHOD 8, 8b]. Training participants get the values of the
 * reference. */
#include <math.h>

#include "base/parallel/parallel_for.h"
#include "commands/score/internal.h"
#include "gp/method.h"
#include "norm/metrics/burden.h"
#include "norm/metrics/extrapolation.h"
#include "norm/metrics/extreme_statistic.h"
#include "stats/p_values.h"

/* ---- burdens and FDR findings, one participant per parallel task [METHOD 8d] ---- */

typedef struct burden_job {
    kn_scores *s;
    const kn_row_maps *maps;
    ptrdiff_t row;
    kn_mat work; /* T x workers */
} burden_job;

/* out (T) = z where |z| >= bar, 0 elsewhere, NaN where z is missing. */
static void keep_findings(const float *z, ptrdiff_t T, double bar, float *out)
{
    for (ptrdiff_t j = 0; j < T; j++)
        out[j] = !isfinite(z[j]) ? NAN : fabs((double)z[j]) >= bar ? z[j] : 0;
}

/* Worker: burdens and FDR findings of rows from .. end - 1 of the minibatch. Training participants
 * get the values of the reference bit for bit, since p-values are ranks among them. */
static void burden_rows(void *self, int worker, ptrdiff_t from, ptrdiff_t end)
{
    const burden_job *job = self;
    kn_scores *s = job->s;
    const kn_reference *r = &s->model->reference;
    double *work = kn_col(job->work, worker);
    for (ptrdiff_t k = from; k < end; k++) {
        ptrdiff_t i = job->row + k, t = s->cv_row[i];
        const float *z = job->maps->z + k * s->T;
        kn_burden b = kn_burden_row(z, s->T, s->s->threshold, r->top, work);
        kn_fdr f = kn_fdr_row(z, s->T, KN_FDR_Q, work);
        if (t >= 0 && b.n == s->model->gp.T) {
            s->extreme_z[i] = r->statistic[t];
            b.mean_z = r->mean_z ? r->mean_z[t] : b.mean_z;
        }
        s->mean_z[i] = b.mean_z;
        s->n_low[i] = b.negative;
        s->n_high[i] = b.positive;
        s->extreme_z_low[i] = b.extreme_z_low;
        s->extreme_z_high[i] = b.extreme_z_high;
        s->n_responses[i] = (double)b.n;
        s->n_low_fdr[i] = f.n > 0 ? (double)f.negative : NAN;
        s->n_high_fdr[i] = f.n > 0 ? (double)f.positive : NAN;
        if (job->maps->fdr)
            keep_findings(z, s->T, f.bar, job->maps->fdr + k * s->T);
    }
}

/* Compute burdens and FDR findings of participants row .. row + rows - 1 from their maps, and
 * maps->fdr unless NULL. */
static kn_status compute_burdens(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                                 const kn_row_maps *maps)
{
    burden_job job = {s, maps, row, {0}};
    kn_status status = kn_mat_new(ctx, s->T, kn_workers(ctx, rows, 1), &job.work);
    if (status == KN_OK)
        kn_parallel_workers(ctx, rows, 1, burden_rows, &job);
    kn_mat_clear(&job.work);
    return status;
}

kn_status kn_burdens_of_reference(kn_ctx *ctx, kn_scores *s)
{
    kn_status status = KN_OK;
    const kn_reference *r = &s->model->reference;
    ptrdiff_t T = s->model->gp.T;
    double t = s->s->threshold, *work = NULL;
    if (r->n == 0 || (t == KN_BURDEN_THRESHOLD && r->mean_z))
        return KN_OK;
    KN_TRY(kn_alloc_d(ctx, 3 * r->n, &s->counted));
    KN_TRY(kn_alloc_d(ctx, T, &work));
    for (ptrdiff_t i = 0; i < r->n; i++) {
        kn_burden b = {0, NAN, NAN, NAN, NAN, NAN};
        if (r->z)
            b = kn_burden_row(r->z + i * T, T, t, r->top, work);
        s->counted[i] = b.negative;
        s->counted[r->n + i] = b.positive;
        s->counted[2 * r->n + i] = b.mean_z;
    }
    if (!r->z && r->mean_z)
        kn_log(ctx, KN_LOG_WARNING,
               "the model stores the counts of its training sample only for |z| > %g, so n_low_p "
               "and n_high_p are n/a with {threshold=%g}",
               KN_BURDEN_THRESHOLD, t);
out:
    kn_free(work);
    return status;
}

/* z-maps as floats over all responses, read as blocks of those in use. */
typedef struct float_maps {
    const kn_model *model;
    const float *z;
    ptrdiff_t T, rows;
} float_maps;

/* Block function of a z source: z (rows x count) of the responses in use from `first` on, from the
 * float maps of the minibatch. Can be cancelled. */
static kn_status float_block(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z)
{
    float_maps *f = self;
    for (ptrdiff_t j = 0; j < count; j++) {
        ptrdiff_t at = f->model->y.kept[first + j];
        for (ptrdiff_t i = 0; i < f->rows; i++)
            kn_col(z, j)[i] = (double)f->z[i * f->T + at];
    }
    return kn_check_cancel(ctx);
}

/* Compute the deviances of the participants of the minibatch from `row` on, in blocks of padded
 * height. Training participants get their held-out value. by_noise: the deviance by noise variance
 * alone. */
static kn_status compute_deviances(kn_ctx *ctx, kn_scores *s, bool by_noise, float_maps *maps,
                                   ptrdiff_t row)
{
    const kn_reference *r = &s->model->reference;
    const kn_deviance *d = by_noise ? &r->deviance_noise : &r->deviance;
    double *dev = by_noise ? s->deviance_noise : s->deviance;
    kn_z_source source = {.self = maps,
                          .rows = s->height,
                          .cols = s->model->gp.T,
                          .block = float_block,
                          .scaling = &s->model->y,
                          .participants = maps->rows};
    kn_status status = kn_deviance_score(ctx, d, &source, dev + row);
    for (ptrdiff_t i = row; status == KN_OK && i < row + maps->rows; i++)
        if (s->cv_row[i] >= 0 && isfinite(dev[i])) /* held-out value of the reference */
            dev[i] = d->ref[s->cv_row[i]];
    return status;
}

/* True without components: there is no model variance, and extrapolation is the distance of the
 * covariates. */
static bool by_covariates(const kn_scores *s)
{
    return s->model->gp.P == 0 && s->model->gp.method->components;
}

/* Complete the extrapolation of a minibatch: divide by the noise sum, or use the distance of the
 * covariates. */
static void end_extrapolation(kn_scores *s, ptrdiff_t row, ptrdiff_t rows)
{
    for (ptrdiff_t i = row; i < row + rows; i++)
        s->extrapolation[i] += s->beyond[i];
    kn_extrapolation_ratio(s->extrapolation + row, rows, s->noise_sum);
    for (ptrdiff_t i = row; by_covariates(s) && i < row + rows; i++)
        s->extrapolation[i] = s->beyond[i];
}

kn_status kn_scores_add_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                             const kn_row_maps *maps)
{
    kn_status status;
    const kn_reference *r = &s->model->reference;
    end_extrapolation(s, row, rows);
    if (!s->scored)
        return KN_OK;
    KN_TRY(kn_extreme_rows(ctx, maps->z, rows, s->T, r->top, s->extreme_z + row));
    KN_TRY(compute_burdens(ctx, s, row, rows, maps));
    bool own = s->model->gp.method->own_deviance; /* kn_scores_add_density sets them */
    for (ptrdiff_t i = row; !own && i < row + rows; i++)
        s->deviance[i] = s->deviance_noise[i] = NAN;
    if (maps->z_noise) {
        float_maps all = {s->model, maps->z, s->T, rows};
        float_maps noise = {s->model, maps->z_noise, s->T, rows};
        KN_TRY(compute_deviances(ctx, s, false, &all, row));
        KN_TRY(compute_deviances(ctx, s, true, &noise, row));
    }
    KN_TRY(kn_scores_p_incomplete(ctx, s, row, rows, maps->z));
out:
    return status;
}
