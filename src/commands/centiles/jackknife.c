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
#include "commands/cv/preload.h"
#include "commands/score/scores.h"
#include "gp/assign_folds.h"

/* Makes the fit options stored in the model; without calibration, which does not move the mean. */
static kn_status fit_options(kn_ctx *ctx, const kn_centiles_work *w, kn_options **out)
{
    static const char *const same[] = {"covariates", "responses", "threads", "memory", "scratch"};
    kn_status status;
    const char *key;
    json_t *value, *given = NULL;
    if (w->model->shareable)
        return kn_fail(
            ctx, KN_ERR_DATA,
            "{bands=jackknife}: a model to give away does not keep all options of its fit "
            "(use the model that it was made from)");
    if (w->model->options)
        given = json_loads(w->model->options, 0, NULL);
    if (!given)
        return kn_fail(
            ctx, KN_ERR_DATA,
            "{bands=jackknife}: the model does not know with which options it was fitted "
            "(fit it again)");
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

static bool has_id(const kn_sample *p, const char *id, ptrdiff_t likely)
{
    if (strcmp(p->id[likely], id) == 0)
        return true;
    for (ptrdiff_t i = 0; i < p->n; i++)
        if (strcmp(p->id[i], id) == 0)
            return true;
    return false;
}

/* Checks that the data are the training sample: responses, number of participants, ids. */
static kn_status check_people(kn_ctx *ctx, const kn_centiles_work *w, const kn_sample *p)
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
                           "%s: response %td is '%s', expected '%s' ({bands=jackknife} needs those "
                           "that the model was fitted to)",
                           name, j + 1, p->space.name[j], m->space.name[j]);
    if (p->n != m->info.n_samples)
        return kn_fail(
            ctx, KN_ERR_DATA,
            "%s: %td people, the model was fitted to %td ({bands=jackknife} needs these)", name,
            p->n, m->info.n_samples);
    for (ptrdiff_t i = 0; m->ids && p->id && i < p->n; i++)
        if (!has_id(p, m->ids[i], i))
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: %s is not there, to whom the model was fitted ({bands=jackknife} "
                           "needs all of them)",
                           name, m->ids[i]);
    return KN_OK;
}

/* Checks the means of up to 64 responses against the model, since other maps of the same
 * participants would pass check_people. */
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
                       "%s: the mean of %s is %g, and was %g when the model was fitted "
                       "({bands=jackknife} needs the same values)",
                       kn_data_responses_name(w->training), name, sum / n, y->mean0[k]);
    }
    return KN_OK;
}

static kn_status check_basis(kn_ctx *ctx, const kn_model *m)
{
    bool given = !m->gp.pca && (!m->gp.own || m->info.basis_columns > 0);
    if (m->gp.P == 0 || !given)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_DATA,
                   "{bands=jackknife}: the model was fitted with a basis of its own, which fits "
                   "without some people would have to know");
}

/* Fits the rows of `use` without log output. *model is owned by the caller. */
static kn_status fit_some(kn_ctx *ctx, kn_preloaded *held, const bool *use,
                          const kn_options *options, kn_model **model)
{
    kn_data *some = NULL;
    kn_status status = kn_data_some(ctx, held, use, &some);
    bool was = kn_ctx_set_quiet(ctx, true);
    if (status == KN_OK)
        status = kn_fit(ctx, some, options, model);
    kn_ctx_set_quiet(ctx, was);
    if (status == KN_OK)
        status = kn_check_cancel(ctx); /* a cancelled fit is not used */
    kn_data_free(some);
    return status;
}

typedef struct folds {
    int K;
    int *fold;       /* per participant */
    bool *use;       /* per row of the covariates */
    kn_mat mean, of; /* n x S: mean over fits, mean of one fit */
} folds;

static kn_status prepare(kn_ctx *ctx, kn_centiles_work *w, const kn_sample *p, folds *f)
{
    kn_status status;
    void *memory = NULL;
    f->K = KN_BANDS_FITS;
    KN_TRY(kn_alloc(ctx, p->n, sizeof *f->fold, &memory));
    f->fold = memory;
    KN_TRY(kn_alloc(ctx, w->training->n, sizeof *f->use, &memory));
    f->use = memory;
    KN_TRY(kn_folds_deal(ctx, p->n, p->grouping.group, w->model->seed, &f->K, f->fold));
    if (f->K < 2) {
        status = kn_fail(ctx, KN_ERR_DATA, "{bands=jackknife} needs people of two groups or more");
        goto out;
    }
    KN_TRY(kn_mat_new(ctx, w->grid.n, w->S, &f->mean));
    KN_TRY(kn_mat_new(ctx, w->grid.n, w->S, &f->of));
    KN_TRY(kn_mat_new(ctx, w->grid.n, w->S, &w->J));
out:
    return status;
}

/* Fits without fold k and adds its curves to mean and J. */
static kn_status one_fold(kn_ctx *ctx, kn_centiles_work *w, kn_preloaded *held,
                          const kn_options *options, folds *f, int k)
{
    kn_status status;
    kn_model *model = NULL;
    kn_mat raw = {0};
    const kn_sample *p = kn_preloaded_sample(held);
    for (ptrdiff_t i = 0; i < w->training->n; i++)
        f->use[i] = false;
    for (ptrdiff_t i = 0; i < p->n; i++)
        f->use[p->covariate_row[i]] = f->fold[i] != k;
    KN_TRY(fit_some(ctx, held, f->use, options, &model));
    KN_TRY(kn_grid_raw(ctx, &w->grid, w->grid.code, model, &raw));
    KN_TRY(kn_curves_mean(ctx, model, kn_view_cols(raw.data, raw.rows, raw.cols),
                          w->grid.site.alone, w->response, f->of));
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
    kn_preloaded *held = NULL;
    folds f = {0};
    double beside = 3 * sizeof(double) * (double)w->grid.n * (double)w->S;
    KN_TRY(check_basis(ctx, w->model));
    KN_TRY(fit_options(ctx, w, &options));
    w->training->space = &w->model->space;
    KN_TRY(kn_preload_for_fit(ctx, w->training, options, beside, &held));
    KN_TRY(check_people(ctx, w, kn_preloaded_sample(held)));
    KN_TRY(check_values(ctx, w, kn_preloaded_sample(held)));
    KN_TRY(prepare(ctx, w, kn_preloaded_sample(held), &f));
    kn_log(ctx, KN_LOG_INFO, "bands: %d fits, each without one part in %d of the training people",
           f.K, f.K);
    for (int k = 0; k < f.K; k++)
        KN_TRY(one_fold(ctx, w, held, options, &f, k));
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
    kn_preloaded_free(held);
    kn_options_free(options);
    return status;
}
