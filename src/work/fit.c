/* kn_fit: every argument is checked here, once; below this line they are right. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "gp/cv_deal.h"
#include "gp/method.h"
#include "gp/noise.h"
#include "la/la.h"
#include "model/file.h"
#include "work/check.h"
#include "work/fit.h"

void kn_fit_options_init_sized(kn_fit_options *options, size_t size)
{
    kn_fit_options o = {.size = size,
                        .restarts = 0,
                        .max_evals = -1,
                        .rho = NAN,
                        .length = NAN,
                        .standardise = 1,
                        .folds = 10,
                        .seed = 1,
                        .top = 0.05};
    memcpy(options, &o, size < sizeof o ? size : sizeof o);
}

/* A caller compiled against an older header has a shorter struct: what it lacks gets defaults. */
static kn_status read_options(kn_ctx *ctx, const kn_fit_options *given, kn_fit_options *o)
{
    kn_fit_options_init(o);
    if (!given)
        return KN_OK;
    if (given->size < offsetof(kn_fit_options, noise) || given->size > sizeof *o)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "fit options of %zu bytes, expected at most %zu: call kn_fit_options_init",
                       given->size, sizeof *o);
    memcpy(o, given, given->size);
    return KN_OK;
}

static kn_status check_enums(kn_ctx *ctx, const kn_fit_options *o)
{
    struct {
        const char *name;
        int value, last;
    } e[] = {{"method", (int)o->method, kn_method_count() - 1},
             {"noise", (int)o->noise, KN_NOISE_ISO},
             {"likelihood", (int)o->likelihood, KN_PAPER},
             {"optimiser", (int)o->optimiser, KN_LBFGS},
             {"task_scale", (int)o->task_scale, KN_TASK_SCALE_SQRTN}};
    for (size_t i = 0; i < sizeof e / sizeof *e; i++)
        if (e[i].value < 0 || e[i].value > e[i].last)
            return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is %d, expected 0 to %d", e[i].name,
                           e[i].value, e[i].last);
    return KN_OK;
}

static bool is_set(const void *self, const char *key)
{
    const kn_fit_options *o = self;
    const struct {
        const char *key;
        bool set;
    } option[] = {
        {"components", o->components != 0},
        {"basis", o->basis.data != NULL},
        {"noise", o->noise != KN_NOISE_STRUCTURED},
        {"likelihood", o->likelihood != KN_EXACT},
        {"task_kernel", o->task_kernel != 0},
        {"task_scale", o->task_scale != KN_TASK_SCALE_NONE},
        {"optimiser", o->optimiser != KN_NESTED},
        {"theta", o->theta != NULL},
        {"restarts", o->restarts > 0},
        {"rank", o->rank > 0},
        {"rho", isfinite(o->rho)},
        {"length", isfinite(o->length)},
        {"plain", o->plain != 0},
    };
    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        if (strcmp(key, option[i].key) == 0)
            return option[i].set;
    return false;
}

void kn_settle_noise(kn_fit_options *o)
{
    const kn_method *method = kn_method_at((int)o->method);
    if (method && method->iso_only)
        o->noise = KN_NOISE_ISO;
}

/* The header's bits as a covariance; 0 stands for what is said otherwise. */
static kn_status cov_of_bits(kn_ctx *ctx, unsigned bits, const char *otherwise, ptrdiff_t F,
                             kn_cov *out)
{
    static const char *const texts[] = {"",    "linear",     "se",     "linear+se",
                                        "iso", "linear+iso", "se+iso", "linear+se+iso"};
    const char *text = bits == KN_KERNEL_DEFAULT ? otherwise : "none of them";
    if (bits > 0 && bits < sizeof texts / sizeof *texts)
        text = texts[bits];
    return kn_cov_parse(ctx, text, F, out);
}

kn_status kn_fit_covariances(kn_ctx *ctx, const kn_fit_options *o, ptrdiff_t F, kn_cov *sample,
                             kn_cov *task)
{
    bool iso = o->noise == KN_NOISE_ISO;
    kn_status status;
    KN_TRY(cov_of_bits(ctx, o->sample_kernel, iso ? "linear+se+iso" : "linear+se", F, sample));
    KN_TRY(cov_of_bits(ctx, o->task_kernel, "linear+iso", KN_ALL_COLUMNS, task));
out:
    return status;
}

static kn_status check_covariances(kn_ctx *ctx, const kn_fit_options *o)
{
    char names[128];
    kn_cov sample, task;
    kn_status status = kn_fit_covariances(ctx, o, KN_ALL_COLUMNS, &sample, &task);
    if (status != KN_OK)
        return status;
    if (sample.n_between == 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "the sample kernel has neither %s: covariates would have no say",
                       kn_kernel_list(true, " nor ", " nor ", names, sizeof names));
    if (o->noise != KN_NOISE_ISO && sample.n > sample.n_between)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "structured noise takes sample kernels %s; %s is what its noise already "
                       "models",
                       kn_kernel_list(true, ", ", " and ", names, sizeof names),
                       sample.term[sample.n_between].kernel->name);
    return KN_OK;
}

kn_status kn_check_fit_options(kn_ctx *ctx, const kn_fit_options *o)
{
    kn_status status = check_enums(ctx, o);
    const kn_method *method = kn_method_at((int)o->method);
    if (status == KN_OK)
        status = kn_method_check(ctx, method, is_set, o);
    if (status == KN_OK)
        status = check_covariances(ctx, o);
    if (status != KN_OK)
        return status;
    bool iso = o->noise == KN_NOISE_ISO;
    if (!iso && o->task_kernel)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "a task kernel needs iso noise");
    if (!iso && o->task_scale != KN_TASK_SCALE_NONE)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "a task scale needs iso noise");
    if (!iso && o->likelihood == KN_PAPER)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "the paper's likelihood needs iso noise");
    if (!iso && o->optimiser != KN_NESTED && !method->alone)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "joint optimisers (tnewton, lbfgs) need iso noise");
    if (!iso && o->theta && !method->alone)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "theta is for iso noise; structured noise starts from rho and length");
    if (o->components < 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "components is %d, expected 1 or more, or 0 for auto",
                       o->components);
    if (o->folds < 0 || o->folds == 1)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "folds is %d, expected 0 or at least 2", o->folds);
    if (o->restarts < 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "restarts is %d, expected 0 or more", o->restarts);
    if (o->max_evals < -1)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "max_evals is %d, expected -1 or more", o->max_evals);
    if (!(o->max_seconds >= 0))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "max_seconds is %g, expected 0 or more",
                       o->max_seconds);
    if (o->rank < KN_RANK_FULL)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "rank is %td, expected at least 1, or 0 for auto, or -1 for full", o->rank);
    if (!(o->top > 0 && o->top <= 1))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "top is %g, expected above 0 and up to 1", o->top);
    if (!isnan(o->rho) && !(o->rho >= 0 && o->rho <= 1))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "rho is %g, expected 0 to 1", o->rho);
    if (!isnan(o->length) && !(o->length > 0 && isfinite(o->length)))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "length is %g, expected a positive number", o->length);
    return KN_OK;
}

static kn_status check_theta(kn_ctx *ctx, const kn_fit_options *o, const kn_spec *spec)
{
    if (!o->theta)
        return KN_OK;
    int n = kn_spec_n_theta(spec);
    if (o->n_theta != n)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "theta has %d values, these kernels have %d parameters", o->n_theta, n);
    for (int i = 0; i < n; i++)
        if (!(o->theta[i] >= kn_theta_lower && o->theta[i] <= kn_theta_upper))
            return kn_fail(ctx, KN_ERR_ARGUMENT, "theta value %d is %g, expected %g to %g", i + 1,
                           o->theta[i], kn_theta_lower, kn_theta_upper);
    return KN_OK;
}

static kn_status check_data(kn_ctx *ctx, kn_view X, kn_view Y, const kn_fit_options *o)
{
    kn_status status;
    KN_TRY(kn_check_view(ctx, X, "covariates"));
    KN_TRY(kn_check_view(ctx, Y, "responses"));
    if (X.rows != Y.rows)
        return kn_fail(ctx, KN_ERR_SHAPE, "covariates have %td rows, responses %td", X.rows,
                       Y.rows);
    if (X.rows < KN_LEAST_SAMPLES)
        return kn_fail(ctx, KN_ERR_DATA, "%td samples, expected at least %d", X.rows,
                       KN_LEAST_SAMPLES);
    if (o->basis.data) {
        KN_TRY(kn_check_view(ctx, o->basis, "basis"));
        if (o->basis.rows != Y.cols)
            return kn_fail(ctx, KN_ERR_SHAPE,
                           "the basis has %td rows, expected %td, one a response", o->basis.rows,
                           Y.cols);
        if (o->basis.cols > Y.cols)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "the basis has %td columns, at most %td responses can have",
                           o->basis.cols, Y.cols);
        if (o->components && o->components != o->basis.cols)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "components is %d, but the basis given has %td columns", o->components,
                           o->basis.cols);
    }
out:
    return status;
}

/* R by pivots: as asked, or by itself where samples are many and memory holds N x rank twice. */
static void set_rank(const kn_ctx *ctx, const kn_fit_options *o, ptrdiff_t N, kn_spec *spec)
{
    enum { FROM = 1000 };
    double most = (double)kn_memory(ctx) / (16.0 * (double)N);
    if (!kn_method_at((int)o->method)->low_rank || o->rank == KN_RANK_FULL)
        return;
    spec->rank_auto = o->rank == KN_RANK_AUTO;
    if (!spec->rank_auto)
        spec->rank = o->rank < N ? o->rank : N;
    else if (N >= FROM)
        spec->rank = most < (double)(N / 3) ? (ptrdiff_t)most : N / 3;
}

static kn_status spec_of(kn_ctx *ctx, const kn_fit_options *o, ptrdiff_t F, kn_spec *spec)
{
    *spec = (kn_spec){.noise = o->noise,
                      .likelihood = o->likelihood,
                      .task_scale = o->task_scale,
                      .identity = kn_method_at((int)o->method)->identity};
    kn_status status = kn_fit_covariances(ctx, o, F, &spec->sample, &spec->task);
    if (o->noise != KN_NOISE_ISO)
        spec->task = (kn_cov){0};
    return status;
}

/* What is normal, from the training samples' own cross-validated maps, and from them the noise. The
 * z themselves are kept up to this size: a training sample scored again is owed its cross-validated
 * map. */
static kn_status make_reference(kn_ctx *ctx, const kn_gp_maps *cv, const kn_responses *Y,
                                kn_model *m)
{
    static const double MOST_KEPT = 1e9; /* bytes */
    kn_status status;
    void *fold = NULL;
    kn_noise_maker *maker = NULL;
    enum { FOLDS = 5 }; /* of the deviance, where the maps come from one held-out set */
    int folds = FOLDS;
    kn_reference_job job = {.gp = &m->gp,
                            .cv = cv,
                            .fold = cv->fold,
                            .folds = cv->folds,
                            .top = m->reference.top,
                            .keep_z = 4.0 * (double)cv->n * (double)m->gp.T <= MOST_KEPT};
    if (cv->sample) {
        KN_TRY(kn_alloc(ctx, cv->n, sizeof(int), &fold));
        KN_TRY(kn_folds_deal(ctx, cv->n, NULL, m->seed, &folds, fold));
        job.fold = fold;
        job.folds = folds;
    }
    KN_TRY(kn_noise_maker_new(ctx, &m->gp, Y, cv, &maker));
    kn_visitor noise = kn_noise_visitor(maker);
    job.noise = &noise;
    KN_TRY(kn_reference_make(ctx, &job, &m->reference, &m->info.cv));
    if (!cv->sample) /* of very many samples it would cost more than it tells */
        KN_TRY(kn_reference_loo(ctx, &m->gp, Y, &m->reference, &m->info.loo));
out:
    kn_noise_maker_free(maker);
    kn_free(fold);
    return status;
}

/* Noise and reference, by the cross-validated maps where there are any. A fit that is cancelled
 * here stands: only its reference is missing, and its noise is that of training. */
static kn_status finish(kn_ctx *ctx, const kn_gp_maps *cv, const kn_responses *Y, kn_model *m)
{
    kn_status status = KN_OK;
    double t0 = kn_clock(), top = m->reference.top;
    if (cv->gp)
        status = make_reference(ctx, cv, Y, m);
    if (status == KN_ERR_CANCELLED) {
        m->info.stop = KN_STOP_CANCELLED;
        m->reference.top = top;
        if (m->reference.n == 0)
            m->info.cv = (kn_cv_summary){0};
        status = KN_OK;
    }
    if (status == KN_OK && m->info.cv.folds == 0)
        status = kn_gp_set_noise(ctx, &m->gp, Y, NULL);
    for (ptrdiff_t j = 0; status == KN_OK && j < m->gp.T; j++)
        m->info.noise_variance += m->gp.noise[j] / (double)m->gp.T;
    m->info.converged = m->info.stop == KN_STOP_CONVERGED;
    m->info.seconds_reference += kn_clock() - t0;
    return status;
}

kn_status kn_fit(kn_ctx *ctx, kn_view X, kn_view Y, const kn_fit_options *options, kn_model **model)
{
    return kn_fit_with(ctx, X, Y, options, NULL, model);
}

kn_status kn_fit_with(kn_ctx *ctx, kn_view X, kn_view Y, const kn_fit_options *options,
                      kn_journal *journal, kn_model **model)
{
    kn_status status;
    kn_fit_options o;
    kn_spec spec;
    kn_mat Xs = {0};
    kn_model *m = NULL;
    kn_gp_maps cv = {0};
    void *memory = NULL;
    *model = NULL;
    KN_TRY(read_options(ctx, options, &o));
    kn_settle_noise(&o);
    KN_TRY(kn_check_fit_options(ctx, &o));
    KN_TRY(check_data(ctx, X, Y, &o));
    KN_TRY(spec_of(ctx, &o, X.cols, &spec));
    KN_TRY(check_theta(ctx, &o, &spec));
    set_rank(ctx, &o, X.rows, &spec);

    KN_TRY(kn_alloc(ctx, 1, sizeof *m, &memory));
    m = memory;
    m->seed = o.seed;
    m->folds = o.folds;
    m->grouped = o.groups != NULL;
    m->reference.top = o.top;
    m->info = (kn_fit_info){.size = sizeof m->info,
                            .method = o.method,
                            .noise = o.noise,
                            .likelihood = o.likelihood,
                            .n_samples = X.rows,
                            .n_covariates = X.cols,
                            .n_responses = Y.cols,
                            .rho = NAN,
                            .length = NAN};
    KN_TRY(kn_xscale_new(ctx, X, o.standardise, &m->x));
    KN_TRY(kn_mat_new(ctx, X.rows, X.cols, &Xs));
    KN_TRY(kn_xscale_apply(ctx, &m->x, X, Xs));
    KN_TRY(kn_scaling_new(ctx, Y, o.standardise, &m->y));
    m->info.n_constant_x = m->x.n_constant;
    m->info.n_left_out = m->y.n_all - m->y.n_kept;
    if (m->y.n_kept == 0) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "all %td responses are constant or not finite: nothing to model", Y.cols);
        goto out;
    }
    if (m->info.n_left_out > 0)
        kn_log(ctx, KN_LOG_WARNING, "%td of %td responses are constant or not finite and left out",
               m->info.n_left_out, Y.cols);
    if (m->x.n_constant > 0)
        kn_log(ctx, KN_LOG_WARNING, "%td of %td covariates are constant", m->x.n_constant, X.cols);

    kn_responses responses = kn_responses_of(Y, &m->y);
    kn_gp_options go = {.components = o.components,
                        .basis = o.basis,
                        .folds = o.folds,
                        .groups = o.groups,
                        .plain = o.plain,
                        .cv = &cv};
    go.search =
        (kn_search_options){.optimiser = o.optimiser,
                            .restarts = o.restarts,
                            .seed = o.seed,
                            .limits = {.evals_left = o.max_evals,
                                       .deadline =
                                           o.max_seconds > 0 ? kn_clock() + o.max_seconds : 0},
                            .optimise = o.max_evals != 0,
                            .rho = o.rho,
                            .length = o.length,
                            .theta = o.theta,
                            .journal = journal};
    kn_fit_problem problem = {.X = Xs, .Y = responses, .spec = spec, .options = &go};
    status = kn_method_at((int)o.method)->fit(ctx, &problem, &m->gp, &m->info);
    kn_fit_problem_clear(&problem);
    if (status == KN_OK)
        status = finish(ctx, &cv, &responses, m);
    if (status != KN_OK)
        goto out;
    *model = m;
out:
    kn_gp_maps_clear(&cv);
    kn_mat_clear(&Xs);
    if (status != KN_OK)
        kn_model_free(m);
    return status;
}

void kn_model_free(kn_model *model)
{
    if (!model)
        return;
    kn_model_clear(model);
    kn_free(model);
}
