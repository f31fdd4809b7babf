#include "work/scores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gp/method.h"
#include "gp/noise.h"
#include "model/units.h"
#include "norm/extrapolation.h"
#include "norm/gev_fit.h"
#include "norm/order.h"
#include "norm/top.h"

const char *const kn_map_name[KN_N_MAPS] = {"z", "yhat", "ys2_model"};
const char *const kn_statistic_name[KN_N_STATISTICS] = {"top", "deviance", "deviance_noise"};

void kn_scores_settle(kn_scores *s)
{
    kn_free(s->mean0);
    kn_free(s->var0);
    kn_free(s->iso);
    kn_free(s->sums);
    kn_free(s->beyond);
    kn_free(s->noise_known);
    s->beyond = s->noise_known = NULL;
    s->standing = NULL;
    kn_free(s->training);
    kn_free(s->cv_row);
    kn_free(s->measured);
    kn_free(s->abnormal);
    kn_free(s->use);
    kn_free(s->normals);
    kn_calibrator_clear(&s->calibrator);
    s->mean0 = s->var0 = s->iso = NULL;
    s->sums = NULL;
    s->training = s->cv_row = NULL;
    s->measured = s->abnormal = s->use = s->normals = NULL;
    s->model = NULL;
    s->s = NULL;
}

void kn_scores_free(kn_scores *s)
{
    if (!s)
        return;
    double *columns[] = {s->statistic,         s->deviance,      s->deviance_p,  s->deviance_noise,
                         s->deviance_noise_p,  s->extrapolation, s->probability, s->p_upper,
                         s->extrapolation_pct, s->in_training};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        kn_free(columns[i]);
    for (int k = 0; k < KN_N_MAPS; k++)
        kn_free(s->map[k]);
    kn_scores_settle(s);
    kn_mat_clear(&s->metrics);
    kn_names_free(s->id, s->n);
    kn_free(s->noise);
    kn_free(s->noise_group);
    json_decref(s->summary);
    free(s->json);
    kn_free(s);
}

/* Are the responses of row i those that the t-th sample of the reference had? By the sum of the
 * standardised values, which any change but a contrived one moves by more than rounding. */
static bool same_responses(const kn_model *m, kn_view Y, ptrdiff_t i, ptrdiff_t t)
{
    double sum = 0, T = (double)m->gp.T;
    if (!m->reference.y_sum)
        return true; /* a model of the first days: nothing to compare with */
    for (ptrdiff_t k = 0; k < m->gp.T; k++) {
        double y = kn_view_at(Y, i, m->y.kept[k]);
        sum += isfinite(y) ? (y - m->y.mean[k]) / m->y.sd[k] : 0;
    }
    return fabs(sum - m->reference.y_sum[t]) <= 1e-5 * sqrt(T) + 1e-9 * T;
}

/* Which of the training samples each id is. */
static void find_training(const kn_model *m, const kn_people *p, kn_scores *s)
{
    for (ptrdiff_t i = 0; i < p->n; i++) {
        s->training[i] = -1;
        for (ptrdiff_t t = 0; m->ids && p->id && t < m->info.n_samples; t++) {
            ptrdiff_t at = kn_reference_row(&m->reference, t);
            if (strcmp(p->id[i], m->ids[t]) != 0)
                continue;
            if (s->training[i] < 0)
                s->training[i] = t;
            if (at >= 0 && same_responses(m, p->Y, i, at)) { /* ids may repeat: this visit */
                s->training[i] = t;
                break;
            }
        }
        s->in_training[i] = s->training[i] >= 0;
    }
}

/* Who gets a stored z: training samples whose data are the same, unless asked otherwise. */
static void choose_stored(kn_ctx *ctx, kn_scores *s, const kn_people *p)
{
    for (ptrdiff_t i = 0; i < s->n; i++) {
        s->cv_row[i] = -1;
        if (s->training[i] < 0 || s->s->training_rows == KN_TRAINING_PLAIN)
            continue;
        ptrdiff_t t = kn_reference_row(&s->model->reference, s->training[i]);
        if (t < 0 || !s->model->reference.z)
            continue;
        if (same_responses(s->model, p->Y, i, t))
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
    const kn_scaling *y = &s->model->y;
    void *sums;
    KN_TRY(kn_mat_new(ctx, s->T, KN_N_METRICS, &s->metrics));
    KN_TRY(kn_alloc_d(ctx, y->n_kept, &s->mean0));
    KN_TRY(kn_alloc_d(ctx, y->n_kept, &s->var0));
    KN_TRY(kn_alloc_d(ctx, y->n_kept, &s->iso));
    KN_TRY(kn_alloc(ctx, y->n_kept, sizeof *s->sums, &sums));
    s->sums = sums;
    for (ptrdiff_t k = 0; k < y->n_kept; k++) {
        double sd = y->sd0[k] / y->sd[k];
        s->mean0[k] = (y->mean0[k] - y->mean[k]) / y->sd[k];
        s->var0[k] = sd * sd;
        s->iso[k] = kn_reference_iso_share(&s->model->gp, k);
    }
out:
    return status;
}

static kn_status new_people(kn_ctx *ctx, kn_scores *s)
{
    kn_status status;
    double **columns[] = {&s->extrapolation,  &s->statistic,        &s->probability,
                          &s->p_upper,        &s->deviance,         &s->deviance_p,
                          &s->deviance_noise, &s->deviance_noise_p, &s->extrapolation_pct,
                          &s->in_training};
    KN_TRY(kn_alloc_i(ctx, s->n, &s->training));
    KN_TRY(kn_alloc_i(ctx, s->n, &s->cv_row));
    KN_TRY(new_flags(ctx, s->n, &s->measured));
    KN_TRY(new_flags(ctx, s->n, &s->abnormal));
    KN_TRY(new_flags(ctx, s->n, &s->use));
    KN_TRY(kn_calibrator_init(ctx, &s->calibrator));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        KN_TRY(kn_alloc_d(ctx, s->n, columns[i]));
out:
    return status;
}

void kn_scores_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t batch)
{
    enum { COLUMNS = 10 + 2, FLAGS = 4, NAME = 2 * 64 }; /* of each person; bytes of a short name */
    kn_hold_d(r, KN_NEED_WORK, s->N, COLUMNS);
    kn_hold(r, KN_NEED_WORK, s->N, FLAGS * sizeof(bool) + sizeof(char *) + NAME);
    kn_hold_d(r, KN_NEED_WORK, s->T, 2 * KN_N_METRICS + 3 + 1); /* and noise */
    kn_hold(r, KN_NEED_WORK, s->T, sizeof(kn_metric_sums));
    kn_calibrator_need(r, batch, kn_at_most(s->T, KN_BLOCK));
    kn_top_rows_need(r, batch, s->T, s->threads);
    kn_deviance_score_need(r, batch, s->T);
}

/* Who is abnormal, and whom the probabilities refer to. */
static kn_status choose_groups(kn_ctx *ctx, kn_scores *s, const kn_data *data,
                               const kn_people *people)
{
    kn_status status = KN_OK;
    const char *label = s->s->label, *reference = s->s->reference;
    ptrdiff_t normal = 0;
    if (label)
        KN_TRY(kn_people_flag(ctx, data, people, "label", label, s->abnormal));
    s->loo = strcmp(reference, "loo") == 0;
    if (s->loo && !s->model->reference.has_loo_gev) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s has no leave-one-out reference; use {reference=cv} or COLUMN=VALUE",
                         s->s->model ? s->s->model : "the model");
        goto out;
    }
    if (!s->loo && strcmp(reference, "cv") != 0) {
        KN_TRY(new_flags(ctx, s->n, &s->normals));
        KN_TRY(kn_people_flag(ctx, data, people, "reference", reference, s->normals));
    }
    for (ptrdiff_t i = 0; i < s->n; i++) {
        s->use[i] = !s->abnormal[i];
        s->measured[i] = s->use[i] && s->cv_row[i] < 0;
        normal += s->use[i];
    }
    if (label && normal == 0)
        status =
            kn_fail(ctx, KN_ERR_DATA, "every row has %s: there is nobody to compare with", label);
out:
    return status;
}

/* Ids, or row-0001 ... where there are none. */
static kn_status name_people(kn_ctx *ctx, kn_scores *s, const kn_people *p)
{
    kn_status status;
    void *memory;
    if (p->id)
        return kn_names_copy(ctx, p->id, p->n, &s->id);
    KN_TRY(kn_alloc(ctx, s->n, sizeof *s->id, &memory));
    s->id = memory;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        KN_TRY(kn_alloc(ctx, 32, 1, &memory));
        s->id[i] = memory;
        snprintf(s->id[i], 32, "row-%04td", p->covariate_row[i] + 1);
    }
out:
    return status;
}

kn_status kn_scores_new(kn_ctx *ctx, const kn_settings *settings, const kn_model *model,
                        const kn_data *data, const kn_people *people, kn_scores **out)
{
    kn_status status;
    kn_scores *s = NULL;
    void *memory;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *s, &memory));
    s = memory;
    *s = (kn_scores){.model = model,
                     .s = settings,
                     .n = people->n,
                     .T = model->info.n_responses,
                     .scored = people->Y.data != NULL,
                     .began = kn_clock()};
    KN_TRY(name_people(ctx, s, people));
    KN_TRY(kn_alloc_d(ctx, s->T, &s->noise));
    KN_TRY(kn_model_noise(ctx, model, s->noise));
    if (s->scored) {
        KN_TRY(new_people(ctx, s));
        KN_TRY(new_responses(ctx, s));
        find_training(model, people, s);
        choose_stored(ctx, s, people);
        KN_TRY(choose_groups(ctx, s, data, people));
    }
    *out = s;
out:
    if (status != KN_OK)
        kn_scores_free(s);
    return status;
}

/* Members of a known group have less noise; their variance takes the difference, so that the sum is
 * right wherever both are added up. */
static void add_known_noise(const kn_scores *s, ptrdiff_t row, const kn_block *b)
{
    for (ptrdiff_t j = 0; s->noise_known && j < b->count; j++) {
        double less = s->noise_known[b->first + j] - s->model->gp.noise[b->first + j];
        for (ptrdiff_t i = 0; i < b->var.rows; i++)
            if (s->standing->group[row + i] >= 0)
                kn_col(b->var, j)[i] += less;
    }
}

void kn_scores_take_maps(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, const kn_block *b)
{
    const double *noise = s->model->gp.noise + b->first;
    kn_measured m = {
        b->y, b->mean, b->var, noise, s->mean0 + b->first, s->var0 + b->first, s->measured + row};
    if (b->first == 0)
        s->noise_sum = 0;
    kn_extrapolation_add(b->var, s->iso + b->first, noise, s->extrapolation + row, &s->noise_sum);
    add_known_noise(s, row, b);
    kn_metrics_add(ctx, &m, s->sums + b->first);
}

kn_status kn_scores_stand(kn_ctx *ctx, kn_scores *s, const kn_standing *standing)
{
    kn_status status = KN_OK;
    const kn_scaling *y = &s->model->y;
    s->standing = standing;
    if (s->scored)
        KN_TRY(kn_alloc_d(ctx, s->n, &s->beyond));
    if (standing->n_known == 0)
        goto out;
    KN_TRY(kn_alloc_d(ctx, s->model->gp.T, &s->noise_known));
    kn_noise_known_group(&s->model->gp, s->noise_known);
    KN_TRY(kn_alloc_d(ctx, s->T, &s->noise_group));
    for (ptrdiff_t j = 0; j < s->T; j++)
        s->noise_group[j] = NAN;
    for (ptrdiff_t k = 0; k < y->n_kept; k++)
        s->noise_group[y->kept[k]] = s->noise_known[k] * y->sd[k] * y->sd[k];
out:
    return status;
}

void kn_scores_beyond(kn_scores *s, ptrdiff_t row, ptrdiff_t rows, const double *extra,
                      const double *far)
{
    for (ptrdiff_t i = 0; i < rows; i++)
        s->beyond[row + i] = far ? far[i] : extra[i];
}

void kn_scores_known_z(const kn_scores *s, ptrdiff_t row, const kn_block *b, ptrdiff_t from,
                       ptrdiff_t to)
{
    for (ptrdiff_t j = from; s->noise_known && j < to; j++) {
        double more = sqrt(s->model->gp.noise[b->first + j] / s->noise_known[b->first + j]);
        for (ptrdiff_t i = 0; i < b->mean.rows; i++)
            if (s->standing->group[row + i] >= 0)
                kn_col(b->mean, j)[i] *= more;
    }
}

kn_status kn_scores_take_z(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, kn_mat z)
{
    return kn_calibrator_add(ctx, &s->calibrator, z, s->use + row, kn_mat_none());
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

/* Of people row .. row + rows - 1, whose z maps these are. */
static kn_status deviances(kn_ctx *ctx, kn_scores *s, bool by_noise, kn_z_source *source,
                           ptrdiff_t row)
{
    const kn_reference *r = &s->model->reference;
    const kn_deviance *d = by_noise ? &r->deviance_noise : &r->deviance;
    double *dev = by_noise ? s->deviance_noise : s->deviance;
    double *p = by_noise ? s->deviance_noise_p : s->deviance_p;
    kn_status status = kn_deviance_score(ctx, d, source, dev + row);
    for (ptrdiff_t i = row; status == KN_OK && i < row + source->rows; i++) {
        if (s->cv_row[i] >= 0 && isfinite(dev[i])) /* judged by a model made without it */
            dev[i] = d->ref[s->cv_row[i]];
        p[i] = kn_deviance_p(d, dev[i]);
    }
    return status;
}

/* Without components there is no model variance, and covariates tell alone. */
static bool by_covariates(const kn_scores *s)
{
    return s->model->gp.P == 0 && s->model->gp.method->components;
}

kn_status kn_scores_take_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                              const float *z, const float *z_noise)
{
    kn_status status;
    const kn_reference *r = &s->model->reference;
    KN_TRY(kn_top_rows(ctx, z, rows, s->T, r->top, s->statistic + row));
    for (ptrdiff_t i = row; i < row + rows; i++)
        s->deviance[i] = s->deviance_p[i] = s->deviance_noise[i] = s->deviance_noise_p[i] = NAN;
    if (z_noise) {
        float_maps all = {s->model, z, s->T}, noise = {s->model, z_noise, s->T};
        kn_z_source of_all = {&all, rows, s->model->gp.T, float_block, &s->model->y};
        kn_z_source of_noise = {&noise, rows, s->model->gp.T, float_block, &s->model->y};
        KN_TRY(deviances(ctx, s, false, &of_all, row));
        KN_TRY(deviances(ctx, s, true, &of_noise, row));
    }
    for (ptrdiff_t i = row; i < row + rows; i++)
        s->extrapolation[i] += s->beyond[i];
    kn_extrapolation_ratio(s->extrapolation + row, rows, s->noise_sum);
    for (ptrdiff_t i = row; by_covariates(s) && i < row + rows; i++)
        s->extrapolation[i] = s->beyond[i];
out:
    return status;
}

/* Rows of {reference=COLUMN=VALUE} take the place of the model's own reference. */
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
        kn_fail(ctx, status, "{reference=%s}: %s", s->s->reference, why);
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

/* Warnings about people: too few numbers, too far away, seen in training. */
static void warn(kn_ctx *ctx, kn_scores *s)
{
    const kn_reference *r = &s->model->reference;
    ptrdiff_t without = 0; /* training samples that have no cross-validated z */
    if (s->n_empty > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td samples have no finite response: their scores are n/a", s->n_empty,
               s->n);
    /* one in a hundred is expected beyond the 99th percentile */
    if (s->n_far > s->n / 50)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td samples have covariates far from training (extrapolation_pct above 99): "
               "their z are small by ignorance, not by health; see deviance_noise",
               s->n_far, s->n);
    for (ptrdiff_t i = 0; i < s->n; i++)
        without += s->training[i] >= 0 && (!r->z || kn_reference_row(r, s->training[i]) < 0);
    s->seen_as_new = without > 0 && s->s->training_rows != KN_TRAINING_PLAIN;
    if (s->seen_as_new)
        kn_log(ctx, KN_LOG_WARNING,
               "%td samples are from training, and the model has no cross-validated z for them%s: "
               "theirs are too small",
               without, r->n == 0 ? " ({folds=0})" : "");
}

/* Metrics of the responses in use, NaN for the others; RMSE alone has units. */
static kn_status finish_metrics(kn_ctx *ctx, kn_scores *s)
{
    kn_mat own = {0};
    const kn_scaling *y = &s->model->y;
    kn_status status = kn_mat_new(ctx, y->n_kept, KN_N_METRICS, &own);
    if (status != KN_OK)
        return status;
    kn_metrics_result(s->sums, own);
    for (int m = 0; m < KN_N_METRICS; m++) {
        for (ptrdiff_t j = 0; j < s->T; j++)
            kn_col(s->metrics, m)[j] = NAN;
        for (ptrdiff_t k = 0; k < y->n_kept; k++)
            kn_col(s->metrics, m)[y->kept[k]] =
                kn_at(own, k, m) * (m == KN_METRIC_RMSE ? y->sd[k] : 1);
    }
    kn_mat_clear(&own);
    kn_metrics_mean(s->metrics, s->mean_metrics);
    return KN_OK;
}

static kn_status finish_scores(kn_ctx *ctx, kn_scores *s)
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
        s->n_far += s->extrapolation_pct[i] > KN_EXTRAPOLATION_WARN;
        if (s->standing->held[i] > 0) /* further out than anybody */
            s->extrapolation_pct[i] = 100;
        s->n_empty += !isfinite(s->statistic[i]);
        s->n_extrapolated += s->extrapolation_pct[i] > KN_EXTRAPOLATION_WARN;
        s->n_in_training += s->training[i] >= 0;
        s->n_abnormal += s->abnormal[i];
    }
    warn(ctx, s);
    if (s->s->label)
        KN_TRY(detection(ctx, s));
    KN_TRY(finish_metrics(ctx, s));
    kn_calibrator_result(&s->calibrator, s->calibration);
out:
    return status;
}

kn_status kn_scores_finish(kn_ctx *ctx, kn_scores *s)
{
    kn_status status = s->scored ? finish_scores(ctx, s) : KN_OK;
    if (status != KN_OK)
        return status;
    s->summary = kn_scores_summary(s);
    s->json = s->summary ? json_dumps(s->summary, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : NULL;
    return s->json ? KN_OK : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the summary");
}
