/* Implements export.h: doubles the synthetic points, then refines the cut, until the error is small
 * enough; warns of small groups that remain recognisable. */
#include "commands/export/export.h"

#include <math.h>
#include <stdio.h>

#include "base/info_struct.h"
#include "cov/features.h"
#include "cov/synthetic_points.h"
#include "gp/method.h"
#include "gp/predict/predict.h"
#include "model/deidentify.h"
#include "model/file/file.h"

/* ---- error of the export ---- */

/* Largest absolute differences, in standard deviations of the response. */
typedef struct errors {
    double mean, sd;
} errors;

/* Maximum; NaN counts as infinite error. */
static double larger(double a, double b)
{
    return isnan(b) ? INFINITY : fmax(a, b);
}

/* Updates the largest differences in one block of responses. */
static kn_status compare_block(kn_ctx *ctx, const kn_gp_maps maps[2], ptrdiff_t first, kn_mat M[4],
                               errors *e)
{
    const double *noise = maps[0].gp->noise;
    for (int k = 0; k < 2; k++) {
        kn_status status = kn_gp_maps_block(ctx, &maps[k], first, M[2 * k], M[2 * k + 1]);
        if (status != KN_OK)
            return status;
    }
    for (ptrdiff_t j = 0; j < M[0].cols; j++)
        for (ptrdiff_t i = 0; i < M[0].rows; i++) {
            double sd = sqrt(kn_at(M[1], i, j) + noise[first + j]);
            double other = sqrt(kn_at(M[3], i, j) + noise[first + j]);
            e->mean = larger(e->mean, fabs(kn_at(M[2], i, j) - kn_at(M[0], i, j)));
            e->sd = larger(e->sd, fabs(other - sd));
        }
    return KN_OK;
}

typedef struct side {
    const kn_gp *gp;
    kn_mat X; /* n x F: design of the participants for this process */
} side;

/* Largest differences of mean and standard deviation between two processes, ROWS participants at a
 * time. */
static kn_status compare(kn_ctx *ctx, side a, side b, errors *e)
{
    enum { ROWS = 2048 };
    kn_status status = KN_OK;
    kn_gp_maps maps[2] = {{0}};
    kn_mat room[4] = {{0}}, some[4];
    *e = (errors){0};
    for (int k = 0; k < 4; k++)
        KN_TRY(
            kn_mat_new(ctx, kn_min_size(a.X.rows, ROWS), kn_min_size(a.gp->T, KN_BLOCK), &room[k]));
    for (ptrdiff_t row = 0; row < a.X.rows; row += ROWS) {
        ptrdiff_t n = kn_min_size(a.X.rows - row, ROWS);
        kn_predict_input of_a = {.X = kn_sub(a.X, row, 0, n, a.X.cols)};
        kn_predict_input of_b = {.X = kn_sub(b.X, row, 0, n, b.X.cols)};
        KN_TRY(kn_gp_predict(ctx, a.gp, &of_a, &maps[0]));
        KN_TRY(kn_gp_predict(ctx, b.gp, &of_b, &maps[1]));
        for (ptrdiff_t j = 0; j < a.gp->T; j += KN_BLOCK) {
            KN_TRY(kn_check_cancel(ctx));
            for (int k = 0; k < 4; k++)
                some[k] = kn_sub(room[k], 0, 0, n, kn_min_size(a.gp->T - j, KN_BLOCK));
            KN_TRY(compare_block(ctx, maps, j, some, e));
        }
        kn_gp_maps_clear(&maps[0]);
        kn_gp_maps_clear(&maps[1]);
        kn_report_progress(ctx, "comparing", row + n, a.X.rows, NAN);
    }
out:
    kn_gp_maps_clear(&maps[0]);
    kn_gp_maps_clear(&maps[1]);
    for (int k = 0; k < 4; k++)
        kn_mat_clear(&room[k]);
    return status;
}

/* Error at the training sample and at points between. */
static kn_status measure(kn_ctx *ctx, const kn_gp *a, const kn_gp *b, kn_mat between,
                         kn_export_info *info)
{
    kn_status status;
    errors e;
    KN_TRY(compare(ctx, (side){a, a->latent.X}, (side){b, a->latent.X}, &e));
    info->mean = e.mean;
    info->sd = e.sd;
    KN_TRY(compare(ctx, (side){a, between}, (side){b, between}, &e));
    info->mean_between = e.mean;
    info->sd_between = e.sd;
out:
    return status;
}

static double largest(const kn_export_info *i)
{
    return fmax(fmax(i->mean, i->sd), fmax(i->mean_between, i->sd_between));
}

/* ---- the process ---- */

/* Error message if the maximum of points and directions does not suffice. */
static kn_status too_coarse(kn_ctx *ctx, int points, const kn_export_info *info)
{
    enum { MOST = 200 }; /* maximum of the option {points} */
    char more[48] = "";
    if (2 * points <= MOST)
        snprintf(more, sizeof more, " (try {points=%d})", 2 * points);
    return kn_fail(ctx, KN_ERR_DATA,
                   "the export is too coarse: means or standard deviations differ from the model's "
                   "by up to %.2g standard deviations, expected at most %g%s",
                   largest(info), KN_EXPORT_ERROR, more);
}

/* Warns if the model has nearly as many directions as participants: the variance of a process
 * without noise is then 0 only at training participants, whose covariates could be found. */
static void warn_of_directions(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t most, kn_export_info *info)
{
    info->findable = 2 * most > N;
    if (info->findable)
        kn_log(ctx, KN_LOG_WARNING,
               "predictions need %td functions of the covariates of %td people: from so many their "
               "covariates can be found (fit fewer numbers, or more people)",
               most, N);
}

/* Makes the de-identified process with as many points and directions as the error requires. */
static kn_status share_process(kn_ctx *ctx, const kn_gp *from, const kn_synthetic_plan *plan,
                               kn_gp *to, kn_export_info *info)
{
    kn_status status;
    kn_sharing how = {.cut = KN_EXPORT_CUT};
    kn_mat between = {0};
    bool last;
    KN_TRY(kn_synthetic_between(ctx, plan, KN_EXPORT_BETWEEN, &between));
    int round = 0;
    for (;;) {
        KN_TRY(kn_synthetic_new(ctx, plan, round, &how.points, &last));
        KN_TRY(from->method->share(ctx, from, &how, to));
        kn_mat_clear(&how.points);
        KN_TRY(measure(ctx, from, to, between, info));
        if (largest(info) <= KN_EXPORT_ERROR || (last && how.cut <= KN_EXPORT_FINEST))
            break;
        if (last)
            how.cut = fmax(how.cut / 100, KN_EXPORT_FINEST);
        else
            round++;
    }
    if (!(largest(info) <= KN_EXPORT_ERROR))
        status = too_coarse(ctx, plan->points << round, info);
    else
        warn_of_directions(ctx, from->N, how.most, info);
out:
    kn_mat_clear(&how.points);
    kn_mat_clear(&between);
    return status;
}

/* Converts design points to covariates: numbers in original units, levels of categories in turn. */
static kn_status raw_points(kn_ctx *ctx, const kn_design *x, kn_mat points, kn_mat *raw)
{
    kn_status status = kn_mat_new(ctx, points.rows, x->C, raw);
    for (ptrdiff_t c = 0; status == KN_OK && c < x->C; c++) {
        const kn_design_column *k = &x->column[c];
        for (ptrdiff_t i = 0; i < points.rows; i++)
            kn_col(*raw, c)[i] = k->levels > 0 ? (double)(i / 2 % k->levels)
                                 : k->x < 0    ? k->min
                                               : kn_at(points, i, k->x) * x->sd[c] + x->mean[c];
    }
    return status;
}

/* Error with covariates clamped by each model, whose ranges differ by rounding. */
static kn_status measure_beyond(kn_ctx *ctx, const kn_model *a, const kn_model *b,
                                const kn_synthetic_plan *plan, kn_export_info *info)
{
    kn_status status;
    errors e;
    kn_mat points = {0}, raw = {0}, Xa = {0}, Xb = {0};
    KN_TRY(kn_synthetic_between(ctx, plan, KN_EXPORT_BETWEEN, &points));
    KN_TRY(raw_points(ctx, &a->x, points, &raw));
    KN_TRY(kn_mat_new(ctx, points.rows, a->x.F, &Xa));
    KN_TRY(kn_mat_new(ctx, points.rows, a->x.F, &Xb));
    kn_view view = kn_view_cols(raw.data, raw.rows, raw.cols);
    KN_TRY(kn_design_apply(ctx, &a->x, view, true, Xa, NULL));
    KN_TRY(kn_design_apply(ctx, &b->x, view, true, Xb, NULL));
    KN_TRY(compare(ctx, (side){&a->gp, Xa}, (side){&b->gp, Xb}, &e));
    info->mean_beyond = e.mean;
    info->sd_beyond = e.sd;
out:
    kn_mat_clear(&Xb);
    kn_mat_clear(&Xa);
    kn_mat_clear(&raw);
    kn_mat_clear(&points);
    return status;
}

/* ---- warnings ---- */

/* Counts small sites that are combinations of levels. */
static ptrdiff_t warn_of_sites(kn_ctx *ctx, const kn_site_levels *b)
{
    ptrdiff_t few = 0;
    for (ptrdiff_t s = 0; b->M > 1 && s < b->S; s++)
        few += b->people[s] < KN_EXPORT_LEVEL;
    if (few > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td sites have fewer than %d people in training: what the model says of so "
               "few is nearly what they are",
               few, b->S, (int)KN_EXPORT_LEVEL);
    return few;
}

/* Counts small adapted sites, and warns of a small reference of change. */
static ptrdiff_t warn_of_others(kn_ctx *ctx, const kn_model *m)
{
    ptrdiff_t few = 0;
    for (ptrdiff_t s = 0; s < m->adapted.n; s++)
        few += m->adapted.site[s].controls < KN_EXPORT_LEVEL;
    if (few > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td sites that the model was adapted to have fewer than %d controls: what "
               "it says of so few is nearly what they are",
               few, m->adapted.n, (int)KN_EXPORT_LEVEL);
    if (m->change.law.T > 0 && m->change.people < KN_EXPORT_FEW)
        kn_log(ctx, KN_LOG_WARNING,
               "changes are compared with %td people: quantiles and means of so few tell of each "
               "of them",
               m->change.people);
    return few;
}

/* Warns of levels with few training participants, and counts them. */
static ptrdiff_t warn_of_levels(kn_ctx *ctx, const kn_model *m)
{
    ptrdiff_t few = 0;
    for (ptrdiff_t c = 0; c < m->x.C; c++) {
        const kn_design_column *k = &m->x.column[c];
        const kn_covariate *v = m->recipe.codes && c < m->recipe.n ? &m->recipe.column[c] : NULL;
        for (int l = 0; l < k->levels; l++) {
            double people = round(k->shares[l] * (double)m->info.n_samples);
            if (!(people > 0 && people < KN_EXPORT_LEVEL))
                continue;
            few++;
            kn_log(ctx, KN_LOG_WARNING,
                   "%s '%s' has %.0f people in training: what the model says of so few is nearly "
                   "what they are",
                   v ? v->name : "a category's level", v ? v->levels.text[l] : "", people);
        }
    }
    return few;
}

static kn_status check_model(kn_ctx *ctx, const kn_model *m)
{
    if (m->shareable)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "the model is one to give away already: nobody of training is in it");
    if (!m->gp.method->share)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s models cannot be exported", m->gp.method->title);
    return KN_OK;
}

kn_status kn_export_model(kn_ctx *ctx, const kn_model *model, int points, kn_model **out,
                          kn_export_info *info)
{
    kn_status status;
    kn_model *m = NULL;
    kn_features features = kn_features_of(&model->gp.spec.sample);
    kn_synthetic_plan plan = {.X = model->gp.latent.X,
                              .cov = &features.rest,
                              .indicators = !model->x.additive,
                              .points = points};
    *out = NULL;
    KN_TRY(check_model(ctx, model));
    KN_TRY(kn_model_share(ctx, model, &m));
    KN_TRY(share_process(ctx, &model->gp, &plan, &m->gp, info));
    KN_TRY(measure_beyond(ctx, model, m, &plan, info));
    if (m->gp.method->components)
        m->info.rank = m->gp.latent.cell[0].R0.m;
    info->points = m->gp.method->points(&m->gp);
    info->few =
        warn_of_levels(ctx, model) + warn_of_sites(ctx, &model->batch) + warn_of_others(ctx, model);
    if (model->info.n_samples < KN_EXPORT_FEW)
        kn_log(ctx, KN_LOG_WARNING,
               "%td people in training: basis, quantiles and means of so few tell of each of them",
               model->info.n_samples);
    *out = m;
    m = NULL;
out:
    kn_model_free(m);
    return status;
}

static kn_status run(kn_ctx *ctx, const kn_model *model, const kn_settings *s, kn_export_info *info)
{
    kn_status status;
    kn_model *shared = NULL;
    kn_write_options wo = {.force = s->force,
                           .inputs = (const char *[]){s->model},
                           .n_inputs = s->model ? 1 : 0};
    KN_TRY(kn_writer_check(ctx, s->shared, &wo));
    KN_TRY(kn_export_model(ctx, model, s->points, &shared, info));
    KN_TRY(kn_model_write(ctx, shared, s->shared, &wo));
out:
    kn_model_free(shared);
    return status;
}

kn_status kn_export(kn_ctx *ctx, const kn_model *model, const kn_options *options,
                    kn_export_info *info)
{
    kn_settings s;
    kn_export_info own = {0};
    if (!model)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "model is a null pointer");
    kn_status status = kn_settings_of(ctx, options, "export", &s);
    if (status == KN_OK && !s.shared)
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "{output} is needed");
    if (status != KN_OK)
        return status;
    kn_resources before = kn_settings_resources(ctx, &s);
    status = run(ctx, model, &s, &own);
    kn_resources_put(ctx, before);
    if (status == KN_OK)
        kn_info_copy_out(info, &own, sizeof own);
    return status;
}
