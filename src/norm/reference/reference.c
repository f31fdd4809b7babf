/* Implements kn_reference_make() in two block loops over the cross-validated maps: the first for
 * everything that is a sum over responses, the second for the whole-map deviances
 * (norm/reference/deviance.c) [METHOD 8, 8b]. Before them a loop over a subsample chooses the
 * calibration. */
#include "norm/reference/reference.h"

#include <math.h>

#include "base/memory/alloc.h"
#include "base/mpi/comm.h"
#include "data/canonical_order.h"
#include "data/mpi/gather_responses.h"
#include "gp/method.h"
#include "norm/calibration/learn_subsample.h"
#include "norm/metrics/extrapolation.h"
#include "norm/reference/internal.h"
#include "stats/gev.h"
#include "stats/order_statistics.h"
#include "stats/p_values.h"

void kn_reference_clear(kn_reference *r)
{
    kn_free(r->statistic);
    kn_free(r->mean_z);
    kn_free(r->negative);
    kn_free(r->positive);
    kn_free(r->loo_statistic);
    kn_free(r->y_sum);
    kn_free(r->sample);
    kn_free(r->extrapolation);
    kn_free(r->z);
    for (int k = 0; k < KN_REFERENCE_KINDS; k++)
        kn_quantiles_clear(&r->quantiles[k]);
    kn_deviance_clear(&r->deviance);
    kn_deviance_clear(&r->deviance_noise);
    *r = (kn_reference){0};
}

double kn_reference_iso_variance(const kn_gp *gp, ptrdiff_t j)
{
    double sum = 0, row = 0, unit = gp->psi ? gp->psi[j] : 1;
    if (!(gp->latent.iso > 0))
        return 0;
    for (ptrdiff_t p = 0; p < gp->P; p++) {
        double b2 = kn_at(gp->B, j, p) * kn_at(gp->B, j, p);
        sum += b2 * gp->latent.c[p];
        row += b2;
    }
    if (gp->complement_component)
        sum += (gp->outside ? gp->outside[j] : 1 - row) * gp->latent.c[gp->P];
    return sum * gp->latent.iso * unit;
}

bool kn_reference_keeps_z(ptrdiff_t n, ptrdiff_t T)
{
    static const double MAX_BYTES = 1e9; /* bytes */
    return (double)sizeof(float) * (double)n * (double)T <= MAX_BYTES;
}

ptrdiff_t kn_reference_row(const kn_reference *r, ptrdiff_t t)
{
    if (!r->sample)
        return t >= 0 && t < r->n ? t : -1;
    ptrdiff_t low = 0, high = r->n; /* sample[low - 1] < t <= sample[high] */
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        if (r->sample[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n && r->sample[low] == t ? low : -1;
}

/* Free all work of the reference's block loops, not the reference itself. */
static void clear_build(kn_reference_build *w)
{
    for (int k = 0; k < 2; k++)
        kn_deviance_fitter_free(w->deviance[k]);
    kn_z_builder_clear(&w->z);
    kn_z_cache_clear(&w->keeper);
    kn_free(w->keeper.joint[0]);
    kn_free(w->keeper.joint[1]);
    kn_exclusion_groups_clear(&w->exclusions);
    kn_learner_free(w->learner);
    kn_null_learner_clear(&w->null);
    kn_calibration_clear(&w->calibration);
    kn_map_density_state_clear(&w->map_density);
}

/* All-gather what the first loop has set per response. If any rank found a response without noise,
 * which has no z, all ranks drop the deviances. Collective. */
static kn_status exchange_results(kn_ctx *ctx, const kn_reference_job *job, kn_reference_build *w)
{
    kn_status status;
    const kn_responses *Y = &job->cv->Y;
    const kn_calibration_transform *calibration =
        job->calibration ? job->calibration : &w->calibration;
    double noiseless = w->noiseless;
    ptrdiff_t element = sizeof(float), T = job->gp->T;
    KN_TRY(kn_allgather_responses_d(ctx, Y, job->gp->noise));
    KN_TRY(kn_allgather_response_cols(ctx, Y, calibration->beta));
    KN_TRY(kn_allgather_response_cols(ctx, Y, calibration->theta));
    if (job->null) {
        KN_TRY(kn_allgather_responses_d(ctx, Y, job->null->noise));
        KN_TRY(kn_allgather_responses_d(ctx, Y, job->null->R2));
        KN_TRY(kn_allgather_response_cols(ctx, Y, job->null->transform.theta));
    }
    KN_TRY(
        kn_allgather_responses(ctx, Y, (kn_of_responses){w->r->z, w->r->n, T * element, element}));
    KN_TRY(kn_extreme_stream_join(ctx, &w->z.top));
    KN_TRY(kn_comm_max(ctx, &noiseless, 1));
    if (noiseless > 0 && !w->noiseless) {
        w->noiseless = true;
        kn_reference_drop_deviances(w);
    }
out:
    return status;
}

/* Set mean_z and the counts of low and high responses of each participant from the sums over
 * blocks. Collective. */
static kn_status combine_burden(kn_ctx *ctx, kn_reference_build *w)
{
    kn_status status;
    double *sums = NULL;
    kn_reference *r = w->r;
    KN_TRY(kn_alloc_d(ctx, 3 * r->n, &sums));
    KN_TRY(kn_slots_sum(ctx, &w->z.burden, sums));
    for (ptrdiff_t i = 0; i < r->n; i++) {
        r->mean_z[i] = sums[i] / (double)w->z.top.finite[i];
        r->negative[i] = sums[r->n + i];
        r->positive[i] = sums[2 * r->n + i];
    }
out:
    kn_free(sums);
    return status;
}

/* Run the first block loop (noise, z, cache, pass 1 of the deviances), and set the statistics of
 * each participant from its sums over all ranks. *finite: every response has a z. Collective. */
static kn_status run_first_loop(kn_ctx *ctx, const kn_reference_job *job, kn_reference_build *w,
                                bool *finite)
{
    kn_status status;
    kn_reference *r = w->r;
    kn_z_builder *z = &w->z;
    kn_block_loop loop = kn_z_builder_loop(z, "reference");
    kn_visitor visitor[5];
    double noise;
    int n = 0;
    if (job->noise)
        visitor[n++] = kn_noise_visitor(job->noise);
    if (w->own) /* before the visitor that overwrites the block with z */
        visitor[n++] = kn_map_density_visitor(&w->map_density);
    visitor[n++] = kn_z_builder_visitor(z);
    visitor[n++] = kn_z_keep(&w->keeper);
    visitor[n++] = kn_reference_deviances_visitor(w);
    KN_TRY(kn_block_loop_run(ctx, &loop, visitor, n));
    KN_TRY(exchange_results(ctx, job, w));
    KN_TRY(kn_slots_sum(ctx, &z->noise_sum, &noise));
    KN_TRY(combine_burden(ctx, w));
    KN_TRY(kn_slots_sum(ctx, &z->y, r->y_sum));
    KN_TRY(kn_slots_sum(ctx, &z->model, r->extrapolation));
    *finite = true;
    for (ptrdiff_t i = 0; !job->cv->Y.missing && i < r->n; i++)
        *finite = *finite && z->top.finite[i] == z->gp->T;
    for (ptrdiff_t j = 0; job->cv->Y.missing && j < z->gp->T;
         j++) /* missing cells have no z either */
        *finite = *finite && !(z->gp->noise[j] <= 0);
    kn_extreme_stream_result(&z->top, r->statistic);
    kn_extrapolation_ratio(r->extrapolation, r->n, noise);
    for (ptrdiff_t i = 0; job->cv->extrapolation && i < r->n; i++)
        r->extrapolation[i] = job->cv->extrapolation[i];
    kn_sort(r->extrapolation, r->n);
out:
    return status;
}

/* Allocate the statistics of n participants, and z (n x T floats) if job->keep_z. On error r is
 * partly filled; the caller clears it. */
static kn_status reference_new(kn_ctx *ctx, const kn_reference_job *job, kn_reference *r)
{
    kn_status status;
    const kn_gp_maps *cv = job->cv;
    *r = (kn_reference){.n = cv->n, .top = job->top};
    KN_TRY(kn_alloc_d(ctx, r->n, &r->statistic));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->mean_z));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->negative));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->positive));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->extrapolation));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->y_sum));
    if (cv->sample) {
        KN_TRY(kn_alloc_i(ctx, r->n, &r->sample));
        for (ptrdiff_t i = 0; i < r->n; i++)
            r->sample[i] = cv->sample[i];
    }
    if (job->keep_z)
        KN_TRY(kn_alloc_f(ctx, r->n * job->gp->T, &r->z));
out:
    return status;
}

/* Set the groups of participants that are left out together, and the number of independent
 * units. */
static kn_status find_exclusion_groups(kn_ctx *ctx, const kn_reference_job *job,
                                       kn_reference_build *w)
{
    kn_status status = KN_OK;
    const kn_gp_maps *cv = job->cv;
    int *group = NULL;
    if (job->group) {
        KN_TRY(kn_alloc_int(ctx, cv->n, &group));
        for (ptrdiff_t i = 0; i < cv->n; i++)
            group[i] = job->group[cv->sample ? cv->sample[i] : i];
    }
    KN_TRY(kn_exclusion_groups_new(ctx, cv->n, group, &w->exclusions));
    w->r->units = w->exclusions.n_groups;
out:
    kn_free(group);
    return status;
}

/* Log which components of the calibration were tried and kept, with their held-out gains; warn of a
 * failed fit. */
static void log_calibration(kn_ctx *ctx, const kn_calibration_transform *l)
{
    const kn_calibration_component *batch = &l->component[KN_CALIBRATION_SITE];
    for (int k = 0; k < KN_CALIBRATION_COMPONENTS; k++)
        if (l->component[k].failed)
            kn_log(ctx, KN_LOG_WARNING,
                   "calibration: the fit of %s failed, and it is left out; check the responses for "
                   "values that are far from all others",
                   kn_calibration_component_words[k]);
        else if (l->component[k].tried)
            kn_log(ctx, KN_LOG_DETAIL,
                   "calibration: %s %s (held-out gain %.2g, standard error %.2g)",
                   kn_calibration_component_words[k], l->component[k].kept ? "kept" : "not kept",
                   l->component[k].gain, l->component[k].se);
    if (batch->tried && batch->gain < -batch->se)
        kn_log(ctx, KN_LOG_INFO,
               "calibration: %s is kept because the model has a batch effect, although it lowers "
               "the held-out likelihood",
               kn_calibration_component_words[KN_CALIBRATION_SITE]);
}

/* Learn whether the null model has a shape per response, in a block loop over the same subsample of
 * responses; it needs no maps of the model. Nothing without job->null. */
static kn_status learn_null(kn_ctx *ctx, const kn_reference_job *job,
                            const kn_learner_job *model_job, kn_reference_build *w)
{
    kn_status status;
    ptrdiff_t every = 1;
    kn_visitor visitor[2];
    if (!job->null)
        return KN_OK;
    KN_TRY(
        kn_null_learner_init(ctx, model_job, job->gp->N, job->cv->Y.scaling, job->null, &w->null));
    w->null.key = job->cv->Y.key;
    w->z.null = &w->null;
    if (kn_learner_sample(w->null.learner, &every) == 0)
        goto out;
    kn_block_loop loop = kn_z_builder_loop(&w->z, NULL);
    loop.maps = NULL;
    loop.cut = every > 1 ? KN_LEARNER_CUT : 0;
    loop.every = every;
    visitor[0] = kn_null_visitor(&w->null);
    visitor[1] = kn_learner_visitor(w->null.learner);
    visitor[1].needs = KN_BLOCK_Y; /* mean and variance are those of the null model */
    KN_TRY(kn_block_loop_run(ctx, &loop, visitor, 2));
    KN_TRY(kn_learner_choose(ctx, w->null.learner));
out:
    return status;
}

/* Choose the components of the calibration and fit their priors, in a block loop over a subsample
 * of the responses. Collective. */
static kn_status learn_calibration(kn_ctx *ctx, const kn_reference_job *job, kn_reference_build *w)
{
    kn_status status;
    kn_visitor visitor[2];
    int n = 0;
    ptrdiff_t every = 1, sampled, *drawn = NULL;
    kn_learner_job model_job = {.how = job->calibration ? job->calibrate : KN_CALIBRATE_NONE,
                                .x = job->x,
                                .n = job->cv->n,
                                .T = job->gp->T,
                                .fold = job->fold,
                                .folds = job->folds,
                                .noise = job->noise,
                                .exclusions = &w->exclusions,
                                .noise_of_all = job->gp->noise,
                                .site = job->site,
                                .S = job->S};
    KN_TRY(kn_learner_new(ctx, &model_job, job->calibration ? job->calibration : &w->calibration,
                          &w->learner));
    w->z.learner = w->learner;
    KN_TRY(learn_null(ctx, job, &model_job, w));
    sampled = kn_learner_sample(w->learner, &every);
    if (sampled == 0)
        goto out;
    kn_block_loop loop = kn_z_builder_loop(&w->z, NULL);
    loop.cut = every > 1 ? KN_LEARNER_CUT : 0;
    loop.every = every;
    if (loop.Y.key && every > 1) {
        KN_TRY(kn_alloc_i(ctx, sampled, &drawn));
        KN_TRY(kn_responses_draw(ctx, loop.Y.key, loop.Y.T, job->seed, sampled, drawn));
        loop.only = drawn;
        loop.n_only = sampled;
    }
    if (job->noise)
        visitor[n++] = kn_noise_visitor(job->noise);
    visitor[n++] = kn_learner_visitor(w->learner);
    KN_TRY(kn_block_loop_run(ctx, &loop, visitor, n));
    KN_TRY(kn_learner_choose(ctx, w->learner));
    log_calibration(ctx, w->learner->calibration);
out:
    kn_free(drawn);
    return status;
}

kn_status kn_reference_make(kn_ctx *ctx, const kn_reference_job *job, kn_reference *out,
                            kn_cv_summary *summary)
{
    kn_status status;
    bool finite;
    double losses[KN_N_LOSSES];
    kn_reference_build w = {
        .r = out,
        .own = job->gp->method->own_deviance,
        .map_density = {.job = {.maps = job->cv, .scaling = job->cv->Y.scaling}},
        .z = {.gp = job->gp, .maps = job->cv, .proportion = job->top, .whole = true}};
    KN_TRY(reference_new(ctx, job, out));
    KN_TRY(find_exclusion_groups(ctx, job, &w));
    KN_TRY(learn_calibration(ctx, job, &w));
    KN_TRY(kn_reference_new_deviances(ctx, job, &w));
    KN_TRY(run_first_loop(ctx, job, &w, &finite));
    KN_TRY(kn_slots_sum(ctx, &w.z.losses, losses));
    *summary = kn_losses_summary(losses, job->cv->folds);
    if (!finite) { /* a response without any noise has no z */
        kn_log(ctx, KN_LOG_WARNING,
               "some responses have no noise, so their z-scores are undefined and there are no "
               "abnormality statistics");
        goto out;
    }
    kn_extreme_stream_clear(&w.z.top);
    KN_TRY(kn_reference_distribution(ctx, out, job->gp->T));
    KN_TRY(kn_reference_findings(ctx, out, job->gp->T));
    KN_TRY(kn_reference_deviances(ctx, job, &w));
out:
    clear_build(&w);
    if (status != KN_OK) {
        kn_reference_clear(out);
        if (job->calibration) /* no partial calibration after an error */
            kn_calibration_clear(job->calibration);
        if (job->null)
            kn_null_calibration_clear(job->null);
    }
    return status;
}

/* ---- distribution of the statistics ---------------------------------------------------------- */

kn_status kn_reference_distribution(kn_ctx *ctx, kn_reference *r, ptrdiff_t T)
{
    kn_gev_estimate e;
    const char *what = r->units < r->n ? "groups" : "participants";
    if (r->units < KN_GEV_FROM || T == 1) {
        char why[64] = "there is only one response";
        if (T > 1)
            snprintf(why, sizeof why, "there are only %td reference %s", r->units, what);
        kn_log(ctx, KN_LOG_WARNING,
               "%s, so p-values are computed from ranks and cannot be below %.2g", why,
               kn_tail_p_smallest(&(kn_tail_p_reference){.n = r->n, .units = r->units}));
        return KN_OK;
    }
    kn_status status = kn_gev_fit(ctx, r->statistic, r->n, &e);
    if (status == KN_ERR_DATA || status == KN_ERR_NUMERIC) {
        kn_log(ctx, KN_LOG_WARNING, "p-values are computed from ranks in the reference sample: %s",
               kn_message(ctx));
        return KN_OK;
    }
    if (status != KN_OK)
        return status;
    r->has_gev = true;
    r->gev = e.gev;
    r->gev_se = e.se;
    r->gev_at_bound = e.at_bound;
    if (e.at_bound)
        kn_log(ctx, KN_LOG_WARNING,
               "the fit of the extreme-value distribution ended at the bound of its shape (%.2f); "
               "interpret p-values near 0 and 1 with care",
               e.gev.xi);
    if (r->units < KN_LOG_MIN_P_BELOW)
        kn_log(ctx, KN_LOG_INFO, "%td reference %s: extreme_z_p is at least %.2g", r->units, what,
               kn_tail_p_min(r->units));
    return KN_OK;
}

kn_status kn_reference_findings(kn_ctx *ctx, kn_reference *r, ptrdiff_t T)
{
    double *work = NULL, found = 0;
    r->fdr_proportion = NAN;
    if (!r->z)
        return KN_OK;
    kn_status status = kn_alloc_d(ctx, T, &work);
    for (ptrdiff_t i = 0; status == KN_OK && i < r->n; i++) {
        kn_fdr f = kn_fdr_row(r->z + i * T, T, KN_FDR_Q, work);
        found += f.negative + f.positive > 0;
    }
    if (status == KN_OK)
        r->fdr_proportion = found / (double)r->n;
    kn_free(work);
    return status;
}
