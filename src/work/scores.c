#include "work/scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "model/units.h"
#include "norm/extrapolation.h"
#include "norm/gev_fit.h"
#include "norm/order.h"
#include "norm/top.h"

void kn_scores_clear(kn_scores *s)
{
    double **columns[] = {&s->extrapolation,  &s->statistic,        &s->probability,
                          &s->p_upper,        &s->deviance,         &s->deviance_p,
                          &s->deviance_noise, &s->deviance_noise_p, &s->extrapolation_pct};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        kn_free(*columns[i]);
    kn_free(s->mean0);
    kn_free(s->var0);
    kn_free(s->sd);
    kn_free(s->iso);
    kn_free(s->sums);
    kn_free(s->training);
    kn_free(s->cv_row);
    kn_free(s->measured);
    kn_free(s->abnormal);
    kn_free(s->use);
    kn_free(s->normals);
    kn_mat_clear(&s->metrics);
    kn_calibrator_clear(&s->calibrator);
    *s = (kn_scores){0};
}

/* Which of the training samples each id is. */
static void find_training(const kn_model *m, const kn_dataset *d, ptrdiff_t *training)
{
    for (ptrdiff_t i = 0; i < d->n; i++) {
        training[i] = -1;
        for (ptrdiff_t t = 0; m->ids && d->id && t < m->info.n_samples; t++)
            if (strcmp(d->id[i], m->ids[t]) == 0) {
                training[i] = t;
                break;
            }
    }
}

/* Are the responses of row i those that the t-th sample of the reference had? By the sum of the
 * standardised values, which any change but a contrived one moves by more than rounding. */
static bool same_responses(const kn_model *m, kn_view Y, ptrdiff_t i, ptrdiff_t t)
{
    double sum = 0, T = (double)m->gp.T;
    if (!m->reference.y_sum)
        return true; /* a model of the first days: nothing to compare with */
    for (ptrdiff_t k = 0; k < m->gp.T; k++)
        sum += (kn_view_at(Y, i, m->y.kept[k]) - m->y.mean[k]) / m->y.sd[k];
    return fabs(sum - m->reference.y_sum[t]) <= 1e-5 * sqrt(T) + 1e-9 * T;
}

/* Who gets a stored z: training samples whose data are the same, unless asked otherwise. */
static void choose_stored(kn_ctx *ctx, kn_scores *s, const kn_dataset *d)
{
    for (ptrdiff_t i = 0; i < s->n; i++) {
        s->cv_row[i] = -1;
        if (s->training[i] < 0 || s->plain)
            continue;
        ptrdiff_t t = kn_reference_row(&s->model->reference, s->training[i]);
        if (t < 0 || !s->model->reference.z)
            continue;
        if (same_responses(s->model, d->Y, i, t))
            s->cv_row[i] = t;
        else
            s->n_changed++;
    }
    if (s->n_changed > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td samples have ids of training but other responses: they are scored as new",
               s->n_changed);
}

static kn_status new_flags(kn_ctx *ctx, ptrdiff_t n, bool **out)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof **out, &memory);
    *out = memory;
    return status;
}

static kn_status new_responses(kn_ctx *ctx, kn_scores *s)
{
    kn_status status;
    const kn_model *m = s->model;
    void *sums;
    KN_TRY(kn_mat_new(ctx, s->T, KN_N_METRICS, &s->metrics));
    KN_TRY(kn_alloc_d(ctx, s->T, &s->mean0));
    KN_TRY(kn_alloc_d(ctx, s->T, &s->var0));
    KN_TRY(kn_alloc_d(ctx, s->T, &s->sd));
    KN_TRY(kn_alloc_d(ctx, s->T, &s->iso));
    KN_TRY(kn_alloc(ctx, s->T, sizeof *s->sums, &sums));
    s->sums = sums;
    for (ptrdiff_t j = 0; j < s->T; j++)
        s->mean0[j] = s->var0[j] = s->sd[j] = s->iso[j] = NAN;
    for (ptrdiff_t k = 0; k < m->y.n_kept; k++) {
        ptrdiff_t j = m->y.kept[k];
        s->mean0[j] = m->y.mean0[k];
        s->var0[j] = m->y.sd0[k] * m->y.sd0[k];
        s->sd[j] = m->y.sd[k];
        s->iso[j] = kn_reference_iso_share(&m->gp, k) * m->y.sd[k] * m->y.sd[k];
    }
out:
    return status;
}

kn_status kn_scores_new(kn_ctx *ctx, const kn_apply_job *job, const kn_model *model,
                        const kn_dataset *d, const char *const *id, kn_scores *s)
{
    kn_status status;
    ptrdiff_t n = d->n;
    *s = (kn_scores){.model = model,
                     .n = n,
                     .T = model->info.n_responses,
                     .id = id,
                     .labelled = job->label != NULL,
                     .reference = job->reference,
                     .plain = job->plain_training != 0,
                     .began = kn_clock()};
    KN_TRY(kn_alloc_i(ctx, n, &s->training));
    KN_TRY(kn_alloc_i(ctx, n, &s->cv_row));
    KN_TRY(new_flags(ctx, n, &s->measured));
    KN_TRY(new_flags(ctx, n, &s->abnormal));
    KN_TRY(new_flags(ctx, n, &s->use));
    KN_TRY(new_responses(ctx, s));
    KN_TRY(kn_calibrator_init(ctx, &s->calibrator));
    double **columns[] = {&s->extrapolation,  &s->statistic,        &s->probability,
                          &s->p_upper,        &s->deviance,         &s->deviance_p,
                          &s->deviance_noise, &s->deviance_noise_p, &s->extrapolation_pct};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        KN_TRY(kn_alloc_d(ctx, n, columns[i]));
    find_training(model, d, s->training);
    choose_stored(ctx, s, d);
    if (job->label)
        KN_TRY(kn_dataset_flag(ctx, d, "label", job->label, s->abnormal));
    s->loo = job->reference && strcmp(job->reference, "loo") == 0;
    if (s->loo && !model->reference.has_loo_gev) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s has no leave-one-out reference; use --reference cv or COLUMN=VALUE",
                         job->model);
        goto out;
    }
    if (job->reference && !s->loo && strcmp(job->reference, "cv") != 0) {
        KN_TRY(new_flags(ctx, n, &s->normals));
        KN_TRY(kn_dataset_flag(ctx, d, "reference", job->reference, s->normals));
    }
    ptrdiff_t normal = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        s->use[i] = !s->abnormal[i];
        s->measured[i] = s->use[i] && s->cv_row[i] < 0;
        normal += s->use[i];
    }
    if (s->labelled && normal == 0)
        status = kn_fail(ctx, KN_ERR_DATA, "every row has %s: there is nobody to compare with",
                         job->label);
out:
    if (status != KN_OK)
        kn_scores_clear(s);
    return status;
}

kn_status kn_scores_block(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t first, kn_mat y,
                          kn_mat mean, kn_mat var, kn_mat z, const double *noise)
{
    kn_measured m = {y, mean, var, noise, s->mean0 + first, s->var0 + first, s->measured + row};
    kn_metrics_add(ctx, &m, s->sums + first);
    kn_status status = kn_calibrator_add(ctx, &s->calibrator, z, s->use + row, kn_mat_none());
    for (ptrdiff_t j = 0; j < var.cols; j++)
        for (ptrdiff_t i = 0; i < var.rows; i++)
            kn_col(var, j)[i] = fmax(kn_at(var, i, j) - s->iso[first + j], 0);
    if (first == 0)
        s->noise_sum = 0;
    kn_extrapolation_add(var, noise, s->sd + first, s->extrapolation + row, &s->noise_sum);
    return status;
}

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

static kn_status deviances(kn_ctx *ctx, kn_scores *s, const kn_deviance *d, ptrdiff_t row,
                           ptrdiff_t rows, const float *z, double *dev, double *p)
{
    float_maps maps = {s->model, z, s->T};
    kn_z_source source = {&maps, rows, s->model->gp.T, float_block, &s->model->y};
    kn_status status = kn_deviance_score(ctx, d, &source, dev + row);
    for (ptrdiff_t i = row; status == KN_OK && i < row + rows; i++) {
        if (s->cv_row[i] >= 0 && isfinite(dev[i])) /* judged by a model made without it */
            dev[i] = d->ref[s->cv_row[i]];
        p[i] = kn_deviance_p(d, dev[i]);
    }
    return status;
}

kn_status kn_scores_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows, const float *z,
                         const float *z_noise)
{
    kn_status status;
    const kn_reference *r = &s->model->reference;
    KN_TRY(kn_top_rows(ctx, z, rows, s->T, r->top, s->statistic + row));
    for (ptrdiff_t i = row; i < row + rows; i++)
        s->deviance[i] = s->deviance_p[i] = s->deviance_noise[i] = s->deviance_noise_p[i] = NAN;
    if (z_noise) {
        KN_TRY(deviances(ctx, s, &r->deviance, row, rows, z, s->deviance, s->deviance_p));
        KN_TRY(deviances(ctx, s, &r->deviance_noise, row, rows, z_noise, s->deviance_noise,
                         s->deviance_noise_p));
    }
    kn_extrapolation_ratio(s->extrapolation + row, rows, s->noise_sum);
out:
    return status;
}

/* Rows of --reference COLUMN=VALUE take the place of the model's own reference. */
static kn_status own_reference(kn_ctx *ctx, kn_scores *s)
{
    kn_status status;
    const double *value[3] = {s->statistic, s->deviance, s->deviance_noise};
    double *sorted[3] = {NULL, NULL, NULL};
    ptrdiff_t n[3] = {0, 0, 0};
    kn_gev_estimate e;
    char why[512];
    for (int k = 0; k < 3; k++) {
        KN_TRY(kn_alloc_d(ctx, s->n, &sorted[k]));
        for (ptrdiff_t i = 0; i < s->n; i++)
            if (s->normals[i] && isfinite(value[k][i]))
                sorted[k][n[k]++] = value[k][i];
        kn_sort(sorted[k], n[k]);
    }
    status = kn_gev_fit(ctx, sorted[0], n[0], &e);
    if (status != KN_OK) {
        snprintf(why, sizeof why, "%s", kn_message(ctx));
        kn_fail(ctx, status, "--reference %s: %s", s->reference, why);
        goto out;
    }
    s->gev = e.gev;
    s->has_gev = true;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        s->deviance_p[i] = n[1] > 0 ? kn_rank_p(sorted[1], n[1], s->deviance[i]) : NAN;
        s->deviance_noise_p[i] = n[2] > 0 ? kn_rank_p(sorted[2], n[2], s->deviance_noise[i]) : NAN;
    }
out:
    for (int k = 0; k < 3; k++)
        kn_free(sorted[k]);
    return status;
}

static kn_status detection(kn_ctx *ctx, kn_scores *s)
{
    const double *score[3] = {s->statistic, s->deviance, s->deviance_noise};
    for (int k = 0; k < 3; k++) {
        kn_status status = kn_auc_of(ctx, score[k], s->abnormal, s->n, &s->auc[k]);
        s->has_auc[k] = status == KN_OK;
        if (status != KN_OK && status != KN_ERR_DATA)
            return status;
    }
    if (!s->has_auc[0])
        kn_log(ctx, KN_LOG_WARNING,
               "no AUC: %td labelled and %td other samples have a statistic, expected some of both",
               s->auc[0].n_abnormal, s->auc[0].n_normal);
    return KN_OK;
}

kn_status kn_scores_finish(kn_ctx *ctx, kn_scores *s, kn_apply_result *result)
{
    kn_status status = KN_OK;
    const kn_reference *r = &s->model->reference;
    s->has_gev = r->has_gev;
    s->gev = s->loo ? r->loo_gev : r->gev;
    if (s->normals)
        KN_TRY(own_reference(ctx, s));
    for (ptrdiff_t i = 0; i < s->n; i++) {
        bool known = s->has_gev && isfinite(s->statistic[i]);
        s->probability[i] = known ? kn_gev_cdf(s->gev, s->statistic[i]) : NAN;
        s->p_upper[i] = known ? kn_gev_upper(s->gev, s->statistic[i]) : NAN;
        s->extrapolation_pct[i] = kn_percentile(r->extrapolation, r->n, s->extrapolation[i]);
        s->n_empty += !isfinite(s->statistic[i]);
        result->n_extrapolated += s->extrapolation_pct[i] > KN_EXTRAPOLATION_WARN;
        result->n_in_training += s->training[i] >= 0;
        result->n_abnormal += s->abnormal[i];
    }
    if (s->n_empty > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td samples have no finite response: their scores are n/a", s->n_empty,
               s->n);
    /* one in a hundred is expected beyond the 99th percentile */
    if (result->n_extrapolated > s->n / 50)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td samples have covariates far from training (extrapolation_pct above 99): "
               "their z are small by ignorance, not by health; see deviance_noise",
               result->n_extrapolated, s->n);
    ptrdiff_t without = 0; /* training samples that have no cross-validated z */
    for (ptrdiff_t i = 0; i < s->n; i++)
        without += s->training[i] >= 0 && (!r->z || kn_reference_row(r, s->training[i]) < 0);
    s->seen_as_new = without > 0 && !s->plain;
    if (s->seen_as_new)
        kn_log(ctx, KN_LOG_WARNING,
               "%td samples are from training, and the model has no cross-validated z for them%s: "
               "theirs are too small",
               without, r->n == 0 ? " (--folds 0)" : "");
    if (s->labelled)
        KN_TRY(detection(ctx, s));
    kn_metrics_result(s->sums, s->metrics);
    kn_metrics_mean(s->metrics, s->mean_metrics);
    kn_calibrator_result(&s->calibrator, s->calibration);
    result->r2 = s->mean_metrics[KN_METRIC_R2];
    result->msll = s->mean_metrics[KN_METRIC_MSLL];
    result->z2 = s->calibration[KN_CALIBRATION_Z2];
    double *auc[3] = {&result->auc_top, &result->auc_deviance, &result->auc_deviance_noise};
    for (int k = 0; k < 3; k++) {
        *auc[k] = s->has_auc[k] ? s->auc[k].auc : NAN;
        result->auc_low[k] = s->has_auc[k] ? s->auc[k].low : NAN;
        result->auc_high[k] = s->has_auc[k] ? s->auc[k].high : NAN;
    }
out:
    return status;
}
