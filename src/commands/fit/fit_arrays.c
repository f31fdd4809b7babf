/* kn_fit_arrays: checks the arguments, standardises, calls the method's fit, then
 * estimates noise, calibration, reference and site effects from cross-validated maps. Code below
 * this file relies on checked arguments. */
#include <math.h>
#include <string.h>

#include "base/machine.h"
#include "base/mpi/comm.h"
#include "commands/common/check_arguments.h"
#include "commands/fit/fit.h"
#include "commands/fit/missing_report.h"
#include "cov/additive.h"
#include "cov/indicators.h"
#include "data/canonical_order.h"
#include "data/scaling.h"
#include "data/table/text_list.h"
#include "gp/assign_folds.h"
#include "gp/method.h"
#include "gp/methods/fit_steps.h"
#include "gp/missing/completion.h"
#include "gp/predict/noise.h"
#include "gp/predict/slope.h"
#include "norm/reference/loo.h"
#include "norm/sites/learn_site_prior.h"

static const double LITTLE_MISSING = 0.05; /* share of all cells */

/* KN_ERR_ARGUMENT if start values are given and their number or range is wrong. */
static kn_status check_theta(kn_ctx *ctx, const kn_settings *s, const kn_spec *spec)
{
    if (!s->theta_start)
        return KN_OK;
    int n = kn_spec_n_theta(spec);
    if (s->n_theta_start != n)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "theta has %d values, these kernels have %d parameters", s->n_theta_start,
                       n);
    for (int i = 0; i < n; i++)
        if (!(s->theta_start[i] >= kn_theta_lower && s->theta_start[i] <= kn_theta_upper))
            return kn_fail(ctx, KN_ERR_ARGUMENT, "theta value %d is %g, but must be %g to %g",
                           i + 1, s->theta_start[i], kn_theta_lower, kn_theta_upper);
    return KN_OK;
}

/* Check the shapes of X (N x F), Y (N x T) and a given basis (T x columns). KN_ERR_SHAPE,
 * KN_ERR_DATA or KN_ERR_ARGUMENT if they do not fit. */
static kn_status check_data(kn_ctx *ctx, kn_view X, kn_view Y, const kn_settings *s)
{
    kn_status status;
    KN_TRY(kn_check_view(ctx, X, "covariates"));
    KN_TRY(kn_check_view(ctx, Y, "responses"));
    if (X.rows != Y.rows)
        return kn_fail(ctx, KN_ERR_SHAPE, "covariates have %td rows, but responses have %td",
                       X.rows, Y.rows);
    if (X.rows < KN_MIN_SAMPLES)
        return kn_fail(ctx, KN_ERR_DATA, "%td participants are too few; at least %d are needed",
                       X.rows, KN_MIN_SAMPLES);
    if (s->basis_view.data) {
        KN_TRY(kn_check_view(ctx, s->basis_view, "basis"));
        if (s->basis_view.rows != Y.cols)
            return kn_fail(ctx, KN_ERR_SHAPE,
                           "the basis has %td rows, but must have %td, one per response",
                           s->basis_view.rows, Y.cols);
        if (s->basis_view.cols > Y.cols)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "the basis has %td columns, but %td responses allow at most as many",
                           s->basis_view.cols, Y.cols);
        if (s->components > s->basis_view.cols)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "{components} is %d, but the given basis has %td columns", s->components,
                           s->basis_view.cols);
        if (s->components && s->basis_axes == KN_AXES_GIVEN && s->components != s->basis_view.cols)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "{components} is %d, but with {basis_axes=given} the components are the "
                           "%td columns of the basis; omit {components}",
                           s->components, s->basis_view.cols);
    }
out:
    return status;
}

/* Set the rank of R0: as given, or with {rank=auto} where it pays and memory holds two N x rank
 * matrices. Features of the additive kernel are exact except for se terms, and pay at every N. */
static void set_rank(const kn_ctx *ctx, const kn_settings *s, ptrdiff_t N, kn_spec *spec)
{
    ptrdiff_t from = spec->additive ? 1 : KN_RANK_FROM;
    kn_features features = kn_features_of(&spec->sample);
    ptrdiff_t block = kn_indicators_of(&features, KN_INDICATORS_FROM).count;
    ptrdiff_t rank = kn_auto_rank(N, spec->additive, block);
    double limit = (double)kn_memory(ctx) / (16.0 * (double)N);
    if (!kn_method_of(s->method, (kn_noise)s->noise)->low_rank || s->rank == KN_RANK_FULL)
        return;
    spec->rank_auto = s->rank == KN_RANK_AUTO;
    if (!spec->rank_auto)
        spec->rank = s->rank < N ? s->rank : N;
    else if (N >= from)
        spec->rank = limit < (double)rank ? (ptrdiff_t)limit : rank;
}

/* Make the covariance specification of the settings for design x. Errors of
 * kn_check_covariances(). */
static kn_status make_spec(kn_ctx *ctx, const kn_settings *s, const kn_design *x, kn_spec *spec)
{
    kn_status status;
    *spec = (kn_spec){.noise = s->noise == KN_NOISE_AUTO ? KN_NOISE_STRUCTURED : (kn_noise)s->noise,
                      .likelihood = (kn_likelihood)s->likelihood,
                      .task_scale = (kn_task_scale)s->task_scale,
                      .identity = kn_method_of(s->method, (kn_noise)s->noise)->identity,
                      .additive = kn_settings_additive(s)};
    KN_TRY(kn_check_covariances(ctx, s, x->F, &spec->sample, &spec->task));
    if (spec->additive)
        KN_TRY(kn_cov_of_design(ctx, x, &spec->sample));
    if (kn_method_find(s->method)->iso_term)
        spec->sample = kn_cov_between(&spec->sample); /* the method handles the iso term */
out:
    return status;
}

/* *order (cv->n) = positions in cv->sample of its participants, in the canonical order row_order of
 * all N. Owned by the caller. */
static kn_status order_subset(kn_ctx *ctx, const kn_gp_maps *cv, ptrdiff_t N,
                              const ptrdiff_t *row_order, ptrdiff_t **order)
{
    kn_status status;
    ptrdiff_t *place = NULL, n = 0;
    KN_TRY(kn_alloc_i(ctx, cv->n, order));
    KN_TRY(kn_alloc_i(ctx, N, &place));
    for (ptrdiff_t i = 0; i < cv->n; i++)
        place[cv->sample[i]] = i + 1;
    for (ptrdiff_t k = 0; k < N; k++)
        if (place[row_order[k]] > 0)
            (*order)[n++] = place[row_order[k]] - 1;
out:
    kn_free(place);
    return status;
}

/* Assign folds to the subset of the N participants that the maps cover, into fold (cv->n) and
 * *folds; members of a group share a fold. */
static kn_status assign_folds_of_subset(kn_ctx *ctx, const kn_gp_maps *cv, ptrdiff_t N,
                                        const kn_settings *s, int *folds, int *fold)
{
    kn_status status = KN_OK;
    const int *groups = s->groups;
    ptrdiff_t *order = NULL;
    int *own = NULL;
    bool several = false;
    if (groups) {
        KN_TRY(kn_alloc_int(ctx, cv->n, &own));
        for (ptrdiff_t i = 0; i < cv->n; i++) {
            own[i] = groups[cv->sample[i]];
            several = several || own[i] != own[0];
        }
    }
    if (s->row_order)
        KN_TRY(order_subset(ctx, cv, N, s->row_order, &order));
    KN_TRY(kn_folds_assign(ctx, cv->n, several ? own : NULL, order, s->seed, folds, fold));
out:
    kn_free(order);
    kn_free(own);
    return status;
}

/* Data of the fit: covariates in original units, responses. */
typedef struct fitted {
    kn_view X;
    kn_responses Y;
} fitted;

/* Site of every participant in X (N ints, owned by the caller), 0 .. S - 1 or -1; *site is NULL if
 * the model has no sites. */
static kn_status find_sites(kn_ctx *ctx, const kn_model *m, kn_view X, int **site)
{
    *site = NULL;
    if (m->batch.S == 0)
        return KN_OK;
    kn_status status = kn_alloc_int(ctx, X.rows, site);
    if (status == KN_OK)
        kn_site_levels_sites(&m->batch, X, *site);
    return status;
}

/* Add leave-one-out statistics to the reference. site (N): sites of the participants, or NULL.
 * Collective. */
static kn_status loo_reference(kn_ctx *ctx, const fitted *f, const int *site, kn_model *m)
{
    kn_status status;
    double *shift = NULL;
    kn_loo_job job = {.gp = &m->gp, .Y = &f->Y, .calibration = &m->calibration};
    KN_TRY(kn_calibration_columns(ctx, &m->calibration, &m->x, f->X, &job.D));
    if (site && m->calibration.S > 0) {
        KN_TRY(kn_alloc_d(ctx, f->X.rows, &shift));
        kn_calibration_shift(&m->calibration, site, f->X.rows, shift);
        job.shift = shift;
    }
    KN_TRY(kn_reference_loo(ctx, &job, &m->reference, &m->info.loo));
out:
    kn_free(shift);
    kn_mat_clear(&job.D);
    return status;
}

/* True if two of n participants share a site; S: number of sites, site[i] = -1: none. */
static bool any_site_shared(const int *site, ptrdiff_t n, ptrdiff_t S)
{
    if (n > S)
        return true; /* pigeonhole; participants without a site are few */
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t k = 0; k < i; k++)
            if (site[i] >= 0 && site[i] == site[k])
                return true;
    return false;
}

/* Learn the site prior from maps predicted without site effect. cv is modified and of no further
 * use. site, x: of the participants in the maps. Collective. */
static kn_status learn_sites(kn_ctx *ctx, kn_gp_maps *cv, const int *site,
                             const kn_noise_scale_covariates *x, kn_model *m)
{
    kn_status status = KN_OK;
    kn_sites_job job = {.cv = cv,
                        .site = site,
                        .S = (int)m->batch.S,
                        .calibration = &m->calibration,
                        .seed = m->seed};
    if (m->batch.M == 0 || !site)
        return KN_OK;
    if (!any_site_shared(site, cv->n, m->batch.S)) {
        kn_log(ctx, KN_LOG_WARNING,
               "no two participants share a site of {batch}, so between-site variance is unknown "
               "and the model cannot be adapted");
        return KN_OK;
    }
    kn_gp_maps_set_without_site(cv);
    if (m->calibration.columns.F > 0) {
        KN_TRY(kn_mat_new(ctx, cv->n, m->calibration.columns.F, &job.D));
        kn_noise_scale_columns_apply(&m->calibration.columns, x, job.D);
    }
    KN_TRY(kn_sites_make(ctx, &job, &m->sites));
out:
    kn_mat_clear(&job.D);
    return status;
}

/* Make calibration, reference sample, shrinkage factors, noise variances and site prior from the
 * cross-validated maps. Collective. */
static kn_status make_reference(kn_ctx *ctx, kn_gp_maps *cv, const fitted *f, const kn_settings *s,
                                kn_model *m)
{
    kn_status status;
    const kn_responses *Y = &f->Y;
    kn_calibration_covariates x = {0};
    int *fold = NULL, *site = NULL;
    kn_noise_builder *maker = NULL;
    int folds = KN_REFERENCE_FOLDS;
    kn_reference_job job = {.gp = &m->gp,
                            .cv = cv,
                            .fold = cv->fold,
                            .folds = cv->folds,
                            .top = m->reference.top,
                            .keep_z = kn_reference_keeps_z(cv->n, m->gp.T),
                            .order = s->table_order,
                            .group = s->groups,
                            .seed = m->seed,
                            .calibrate = (kn_calibrate)s->calibrate,
                            .x = &x.x,
                            .S = m->batch.S,
                            .calibration = &m->calibration,
                            .null = &m->null};
    KN_TRY(kn_calibration_covariates_new(ctx, &m->x, f->X, cv->sample, cv->n, &x));
    KN_TRY(find_sites(ctx, m, f->X, &site));
    for (ptrdiff_t i = 0; site && cv->sample && i < cv->n; i++)
        site[i] = site[cv->sample[i]]; /* in place, since cv->sample ascends; full-length site is
                                          not needed later */
    job.site = m->batch.S > 1 ? site : NULL;
    if (cv->sample) {
        KN_TRY(kn_alloc_int(ctx, cv->n, &fold));
        KN_TRY(assign_folds_of_subset(ctx, cv, f->X.rows, s, &folds, fold));
        job.fold = fold;
        job.folds = folds;
    }
    if (m->gp.spec.additive && m->gp.P > 0)
        KN_TRY(kn_gp_set_slope(ctx, &m->gp, cv));
    KN_TRY(kn_noise_builder_new(ctx, &m->gp, Y, cv, &maker));
    job.noise = maker;
    KN_TRY(kn_reference_make(ctx, &job, &m->reference, &m->info.cv));
    kn_noise_builder_free(maker);
    maker = NULL;
    KN_TRY(learn_sites(ctx, cv, site, &x.x, m));
    /* Leave-one-out is skipped for subsets, where it costs too much, and where more than
     * LITTLE_MISSING of the cells were imputed, since it is then too optimistic; with methods that
     * fit every response alone as soon as any cell was imputed. */
    if (!cv->sample &&
        m->info.missing.proportion <= (m->gp.method->independent_responses ? 0 : LITTLE_MISSING))
        KN_TRY(loo_reference(ctx, f, site, m));
out:
    kn_calibration_covariates_clear(&x);
    kn_noise_builder_free(maker);
    kn_free(fold);
    kn_free(site);
    return status;
}

/* Set noise and reference, from cross-validated maps if there are any. If the user cancels here and
 * asked to keep the best fit, the model stays valid: it has no reference, and its noise variance
 * comes from the training residuals. */
static kn_status finish_model(kn_ctx *ctx, kn_gp_maps *cv, const fitted *f, const kn_settings *s,
                              kn_model *m)
{
    kn_status status = KN_OK;
    double t0 = kn_clock(), top = m->reference.top;
    if (cv->gp)
        status = make_reference(ctx, cv, f, s, m);
    if (status == KN_ERR_CANCELLED && kn_cancel_keeps_best(ctx)) {
        m->info.stop = KN_STOP_CANCELLED;
        m->reference.top = top;
        if (m->reference.n == 0)
            kn_calibration_clear(&m->calibration);
        if (m->reference.n == 0)
            kn_null_calibration_clear(&m->null);
        if (m->reference.n == 0)
            m->info.cv = (kn_cv_summary){0};
        status = KN_OK;
    }
    if (status == KN_OK && m->info.cv.folds == 0)
        status = kn_gp_set_noise(ctx, &m->gp, &f->Y, NULL);
    for (ptrdiff_t j = 0; status == KN_OK && j < m->gp.T; j++)
        m->info.noise_variance += m->gp.noise[j] / (double)m->gp.T;
    m->info.converged = m->info.stop == KN_STOP_CONVERGED;
    m->info.seconds_reference += kn_clock() - t0;
    return status;
}

/* Warn of covariates that are constant and not used. names: of all covariates, or NULL. */
static void warn_of_constants(kn_ctx *ctx, const kn_design *x, const char *const *names)
{
    kn_listing list = {0};
    for (ptrdiff_t c = 0; names && c < x->C; c++)
        if (x->column[c].constant)
            kn_listing_add(&list, names[c]);
    if (x->n_constant > 0)
        kn_log(ctx, KN_LOG_WARNING, "constant covariates are not used, %td of %td%s%s",
               x->n_constant, x->C, names ? ": " : "", list.text);
}

/* Allocate the model, set up its design, sites and scaling, and make the standardised design Xs (N
 * x F). Both are owned by the caller, after a failure too. KN_ERR_DATA if no response can be
 * modelled. */
static kn_status begin_model(kn_ctx *ctx, kn_view X, kn_view Y, const kn_settings *s, kn_mat *Xs,
                             kn_model **out)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_alloc(ctx, 1, sizeof **out, &memory));
    kn_model *m = *out = memory;
    m->seed = s->seed;
    m->folds = s->folds;
    m->reference.top = s->top;
    m->info = (kn_fit_info){.method = kn_method_of(s->method, (kn_noise)s->noise),
                            .noise = (kn_noise)s->noise,
                            .likelihood = (kn_likelihood)s->likelihood,
                            .n_samples = X.rows,
                            .n_covariates = X.cols,
                            .n_responses = Y.cols,
                            .rho = NAN,
                            .length = NAN};
    kn_design_options design = s->design ? *s->design : (kn_design_options){.quadratic = -1};
    design.additive = kn_settings_additive(s);
    design.standardise = s->standardise;
    KN_TRY(kn_design_new(ctx, X, &design, &m->x));
    KN_TRY(kn_site_levels_new(ctx, &m->x, X, &m->batch));
    KN_TRY(kn_mat_new(ctx, X.rows, m->x.F, Xs));
    KN_TRY(kn_design_apply(ctx, &m->x, X, false, *Xs, NULL));
    KN_TRY((s->missing_responses == KN_RESPONSES_FILL
                ? kn_scaling_observed
                : kn_scaling_new)(ctx, Y, s->standardise, &m->y));
    m->info.n_constant_x = m->x.n_constant;
    m->info.n_left_out = m->y.n_all - m->y.n_kept;
    if (m->y.n_kept == 0) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "all %td responses are constant or %s; there is nothing to model", Y.cols,
                         m->y.n_few > 0 ? "have fewer than 10 values" : "not finite");
        goto out;
    }
    if (m->info.n_left_out > 0)
        kn_log(ctx, KN_LOG_WARNING, "responses that are constant or %s are excluded, %td of %td",
               m->y.n_few > 0 ? "have fewer than 10 values" : "not finite", m->info.n_left_out,
               Y.cols);
    KN_TRY(kn_missing_check(ctx, Y, *Xs, m));
    warn_of_constants(ctx, &m->x, design.names);
out:
    return status;
}

/* Copy of the design Xs (N x F) without site effect, owned by the caller; none if the model has no
 * batch effect. */
static kn_status copy_without_site(kn_ctx *ctx, const kn_model *m, kn_mat Xs, kn_mat *out)
{
    *out = kn_mat_none();
    if (m->batch.M == 0)
        return KN_OK;
    kn_status status = kn_mat_copy(ctx, Xs, out);
    if (status == KN_OK)
        kn_design_set_without_site(&m->x, NULL, *out);
    return status;
}

/* Options of the Gaussian process from the settings. lockstep: all ranks search with the same
 * steps; cv receives the cross-validated maps. */
static kn_gp_options engine_options(const kn_settings *s, const kn_design *design, bool lockstep,
                                    kn_gp_maps *cv)
{
    double deadline = s->max_seconds > 0 ? kn_clock() + s->max_seconds : 0;
    return (kn_gp_options){.components = s->components,
                           .basis = s->basis_view,
                           .axes_given = s->basis_axes == KN_AXES_GIVEN,
                           .folds = s->folds,
                           .groups = s->groups,
                           .row_order = s->row_order,
                           .plain = s->plain,
                           .shrinkage = s->shrinkage,
                           .design = design,
                           .tasks = {.on = (kn_on)s->on,
                                     .inducing = (kn_inducing)s->inducing,
                                     .widths = (kn_widths)s->widths,
                                     .latent = s->latent,
                                     .points = s->inducing_points,
                                     .smooth = s->smooth_columns,
                                     .smooth_text = s->smooth},
                           .noise_rank = s->noise_rank,
                           .ppca = s->ppca,
                           .iso_term = kn_method_find(s->method)->iso_term &&
                                       strstr(s->sample_kernel, "iso") != NULL,
                           .cv = cv,
                           .search = {.optimiser = (kn_optimiser)s->optimiser,
                                      .restarts = s->restarts,
                                      .seed = s->seed,
                                      .row_order = s->row_order,
                                      .limits = {.evals_left = s->max_evals, .deadline = deadline},
                                      .optimise = s->max_evals != 0,
                                      .rho = s->rho,
                                      .length = s->length,
                                      .theta = s->theta_start,
                                      .lockstep = lockstep}};
}

/* Make the groups of rows that share noise (N), if the model has such a term (`modelled`). Groups
 * that carry no information (kn_groups_identify_gamma) are dropped from the settings. */
static kn_status make_groups(kn_ctx *ctx, kn_settings *s, ptrdiff_t N, bool modelled,
                             kn_groups *out)
{
    kn_status status = KN_OK;
    if (!s->groups)
        return KN_OK;
    KN_TRY(kn_groups_new(ctx, N, s->groups, out));
    bool tell = kn_groups_identify_gamma(out);
    if (!tell)
        s->groups = NULL;
    if (!tell || !modelled)
        kn_groups_clear(out);
out:
    return status;
}

/* *key (T) = keys of the responses if samples of them may be drawn by key, owned by the caller;
 * NULL: they are drawn by index. Y->key is set to it. Collective. */
static kn_status make_response_keys(kn_ctx *ctx, const kn_settings *s, kn_responses *Y,
                                    uint64_t **key)
{
    void *memory;
    *key = NULL;
    if (!s->row_order || !s->any_response_order || Y->T <= KN_RESPONSES_DRAWN_MIN)
        return KN_OK;
    kn_status status = kn_alloc(ctx, Y->T, sizeof **key, &memory);
    *key = memory;
    if (status == KN_OK)
        status = kn_response_keys(ctx, Y, s->row_order, *key);
    Y->key = *key;
    return status;
}

/* State of one fit. */
typedef struct fit_job {
    kn_ctx *ctx;
    kn_view X, Y;
    kn_settings s;
    kn_mat Xs;
    kn_model *m;
    bool whole; /* m is complete */
} fit_job;

/* Fit the model to the standardised data; self: a fit_job, as void * so that kn_comm_on_root() can
 * call it. The model in it is complete only if `whole` is set. */
static kn_status fit_scaled(void *self)
{
    fit_job *b = self;
    kn_ctx *ctx = b->ctx;
    kn_status status;
    kn_spec spec;
    kn_mat X_without_site = {0};
    kn_groups groups = {0};
    kn_model *m = b->m;
    kn_gp_maps cv = {0};
    kn_completion completion = {0};
    kn_settings *s = &b->s;
    uint64_t *key = NULL;
    bool lockstep = m->info.method->same_steps && kn_ctx_comm(ctx)->size > 1;
    KN_TRY(make_spec(ctx, s, &m->x, &spec));
    KN_TRY(check_theta(ctx, s, &spec));
    set_rank(ctx, s, b->X.rows, &spec);
    KN_TRY(make_groups(ctx, s, b->X.rows, spec.additive && spec.noise == KN_NOISE_STRUCTURED,
                       &groups));
    m->grouped = s->groups != NULL;
    kn_responses responses = kn_responses_of(b->Y, &m->y);
    KN_TRY(make_response_keys(ctx, s, &responses, &key));
    responses.side = (kn_product_side)s->product_side;
    kn_gp_options go = engine_options(s, &m->x, lockstep, &cv);
    KN_TRY(copy_without_site(ctx, m, b->Xs, &X_without_site));
    kn_fit_problem problem = {.X = b->Xs,
                              .X_without_site = X_without_site,
                              .Y = responses,
                              .spec = spec,
                              .groups = groups,
                              .options = &go};
    status = m->y.n ? kn_completion_new(ctx, &problem, &m->y, s->standardise, &m->info, &completion)
                    : KN_OK;
    if (status == KN_OK && m->y.n)
        status = kn_missing_record_imputation(ctx, &completion, b->Xs, m);
    if (status == KN_OK)
        status = m->info.method->fit(ctx, &problem, &m->gp, &m->info);
    responses = problem.Y;
    kn_fit_problem_clear(&problem);
    KN_TRY(status);
    if (m->grouped && m->gp.latent.groups.n == 0)
        kn_log(ctx, KN_LOG_INFO,
               "this model has no noise shared within groups; groups only stay whole in folds");
    KN_TRY(finish_model(ctx, &cv, &(fitted){b->X, responses}, s, m));
    kn_mat_clear(&m->gp.span);
    m->timed = true;
    kn_model_finalise(m);
    b->whole = true;
out:
    kn_free(key);
    kn_groups_clear(&groups);
    kn_gp_maps_clear(&cv);
    kn_completion_clear(&completion);
    kn_mat_clear(&X_without_site);
    return status;
}

kn_status kn_fit_arrays(kn_ctx *ctx, kn_view X, kn_view Y, const kn_settings *settings,
                        kn_model **model)
{
    kn_status status;
    fit_job b = {.ctx = ctx, .X = X, .Y = Y};
    *model = NULL;
    kn_settings_init(&b.s);
    b.s = settings ? *settings : b.s;
    kn_settings_apply_defaults(&b.s);
    KN_TRY(kn_check_fit(ctx, &b.s));
    KN_TRY(check_data(ctx, X, Y, &b.s));
    KN_TRY(begin_model(ctx, X, Y, &b.s, &b.Xs, &b.m));
    /* Missing cells are imputed by root alone. */
    KN_TRY(b.m->y.n ? kn_comm_on_root(ctx, "fit", fit_scaled, &b) : fit_scaled(&b));
    if (b.whole) {
        *model = b.m;
        b.m = NULL;
    }
out:
    kn_mat_clear(&b.Xs);
    kn_model_free(b.m);
    return status;
}
