/* One run of the experiment: fit, predict the test scans, evaluate. Implements kn_halves and
 * kn_reproduce_run of reproduce.h. */
#include "paper/reproduce.h"

#include <math.h>

#include "base/machine.h"
#include "commands/common/maps_api.h"
#include "commands/fit/fit.h"
#include "gp/method.h"
#include "gp/predict/map_density.h"
#include "gp/predict/noise.h"
#include "gp/zscore.h"
#include "model/model.h"
#include "norm/metrics/extreme_statistic.h"
#include "norm/metrics/metrics.h"
#include "stats/two_sample_tests.h"

void kn_halves_clear(kn_halves *h)
{
    kn_mat_clear(&h->X);
    kn_mat_clear(&h->Y);
    kn_mat_clear(&h->Xs);
    kn_mat_clear(&h->Ys);
    kn_free(h->normal);
    kn_free(h->pattern);
    kn_free(h->test_pattern);
    *h = (kn_halves){0};
}

kn_status kn_halves_new(kn_ctx *ctx, const kn_visual *v, const kn_split *s, kn_halves *h)
{
    kn_status status;
    void *memory;
    *h = (kn_halves){0};
    KN_TRY(kn_mat_new(ctx, s->n_train, v->X.cols, &h->X));
    KN_TRY(kn_mat_new(ctx, s->n_train, v->Y.cols, &h->Y));
    KN_TRY(kn_mat_new(ctx, s->n_test, v->X.cols, &h->Xs));
    KN_TRY(kn_mat_new(ctx, s->n_test, v->Y.cols, &h->Ys));
    KN_TRY(kn_alloc(ctx, s->n_test, sizeof *h->normal, &memory));
    h->normal = memory;
    KN_TRY(kn_alloc(ctx, s->n_train, sizeof *h->pattern, &memory));
    h->pattern = memory;
    for (ptrdiff_t i = 0; i < s->n_train; i++)
        h->pattern[i] = (int)v->pattern[s->train[i]];
    KN_TRY(kn_alloc(ctx, s->n_test, sizeof *h->test_pattern, &memory));
    h->test_pattern = memory;
    for (ptrdiff_t i = 0; i < s->n_test; i++)
        h->test_pattern[i] = (int)v->pattern[s->test[i]];
    kn_mat_rows(v->X, s->train, h->X);
    kn_mat_rows(v->Y, s->train, h->Y);
    kn_mat_rows(v->X, s->test, h->Xs);
    kn_mat_rows(v->Y, s->test, h->Ys);
    for (ptrdiff_t i = 0; i < s->n_normal; i++)
        h->normal[i] = true;
out:
    if (status != KN_OK)
        kn_halves_clear(h);
    return status;
}

/* Returns a view of a matrix; the data are borrowed. */
static kn_view view_of(kn_mat m)
{
    kn_view v = {m.data, KN_F64, m.rows, m.cols, 1, m.ld};
    return v;
}

/* Returns whether the status of a fit means that the method does not support such data, which is a
 * result and not an error. */
static bool is_refusal(kn_status status)
{
    return status == KN_ERR_ARGUMENT || status == KN_ERR_SHAPE || status == KN_ERR_DATA;
}

/* Copies a message of the library as the command prints it, cut to size - 1 bytes: {key=value} as
 * --key value. */
static void spell_message(const char *said, char *out, size_t size)
{
    bool inside = false;
    size_t n = 0;
    for (; *said && n + 2 < size; said++) {
        inside = *said == '{' || (inside && *said != '}');
        if (*said == '{')
            out[n++] = '-', out[n++] = '-';
        else if (*said != '}')
            out[n++] = inside && *said == '=' ? ' ' : inside && *said == '_' ? '-' : *said;
    }
    out[n] = '\0';
}

/* ---- evaluation ---- */

typedef struct evaluation {
    const kn_halves *h;
    const kn_model *model;
    double *noise, *mean0, *var0; /* T; NaN for excluded voxels */
    kn_mat metrics, metrics_all;  /* T x KN_N_METRICS: on random patterns; on all test rows */
    kn_mat z;                     /* test rows x voxels in use */
    ptrdiff_t *group;             /* training pattern of each test row; NULL: all are new */
    double *less;                 /* T  noise variance removed for members of a known pattern */
    kn_map_density_state density; /* densities and deviances of whole maps, for the test rows */
    double seconds;               /* time spent on predictions */
} evaluation;

/* Frees the work space of an evaluation; {0} is allowed. */
static void evaluation_clear(evaluation *e)
{
    kn_free(e->group);
    kn_free(e->less);
    kn_free(e->noise);
    kn_free(e->mean0);
    kn_free(e->var0);
    kn_mat_clear(&e->metrics);
    kn_mat_clear(&e->metrics_all);
    kn_mat_clear(&e->z);
    kn_map_density_state_clear(&e->density);
}

/* Allocates the evaluation of a model on the test rows of h, with its noise variance and the mean
 * and variance of the null model in original units. The caller clears e, also after failure. */
static kn_status evaluation_new(kn_ctx *ctx, const kn_halves *h, const kn_model *m, evaluation *e)
{
    kn_status status;
    ptrdiff_t T = h->Y.cols;
    *e = (evaluation){.h = h, .model = m};
    KN_TRY(kn_alloc_d(ctx, T, &e->noise));
    KN_TRY(kn_alloc_d(ctx, T, &e->mean0));
    KN_TRY(kn_alloc_d(ctx, T, &e->var0));
    KN_TRY(kn_mat_new(ctx, T, KN_N_METRICS, &e->metrics));
    KN_TRY(kn_mat_new(ctx, T, KN_N_METRICS, &e->metrics_all));
    KN_TRY(kn_mat_new(ctx, h->Ys.rows, m->y.n_kept, &e->z));
    KN_TRY(kn_model_noise(ctx, m, e->noise));
    for (ptrdiff_t j = 0; j < T; j++)
        e->mean0[j] = e->var0[j] = NAN;
    for (ptrdiff_t k = 0; k < m->y.n_kept; k++) {
        e->mean0[m->y.kept[k]] = m->y.mean[k];
        e->var0[m->y.kept[k]] = m->y.sd[k] * m->y.sd[k];
    }
out:
    return status;
}

/* Computes metrics and z-scores of voxels first .. first + mean.cols - 1 from their predictive mean
 * and variance (test rows x voxels). */
static void take_block(kn_ctx *ctx, evaluation *e, ptrdiff_t first, kn_mat mean, kn_mat var)
{
    ptrdiff_t count = mean.cols;
    const kn_scaling *s = &e->model->y;
    kn_mat y = kn_cols(e->h->Ys, first, count);
    const double *noise = e->noise + first;
    kn_measured m = {.y = y,
                     .mean = mean,
                     .v = var,
                     .noise = noise,
                     .mean0 = e->mean0 + first,
                     .var0 = e->var0 + first,
                     .use = e->h->normal};
    kn_metrics(ctx, &m, kn_sub(e->metrics, first, 0, count, KN_N_METRICS));
    m.use = NULL;
    kn_metrics(ctx, &m, kn_sub(e->metrics_all, first, 0, count, KN_N_METRICS));
    for (ptrdiff_t k = 0; k < s->n_kept; k++) {
        ptrdiff_t j = s->kept[k] - first;
        if (j >= 0 && j < count)
            kn_zscores(kn_cols(y, j, 1), kn_cols(mean, j, 1), kn_cols(var, j, 1), noise + j,
                       kn_cols(e->z, k, 1));
    }
}

/* Sets the noise group of each test scan whose pattern is in the training sample, and how much of
 * the noise variance is known there. Does nothing if the model has no noise groups. */
static kn_status know_patterns(kn_ctx *ctx, evaluation *e)
{
    kn_status status;
    const kn_model *m = e->model;
    const kn_groups *g = &m->gp.latent.groups;
    ptrdiff_t n = e->h->Ys.rows;
    double *known = NULL;
    if (g->n == 0)
        return KN_OK;
    KN_TRY(kn_alloc_i(ctx, n, &e->group));
    KN_TRY(kn_alloc_d(ctx, e->h->Y.cols, &e->less));
    KN_TRY(kn_alloc_d(ctx, m->gp.T, &known));
    for (ptrdiff_t i = 0; i < n; i++) {
        e->group[i] = -1;
        for (ptrdiff_t k = 0; k < g->n; k++)
            if (e->h->pattern[g->row[g->start[k]]] == e->h->test_pattern[i])
                e->group[i] = k;
    }
    kn_noise_known_group(&m->gp, known);
    for (ptrdiff_t k = 0; k < m->y.n_kept; k++)
        e->less[m->y.kept[k]] = (m->gp.noise[k] - known[k]) * m->y.sd[k] * m->y.sd[k];
out:
    kn_free(known);
    return status;
}

/* Predicts the test rows a block of voxels at a time and evaluates each block, then the densities
 * of whole maps. Only the prediction is timed, in e->seconds. */
static kn_status predict_test(kn_ctx *ctx, evaluation *e)
{
    kn_status status;
    kn_maps *maps = NULL;
    kn_mat mean = {0}, var = {0};
    ptrdiff_t n = e->h->Ys.rows, T = e->h->Ys.cols, width = T < KN_BLOCK ? T : KN_BLOCK;
    KN_TRY(kn_mat_new(ctx, n, width, &mean));
    KN_TRY(kn_mat_new(ctx, n, width, &var));
    double t0 = kn_clock();
    KN_TRY(kn_maps_predict_known(ctx, e->model, view_of(e->h->Xs),
                                 (kn_predict_context){.group = e->group}, &maps));
    e->seconds = kn_clock() - t0;
    for (ptrdiff_t first = 0; first < T; first += KN_BLOCK) {
        ptrdiff_t count = T - first < KN_BLOCK ? T - first : KN_BLOCK;
        kn_mat m = kn_cols(mean, 0, count), v = kn_cols(var, 0, count);
        KN_TRY(kn_check_cancel(ctx));
        t0 = kn_clock();
        KN_TRY(kn_maps_block(ctx, maps, first, count, m, v));
        e->seconds += kn_clock() - t0;
        for (ptrdiff_t j = 0; e->group && j < count; j++)
            for (ptrdiff_t i = 0; i < n; i++)
                kn_col(v, j)[i] -= e->group[i] >= 0 ? e->less[first + j] : 0;
        take_block(ctx, e, first, m, v);
    }
    kn_responses Y = kn_responses_of(view_of(e->h->Ys), &e->model->y);
    KN_TRY(kn_map_density_evaluate(ctx, &maps->maps, &Y, &e->density));
out:
    kn_mat_clear(&var);
    kn_mat_clear(&mean);
    kn_maps_free(maps);
    return status;
}

/* Returns ln p of a whole map minus that of the null model, mean over the random patterns of the
 * test rows [METHOD 8j]. */
static double mean_joint_density(const evaluation *e)
{
    double sum = 0, n = 0;
    for (ptrdiff_t i = 0; i < e->h->Ys.rows; i++)
        if (e->h->normal[i]) {
            sum += e->density.log_p[i] - e->density.log_null[i];
            n++;
        }
    return sum / n;
}

/* Computes the AUC of figures against random patterns among the test rows by the extreme-value
 * statistic (*top) and by the whole-map deviance [METHOD 8, 8b, 8j]; NaN if the model has no
 * reference for it. */
static kn_status detect_figures(kn_ctx *ctx, evaluation *e, double *top, double *deviance)
{
    kn_status status;
    const kn_reference *r = &e->model->reference;
    double *score = NULL, *work = NULL;
    void *memory = NULL;
    ptrdiff_t n = e->z.rows;
    kn_auc auc;
    *top = *deviance = NAN;
    KN_TRY(kn_alloc_d(ctx, n, &score));
    KN_TRY(kn_alloc_d(ctx, e->z.cols, &work));
    KN_TRY(kn_alloc(ctx, n, sizeof(bool), &memory));
    bool *abnormal = memory;
    for (ptrdiff_t i = 0; i < n; i++) {
        abnormal[i] = !e->h->normal[i];
        score[i] = kn_extreme(e->z.data + i, e->z.ld, e->z.cols,
                              r->n > 0 ? r->top : KN_TOP_FRACTION, work);
    }
    KN_TRY(kn_auc_of(ctx, score, abnormal, n, &auc));
    *top = auc.auc;
    bool own = e->model->gp.method->own_deviance;
    if (r->has_deviance && !own) {
        kn_z_source source = kn_z_from_mat(&e->z);
        KN_TRY(kn_deviance_score(ctx, &r->deviance, &source, score));
    }
    if (r->has_deviance || own) {
        KN_TRY(kn_auc_of(ctx, own ? e->density.dev : score, abnormal, n, &auc));
        *deviance = auc.auc;
    }
out:
    kn_free(memory);
    kn_free(work);
    kn_free(score);
    return status;
}

/* Copies the mean metrics and the times of a run to value (KN_N_QUANTITIES). */
static void take_values(const evaluation *e, const kn_fit_info *info, double *value)
{
    double mean[KN_N_METRICS], all[KN_N_METRICS];
    kn_metrics_mean(e->metrics, mean);
    kn_metrics_mean(e->metrics_all, all);
    value[KN_Q_R2] = mean[KN_METRIC_R2];
    value[KN_Q_RHO2] = mean[KN_METRIC_RHO2];
    value[KN_Q_RHO2_ALL] = all[KN_METRIC_RHO2];
    value[KN_Q_MSLL] = mean[KN_METRIC_MSLL];
    value[KN_Q_Z2] = mean[KN_METRIC_Z2];
    value[KN_Q_JOINT] = mean_joint_density(e);
    value[KN_Q_LML] = info->lml;
    value[KN_Q_EVALUATIONS] = info->evaluations;
    value[KN_Q_SECONDS_FIT] = info->seconds_basis + info->seconds_fit;
    value[KN_Q_SECONDS_PREDICT] = e->seconds;
}

kn_status kn_reproduce_run(kn_ctx *ctx, const kn_halves *h, uint64_t seed, kn_result *out)
{
    kn_status status;
    kn_options *options = NULL;
    kn_settings o;
    kn_model *model = NULL;
    kn_fit_info info;
    evaluation e = {0};
    const kn_run *run = &out->run;
    for (int q = 0; q < KN_N_QUANTITIES; q++)
        out->value[q] = NAN;
    KN_TRY(kn_system_options(ctx, run->method, run->variant, &options));
    KN_TRY(kn_settings_of(ctx, options, "fit", &o));
    o.components = (int)run->components;
    o.seed = seed;
    /* folds follow the split, and scans of one pattern share noise */
    if (run->split == KN_BY_PATTERN || kn_variants[run->variant].groups)
        o.groups = h->pattern;
    status = kn_fit_arrays(ctx, view_of(h->X), view_of(h->Y), &o, &model);
    if (is_refusal(status)) {
        spell_message(kn_message(ctx), out->refused, sizeof out->refused);
        status = KN_OK;
        goto out;
    }
    KN_TRY(status);
    KN_TRY(kn_check_cancel(ctx)); /* a cancelled fit is a model, but not a result */
    kn_model_info(model, &info);
    KN_TRY(evaluation_new(ctx, h, model, &e));
    if (run->variant == KN_VAR_KNOWN)
        KN_TRY(know_patterns(ctx, &e));
    KN_TRY(predict_test(ctx, &e));
    take_values(&e, &info, out->value);
    KN_TRY(
        detect_figures(ctx, &e, &out->value[KN_Q_AUC_EXTREME_Z], &out->value[KN_Q_AUC_DEVIANCE]));
out:
    evaluation_clear(&e);
    kn_model_free(model);
    kn_options_free(options);
    return status;
}
