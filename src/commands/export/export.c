/* Implements export.h: doubles the synthetic points, then refines the cut, until the error is
 * small enough; warns of small groups that remain recognisable. The result is a model without
 * values of any participant. */
#include "commands/export/export.h"

#include <math.h>
#include <stdio.h>

#include "base/context.h"
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

/* The larger of two numbers; infinity if b is NaN. */
static double max_or_infinity(double a, double b)
{
    return isnan(b) ? INFINITY : fmax(a, b);
}

/* Update the largest differences e of two predictions in the block of responses from `first` on. M:
 * four work matrices (n x count), mean and variance of both. */
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
            e->mean = max_or_infinity(e->mean, fabs(kn_at(M[2], i, j) - kn_at(M[0], i, j)));
            e->sd = max_or_infinity(e->sd, fabs(other - sd));
        }
    return KN_OK;
}

typedef struct side {
    const kn_gp *gp;
    kn_mat X; /* n x F: design of the participants for this process */
} side;

/* *e = largest differences of mean and standard deviation between processes a and b over their n
 * participants, 2048 of them at a time. Can be cancelled. */
static kn_status compare_processes(kn_ctx *ctx, side a, side b, errors *e)
{
    enum { ROWS = 2048 };
    kn_status status = KN_OK;
    kn_gp_maps maps[2] = {{0}};
    kn_mat memory[4] = {{0}}, views[4];
    *e = (errors){0};
    for (int k = 0; k < 4; k++)
        KN_TRY(kn_mat_new(ctx, kn_min_size(a.X.rows, ROWS), kn_min_size(a.gp->T, KN_BLOCK),
                          &memory[k]));
    for (ptrdiff_t row = 0; row < a.X.rows; row += ROWS) {
        ptrdiff_t n = kn_min_size(a.X.rows - row, ROWS);
        kn_predict_input of_a = {.X = kn_sub(a.X, row, 0, n, a.X.cols)};
        kn_predict_input of_b = {.X = kn_sub(b.X, row, 0, n, b.X.cols)};
        KN_TRY(kn_gp_predict(ctx, a.gp, &of_a, &maps[0]));
        KN_TRY(kn_gp_predict(ctx, b.gp, &of_b, &maps[1]));
        for (ptrdiff_t j = 0; j < a.gp->T; j += KN_BLOCK) {
            KN_TRY(kn_check_cancel(ctx));
            for (int k = 0; k < 4; k++)
                views[k] = kn_sub(memory[k], 0, 0, n, kn_min_size(a.gp->T - j, KN_BLOCK));
            KN_TRY(compare_block(ctx, maps, j, views, e));
        }
        kn_gp_maps_clear(&maps[0]);
        kn_gp_maps_clear(&maps[1]);
        kn_report_progress(ctx, "comparing", row + n, a.X.rows, NAN);
    }
out:
    kn_gp_maps_clear(&maps[0]);
    kn_gp_maps_clear(&maps[1]);
    for (int k = 0; k < 4; k++)
        kn_mat_clear(&memory[k]);
    return status;
}

/* Set the errors of process b relative to a in info: at the training sample, and at the points
 * `between` (n x F). */
static kn_status measure_error(kn_ctx *ctx, const kn_gp *a, const kn_gp *b, kn_mat between,
                               kn_export_info *info)
{
    kn_status status;
    errors e;
    KN_TRY(compare_processes(ctx, (side){a, a->latent.X}, (side){b, a->latent.X}, &e));
    info->mean = e.mean;
    info->sd = e.sd;
    KN_TRY(compare_processes(ctx, (side){a, between}, (side){b, between}, &e));
    info->mean_between = e.mean;
    info->sd_between = e.sd;
out:
    return status;
}

/* The largest of the four errors that the export must bound. */
static double largest_error(const kn_export_info *i)
{
    return fmax(fmax(i->mean, i->sd), fmax(i->mean_between, i->sd_between));
}

/* ---- the process ---- */

/* KN_ERR_DATA: the maximum of points and directions does not suffice; suggests more points. */
static kn_status fail_too_coarse(kn_ctx *ctx, int points, const kn_export_info *info)
{
    enum { MAX_COUNT = 200 }; /* maximum of the option {points} */
    char more[48] = "";
    if (2 * points <= MAX_COUNT)
        snprintf(more, sizeof more, "; try {points=%d}", 2 * points);
    return kn_fail(ctx, KN_ERR_DATA,
                   "the export is too inaccurate: means or standard deviations differ by up to "
                   "%.2g standard deviations from those of the model, but at most %g is allowed%s",
                   largest_error(info), KN_EXPORT_ERROR, more);
}

/* Warn if the model has more directions (`limit`) than half its N participants: the variance of a
 * process without noise is then 0 only at training participants, whose covariates could be found.
 * Sets info->findable. */
static void warn_of_directions(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t limit, kn_export_info *info)
{
    info->findable = 2 * limit > N;
    if (info->findable)
        kn_log(ctx, KN_LOG_WARNING,
               "predictions need %td functions of the covariates of %td participants, which could "
               "reveal the covariates; fit fewer numeric covariates, or more participants",
               limit, N);
}

/* Make the de-identified process *to with as many synthetic points and directions as the error
 * requires; *how holds them afterwards. KN_ERR_DATA if the error stays too large. */
static kn_status deidentify_process(kn_ctx *ctx, const kn_gp *from, const kn_synthetic_plan *plan,
                                    kn_mat between, kn_deidentification *how, kn_gp *copy,
                                    kn_export_info *info)
{
    kn_status status;
    bool last;
    int round = 0;
    for (;;) {
        kn_mat_clear(&how->points);
        KN_TRY(kn_synthetic_new(ctx, plan, round, &how->points, &last));
        KN_TRY(from->method->deidentify(ctx, from, how, copy));
        KN_TRY(measure_error(ctx, from, copy, between, info));
        if (largest_error(info) <= KN_EXPORT_ERROR || (last && how->cut <= KN_EXPORT_FINEST))
            break;
        if (last)
            how->cut = fmax(how->cut / 100, KN_EXPORT_FINEST);
        else
            round++;
    }
    if (!(largest_error(info) <= KN_EXPORT_ERROR))
        status = fail_too_coarse(ctx, plan->points << round, info);
out:
    return status;
}

/* Make the process again with as few directions as the error allows, because each adds to the
 * leverages. */
static kn_status coarsen_process(kn_ctx *ctx, const kn_gp *from, kn_mat between,
                                 kn_deidentification *how, kn_gp *copy, kn_export_info *info)
{
    kn_status status = KN_OK;
    double finest = how->cut;
    how->cut = KN_EXPORT_COARSE;
    for (;; how->cut = fmax(how->cut / 10, finest)) {
        KN_TRY(from->method->deidentify(ctx, from, how, copy));
        KN_TRY(measure_error(ctx, from, copy, between, info));
        if (largest_error(info) <= KN_EXPORT_ERROR || !(how->cut > finest))
            break;
    }
out:
    return status;
}

/* Add noise for participants whose leverage is above the limit, and record in info how it changes
 * the predictions. */
static kn_status blur_process(kn_ctx *ctx, const kn_gp *from, kn_mat between, double leverage,
                              kn_deidentification *how, kn_gp *copy, kn_export_info *info)
{
    kn_status status;
    kn_export_info with = {0};
    how->leverage = leverage;
    KN_TRY(from->method->deidentify(ctx, from, how, copy));
    KN_TRY(measure_error(ctx, from, copy, between, &with));
    info->leverage_left = how->after;
    info->blurred = how->blurred;
    info->mean_blurred = fmax(with.mean, with.mean_between);
    info->sd_blurred = fmax(with.sd, with.sd_between);
out:
    return status;
}

/* Convert design points (n x F) to covariates (n x C): numbers in original units, levels of
 * categories in turn. *raw is owned by the caller. */
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

/* Set the error beyond the training range in info: each model clamps the covariates to its own
 * range, and these differ by rounding. */
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
    KN_TRY(compare_processes(ctx, (side){&a->gp, Xa}, (side){&b->gp, Xb}, &e));
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

/* Number of sites with few training participants, with a warning; only if sites are combinations of
 * several batch columns. */
static ptrdiff_t warn_of_sites(kn_ctx *ctx, const kn_site_levels *b)
{
    ptrdiff_t few = 0;
    for (ptrdiff_t s = 0; b->M > 1 && s < b->S; s++)
        few += b->n_participants[s] < KN_EXPORT_LEVEL;
    if (few > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td sites have fewer than %d training participants; the exported statistics "
               "could reveal individual values",
               few, b->S, (int)KN_EXPORT_LEVEL);
    return few;
}

/* Number of adapted sites with few controls, with a warning; also warns of a small reference for
 * change. */
static ptrdiff_t warn_of_others(kn_ctx *ctx, const kn_model *m)
{
    ptrdiff_t few = 0;
    for (ptrdiff_t s = 0; s < m->adapted.n; s++)
        few += m->adapted.site[s].controls < KN_EXPORT_LEVEL;
    if (few > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td sites that the model was adapted to have fewer than %d controls; the "
               "exported statistics could reveal individual values",
               few, m->adapted.n, (int)KN_EXPORT_LEVEL);
    if (m->change.distribution.T > 0 && m->change.participants < KN_EXPORT_FEW)
        kn_log(ctx, KN_LOG_WARNING,
               "the change reference has only %td participants; the exported statistics could "
               "reveal individual values",
               m->change.participants);
    return few;
}

/* Number of levels with few training participants, with a warning for each. */
static ptrdiff_t warn_of_levels(kn_ctx *ctx, const kn_model *m)
{
    ptrdiff_t few = 0;
    for (ptrdiff_t c = 0; c < m->x.C; c++) {
        const kn_design_column *k = &m->x.column[c];
        const kn_covariate *v =
            m->encoding.codes && c < m->encoding.n ? &m->encoding.column[c] : NULL;
        for (int l = 0; l < k->levels; l++) {
            double participants = round(k->proportions[l] * (double)m->info.n_samples);
            if (!(participants > 0 && participants < KN_EXPORT_LEVEL))
                continue;
            few++;
            kn_log(ctx, KN_LOG_WARNING,
                   "%s '%s' has only %.0f training participants; the exported statistics could "
                   "reveal individual values",
                   v ? v->name : "a category's level", v ? v->levels.text[l] : "", participants);
        }
    }
    return few;
}

/* KN_ERR_ARGUMENT if the model is de-identified already, or its method does not support it. */
static kn_status check_model(kn_ctx *ctx, const kn_model *m)
{
    if (m->deidentified)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "the model is already de-identified; it contains no training participants");
    if (!m->gp.method->deidentify)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s models cannot be exported; use the default method",
                       m->gp.method->title);
    return KN_OK;
}

kn_status kn_export_model(kn_ctx *ctx, const kn_model *model, int points, double leverage,
                          kn_model **out, kn_export_info *info)
{
    kn_status status;
    kn_model *m = NULL;
    kn_mat between = {0};
    kn_deidentification how = {.cut = KN_EXPORT_CUT, .leverage = 1};
    kn_features features = kn_features_of(&model->gp.spec.sample);
    kn_synthetic_plan plan = {.X = model->gp.latent.X,
                              .cov = &features.rest,
                              .indicators = !model->x.additive,
                              .points = points};
    *out = NULL;
    KN_TRY(check_model(ctx, model));
    KN_TRY(kn_model_deidentify(ctx, model, &m));
    KN_TRY(kn_synthetic_between(ctx, &plan, KN_EXPORT_BETWEEN, &between));
    KN_TRY(deidentify_process(ctx, &model->gp, &plan, between, &how, &m->gp, info));
    info->leverage = info->leverage_left = how.before;
    if (how.before > leverage)
        KN_TRY(coarsen_process(ctx, &model->gp, between, &how, &m->gp, info));
    warn_of_directions(ctx, model->gp.N, how.limit, info);
    KN_TRY(measure_beyond(ctx, model, m, &plan, info));
    info->mean_blurred = fmax(info->mean, info->mean_between);
    info->sd_blurred = fmax(info->sd, info->sd_between);
    info->leverage_left = how.before;
    if (how.before > leverage)
        KN_TRY(blur_process(ctx, &model->gp, between, leverage, &how, &m->gp, info));
    if (m->gp.method->components)
        m->info.rank = m->gp.latent.cell[0].R0.m;
    info->points = m->gp.method->points(&m->gp);
    info->few =
        warn_of_levels(ctx, model) + warn_of_sites(ctx, &model->batch) + warn_of_others(ctx, model);
    if (model->info.n_samples < KN_EXPORT_FEW)
        kn_log(ctx, KN_LOG_WARNING,
               "the model has only %td training participants; the exported statistics could reveal "
               "individual values",
               model->info.n_samples);
    *out = m;
    m = NULL;
out:
    kn_mat_clear(&how.points);
    kn_mat_clear(&between);
    kn_model_free(m);
    return status;
}

/* Check the output path, export the model and write it. */
static kn_status run_export(kn_ctx *ctx, const kn_model *model, const kn_settings *s,
                            kn_export_info *info)
{
    kn_status status;
    kn_model *shared = NULL;
    kn_write_options wo = {.force = s->force,
                           .inputs = (const char *[]){s->model},
                           .n_inputs = s->model ? 1 : 0};
    KN_TRY(kn_writer_check(ctx, s->shared, &wo));
    KN_TRY(kn_export_model(ctx, model, s->points, s->max_leverage, &shared, info));
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
    status = run_export(ctx, model, &s, &own);
    kn_resources_restore(ctx, before);
    if (status == KN_OK)
        kn_info_copy_out(info, &own, sizeof own);
    return status;
}
