/* Implements scores.h: allocation, accumulation over minibatches, and the final results over all
 * participants. Job parts and cv fill the same struct and then call kn_scores_finish. */
#include "commands/score/scores.h"

#include <math.h>
#include <stdlib.h>

#include "base/machine.h"
#include "commands/score/internal.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "gp/method.h"
#include "gp/predict/noise.h"
#include "model/model.h"
#include "norm/metrics/extrapolation.h"
#include "norm/metrics/extreme_statistic.h"

const char *const kn_map_name[KN_N_MAPS] = {"z", "yhat", "ys2_model", "fdr", "ys2"};
const char *const kn_statistic_name[KN_N_STATISTICS] = {"extreme_z",      "deviance",
                                                        "deviance_noise", "mean_z",
                                                        "mean_z_size",    "n_low",
                                                        "extreme_z_low",  "n_high",
                                                        "extreme_z_high"};

const kn_metric_map kn_metric_maps[KN_N_METRIC_MAPS] = {{"metrics_R2", "R2"},
                                                        {"metrics_MSLL", "MSLL"},
                                                        {"metrics_z2", "z2"}};

void kn_scores_finalise(kn_scores *s)
{
    kn_free(s->mean0);
    kn_free(s->var0);
    kn_free(s->iso);
    kn_free(s->sums);
    kn_free(s->joint);
    s->joint = NULL;
    kn_free(s->own_loss);
    kn_free(s->own_gain);
    kn_free(s->own_cells);
    s->own_loss = s->own_gain = s->own_cells = NULL;
    kn_free(s->beyond);
    kn_free(s->noise_known);
    kn_free(s->counted);
    s->counted = NULL;
    kn_restricted_free(s->restricted);
    s->restricted = NULL;
    s->beyond = s->noise_known = NULL;
    s->relation = NULL;
    kn_free(s->training);
    kn_free(s->cv_row);
    kn_free(s->measured);
    kn_free(s->abnormal);
    kn_free(s->use);
    kn_free(s->normals);
    kn_calibrator_clear(&s->calibrator);
    kn_free(s->zero);
    kn_free(s->tally);
    kn_free(s->hash);
    kn_free(s->changed);
    s->zero = NULL;
    s->tally = NULL;
    s->hash = NULL;
    s->changed = NULL;
    s->mean0 = s->var0 = s->iso = NULL;
    s->sums = NULL;
    s->training = s->cv_row = NULL;
    s->measured = s->abnormal = s->use = s->normals = NULL;
    s->model = NULL;
    s->space = NULL;
    s->s = NULL;
}

void kn_scores_free(kn_scores *s)
{
    if (!s)
        return;
    for (int k = 0; kn_scores_slot(s, k); k++)
        kn_free(*kn_scores_slot(s, k));
    for (int k = 0; k < KN_N_MAPS; k++)
        kn_free(s->map[k]);
    kn_scores_finalise(s);
    kn_mat_clear(&s->metrics);
    kn_free(s->implausible_reason);
    kn_names_free(s->id, s->n);
    kn_free(s->noise);
    kn_free(s->noise_group);
    json_decref(s->summary);
    free(s->json);
    kn_free(s);
}

/* Allocate metrics and sums, and set the trivial model of each response: training mean and
 * variance, standardised units. */
static kn_status new_responses(kn_ctx *ctx, kn_scores *s)
{
    kn_status status;
    const kn_scaling *y = &s->model->y;
    void *sums;
    KN_TRY(kn_mat_new(ctx, s->T, KN_N_METRICS, &s->metrics));
    KN_TRY(kn_alloc_d(ctx, y->n_kept, &s->mean0));
    KN_TRY(kn_alloc_d(ctx, y->n_kept, &s->var0));
    KN_TRY(kn_alloc(ctx, y->n_kept, sizeof *s->sums, &sums));
    s->sums = sums;
    for (ptrdiff_t k = 0; k < y->n_kept; k++) {
        double sd = y->sd0[k] / y->sd[k];
        s->mean0[k] = (y->mean0[k] - y->mean[k]) / y->sd[k];
        s->var0[k] = sd * sd;
    }
out:
    return status;
}

/* Allocate the columns of extrapolation, and the iso term of each response; for predictions too. */
static kn_status new_extrapolation(kn_ctx *ctx, kn_scores *s)
{
    kn_status status;
    ptrdiff_t kept = s->model->y.n_kept;
    KN_TRY(kn_alloc_d(ctx, kept, &s->iso));
    for (ptrdiff_t k = 0; k < kept; k++)
        s->iso[k] = kn_reference_iso_variance(&s->model->gp, k);
    KN_TRY(kn_alloc_d(ctx, s->n, &s->extrapolation));
    KN_TRY(kn_alloc_d(ctx, s->n, &s->extrapolation_pct));
out:
    return status;
}

/* Allocate the columns and the working state of all participants. */
static kn_status alloc_participants(kn_ctx *ctx, kn_scores *s)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_alloc_i(ctx, s->n, &s->training));
    KN_TRY(kn_alloc_i(ctx, s->n, &s->cv_row));
    KN_TRY(kn_alloc_bool(ctx, s->n, &s->measured));
    KN_TRY(kn_alloc_bool(ctx, s->n, &s->abnormal));
    KN_TRY(kn_alloc_bool(ctx, s->n, &s->use));
    KN_TRY(kn_calibrator_init(ctx, &s->calibrator));
    KN_TRY(kn_alloc(ctx, s->n, sizeof *s->tally, &memory));
    s->calibrator.participant = s->tally = memory;
    KN_TRY(kn_alloc(ctx, s->n, sizeof *s->hash, &memory));
    s->hash = memory;
    KN_TRY(kn_alloc_int(ctx, s->n, &s->changed));
    KN_TRY(kn_alloc_d(ctx, s->n, &s->joint));
    for (int k = 0; kn_scores_slot(s, k); k++)
        if (!*kn_scores_slot(s, k))
            KN_TRY(kn_alloc_d(ctx, s->n, kn_scores_slot(s, k)));
out:
    return status;
}

/* Memory per participant: columns, flags, and a short name. */
enum {
    COLUMNS = 26 + 6 + KN_CALIBRATION_TALLY,
    OWN_BYTES = 4 * sizeof(bool) + sizeof(char *) + 2 * 64
};

void kn_scores_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t batch)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, COLUMNS);
    kn_plan_alloc(r, KN_NEED_WORK, s->N, OWN_BYTES);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 2 * KN_N_METRICS + 3 + 1); /* +1: noise */
    kn_plan_alloc(r, KN_NEED_WORK, s->T, sizeof(kn_metric_tally) + sizeof(kn_metric_sums));
    kn_calibrator_need(r, batch, kn_min_size(s->T, KN_BLOCK));
    kn_extreme_rows_need(r, batch, s->T, s->threads); /* burdens reuse as much */
    kn_deviance_score_need(r, batch, s->T);
    kn_scores_p_incomplete_need(r, s);
}

kn_status kn_scores_new(kn_ctx *ctx, const kn_settings *settings, const kn_model *model,
                        bool scored, const kn_sample *participants, kn_scores **out)
{
    kn_status status;
    kn_scores *s = NULL;
    void *memory;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *s, &memory));
    s = memory;
    *s = (kn_scores){.model = model,
                     .space = &model->space,
                     .s = settings,
                     .n = participants->n,
                     .T = model->info.n_responses,
                     .scored = scored,
                     .began = kn_clock()};
    KN_TRY(kn_match_training_names(ctx, s, participants));
    KN_TRY(kn_alloc_d(ctx, s->T, &s->noise));
    KN_TRY(kn_model_noise(ctx, model, s->noise));
    KN_TRY(new_extrapolation(ctx, s));
    if (s->scored) {
        KN_TRY(alloc_participants(ctx, s));
        KN_TRY(new_responses(ctx, s));
    }
    *out = s;
out:
    if (status != KN_OK)
        kn_scores_free(s);
    return status;
}

void kn_scores_add_predictions(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, const kn_block *b)
{
    const double *noise = s->model->gp.noise + b->first;
    (void)ctx;
    if (b->first == 0)
        s->noise_sum = 0;
    kn_extrapolation_add(b->var, s->iso + b->first, noise, s->extrapolation + row, &s->noise_sum);
}

/* Add to each participant the sums over responses of loss and gain that kn_tallies_add() sums over
 * participants. */
static void add_own_losses(kn_scores *s, ptrdiff_t row, const kn_measured *m,
                           const kn_cell_losses *losses)
{
    for (ptrdiff_t j = 0; j < losses->loss.cols; j++) {
        double log_var = log(m->var0[j]);
        for (ptrdiff_t i = 0; i < losses->loss.rows; i++) {
            double d = kn_at(m->y, i, j) - m->mean0[j], loss = kn_at(losses->loss, i, j);
            double own = loss - 0.5 * (log_var + kn_z2(d, m->var0[j]));
            if (!m->use[i] || !isfinite(own))
                continue;
            s->own_loss[row + i] += own;
            s->own_gain[row + i] += losses->null.data ? kn_at(losses->null, i, j) - loss : NAN;
            s->own_cells[row + i]++;
        }
    }
}

void kn_scores_add_losses(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, const kn_block *b,
                          const kn_cell_losses *losses)
{
    kn_measured m = {.y = b->y,
                     .mean = b->mean,
                     .mean0 = s->mean0 + b->first,
                     .var0 = s->var0 + b->first,
                     .use = s->measured + row};
    kn_tallies_add(ctx, &m, losses, s->sums + b->first);
    if (s->own_loss)
        add_own_losses(s, row, &m, losses);
}

kn_status kn_scores_set_status(kn_ctx *ctx, kn_scores *s, const kn_participant_status *relation)
{
    kn_status status = KN_OK;
    const kn_scaling *y = &s->model->y;
    s->relation = relation;
    KN_TRY(kn_alloc_d(ctx, s->n, &s->beyond));
    if (relation->n_known == 0)
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

void kn_scores_extrapolation(kn_scores *s, ptrdiff_t row, ptrdiff_t rows, const double *extra)
{
    for (ptrdiff_t i = 0; i < rows; i++)
        s->beyond[row + i] = extra[i];
}

kn_status kn_scores_add_z(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, kn_mat z)
{
    s->calibrator.row = row;
    return kn_calibrator_add(ctx, &s->calibrator, z, s->use + row, kn_mat_none());
}

void kn_scores_add_density(kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                           const kn_map_density_state *w)
{
    const kn_reference *r = &s->model->reference;
    for (ptrdiff_t i = 0; i < rows; i++) {
        ptrdiff_t t = s->cv_row[row + i];
        bool kept = t >= 0 && r->own_deviance; /* held-out value of the reference */
        s->joint[row + i] = w->log_p[i] - w->log_null[i];
        if (!s->model->gp.method->own_deviance)
            continue;
        s->deviance[row + i] = kept && isfinite(w->dev[i]) ? r->deviance.ref[t] : w->dev[i];
        s->deviance_noise[row + i] =
            kept && isfinite(w->dev_noise[i]) ? r->deviance_noise.ref[t] : w->dev_noise[i];
    }
}

kn_status kn_scores_compute_auc(kn_ctx *ctx, kn_scores *s)
{
    static const signed char sign[KN_N_STATISTICS] = {1, 1, 1, 1, 0, 1, -1, 1, 1};
    const double *score[KN_N_STATISTICS] = {s->extreme_z,     s->deviance, s->deviance_noise,
                                            s->mean_z,        s->mean_z,   s->n_low,
                                            s->extreme_z_low, s->n_high,   s->extreme_z_high};
    double *larger = NULL; /* larger means more abnormal */
    kn_status status = kn_alloc_d(ctx, s->n, &larger);
    for (int k = 0; k < KN_N_STATISTICS && status == KN_OK; k++) {
        for (ptrdiff_t i = 0; i < s->n; i++)
            larger[i] = sign[k] ? sign[k] * score[k][i] : fabs(score[k][i]);
        status = kn_auc_of(ctx, larger, s->abnormal, s->n, &s->auc[k]);
        s->has_auc[k] = status == KN_OK;
        if (status == KN_ERR_DATA)
            status = KN_OK;
    }
    kn_free(larger);
    if (status != KN_OK)
        return status;
    if (!s->has_auc[0])
        kn_log(ctx, KN_LOG_WARNING,
               "the AUC is n/a, because it needs participants of both groups: %td with %s and %td "
               "others have an extreme_z",
               s->auc[0].n_abnormal, s->s->cases, s->auc[0].n_normal);
    return KN_OK;
}

/* Set the percentile of extrapolation of each participant in the reference sample, 100 if a
 * covariate was clamped; then warn. */
static void set_extrapolation_percentiles(kn_ctx *ctx, kn_scores *s)
{
    const kn_reference *r = &s->model->reference;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        s->extrapolation_pct[i] = kn_percentile(r->extrapolation, r->n, s->extrapolation[i]);
        if (s->relation->n_clamped[i] > 0) /* clamped: beyond the training range */
            s->extrapolation_pct[i] = 100;
    }
    kn_scores_warn_extrapolated(ctx, s);
}

void kn_scores_warn_extrapolated(kn_ctx *ctx, kn_scores *s)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    for (ptrdiff_t i = 0; i < s->n; i++)
        if (s->extrapolation_pct[i] > KN_EXTRAPOLATION_WARN) {
            kn_listing_add(&list, s->id[i]);
            s->n_extrapolated++;
        }
    if (s->n_extrapolated > s->n / 50)
        kn_log(ctx, KN_LOG_WARNING,
               "covariates are far from the training sample (extrapolation_pct above 99) in %td of "
               "%td participants: %s; %s",
               s->n_extrapolated, s->n, list.text,
               s->scored ? "their z-scores are uncertain, and small ones may reflect uncertainty "
                           "(see deviance_noise)"
                         : "their predictions are very uncertain");
}

void kn_scores_warn_empty(kn_ctx *ctx, kn_scores *s)
{
    kn_listing empty = {.limit = KN_NAMES_LISTED};
    for (ptrdiff_t i = 0; i < s->n; i++)
        if (!isfinite(s->extreme_z[i])) {
            kn_listing_add(&empty, s->id[i]);
            s->n_empty++;
        }
    if (s->n_empty > 0)
        kn_log(
            ctx, KN_LOG_WARNING,
            "scores are n/a for %td of %td participants, because they have no finite response: %s",
            s->n_empty, s->n, empty.text);
}

/* Warn of participants without values, of training participants without held-out z, and of a
 * missing reference or missing metrics. */
static void warn_of_scores(kn_ctx *ctx, kn_scores *s)
{
    const kn_reference *r = &s->model->reference;
    ptrdiff_t without = 0;   /* training participants without held-out z */
    ptrdiff_t predicted = 0; /* participants used for metrics */
    kn_scores_warn_empty(ctx, s);
    for (ptrdiff_t i = 0; i < s->n; i++)
        without += s->training[i] >= 0 && (!r->z || kn_reference_row(r, s->training[i]) < 0);
    s->seen_as_new = without > 0 && s->s->training_rows != KN_TRAINING_PLAIN;
    if (s->seen_as_new)
        kn_log(ctx, KN_LOG_WARNING,
               "%td %s in the training sample, but the model has no cross-validated z-scores for "
               "them%s, so their z-scores are too small",
               without, without == 1 ? "participant is" : "participants are",
               r->n == 0 ? " ({folds=0})" : "");
    if (r->n == 0 && !s->normals)
        kn_log(ctx, KN_LOG_WARNING,
               "the model has no reference ({folds=0}), so every p-value is n/a");
    for (ptrdiff_t i = 0; i < s->n; i++)
        predicted += s->measured[i];
    if (predicted == 0)
        kn_log(ctx, KN_LOG_WARNING,
               "metrics are n/a, because every participant%s%s has stored training z-scores; "
               "{training_rows=plain} predicts them again, but gives optimistic metrics",
               s->s->cases ? " without " : "", s->s->cases ? s->s->cases : "");
}

/* Set the metrics of the responses in use, NaN for others, and their means; only RMSE has units. */
static kn_status finish_metrics(kn_ctx *ctx, kn_scores *s)
{
    kn_mat own = {0};
    const kn_scaling *y = &s->model->y;
    void *sums = NULL;
    kn_status status;
    KN_TRY(kn_mat_new(ctx, y->n_kept, KN_N_METRICS, &own));
    KN_TRY(kn_alloc(ctx, y->n_kept, sizeof(kn_metric_sums), &sums));
    for (ptrdiff_t k = 0; k < y->n_kept; k++)
        ((kn_metric_sums *)sums)[k] = kn_tally_sums(&s->sums[k], s->mean0[k]);
    kn_metrics_result(sums, own);
    for (int m = 0; m < KN_N_METRICS; m++) {
        for (ptrdiff_t j = 0; j < s->T; j++)
            kn_col(s->metrics, m)[j] = NAN;
        for (ptrdiff_t k = 0; k < y->n_kept; k++)
            kn_col(s->metrics, m)[y->kept[k]] =
                kn_at(own, k, m) * (m == KN_METRIC_RMSE ? y->sd[k] : 1);
    }
    kn_metrics_mean(s->metrics, s->mean_metrics);
out:
    kn_mat_clear(&own);
    kn_free(sums);
    return status;
}

/* Mean gain of the whole-map density over the measured participants with a finite one; NaN without
 * any. */
static double mean_joint(const kn_scores *s)
{
    double sum = 0, n = 0;
    for (ptrdiff_t i = 0; i < s->n; i++)
        if (s->measured[i] && isfinite(s->joint[i])) {
            sum += s->joint[i];
            n++;
        }
    return n > 0 ? sum / n : NAN;
}

/* Compute p-values, flags, warnings, AUC, metrics and calibration, in this order. */
static kn_status finish_scores(kn_ctx *ctx, kn_scores *s)
{
    kn_status status = KN_OK;
    const kn_site_lookup *from = &s->relation->from;
    KN_TRY(kn_burdens_of_reference(ctx, s));
    KN_TRY(kn_scores_p_values(ctx, s));
    s->fdr_proportion = s->model->reference.n > 0 ? s->model->reference.fdr_proportion : NAN;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        s->label[i] = s->labelled ? s->abnormal[i] : NAN;
        s->site_adapted[i] =
            from->without_site && from->without_site[i] ? from->adapted[i] >= 0 : NAN;
        s->implausible[i] = s->implausible_reason[i] != 0;
        kn_flag_row row = kn_scores_flag_row(s, i);
        s->flagged[i] = kn_flag_of(&row);
        s->unseen_level[i] = s->relation->unseen && s->relation->unseen[i];
        s->n_in_training += s->training[i] >= 0;
        s->n_abnormal += s->abnormal[i];
    }
    warn_of_scores(ctx, s);
    if (s->s->cases)
        KN_TRY(kn_scores_compute_auc(ctx, s));
    KN_TRY(finish_metrics(ctx, s));
    s->joint_density = mean_joint(s);
    kn_calibrator_finalise(&s->calibrator, s->n);
    kn_calibrator_result(&s->calibrator, s->calibration);
out:
    return status;
}

kn_status kn_scores_finish(kn_ctx *ctx, kn_scores *s)
{
    set_extrapolation_percentiles(ctx, s);
    return s->scored ? finish_scores(ctx, s) : KN_OK;
}
