/* Jackknife variance of the curves: K fits, each without one fold of the training sample, with
 * everything refitted as for the model itself [METHOD 8f]
 *
 *     J_ij = (K - 1)/K sum_f (mean_j^(-f)(x_i) - mean over f)^2            n x S, K = 8
 *
 * Groups stay whole. Cost: K fits; holds J and two more matrices n x S. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "commands/centiles/centiles.h"
#include "commands/fit/fit.h"
#include "commands/score/scores.h"
#include "data/preloaded.h"
#include "gp/assign_folds.h"

/* Make the options of the fit that the model stores, with data and resources of this run; without
 * calibration, which does not move the mean. *out is owned by the caller. KN_ERR_DATA if the model
 * does not store them. */
static kn_status fit_options(kn_ctx *ctx, const kn_centiles_work *w, kn_options **out)
{
    static const char *const same[] = {"covariates", "responses", "threads", "memory", "scratch"};
    kn_status status;
    const char *key;
    json_t *value, *given = NULL;
    if (w->model->deidentified)
        return kn_fail(ctx, KN_ERR_DATA,
                       "{bands=jackknife}: a de-identified model does not keep all options of its "
                       "fit; use the model that it was exported from");
    if (w->model->options)
        given = json_loads(w->model->options, 0, NULL);
    if (!given)
        return kn_fail(
            ctx, KN_ERR_DATA,
            "{bands=jackknife}: the model does not record the options of its fit; fit it again");
    KN_TRY(kn_options_new(ctx, "fit", out));
    json_object_foreach(given, key, value)
    {
        if (json_is_string(value))
            KN_TRY(kn_options_set(ctx, *out, key, json_string_value(value)));
    }
    for (size_t k = 0; k < sizeof same / sizeof *same; k++)
        if (kn_options_get(w->options, same[k]))
            KN_TRY(kn_options_set(ctx, *out, same[k], kn_options_get(w->options, same[k])));
    KN_TRY(kn_options_set(ctx, *out, "calibrate", "none"));
out:
    json_decref(given);
    return status;
}

kn_status kn_jackknife_read(kn_ctx *ctx, const kn_centiles_work *w, kn_data **out)
{
    kn_options *o = NULL;
    kn_status status = fit_options(ctx, w, &o);
    if (status == KN_OK)
        status = kn_data_read(ctx, o, out);
    kn_options_free(o);
    return status;
}

/* True if the id is among the participants; index `likely` is tried first. */
static bool has_id(const kn_sample *p, const char *id, ptrdiff_t likely)
{
    if (strcmp(p->id[likely], id) == 0)
        return true;
    for (ptrdiff_t i = 0; i < p->n; i++)
        if (strcmp(p->id[i], id) == 0)
            return true;
    return false;
}

/* KN_ERR_DATA unless the data are the training sample: same responses, number of participants and
 * ids. */
static kn_status check_participants(kn_ctx *ctx, const kn_centiles_work *w, const kn_sample *p)
{
    const kn_model *m = w->model;
    const char *name = kn_data_responses_name(w->training);
    kn_status status = kn_space_compare(ctx, name, &p->space, &m->space);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t j = 0; p->space.name && m->space.name && j < m->space.T; j++)
        if (strcmp(p->space.name[j], m->space.name[j]) !=
            0) /* for arrays; files are matched by name */
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: response %td is '%s', but '%s' in the model; {bands=jackknife} "
                           "needs the responses of the training sample",
                           name, j + 1, p->space.name[j], m->space.name[j]);
    if (p->n != m->info.n_samples)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s has %td participants, but the model was fitted to %td; "
                       "{bands=jackknife} needs all of them",
                       name, p->n, m->info.n_samples);
    for (ptrdiff_t i = 0; m->ids && p->id && i < p->n; i++)
        if (!has_id(p, m->ids[i], i))
            return kn_fail(
                ctx, KN_ERR_DATA,
                "%s: training participant %s is missing; {bands=jackknife} needs all of them", name,
                m->ids[i]);
    return KN_OK;
}

/* KN_ERR_DATA if the mean of one of up to 64 responses differs from that of the training sample:
 * other maps of the same participants would pass check_participants(). */
static kn_status check_values(kn_ctx *ctx, const kn_centiles_work *w, const kn_sample *p)
{
    enum { LOOKED_AT = 64 };
    static const double SAME = 1e-3; /* in sd */
    const kn_scaling *y = &w->model->y;
    char name[1100];
    for (ptrdiff_t k = 0; k < y->n_kept; k += y->n_kept / LOOKED_AT + 1) {
        double sum = 0, n = 0;
        for (ptrdiff_t i = 0; i < p->n; i++) {
            double x = kn_view_at(p->Y, i, y->kept[k]);
            sum += isfinite(x) ? x : 0;
            n += isfinite(x);
        }
        if (fabs(sum / n - y->mean0[k]) <= SAME * y->sd0[k])
            continue;
        kn_response_name(&w->model->space, y->kept[k], name, sizeof name);
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: the mean of %s is %g, but was %g when the model was fitted; "
                       "{bands=jackknife} needs the same values",
                       kn_data_responses_name(w->training), name, sum / n, y->mean0[k]);
    }
    return KN_OK;
}

/* KN_ERR_DATA if the model has a given basis, which the refits would need and a model does not
 * keep. */
static kn_status check_basis(kn_ctx *ctx, const kn_model *m)
{
    bool given = !m->gp.pca && (!m->gp.own || m->info.basis_columns > 0);
    if (m->gp.P == 0 || !given)
        return KN_OK;
    return kn_fail(
        ctx, KN_ERR_DATA,
        "{bands=jackknife}: the model was fitted with a given basis, which its refits would need");
}

/* Fit a model to the rows of the data with use[i], without log output. *model is owned by the
 * caller. A cancelled fit is an error. */
static kn_status fit_subset(kn_ctx *ctx, kn_preloaded *preloaded, const bool *use,
                            const kn_options *options, kn_model **model)
{
    kn_data *subset = NULL;
    kn_status status = kn_data_subset_new(ctx, preloaded, use, &subset);
    bool was = kn_ctx_set_quiet(ctx, true);
    if (status == KN_OK)
        status = kn_fit(ctx, subset, options, model);
    kn_ctx_set_quiet(ctx, was);
    if (status == KN_OK)
        status = kn_check_cancel(ctx); /* a cancelled fit is not used */
    kn_data_free(subset);
    return status;
}

typedef struct folds {
    int K;
    int *fold;       /* per participant */
    bool *use;       /* per row of the covariates */
    kn_mat mean, of; /* n x S: mean over fits, mean of one fit */
} folds;

/* Assign the participants to KN_BANDS_FITS folds, keeping groups together, and allocate the mean
 * over fits, one fit and w->J (grid rows x S). KN_ERR_DATA with fewer than two groups. */
static kn_status deal_folds(kn_ctx *ctx, kn_centiles_work *w, const kn_sample *p, folds *f)
{
    kn_status status;
    f->K = KN_BANDS_FITS;
    KN_TRY(kn_alloc_int(ctx, p->n, &f->fold));
    KN_TRY(kn_alloc_bool(ctx, w->training->n, &f->use));
    KN_TRY(kn_folds_assign(ctx, p->n, p->grouping.group, p->order, w->model->seed, &f->K, f->fold));
    if (f->K < 2) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "{bands=jackknife} needs participants of at least two groups");
        goto out;
    }
    KN_TRY(kn_mat_new(ctx, w->grid.n, w->S, &f->mean));
    KN_TRY(kn_mat_new(ctx, w->grid.n, w->S, &f->of));
    KN_TRY(kn_mat_new(ctx, w->grid.n, w->S, &w->J));
out:
    return status;
}

/* Fit without fold k and add its curves to the mean and to w->J. */
static kn_status add_fold(kn_ctx *ctx, kn_centiles_work *w, kn_preloaded *preloaded,
                          const kn_options *options, folds *f, int k)
{
    kn_status status;
    kn_model *model = NULL;
    kn_mat raw = {0};
    const kn_sample *p = kn_preloaded_sample(preloaded);
    for (ptrdiff_t i = 0; i < w->training->n; i++)
        f->use[i] = false;
    for (ptrdiff_t i = 0; i < p->n; i++)
        f->use[p->covariate_row[i]] = f->fold[i] != k;
    KN_TRY(fit_subset(ctx, preloaded, f->use, options, &model));
    KN_TRY(kn_grid_design_input(ctx, &w->grid, w->grid.code, model, &raw));
    KN_TRY(kn_curves_mean(ctx, model, kn_view_cols(raw.data, raw.rows, raw.cols),
                          w->grid.site.without_site, w->response, f->of));
    kn_band_fold(f->mean, w->J, f->of, k + 1);
    kn_report_progress(ctx, "jackknife", k + 1, f->K, NAN);
out:
    kn_mat_clear(&raw);
    kn_model_free(model);
    return status;
}

kn_status kn_centiles_jackknife(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    kn_options *options = NULL;
    kn_preloaded *preloaded = NULL;
    folds f = {0};
    double beside = 3 * sizeof(double) * (double)w->grid.n * (double)w->S;
    KN_TRY(check_basis(ctx, w->model));
    KN_TRY(fit_options(ctx, w, &options));
    w->training->space = &w->model->space;
    KN_TRY(kn_preload_for_fit(ctx, w->training, options, beside, &preloaded));
    KN_TRY(check_participants(ctx, w, kn_preloaded_sample(preloaded)));
    KN_TRY(check_values(ctx, w, kn_preloaded_sample(preloaded)));
    KN_TRY(deal_folds(ctx, w, kn_preloaded_sample(preloaded), &f));
    kn_log(ctx, KN_LOG_INFO, "bands: %d fits, each without 1/%d of the training sample", f.K, f.K);
    for (int k = 0; k < f.K; k++)
        KN_TRY(add_fold(ctx, w, preloaded, options, &f, k));
    kn_band_jackknife(w->J, f.K);
    for (ptrdiff_t j = 0; j < w->S; j++)
        for (ptrdiff_t i = 0; i < w->grid.n; i++)
            kn_col(w->J, j)[i] += kn_curves_site_var(w->model, w->grid.site, w->kept[j]);
out:
    w->training->space = NULL; /* restore the borrowed data */
    kn_free(f.fold);
    kn_free(f.use);
    kn_mat_clear(&f.mean);
    kn_mat_clear(&f.of);
    kn_preloaded_free(preloaded);
    kn_options_free(options);
    return status;
}

/* ---- variance of a centile [METHOD 8f] --------------------------------------------------------
 */

static const double KURT_NORMAL = 2, KURT_MIN = 0.5; /* [METHOD 8c] */

double kn_band_kurt(const kn_shash_nodes *nodes, const kn_shash *shash, double n)
{
    double fourth = 0;
    if (!shash)
        return KURT_NORMAL;
    for (int k = 0; k < KN_SHASH_NODES; k++) { /* zt has mean 0 and variance 1 by the same nodes */
        double zt = shash->loc + shash->sc * sinh((nodes->asinh_u[k] + shash->a) / shash->b);
        fourth += nodes->w[k] * zt * zt * zt * zt;
    }
    return fmin(fmax(fourth - 1, KURT_MIN), fmax(n, KURT_NORMAL));
}

double kn_band_half(const kn_band_terms *b)
{
    return KN_BAND_NORMAL * sqrt(b->J + b->t * b->t * b->noise * b->kurt / (4 * b->n));
}

void kn_band_fold(kn_mat mean, kn_mat spread, kn_mat fold, int count)
{
    for (ptrdiff_t j = 0; j < mean.cols; j++)
        for (ptrdiff_t i = 0; i < mean.rows; i++) {
            double *m = kn_col(mean, j) + i, x = kn_at(fold, i, j), before = x - *m;
            *m += before / count;
            kn_col(spread, j)[i] += before * (x - *m);
        }
}

void kn_band_jackknife(kn_mat spread, int K)
{
    for (ptrdiff_t j = 0; j < spread.cols; j++)
        for (ptrdiff_t i = 0; i < spread.rows; i++)
            kn_col(spread, j)[i] *= (K - 1.0) / K;
}
